//! Calls that were approved and still run when their client has to have an answer, and results of calls that ran before.

use std::time::Duration;

use banksman_core::Status;
use http::Method;
use serde_json::{Value, json};

use crate::calls::text;
use crate::client::Answer;
use crate::peer::Peer;
use crate::world::World;

/// A server whose clients give up after a second, and a call of a tool that takes three.
async fn slow_call() -> (Peer, World, crate::client::Client, Answer, String) {
    let peer = Peer::start().await;
    let world =
        World::start(&format!("{}clients: [{{name: '*', window: 1s, with_progress: 1s}}]\n", peer.config()))
            .await;
    let mut client = world.client("/mcp");
    client.initialize("test", json!({})).await;
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "send_slow", "arguments": {"to": "ada"}, "_meta": {"progressToken": "p"}}});
    let answer = client.post(&call).await;
    let id = world.approve().await;
    (peer, world, client, answer, id.to_string())
}

fn is_running(answer: &Value, id: &str) {
    assert!(text(answer).starts_with("RUNNING"), "{answer}");
    assert!(!text(answer).contains("NOT EXECUTED"), "{answer}");
    assert_eq!(answer["result"]["isError"], true);
    assert_eq!(answer["result"]["_meta"]["banksman/status"], "executing");
    assert_eq!(answer["result"]["_meta"]["banksman/action"], id);
}

#[tokio::test]
async fn a_call_that_runs_is_not_said_to_wait_for_approval() {
    let (peer, _world, client, mut answer, id) = slow_call().await;
    is_running(&answer.next().await.unwrap(), &id);
    assert!(answer.next().await.is_none(), "and nothing follows the answer");
    // Nor to whoever sends it again, or asks.
    is_running(&client.call(2, "send_slow", json!({"to": "ada"})).await, &id);
    let wait = |seconds: u64| json!({"id": id, "wait_s": seconds});
    is_running(&client.call(3, "banksman_wait", wait(0)).await, &id);
    assert_eq!(text(&client.call(4, "banksman_wait", wait(20)).await), "slowly done");
    assert_eq!(peer.calls().len(), 1);
}

#[tokio::test]
async fn a_plain_client_that_sends_a_running_call_again_is_told_that_it_runs() {
    let (peer, world, _client, answer, id) = slow_call().await;
    drop(answer);
    world.becomes(id.parse().unwrap(), Status::Executing).await;
    let answer = world.client("/mcp").plain().start(2, "send_slow", json!({"to": "ada"})).await;
    assert_eq!(answer.status, 202);
    let answer = answer.last().await;
    assert_eq!((&answer["status"], &answer["approval_id"]), (&json!("executing"), &json!(id)));
    world.becomes(id.parse().unwrap(), Status::Succeeded).await;
    assert_eq!(peer.calls().len(), 1);
}

#[tokio::test]
async fn a_client_of_era_two_goes_on_waiting_for_a_call_that_runs() {
    let peer = Peer::start().await;
    let world = World::start(&format!("{}clients: [{{name: '*', window: 1s}}]\n", peer.config())).await;
    let client = world.client("/mcp");
    let mut params = json!({"name": "send_slow", "arguments": {"to": "ada"}});
    let mut rounds = 0;
    let mut answer = client.ask_two(1, "tools/call", params.clone(), json!({})).await;
    world.approve().await;
    loop {
        let said = answer.last().await;
        if said["result"]["resultType"] == "complete" {
            assert_eq!(text(&said), "slowly done");
            break;
        }
        assert_eq!(said["result"]["resultType"], "input_required", "{said}");
        params["requestState"] = said["result"]["requestState"].clone();
        rounds += 1;
        answer = client.ask_two(1 + rounds, "tools/call", params.clone(), json!({})).await;
    }
    assert!(rounds >= 2, "{rounds}");
    assert_eq!(peer.calls().len(), 1);
}

#[tokio::test]
async fn a_result_that_was_fetched_over_hitl_is_not_the_answer_to_the_next_call() {
    let peer = Peer::start().await;
    let world = World::start(&peer.config()).await;
    let client = world.client("/mcp").plain();
    let held = async || {
        let answer = client.start(1, "send", json!({"to": "ada"})).await;
        assert_eq!(answer.status, 202);
        answer.last().await["approval_id"].as_str().unwrap().to_owned()
    };
    let first = held().await;
    let id = world.approve().await;
    world.becomes(id, Status::Succeeded).await;
    // That people look at it is no reason to hold it back from its agent.
    let url = format!("http://{}/hitl/result/{first}", world.address);
    let seen = crate::client::Client::new(url, &world.reviewer).send(Method::GET, "").await;
    assert_eq!(seen.status, 200);
    let fetched = world.client(&format!("/hitl/result/{first}")).send(Method::GET, "").await;
    assert_eq!(text(&fetched.last().await), r#"ran with {"to":"ada"}"#);
    assert_ne!(held().await, first, "meant to run once more");
}

#[tokio::test]
async fn a_stored_result_says_when_it_ran_and_that_it_did_not_run_again() {
    let peer = Peer::start().await;
    let world = World::start(&peer.config()).await;
    let mut client = world.client("/mcp");
    client.initialize("test", json!({})).await;
    let ran = async |tool: &str| {
        drop(client.start(1, tool, json!({})).await);
        tokio::time::sleep(Duration::from_millis(100)).await;
        let id = world.approve().await;
        world.becomes(id, Status::Succeeded).await;
        (id.to_string(), client.call(2, tool, json!({})).await["result"].clone())
    };
    let (id, told) = ran("send").await;
    assert!(told["content"][0]["text"].as_str().unwrap().contains("did not run again"), "{told}");
    assert_eq!(told["content"][1]["text"], "ran with {}");
    assert_eq!(told["_meta"]["banksman/action"], id);
    assert_eq!(told["_meta"]["banksman/notRunAgain"], true);
    assert!(told["_meta"]["banksman/ranAt"].as_str().unwrap().starts_with("20"), "{told}");
    // Programs read these.
    let (_, told) = ran("send_structured").await;
    assert_eq!(told["content"], json!([{"type": "text", "text": "{\"n\":1}"}]));
    assert_eq!(told["structuredContent"], json!({"n": 1}));
    assert_eq!(told["_meta"]["banksman/notRunAgain"], true);
    assert_eq!(peer.calls().len(), 2);
}

#[tokio::test]
async fn a_server_that_refuses_our_credential_is_no_401_for_the_client() {
    let peer = Peer::start().await;
    let world = World::start(&peer.config()).await;
    let mut client = world.client("/mcp");
    client.initialize("test", json!({})).await;
    for client in [client, world.client("/mcp").plain()] {
        let answer = client.start(1, "locked", json!({})).await;
        assert_eq!(answer.status, 200);
        assert!(!answer.headers.contains_key("www-authenticate"));
        let answer = answer.last().await;
        assert!(text(&answer).starts_with("NOT EXECUTED"), "{answer}");
        assert!(text(&answer).contains("refuses the gateway's credential"), "{answer}");
        assert_eq!(answer["result"]["isError"], true);
    }
    for _ in 0..100 {
        if world.count(Status::Failed).await == 2 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("they are on record as failed");
}
