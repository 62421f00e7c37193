//! Several messages in one body.

use std::time::Duration;

use banksman_core::Status;
use serde_json::{Value, json};

use crate::client::call;
use crate::peer::Peer;
use crate::programs;
use crate::world::World;

fn said(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

#[tokio::test]
async fn a_batch_to_a_program_is_answered_in_one_document() {
    let world = World::start(&programs::config()).await;
    let mut client = world.client("/mcp");
    client.initialize("test", json!({})).await;
    let talk = json!({"jsonrpc": "2.0", "id": "t", "method": "tools/call", "params": {
        "name": "talk", "arguments": {}, "_meta": {"progressToken": 5}}});
    let batch = json!([
        call(1, "echo", json!({"a": 1})),
        talk,
        {"jsonrpc": "2.0", "id": 3, "method": "tools/list"},
        {"jsonrpc": "2.0", "method": "notifications/progress", "params": {}},
        {"jsonrpc": "2.0", "id": 4, "method": "ping"},
    ]);
    let answer = client.post(&batch).await;
    assert_eq!((answer.status.as_u16(), answer.is_stream()), (200, false));
    let answers = answer.last().await;
    let ids: Vec<&Value> = answers.as_array().unwrap().iter().map(|answer| &answer["id"]).collect();
    assert_eq!(ids, [&json!(1), &json!("t"), &json!(3), &json!(4)]);
    assert_eq!(said(&answers[0]), r#"{"a":1}"#);
    assert_eq!(said(&answers[1]), "talked");
    assert_eq!(answers[2]["result"]["tools"][0]["name"], "echo");
}

#[tokio::test]
async fn what_people_are_asked_about_holds_up_nothing_else_of_its_batch() {
    let peer = Peer::start().await;
    let world = World::start(&format!("{}clients: [{{name: '*', window: 3s}}]\n", peer.config())).await;
    let mut client = world.client("/mcp");
    client.initialize("test", json!({})).await;
    // A promise for later would be no answer to a message of a batch.
    client.headers.insert("prefer", "respond-async".parse().unwrap());
    let batch = json!([call(1, "send", json!({"to": "ada"})), call(2, "progress", json!({}))]);
    let waiting = tokio::spawn(async move { client.post(&batch).await.last().await });
    world.pending().await;
    for _ in 0..200 {
        if !peer.calls().is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(peer.calls().len(), 1, "the one that nobody is asked about");
    assert_eq!(world.count(Status::Pending).await, 1);
    let answers = waiting.await.unwrap();
    assert!(said(&answers[0]).starts_with("PENDING, NOT EXECUTED"), "{answers}");
    // It came as a stream; of that, the batch has the answer.
    assert_eq!(said(&answers[1]), "done");
}
