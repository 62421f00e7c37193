//! In which session of a server an approved call runs.

use std::time::Duration;

use banksman_core::{Decision, Status};
use http::Method;
use serde_json::{Value, json};

use crate::calls::text;
use crate::client::Client;
use crate::peer::Peer;
use crate::programs::{config, program};
use crate::world::World;

async fn session(world: &World) -> Client {
    let mut client = world.client("/mcp");
    client.initialize("test", json!({})).await;
    client
}

/// Asks for something that is held, and goes away.
async fn ask_and_leave(client: &Client, tool: &str) {
    drop(client.start(1, tool, json!({})).await);
    tokio::time::sleep(Duration::from_millis(200)).await;
}

/// Approves it; what came out, however it ended.
async fn result_of(world: &World, client: &Client) -> Value {
    let id = world.approve().await;
    client.call(9, "banksman_wait", json!({"id": id, "wait_s": 15})).await
}

#[tokio::test]
async fn what_is_approved_when_its_client_listens_no_more_runs_in_its_own_program() {
    let world = World::start(&config()).await;
    let client = session(&world).await;
    let own = text(&client.call(2, "pid", json!({})).await).to_owned();
    ask_and_leave(&client, "send_pid").await;
    assert_eq!(text(&result_of(&world, &client).await), own);
    // A client that takes no streams has a session all the same.
    let mut silent = client.clone();
    silent.headers.insert("accept", "application/json".parse().unwrap());
    let (answer, _) = tokio::join!(silent.call(3, "send_pid", json!({"silent": true})), world.approve());
    assert_eq!(text(&answer), own);
}

#[tokio::test]
async fn what_is_approved_when_its_client_listens_no_more_runs_in_its_own_session() {
    let peer = Peer::start().await;
    let world = World::start(&peer.config()).await;
    let (one, two) = (session(&world).await, session(&world).await);
    let own = text(&one.call(2, "session", json!({})).await).to_owned();
    assert_ne!(own, text(&two.call(2, "session", json!({})).await));
    ask_and_leave(&one, "send_session").await;
    // Who joins and leaves takes nothing along.
    ask_and_leave(&two, "send_session").await;
    assert_eq!(text(&result_of(&world, &two).await), own);
    assert_eq!(world.count(Status::Succeeded).await, 3);
}

#[tokio::test]
async fn who_joins_and_leaves_does_not_take_the_call_of_who_waits() {
    let world = World::start(&config()).await;
    let (one, two) = (session(&world).await, session(&world).await);
    let own = text(&one.call(2, "pid", json!({})).await).to_owned();
    let answer = one.start(1, "send_pid", json!({})).await;
    ask_and_leave(&two, "send_pid").await;
    world.approve().await;
    assert_eq!(text(&answer.last().await), own);
}

#[tokio::test]
async fn what_a_program_asks_while_nobody_listens_is_answered() {
    let world = World::start(&config()).await;
    let client = session(&world).await;
    ask_and_leave(&client, "send_ask").await;
    assert_eq!(text(&result_of(&world, &client).await), "roots: null");
}

#[tokio::test]
async fn a_session_that_cannot_be_had_is_no_reason_to_run_somewhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("server.sh");
    std::fs::write(&script, format!("exec '{}'\n", program().display())).unwrap();
    let config = format!("version: 1\nupstreams: {{prog: {{command: [sh, '{}']}}}}\n", script.display());
    let world = World::start(&config).await;
    let client = session(&world).await;
    client.call(2, "pid", json!({})).await;
    // Our own session with it is open, and could be used.
    text(&world.client("/mcp").plain().call(3, "pid", json!({})).await);
    ask_and_leave(&client, "send_pid").await;
    assert!(text(&client.call(4, "die", json!({})).await).starts_with("UNKNOWN"));
    std::fs::remove_file(&script).unwrap();
    let id = world.pending().await.id;
    world.decide(&world.pending().await, Decision::Approve, Default::default()).await;
    let case = world.becomes(id, Status::Failed).await;
    let banksman_core::State::Failed { error: Some(error), .. } = &case.state else { panic!("{case:?}") };
    assert!(error.starts_with("not executed"), "{error}");
    // Nor for a call that is let through.
    let refused = client.call(5, "pid", json!({})).await;
    assert!(text(&refused).starts_with("NOT EXECUTED"), "{refused}");
}

#[tokio::test]
async fn a_session_that_was_ended_or_forgotten_leaves_its_agents_own_place() {
    let peer = Peer::start().await;
    let world = World::start(&peer.config()).await;
    let client = session(&world).await;
    let own = text(&client.call(2, "session", json!({})).await).to_owned();
    ask_and_leave(&client, "send_session").await;
    assert_eq!(client.send(Method::DELETE, "").await.status, 200);
    let agents = text(&world.client("/mcp").plain().call(3, "session", json!({})).await).to_owned();
    assert_ne!(agents, own);
    let id = world.approve().await;
    let case = world.becomes(id, Status::Succeeded).await;
    let banksman_core::State::Succeeded { result: Some(result), .. } = &case.state else {
        panic!("{case:?}")
    };
    assert!(result.as_str().contains(&agents), "{}", result.as_str());
}

#[tokio::test]
async fn agents_without_sessions_do_not_share_ours() {
    let peer = Peer::start().await;
    for config in [config(), peer.config()] {
        let world = World::start(&config).await;
        let tool = if config.contains("prog") { "pid" } else { "session" };
        let (riley, sam) = (world.client("/mcp").plain(), world.other_client("/mcp").plain());
        let rileys = text(&riley.call(1, tool, json!({})).await).to_owned();
        assert_ne!(rileys, text(&sam.call(2, tool, json!({})).await));
        assert_eq!(rileys, text(&riley.call(3, tool, json!({})).await), "and each keeps its own");
    }
}
