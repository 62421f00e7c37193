//! Calls of several rounds, in which the server asks something after people have approved.

use std::time::Duration;

use banksman_core::{Decision, Status};
use serde_json::{Value, json};

use crate::calls::text;
use crate::client::Client;
use crate::peer::Peer;
use crate::world::{Said, World};

async fn ask(client: &Client, id: u64, params: Value) -> Value {
    client.ask_two(id, "tools/call", params, json!({})).await.last().await
}

/// The next round of a call, with the state of the last.
fn answered(tool: &str, args: &Value, asked: &Value) -> Value {
    let state = asked["result"]["requestState"].as_str().unwrap_or_else(|| panic!("{asked}"));
    json!({"name": tool, "arguments": args, "requestState": state, "inputResponses": {"q": {"roots": []}}})
}

/// A call that was approved, and that its server asks something about: what continues it.
async fn approved_and_asked(world: &World, tool: &str) -> Value {
    let client = world.client("/mcp");
    let call = json!({"name": tool, "arguments": {}});
    let (asked, _) = tokio::join!(ask(&client, 1, call), world.approve());
    assert!(asked["result"]["inputRequests"].is_object(), "{asked}");
    answered(tool, &json!({}), &asked)
}

async fn is_refused_as_used(world: &World, next: &Value) {
    let refused = ask(&world.client("/mcp"), 9, next.clone()).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert_eq!(refused["error"]["message"], "requestState was used before");
}

#[tokio::test]
async fn an_answered_question_goes_on_once_whichever_node_is_asked_and_after_a_restart() {
    let peer = Peer::start().await;
    let world = World::start(&peer.config()).await;
    let neighbour = world.neighbour().await;
    let next = approved_and_asked(&world, "send_ask_stuck").await;
    let (client, first) = (world.client("/mcp"), next.clone());
    let waiting = tokio::spawn(async move { ask(&client, 2, first).await });
    for _ in 0..500 {
        if peer.calls().len() == 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    for node in [&world, &neighbour] {
        is_refused_as_used(node, &next).await;
    }
    waiting.abort();
    let world = world.restart().await;
    is_refused_as_used(&world, &next).await;
    assert_eq!(peer.calls().len(), 2, "{:?}", peer.calls());
}

#[tokio::test]
async fn of_many_answers_to_one_question_one_goes_on() {
    let peer = Peer::start().await;
    let world = World::start(&peer.config()).await;
    let neighbour = world.neighbour().await;
    let next = approved_and_asked(&world, "send_ask").await;
    let mut asking = tokio::task::JoinSet::new();
    for id in 0..16 {
        let node = if id % 2 == 0 { &world } else { &neighbour };
        let (client, next) = (node.client("/mcp"), next.clone());
        asking.spawn(async move { ask(&client, id, next).await });
    }
    let answers = asking.join_all().await;
    // Whoever comes late gets what is stored, or hears that the state was used; nothing runs again for them.
    assert!(answers.iter().any(|answer| answer["result"].is_object() && text(answer) == "asked"));
    assert_eq!(peer.calls().len(), 2, "{:?}", peer.calls());
}

#[tokio::test]
async fn a_late_replay_gets_what_is_stored_also_from_another_node() {
    let peer = Peer::start().await;
    let world = World::start(&peer.config()).await;
    let next = approved_and_asked(&world, "send_ask").await;
    assert_eq!(text(&ask(&world.client("/mcp"), 2, next.clone()).await), "asked");
    for _ in 0..500 {
        if world.count(Status::Succeeded).await == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let neighbour = world.neighbour().await;
    for node in [&world, &neighbour] {
        assert_eq!(text(&ask(&node.client("/mcp"), 3, next.clone()).await), "asked");
    }
    assert_eq!(peer.calls().len(), 2);
}

#[tokio::test]
async fn modified_arguments_run_as_modified_in_every_round() {
    let peer = Peer::start().await;
    let config = format!("{}clients: [{{name: '*', window: 1s}}]\n", peer.config());
    let world = World::start(&config).await;
    let mut client = world.client("/mcp");
    client.headers.insert("mcp-param-to", "everyone".parse().unwrap());
    let args = json!({"to": "everyone"});
    let held = ask(&client, 1, json!({"name": "send_ask", "arguments": args})).await;
    let case = world.pending().await;
    let said = Said { args: Some(r#"{"to":"ada"}"#), reason: Some("only her"), ..Said::default() };
    let mut again = answered("send_ask", &args, &held);
    again.as_object_mut().unwrap().remove("inputResponses");
    // The client waits again while people decide, so that the server can ask it.
    let deciding = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        world.decide(&case, Decision::Modify, said).await;
    };
    let (asked, ()) = tokio::join!(ask(&client, 2, again), deciding);
    assert!(asked["result"]["inputRequests"].is_object(), "{asked}");
    let done = ask(&client, 3, answered("send_ask", &args, &asked)).await;
    assert!(text(&done).contains(r#"It ran with: {"to":"ada"}"#), "{done}");
    assert_eq!(done["result"]["content"][1]["text"], "asked", "{done}");
    assert_eq!(peer.calls().len(), 2);
    for call in peer.calls() {
        let call: Value = serde_json::from_str(&call).unwrap();
        assert_eq!(call["params"]["arguments"], json!({"to": "ada"}), "{call}");
    }
    let seen = peer.seen.headers.lock().unwrap();
    let told: Vec<_> = seen.iter().filter_map(|headers| headers.get("mcp-param-to")).collect();
    assert_eq!(told, ["ada", "ada"]);
}
