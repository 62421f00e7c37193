//! Calls: let through, blocked, held, changed, denied.

use banksman_core::{Decision, Status};
use serde_json::json;

use crate::client::call;
use crate::peer::Peer;
use crate::world::{Said, World};

pub(crate) fn text(answer: &serde_json::Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

#[tokio::test]
async fn a_call_that_policy_lets_run_reaches_the_server_byte_for_byte_and_is_on_record() {
    let peer = Peer::start().await;
    let world = World::start(&peer.config()).await;
    let mut client = world.client("/mcp");
    client.initialize("test", json!({})).await;
    let odd = r#"{ "jsonrpc":"2.0","id" : 5, "method":"tools/call","params":{"name":"echo","arguments":{"n":9007199254740993.10,"z":1,"a":2},"unknown":[1.0]}}"#;
    let answer = client.send(http::Method::POST, odd).await;
    assert_eq!(answer.status, 200);
    let answer = answer.last().await;
    assert_eq!(answer["id"], 5);
    assert!(text(&answer).starts_with("ran with"), "{answer}");
    assert_eq!(peer.calls(), [odd]);
    let ann = world.ann().await;
    let case = world.engine.actions(banksman_store::CaseQuery::newest(1)).await.unwrap().remove(0);
    let case = world.becomes(case.id, Status::Succeeded).await;
    assert_eq!(case.submission.action.server.as_deref(), Some("peer"));
    assert_eq!(case.submission.action.args.as_str(), r#"{"a":2,"n":9007199254740993.1,"z":1}"#);
    assert_eq!(case.revision, 3, "proposed, claimed, finished");
    let events = world.engine.events(banksman_store::EventQuery::following(0, 100)).await.unwrap();
    let kinds: Vec<&str> = events.iter().rev().take(3).map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["finished", "claimed", "proposed"]);
    drop(ann);
}

#[tokio::test]
async fn what_policy_blocks_never_reaches_the_server() {
    let peer = Peer::start().await;
    let world = World::start(&peer.config()).await;
    let mut client = world.client("/mcp/peer");
    client.initialize("test", json!({})).await;
    let answer = client.call(1, "wipe", json!({})).await;
    assert_eq!(answer["result"]["isError"], true);
    assert!(text(&answer).starts_with("BLOCKED, NOT EXECUTED"), "{answer}");
    assert!(peer.calls().is_empty());
}

#[tokio::test]
async fn a_held_call_runs_once_it_is_approved_and_its_client_gets_the_result() {
    let peer = Peer::start().await;
    let world = World::start(&peer.config()).await;
    let mut client = world.client("/mcp");
    client.initialize("test", json!({})).await;
    let answer = client.start(1, "send", json!({"to": "ada"})).await;
    assert!(answer.is_stream());
    assert!(peer.calls().is_empty());
    let id = world.approve().await;
    let answer = answer.last().await;
    assert_eq!(text(&answer), r#"ran with {"to":"ada"}"#);
    assert_eq!(peer.calls().len(), 1);
    let case = world.becomes(id, Status::Succeeded).await;
    assert!(case.submission.action.args_schema.is_some(), "for whoever edits it");
    // The same call again is another one.
    let again = client.start(2, "send", json!({"to": "ada"})).await;
    assert_ne!(world.pending().await.id, id);
    drop(again);
}

#[tokio::test]
async fn a_denial_is_a_result_with_the_reviewers_words() {
    let peer = Peer::start().await;
    let world = World::start(&peer.config()).await;
    let mut client = world.client("/mcp");
    client.initialize("test", json!({})).await;
    let answer = client.start(1, "send", json!({})).await;
    let case = world.pending().await;
    world.decide(&case, Decision::Deny, Said { reason: Some("not today"), ..Said::default() }).await;
    let answer = answer.last().await;
    assert_eq!(answer["result"]["isError"], true);
    assert!(text(&answer).contains("by ann. not today"), "{answer}");
    assert!(peer.calls().is_empty());
}

#[tokio::test]
async fn modified_arguments_run_as_modified_and_the_agent_is_told() {
    let peer = Peer::start().await;
    let world = World::start(&peer.config()).await;
    let mut client = world.client("/mcp");
    client.initialize("test", json!({})).await;
    let answer = client.start(1, "send", json!({"to": "everyone"})).await;
    let case = world.pending().await;
    let said = Said { args: Some(r#"{"to":"ada"}"#), reason: Some("only her"), ..Said::default() };
    world.decide(&case, Decision::Modify, said).await;
    let answer = answer.last().await;
    assert!(text(&answer).contains(r#"It ran with: {"to":"ada"}"#), "{answer}");
    assert_eq!(answer["result"]["content"][1]["text"], r#"ran with {"to":"ada"}"#);
    let sent: serde_json::Value = serde_json::from_str(&peer.calls()[0]).unwrap();
    assert_eq!(sent, call(1, "send", json!({"to": "ada"})));
}
