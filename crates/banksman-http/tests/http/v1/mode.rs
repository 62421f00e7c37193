//! `/v1/mode`

use serde_json::json;

use crate::client::{Request, Response};
use crate::server::Server;

async fn change(server: &Server, to: &str) -> Response {
    server.send(Request::post("/v1/mode", &json!({"mode": to})).by(&server.ada)).await
}

#[tokio::test]
async fn the_mode_changes_one_step_at_a_time() {
    let server = Server::start().await;
    let now = || server.send(Request::get("/v1/mode").by(&server.riley));
    assert_eq!(now().await.ok(200), json!({"mode": "production"}));
    change(&server, "lab").await.problem(409, "illegal_mode_change");
    assert_eq!(change(&server, "shadow").await.ok(200), json!({"mode": "shadow"}));
    change(&server, "lab").await.ok(200);
    change(&server, "production").await.problem(409, "illegal_mode_change");
    assert_eq!(now().await.ok(200), json!({"mode": "lab"}));
}

#[tokio::test]
async fn a_mode_that_is_none_is_refused() {
    let server = Server::start().await;
    let before = server.newest_seq().await;
    for body in
        [json!({}), json!({"mode": "Lab"}), json!({"mode": 1}), json!({"mode": "shadow", "force": true})]
    {
        let answer = server.send(Request::post("/v1/mode", &body).by(&server.ada)).await;
        answer.problem(422, "invalid_request");
    }
    assert_eq!(server.newest_seq().await, before);
}
