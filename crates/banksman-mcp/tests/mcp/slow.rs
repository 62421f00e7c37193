//! Servers that let everybody wait, beside one that does not.

use std::time::{Duration, Instant};

use http::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::calls::text;
use crate::mood::Mood;
use crate::peer::Peer;
use crate::world::World;

/// A server that takes every connection and never says anything of use; its address.
async fn never_answers(drips: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut connection, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut read = [0; 4096];
                let _ = connection.read(&mut read).await;
                if drips {
                    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
                    let mut sent = connection.write_all(head.as_bytes()).await;
                    while sent.is_ok() {
                        tokio::time::sleep(Duration::from_millis(200)).await;
                        sent = connection.write_all(b"4\r\n: \n\n\r\n").await;
                    }
                }
                // Until the other side has enough of it.
                while connection.read(&mut read).await.is_ok_and(|count| count > 0) {}
            });
        }
    });
    format!("http://{address}/mcp")
}

async fn in_time<T>(most: u64, what: &str, work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(most), work).await.unwrap_or_else(|_| panic!("{what} hangs"))
}

fn names(list: &Value) -> Vec<&str> {
    list["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn servers_that_never_answer_are_left_out_and_hold_up_nobody() {
    let peer = Peer::start().await;
    // Their names come first, as those come who are asked first.
    let (silent, drips) = (never_answers(false).await, never_answers(true).await);
    // One that is met, and then has nothing to say.
    let listless = never_answers(true).await;
    let config = format!(
        "{}  a-silent: {{url: '{silent}'}}\n  b-drips: {{url: '{drips}'}}\n  c-drips: {{url: '{listless}'}}\n",
        peer.config()
    );
    let world = World::start(&config).await;
    let mut client = world.client("/mcp");
    let said = in_time(18, "initialize", client.initialize("test", json!({}))).await;
    assert!(said["result"]["capabilities"]["tools"].is_object(), "{said}");
    let ours = ["peer__echo", "peer__send", "peer__send_ask", "banksman_wait"];
    let ask = async |method: &str| {
        let asked = json!({"jsonrpc": "2.0", "id": 1, "method": method});
        in_time(5, method, async { client.post(&asked).await.last().await }).await
    };
    // From now on nobody waits for them for long.
    assert_eq!(names(&ask("tools/list").await), ours);
    let call = in_time(5, "a call", client.call(2, "peer__echo", json!({})));
    assert_eq!(text(&call.await), "ran with {}");
    let read = json!({"jsonrpc": "2.0", "id": 3, "method": "resources/read", "params": {"uri": "x:y"}});
    let read = in_time(8, "resources/read", async { client.post(&read).await.last().await }).await;
    assert_eq!(read["error"]["code"], -32601, "{read}");
    let listening = in_time(5, "listening", client.send(Method::GET, "")).await;
    assert_eq!(listening.status, 200);
    assert_eq!(ask("logging/setLevel").await["result"], json!({}));
    let discovered = in_time(5, "discover", client.ask_two(4, "server/discover", json!({}), json!({}))).await;
    assert!(discovered.last().await["result"]["capabilities"]["tools"].is_object());
    let list = in_time(5, "a list", client.ask_two(5, "tools/list", json!({}), json!({}))).await.last().await;
    assert_eq!(names(&list), ours);
    // A call of one of them surely does not run, and says so.
    let out = in_time(40, "a call of a silent server", client.call(6, "a-silent__echo", json!({}))).await;
    assert!(text(&out).starts_with("NOT EXECUTED"), "{out}");
}

#[tokio::test]
async fn those_who_need_a_silent_server_at_the_same_time_wait_at_the_same_time() {
    let silent = never_answers(false).await;
    let world = World::start(&format!("version: 1\nupstreams: {{silent: {{url: '{silent}'}}}}\n")).await;
    let began = Instant::now();
    let mut waiting = Vec::new();
    for id in 0..8 {
        let client = world.client("/mcp").plain();
        waiting.push(tokio::spawn(async move { client.call(id, "echo", json!({"id": id})).await }));
    }
    for answer in waiting {
        let answer = in_time(45, "a call", answer).await.unwrap();
        assert!(text(&answer).starts_with("NOT EXECUTED"), "{answer}");
    }
    assert!(began.elapsed() < Duration::from_secs(40), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_server_that_was_out_is_back_as_soon_as_it_answers() {
    let peer = Peer::start().await;
    let busy = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let is_busy = std::sync::Arc::clone(&busy);
    let moody = Mood::start(move |message, _| match message["method"].as_str().unwrap() {
        _ if is_busy.load(std::sync::atomic::Ordering::Relaxed) => (503, String::new()),
        "initialize" => Mood::met(message),
        _ => Mood::said(message, &json!({"tools": [{"name": "x", "inputSchema": {"type": "object"}}]})),
    })
    .await;
    let world = World::start(&format!("{}{}", peer.config(), moody.config("moody"))).await;
    let mut client = world.client("/mcp");
    client.initialize("test", json!({})).await;
    let list = async || {
        let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
        client.post(&asked).await.last().await
    };
    assert_eq!(names(&list().await)[0], "peer__echo");
    busy.store(false, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(names(&list().await)[0], "moody__x");
}
