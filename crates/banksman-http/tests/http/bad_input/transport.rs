//! Requests that are wrong before their body is read: hosts, origins, headers, lengths, and what is not HTTP.

use serde_json::json;

use super::{refused, still_alive};
use crate::client::Request;
use crate::server::{Server, id};

const BODY: &str = r#"{"tool":"send_email","args":{}}"#;

#[tokio::test]
async fn only_our_own_names_are_answered() {
    let server = Server::start().await;
    let port = server.address.port();
    for host in [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        format!("localhost.evil.example:{port}"),
        format!("127.0.0.1.nip.io:{port}"),
        "169.254.169.254".to_owned(),
        String::new(),
        ":".to_owned(),
        format!("user@localhost:{port}"),
        "localhost:".to_owned(),
    ] {
        for request in [
            Request::get("/health"),
            Request::get("/nowhere"),
            Request::get("/v1/actions").by(&server.ann),
            Request::post_bytes("/v1/actions", BODY).by(&server.riley),
        ] {
            let answer = refused(&server, &host, request.header("Host", host.clone())).await;
            answer.problem(421, "host_not_allowed");
        }
    }
    for host in [format!("localhost:{port}"), "LOCALHOST".to_owned(), format!("[::1]:{port}")] {
        server.send(Request::get("/health").header("Host", host)).await.ok(200);
    }
}

#[tokio::test]
async fn a_request_with_no_host_or_two_is_refused() {
    let server = Server::start().await;
    let before = server.newest_seq().await;
    let host = server.address;
    for head in [
        "GET /health HTTP/1.1\r\n".to_owned(),
        "GET /health HTTP/1.0\r\n".to_owned(),
        format!("GET /health HTTP/1.1\r\nHost: {host}\r\nHost: evil.example\r\n"),
        format!("GET /health HTTP/1.1\r\nHost: evil.example\r\nHost: {host}\r\n"),
        format!("GET /health HTTP/1.1\r\nHost: {host}\r\nHost: {host}\r\n"),
        "GET http://evil.example/health HTTP/1.1\r\nHost: evil.example\r\n".to_owned(),
    ] {
        let answer = server.send_raw(format!("{head}\r\n")).await.expect(&head);
        answer.problem(421, "host_not_allowed");
    }
    assert_eq!(server.newest_seq().await, before);
    still_alive(&server).await;
}

#[tokio::test]
async fn pages_of_other_origins_get_no_answer_even_with_a_credential() {
    let server = Server::start().await;
    let own = format!("http://{}", server.address);
    for origin in [
        "http://evil.example",
        "https://evil.example",
        "null",
        "",
        "http://127.0.0.1",
        "http://127.0.0.1:1",
        &format!("{own}.evil.example"),
        &format!("{own}/"),
        &format!("file://{}", server.address),
        &server.address.to_string(),
    ] {
        for request in [
            Request::get("/"),
            Request::get("/v1/events").by(&server.ann),
            Request::post_bytes("/v1/actions", BODY).by(&server.riley),
        ] {
            let answer = refused(&server, origin, request.header("Origin", origin)).await;
            answer.problem(403, "origin_not_allowed");
            assert_eq!(answer.header("access-control-allow-origin"), None);
        }
    }
    let two = Request::get("/health").header("Origin", own.clone()).header("Origin", "http://evil.example");
    refused(&server, "two origins", two).await.problem(403, "origin_not_allowed");
    server.send(Request::get("/health").header("Origin", own)).await.ok(200);
}

#[tokio::test]
async fn a_key_is_one_plain_header() {
    let server = Server::start().await;
    let keyed =
        |key: &str| Request::post_bytes("/v1/actions", BODY).by(&server.riley).header("Idempotency-Key", key);
    for key in ["", "   ", &"k".repeat(256), "schlüssel", "\u{202e}key"] {
        refused(&server, key, keyed(key)).await.problem(422, "invalid_request");
    }
    server.send(keyed(&"k".repeat(255))).await.ok(202);
}

#[tokio::test]
async fn a_key_cannot_smuggle_headers_in() {
    let server = Server::start().await;
    let before = server.newest_seq().await;
    // A line break ends the header; what follows is another header or is not HTTP, and never an answer's header.
    for smuggled in ["k\r\nX-Evil: 1", "k\rX-Evil: 1", "k\nX-Evil: 1", "k\0", "k\u{7f}"] {
        let head = format!("Authorization: Bearer {}\r\nIdempotency-Key: {smuggled}", server.sam);
        let request = format!(
            "POST /v1/actions HTTP/1.1\r\nHost: {}\r\n{head}\r\nContent-Length: {}\r\n\r\n{}",
            server.address, 2, "{}"
        );
        let answer = server.send_raw(request).await.expect(smuggled);
        assert!((400..500).contains(&answer.status), "{smuggled:?}: {answer:?}");
        assert_eq!(answer.header("x-evil"), None);
    }
    assert_eq!(server.newest_seq().await, before);
    still_alive(&server).await;
}

#[tokio::test]
async fn a_length_that_is_wrong_stores_nothing() {
    let server = Server::start().await;
    let before = server.newest_seq().await;
    let head = format!(
        "POST /v1/actions HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n",
        server.address, server.riley
    );
    for (what, rest) in [
        ("not a number", format!("Content-Length: many\r\n\r\n{BODY}")),
        ("negative", format!("Content-Length: -1\r\n\r\n{BODY}")),
        ("beyond all numbers", format!("Content-Length: 99999999999999999999999\r\n\r\n{BODY}")),
        ("two that differ", format!("Content-Length: 5\r\nContent-Length: 31\r\n\r\n{BODY}")),
        ("shorter than the body", format!("Content-Length: 7\r\n\r\n{BODY}")),
        ("zero", format!("Content-Length: 0\r\n\r\n{BODY}")),
        ("a chunk that is none", format!("Transfer-Encoding: chunked\r\n\r\nzz\r\n{BODY}\r\n0\r\n\r\n")),
        ("an unknown coding", format!("Transfer-Encoding: gzip\r\n\r\n{BODY}")),
    ] {
        let answer = server.send_raw(format!("{head}{rest}")).await.expect(what);
        println!("{what}: {} {}", answer.status, answer.text());
        assert!((400..500).contains(&answer.status), "{what}: {answer:?}");
        assert_eq!(server.newest_seq().await, before, "{what}");
    }
    still_alive(&server).await;
}

#[tokio::test]
async fn half_a_body_and_then_silence_is_no_proposal() {
    use tokio::io::AsyncWriteExt as _;
    let server = Server::start().await;
    let before = server.newest_seq().await;
    let request =
        Request::post_bytes("/v1/actions", BODY).by(&server.riley).to_bytes(&server.address.to_string());
    for cut in [1, 20, request.len() - BODY.len(), request.len() - 1] {
        let mut socket = tokio::net::TcpStream::connect(server.address).await.unwrap();
        socket.write_all(&request[..cut]).await.unwrap();
        drop(socket);
    }
    // A whole one afterwards, so that whatever the others could have done has been done.
    server.send(Request::get("/ready")).await.ok(200);
    assert_eq!(server.newest_seq().await, before);
    still_alive(&server).await;
}

#[tokio::test]
async fn what_is_not_http_is_cut_short() {
    let server = Server::start().await;
    let before = server.newest_seq().await;
    let host = server.address;
    for bytes in [
        b"\r\n\r\n\r\nhello\r\n\r\n".to_vec(),
        b"GET\r\n\r\n".to_vec(),
        b"GET /health HTTP/9.9\r\n\r\n".to_vec(),
        format!("GET /he\0alth HTTP/1.1\r\nHost: {host}\r\n\r\n").into_bytes(),
        format!("GET /health HTTP/1.1\r\nHost: {host}\r\nNo colon here\r\n\r\n").into_bytes(),
        format!("GET /health HTTP/1.1\r\nHost : {host}\r\n\r\n").into_bytes(),
        format!("GET /{} HTTP/1.1\r\nHost: {host}\r\n\r\n", "a".repeat(1_000_000)).into_bytes(),
        format!("GET /health HTTP/1.1\r\nHost: {host}\r\n{}\r\n", "X: y\r\n".repeat(10_000)).into_bytes(),
        format!("GET /health HTTP/1.1\r\nHost: {host}\r\nX: {}\r\n\r\n", "y".repeat(2_000_000)).into_bytes(),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
    ] {
        // The HTTP library answers these itself, without a body, before any of our code sees them.
        if let Some(answer) = server.send_raw(bytes).await {
            assert!((400..500).contains(&answer.status), "{answer:?}");
        }
    }
    assert_eq!(server.newest_seq().await, before);
    still_alive(&server).await;
}

#[tokio::test]
async fn ids_in_paths_that_are_none_are_not_found() {
    let server = Server::start().await;
    let long = "a".repeat(5000);
    for wrong in ["0", "act_", "%00", "%ff", "%2e%2e", "act_%0d%0aX-Evil:1", "*", long.as_str()] {
        for (path, token) in
            [(format!("/v1/actions/{wrong}"), &server.ann), (format!("/v1/batches/{wrong}"), &server.ann)]
        {
            refused(&server, &path, Request::get(&path).by(token)).await.problem(404, "not_found");
        }
        for (path, token) in [
            (format!("/v1/actions/{wrong}/decision"), &server.ann),
            (format!("/v1/actions/{wrong}/claim"), &server.riley),
            (format!("/v1/actions/{wrong}/outcome"), &server.riley),
            (format!("/v1/actions/{wrong}/cancel"), &server.riley),
            (format!("/v1/batches/{wrong}/decision"), &server.ann),
        ] {
            let request = Request::post(&path, &json!({})).by(token);
            refused(&server, &path, request).await.problem(404, "not_found");
        }
        for path in [format!("/v1/grants/{wrong}"), format!("/v1/freezes/{wrong}")] {
            refused(&server, &path, Request::delete(&path).by(&server.ann)).await.problem(404, "not_found");
        }
    }
    let action = server.propose("send_email", json!({})).await;
    let other_kind = format!("/v1/batches/{}", id(&action));
    refused(&server, "an action", Request::get(other_kind).by(&server.ann)).await.problem(404, "not_found");
}
