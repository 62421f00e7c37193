//! What the server says about itself: `/health`, `/ready`, `/.well-known/jwks.json`, and what is nowhere.

use serde_json::json;

use crate::client::{Request, connect};
use crate::server::Server;

#[tokio::test]
async fn it_lives_and_serves() {
    let server = Server::start().await;
    assert_eq!(server.send(Request::get("/health")).await.ok(200)["status"], "ok");
    assert_eq!(server.send(Request::get("/ready")).await.ok(200), json!({"status": "ready"}));
}

#[tokio::test]
async fn the_published_key_is_public_only() {
    let server = Server::start().await;
    let keys = server.send(Request::get("/.well-known/jwks.json")).await.ok(200);
    let key = keys["keys"][0].as_object().unwrap();
    let members: Vec<_> = key.keys().map(String::as_str).collect();
    assert_eq!(members, ["alg", "crv", "kid", "kty", "use", "x"]);
}

#[tokio::test]
async fn what_is_nowhere_is_not_found() {
    let server = Server::start().await;
    for path in ["/v1", "/v1/", "/v1/actions/", "/v2/actions", "/v1/actions/a/b/c", "/.env", "//", "/%00"] {
        server.send(Request::get(path)).await.problem(404, "not_found");
    }
}

#[tokio::test]
async fn other_methods_are_refused_and_the_right_ones_named() {
    let server = Server::start().await;
    for (method, path, allowed) in [
        ("DELETE", "/v1/actions", "POST,GET,HEAD"),
        ("PUT", "/v1/actions/x", "GET,HEAD"),
        ("GET", "/v1/actions/x/claim", "POST"),
        ("PATCH", "/v1/mode", "GET,HEAD,POST"),
        ("OPTIONS", "/v1/actions", "POST,GET,HEAD"),
        ("TRACE", "/health", "GET,HEAD"),
    ] {
        let answer = server.send(Request::new(method, path).by(&server.ada)).await;
        answer.problem(405, "method_not_allowed");
        let mut named: Vec<_> = answer.header("allow").unwrap().split(',').map(str::trim).collect();
        let mut expected: Vec<_> = allowed.split(',').collect();
        named.sort_unstable();
        expected.sort_unstable();
        assert_eq!(named, expected, "{method} {path}");
    }
}

#[tokio::test]
async fn a_head_request_is_answered_like_the_get_without_its_body() {
    let server = Server::start().await;
    let request = Request::new("HEAD", "/v1/mode").by(&server.ann);
    let mut inbound = connect(server.address, request.to_bytes(&server.address.to_string())).await;
    let head = inbound.head().await.unwrap();
    assert_eq!((head.status, head.header("content-type")), (200, Some("application/json")));
    let request = Request::new("HEAD", "/v1/mode");
    let mut inbound = connect(server.address, request.to_bytes(&server.address.to_string())).await;
    assert_eq!(inbound.head().await.unwrap().status, 401);
}
