//! `GET /v1/ws`

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::client::{PATIENCE, Request};
use crate::server::Server;

type Socket = WebSocketStream<TcpStream>;

async fn try_connect(server: &Server, path: &str, headers: &[(&'static str, &str)]) -> Result<Socket, Error> {
    let mut request = format!("ws://{}{path}", server.address).into_client_request().unwrap();
    for (name, value) in headers {
        request.headers_mut().insert(*name, value.parse().unwrap());
    }
    let stream = TcpStream::connect(server.address).await.unwrap();
    client_async(request, stream).await.map(|(socket, _)| socket)
}

async fn connect(server: &Server, token: &str, path: &str) -> Socket {
    let bearer = format!("Bearer {token}");
    try_connect(server, path, &[("authorization", bearer.as_str())]).await.unwrap()
}

/// The next event; `None` when the server closes.
async fn next(socket: &mut Socket) -> Option<Value> {
    let reading = async {
        loop {
            match socket.next().await? {
                Ok(Message::Text(text)) => return Some(serde_json::from_str(&text).unwrap()),
                Ok(Message::Ping(_) | Message::Pong(_)) => {}
                Ok(Message::Close(_)) | Err(_) => return None,
                Ok(other) => panic!("{other:?}"),
            }
        }
    };
    // Over the whole of it: the server's signs of life are no events.
    timeout(PATIENCE, reading).await.expect("no event comes")
}

#[tokio::test]
async fn the_socket_tells_what_the_log_says() {
    let server = Server::start().await;
    let mut socket = connect(&server, &server.ann, "/v1/ws").await;
    let action = server.propose("send_email", json!({})).await;
    server.approve(&server.ann, &action).await;
    let seen = [next(&mut socket).await.unwrap(), next(&mut socket).await.unwrap()];
    assert_eq!(seen[0]["event"]["action"]["id"], action["id"]);
    // Exactly the items of the log.
    let log = server.send(Request::get("/v1/audit?limit=2&order=desc").by(&server.ann)).await.ok(200);
    assert_eq!([&log["items"][1], &log["items"][0]], [&seen[0], &seen[1]]);
}

#[tokio::test]
async fn a_client_that_comes_back_has_missed_nothing_and_sees_nothing_twice() {
    let server = Server::start().await;
    let start = server.newest_seq().await;
    let produce = async {
        for n in 0..40 {
            server.propose("send_email", json!({"n": n})).await;
        }
    };
    let read = async {
        let mut seqs: Vec<u64> = Vec::new();
        while seqs.len() < 40 {
            let last = seqs.last().copied().unwrap_or(start);
            let mut socket = connect(&server, &server.ann, &format!("/v1/ws?since={last}")).await;
            for _ in 0..(40 - seqs.len()).min(7) {
                seqs.push(next(&mut socket).await.unwrap()["seq"].as_u64().unwrap());
            }
        }
        seqs
    };
    let ((), seqs) = tokio::join!(produce, read);
    assert_eq!(seqs, (start + 1..=start + 40).collect::<Vec<_>>());
}

#[tokio::test]
async fn agents_hear_of_their_own_and_nothing_else() {
    let server = Server::start().await;
    let mut socket = connect(&server, &server.sam, "/v1/ws?since=0").await;
    server.propose("send_email", json!({})).await;
    let sams = server.propose_as(&server.sam, json!({"tool": "send_email", "args": {}})).await;
    assert_eq!(next(&mut socket).await.unwrap()["event"]["action"]["id"], sams["id"]);
    assert!(timeout(Duration::from_millis(200), next(&mut socket)).await.is_err());
}

#[tokio::test]
async fn what_a_client_says_is_ignored_and_does_not_stop_the_events() {
    let server = Server::start().await;
    let mut socket = connect(&server, &server.ann, "/v1/ws").await;
    let long = "x".repeat(100_000);
    for message in
        [Message::text("{\"decision\":\"approve\"}"), Message::binary(vec![0xff; 9]), Message::text(long)]
    {
        socket.send(message).await.unwrap();
    }
    let action = server.propose("send_email", json!({})).await;
    assert_eq!(next(&mut socket).await.unwrap()["event"]["action"]["id"], action["id"]);
    assert_eq!(server.show(&server.riley, &action).await["status"], "pending");
}

#[tokio::test]
async fn strangers_and_pages_of_other_origins_get_no_socket() {
    let server = Server::start().await;
    let bearer = format!("Bearer {}", server.ann);
    for (headers, status) in [
        (vec![], 401),
        (vec![("authorization", "Bearer nonsense")], 401),
        (vec![("authorization", bearer.as_str()), ("origin", "http://evil.example")], 403),
        (vec![("authorization", bearer.as_str()), ("host", "evil.example")], 421),
    ] {
        match try_connect(&server, "/v1/ws", &headers).await {
            Err(Error::Http(response)) => assert_eq!(response.status().as_u16(), status, "{headers:?}"),
            other => panic!("{headers:?}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_request_that_is_no_websocket_is_told_so() {
    let server = Server::start().await;
    let plain = server.send(Request::get("/v1/ws").by(&server.ann)).await;
    assert!(plain.problem(422, "invalid_request")["detail"].as_str().unwrap().contains("WebSocket"));
    for query in ["?since=x", "?since=-1", "?from=1"] {
        let answer = server.send(Request::get(format!("/v1/ws{query}")).by(&server.ann)).await;
        answer.problem(422, "invalid_request");
    }
}

#[tokio::test]
async fn sockets_end_with_the_server() {
    let server = Server::start().await;
    let mut socket = connect(&server, &server.ann, "/v1/ws").await;
    server.stop();
    assert!(next(&mut socket).await.is_none());
}

#[tokio::test]
async fn a_client_that_says_goodbye_is_answered() {
    let server = Server::start().await;
    let mut socket = connect(&server, &server.ann, "/v1/ws").await;
    socket.send(Message::Close(None)).await.unwrap();
    let answer = async {
        loop {
            match socket.next().await {
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                other => return other,
            }
        }
    };
    let answer = timeout(PATIENCE, answer).await.expect("no answer");
    assert!(matches!(answer, Some(Ok(Message::Close(_)))), "{answer:?}");
}
