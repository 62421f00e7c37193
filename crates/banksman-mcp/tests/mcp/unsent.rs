//! Calls that do not get to their server: their server could not be met, or has forgotten their session, or they are frozen.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use banksman_core::{FreezeScope, Status};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;

use crate::calls::text;
use crate::mood::Mood;
use crate::peer::Peer;
use crate::world::World;

fn ran(message: &Value) -> (u16, String) {
    Mood::said(message, &json!({"content": [{"type": "text", "text": "ran"}]}))
}

#[tokio::test]
async fn a_call_of_a_server_that_breaks_off_when_it_is_met_was_surely_not_executed() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            let _ = connection.read(&mut [0; 4096]).await;
        }
    });
    let world =
        World::start(&format!("version: 1\nupstreams: {{broken: {{url: 'http://{address}/mcp'}}}}\n")).await;
    let answer = world.client("/mcp").plain().call(1, "echo", json!({})).await;
    assert!(text(&answer).starts_with("NOT EXECUTED"), "{answer}");
    let is_settled = async || {
        for _ in 0..200 {
            if world.count(Status::Failed).await == 1 {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        false
    };
    assert!(is_settled().await, "it may have run");
}

#[tokio::test]
async fn a_call_does_not_fail_because_another_one_waited_in_vain_a_moment_ago() {
    let busy = Arc::new(AtomicBool::new(true));
    let is_busy = Arc::clone(&busy);
    let server = Mood::start(move |message, _| match message["method"].as_str().unwrap() {
        _ if is_busy.load(Ordering::Relaxed) => {
            std::thread::sleep(Duration::from_millis(2200));
            (503, String::new())
        }
        "initialize" => Mood::met(message),
        "tools/call" => ran(message),
        _ => Mood::refused(message),
    })
    .await;
    let world = World::start(&format!("version: 1\nupstreams:\n{}", server.config("mood"))).await;
    let client = world.client("/mcp").plain();
    let refused = client.call(1, "echo", json!({"n": 1})).await;
    assert!(text(&refused).starts_with("NOT EXECUTED"), "{refused}");
    busy.store(false, Ordering::Relaxed);
    assert_eq!(text(&client.call(2, "echo", json!({"n": 2})).await), "ran");
}

#[tokio::test]
async fn an_approved_call_runs_though_its_session_was_forgotten_while_people_looked_at_it() {
    for (status, listens) in [(404, true), (400, true), (404, false), (400, false)] {
        let oldest = Arc::new(AtomicUsize::new(0));
        let known_from = Arc::clone(&oldest);
        let server = Mood::start(move |message, headers| match message["method"].as_str().unwrap() {
            "initialize" => Mood::met(message),
            "tools/call" => {
                let session = headers["mcp-session-id"].to_str().unwrap().trim_start_matches("session-");
                if session.parse::<usize>().unwrap() > known_from.load(Ordering::Relaxed) {
                    return ran(message);
                }
                let error = json!({"code": -32600, "message": "no such session"});
                (status, json!({"jsonrpc": "2.0", "id": null, "error": error}).to_string())
            }
            _ => Mood::refused(message),
        })
        .await;
        let world = World::start(&format!("version: 1\nupstreams:\n{}", server.config("mood"))).await;
        let mut client = world.client("/mcp");
        client.initialize("test", json!({})).await;
        let answer = client.start(1, "send", json!({})).await;
        let answer = listens.then_some(answer);
        world.pending().await;
        oldest.store(server.heard(), Ordering::Relaxed);
        let id = world.approve().await;
        world.becomes(id, Status::Succeeded).await;
        if let Some(answer) = answer {
            assert_eq!(text(&answer.last().await), "ran", "{status}");
        }
    }
}

#[tokio::test]
async fn what_was_frozen_meanwhile_is_not_passed_on_again_after_a_start() {
    let peer = Peer::start().await;
    let mut world = World::start(&peer.config()).await;
    let mut client = world.client("/mcp");
    client.initialize("test", json!({})).await;
    drop(client.start(1, "send_twice", json!({})).await);
    world.approve().await;
    for _ in 0..200 {
        if !peer.calls().is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    world.end();
    let tool = FreezeScope::Tool("send_twice".to_owned());
    world.engine.freeze(&*world.ann().await, tool, "a drill".to_owned()).await.unwrap();
    let world = world.restart().await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(peer.calls().len(), 1);
    assert_eq!(world.count(Status::Executing).await, 1);
}

#[tokio::test]
async fn a_call_that_was_under_way_and_cannot_be_passed_on_again_may_still_have_run() {
    let down = Arc::new(AtomicBool::new(false));
    let is_down = Arc::clone(&down);
    let server = Mood::start(move |message, _| match message["method"].as_str().unwrap() {
        _ if is_down.load(Ordering::Relaxed) => (503, String::new()),
        "initialize" => Mood::met(message),
        "tools/call" => {
            is_down.store(true, Ordering::Relaxed);
            (200, "half an ans".to_owned())
        }
        _ => Mood::refused(message),
    })
    .await;
    let config = server.config("mood").replace("'}", "', idempotent: [send]}");
    let world = World::start(&format!("version: 1\nupstreams:\n{config}")).await;
    let mut client = world.client("/mcp");
    client.initialize("test", json!({})).await;
    let answer = client.start(1, "send", json!({})).await;
    world.approve().await;
    assert!(text(&answer.last().await).starts_with("UNKNOWN"));
    let world = world.restart().await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!((world.count(Status::Executing).await, world.count(Status::Failed).await), (1, 0));
}
