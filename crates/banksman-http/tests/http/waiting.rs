//! Clients that wait for people: their requests leave the connection meanwhile, and nobody should be able to tell.

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Inbound, PATIENCE, Request, Response, connect};
use crate::server::{Server, id};

/// Long enough for the server to have read what was sent, and to wait.
const A_MOMENT: Duration = Duration::from_millis(150);

fn waits_for(server: &Server, action: &Value) -> Request {
    Request::get(format!("/v1/actions/{}", id(action))).by(&server.riley).header("Prefer", "wait=25")
}

/// Sends these requests over one connection, at once.
async fn say(server: &Server, requests: &[Request]) -> Inbound {
    let host = server.address.to_string();
    let bytes = requests.iter().flat_map(|request| request.to_bytes(&host)).collect();
    let inbound = connect(server.address, bytes).await;
    tokio::time::sleep(A_MOMENT).await;
    inbound
}

async fn next(inbound: &mut Inbound) -> Option<Response> {
    tokio::time::timeout(PATIENCE, inbound.answer()).await.expect("the server does not answer")
}

async fn heard(inbound: &mut Inbound) -> Value {
    next(inbound).await.expect("the server hung up").ok(200)
}

#[tokio::test]
async fn what_was_said_meanwhile_is_answered_in_its_order() {
    let server = Server::start().await;
    let first = server.propose("send_email", json!({"n": 1})).await;
    let second = server.propose("send_email", json!({"n": 2})).await;
    let asked = [
        waits_for(&server, &first),
        Request::get("/health"),
        waits_for(&server, &second),
        Request::post("/v1/actions", &json!({"tool": "read_file", "args": {}})).by(&server.riley),
    ];
    let mut inbound = say(&server, &asked).await;
    server.approve(&server.ann, &second).await;
    server.approve(&server.ann, &first).await;
    assert_eq!(heard(&mut inbound).await["id"], first["id"]);
    assert_eq!(next(&mut inbound).await.unwrap().status, 200, "health");
    let heard_second = heard(&mut inbound).await;
    assert_eq!((&heard_second["id"], &heard_second["status"]), (&second["id"], &json!("authorised")));
    assert_eq!(heard(&mut inbound).await["tool"], "read_file");
}

#[tokio::test]
async fn one_connection_waits_many_times_and_answers_look_the_same() {
    let server = Server::start().await;
    let actions = [
        server.propose("send_email", json!({"n": 1})).await,
        server.propose("send_email", json!({"n": 2})).await,
        server.propose("send_email", json!({"n": 3})).await,
    ];
    let asked = actions.each_ref().map(|action| waits_for(&server, action));
    let mut inbound = say(&server, &asked).await;
    for action in &actions {
        server.decide(&server.ann, action, json!({"decision": "deny", "reason": "no"})).await.ok(200);
        let apart = next(&mut inbound).await.unwrap();
        let at_once = server.send(waits_for(&server, action)).await;
        assert_eq!(apart.body, at_once.body);
        let names = |of: &Response| of.headers.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&apart), names(&at_once));
        tokio::time::sleep(A_MOMENT).await;
    }
}

#[tokio::test]
async fn a_proposal_waits_and_is_answered_as_a_proposal() {
    let server = Server::start().await;
    let proposes = |n: u32, patience: &str| {
        let body = json!({"tool": "send_email", "args": {"n": n}});
        Request::post("/v1/actions", &body).by(&server.riley).header("Prefer", patience)
    };
    let asked = [proposes(1, "wait=25"), proposes(2, "wait=1")];
    let mut inbound = say(&server, &asked).await;
    let listed = server.send(Request::get("/v1/actions?status=pending").by(&server.ann)).await.ok(200);
    server.approve(&server.ann, &listed["items"][0]).await;
    let heard_first = heard(&mut inbound).await;
    assert!(heard_first["authorization"].is_string(), "{heard_first}");
    // For the second, patience ends.
    let pending = next(&mut inbound).await.unwrap();
    assert_eq!(pending.ok(202)["status"], "pending");
    assert!(pending.header("location").is_some() && pending.header("retry-after").is_some(), "{pending:?}");
}

#[tokio::test]
async fn neither_a_wish_to_close_nor_a_body_that_nobody_read_gets_lost() {
    let server = Server::start().await;
    let action = server.propose("send_email", json!({})).await;
    let (path, token) = (format!("/v1/actions/{}", id(&action)), &server.riley);
    let common = format!("host: {}\r\nauthorization: Bearer {token}\r\nprefer: wait=25\r\n", server.address);
    let health = format!("GET /health HTTP/1.1\r\nhost: {}\r\n\r\n", server.address);
    // What a body could smuggle in, if it were taken for the next request.
    let smuggled = "GET /nowhere HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let length = smuggled.len();
    let closing = [
        format!("GET {path} HTTP/1.1\r\n{common}connection: close\r\n\r\n"),
        format!("GET {path} HTTP/1.0\r\n{common}\r\n"),
    ];
    let staying = [
        format!("GET {path} HTTP/1.1\r\n{common}content-length: {length}\r\n\r\n{smuggled}{health}"),
        format!(
            "GET {path} HTTP/1.1\r\n{common}transfer-encoding: chunked\r\n\r\n{length:x}\r\n{smuggled}\r\n0\r\n\r\n{health}"
        ),
        format!("GET {path} HTTP/1.1\r\n{common}connection: keep-alive\r\n\r\n{health}"),
    ];
    let mut lines = Vec::new();
    for said in closing.iter().chain(&staying) {
        lines.push(connect(server.address, said.clone().into_bytes()).await);
    }
    tokio::time::sleep(A_MOMENT).await;
    server.approve(&server.ann, &action).await;
    for (inbound, said) in lines.iter_mut().zip(closing.iter().chain(&staying)) {
        assert_eq!(heard(inbound).await["status"], "authorised", "{said}");
        let then = next(inbound).await.map(|answer| answer.status);
        // A server may also hang up after a body that nobody has read.
        let expected: &[_] = if said.ends_with(&health) { &[Some(200), None] } else { &[None] };
        assert!(expected.contains(&then), "{then:?} after {said}");
    }
}

#[tokio::test]
async fn who_hangs_up_is_not_waited_for_and_who_stays_hears_when_the_server_ends() {
    let server = Server::start().await;
    let action = server.propose("send_email", json!({})).await;
    let leaving = say(&server, &[waits_for(&server, &action)]).await;
    let mut staying = Vec::new();
    for _ in 0..8 {
        staying.push(say(&server, &[waits_for(&server, &action)]).await);
    }
    assert_eq!(server.engine.waiting(), 9);
    drop(leaving);
    let gone = async {
        while server.engine.waiting() > 8 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.expect("it is still waited for");
    server.stop();
    for inbound in &mut staying {
        assert_eq!(heard(inbound).await["status"], "pending");
        assert!(next(inbound).await.is_none(), "the server ends");
    }
}
