//! What no client of good will sends: always a problem document, nothing stored, and the server goes on.

mod body;
mod transport;

use serde_json::json;

use crate::client::{Request, Response};
use crate::server::Server;

/// Sends what is wrong in some way, and makes sure that it changed nothing and broke nothing.
async fn refused(server: &Server, what: &str, request: Request) -> Response {
    let before = server.newest_seq().await;
    let answer = server.send(request).await;
    println!("{what}: {} {}", answer.status, String::from_utf8_lossy(&answer.body));
    answer.any_problem();
    assert_eq!(server.newest_seq().await, before, "{what}");
    answer
}

/// The server still does what it is for.
async fn still_alive(server: &Server) {
    let action = server.propose("send_email", json!({"still": "alive"})).await;
    server.approve(&server.ann, &action).await;
    server.claim(&server.riley, &action).await.ok(200);
}
