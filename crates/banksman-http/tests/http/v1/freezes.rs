//! `/v1/freezes`

use serde_json::{Value, json};

use crate::client::{Request, Response};
use crate::server::{Server, id};

async fn freeze(server: &Server, body: Value) -> Response {
    server.send(Request::post("/v1/freezes", &body).by(&server.ann)).await
}

async fn lift(server: &Server, freeze: &Value) -> Response {
    server.send(Request::delete(format!("/v1/freezes/{}", id(freeze))).by(&server.ben)).await
}

#[tokio::test]
async fn a_freeze_holds_for_what_it_names_and_until_it_is_lifted() {
    let server = Server::start().await;
    for (body, scope, name) in [
        (json!({"agent": "riley", "reason": "odd"}), "agent", json!("riley")),
        (json!({"tool": "read_file"}), "tool", json!("read_file")),
        (json!({"everything": true}), "everything", json!(null)),
    ] {
        let frozen = freeze(&server, body).await.ok(201);
        assert_eq!((&frozen["scope"], &frozen["name"]), (&json!(scope), &name));
        assert_eq!(frozen["by"], "ann");
        let list = server.send(Request::get("/v1/freezes").by(&server.ben)).await.ok(200);
        assert_eq!(list["items"], json!([frozen]));

        let proposal =
            Request::post("/v1/actions", &json!({"tool": "read_file", "args": {}})).by(&server.riley);
        let refused = server.send(proposal.clone()).await.problem(403, "blocked");
        assert!(refused["detail"].as_str().unwrap().contains("frozen"), "{refused}");
        lift(&server, &frozen).await.ok(204);
        lift(&server, &frozen).await.problem(404, "not_found");
        server.send(proposal).await.ok(200);
    }
}

#[tokio::test]
async fn others_go_on() {
    let server = Server::start().await;
    freeze(&server, json!({"agent": "sam"})).await.ok(201);
    freeze(&server, json!({"tool": "post_note"})).await.ok(201);
    assert_eq!(server.propose("read_file", json!({})).await["status"], "authorised");
}

#[tokio::test]
async fn what_is_frozen_is_not_approved_but_may_be_denied() {
    let server = Server::start().await;
    let action = server.propose("send_email", json!({})).await;
    let frozen = freeze(&server, json!({"everything": true, "reason": "incident 7"})).await.ok(201);
    for decision in [json!({"decision": "approve"}), json!({"decision": "modify", "args": {"x": 1}})] {
        let problem = server.decide(&server.ann, &action, decision).await.problem(409, "frozen");
        assert!(problem["detail"].as_str().unwrap().contains("incident 7"), "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains(id(&frozen)), "{problem}");
    }
    server.decide(&server.ann, &action, json!({"decision": "deny"})).await.ok(200);
}

#[tokio::test]
async fn a_freeze_says_exactly_one_thing() {
    let server = Server::start().await;
    let before = server.newest_seq().await;
    for body in [
        json!({}),
        json!({"everything": false}),
        json!({"everything": true, "agent": "riley"}),
        json!({"agent": "riley", "tool": "read_file"}),
        json!({"agent": 7}),
        json!({"agent": ""}),
        json!({"tool": " "}),
        json!({"everything": "yes"}),
        json!({"scope": "everything"}),
    ] {
        freeze(&server, body).await.problem(422, "invalid_request");
    }
    server.send(Request::new("POST", "/v1/freezes").by(&server.ann)).await.problem(422, "invalid_request");
    assert_eq!(server.newest_seq().await, before);
}

#[tokio::test]
async fn the_log_says_which_freeze_stopped_a_proposal() {
    let server = Server::start().await;
    let frozen = freeze(&server, json!({"everything": true, "reason": "incident 7"})).await.ok(201);
    let proposal =
        |tool: &str| Request::post("/v1/actions", &json!({"tool": tool, "args": {}})).by(&server.riley);
    server.send(proposal("send_email")).await.problem(403, "blocked");
    server.send(proposal("drop_database")).await.problem(403, "blocked");
    let log = server.send(Request::get("/v1/audit?type=proposed").by(&server.ann)).await.ok(200);
    let stopped = |item: usize| log["items"][item]["event"].get("freeze");
    assert_eq!(stopped(0), None, "policy blocks it, frozen or not");
    assert_eq!(stopped(1), Some(&json!({"id": frozen["id"], "reason": "incident 7"})));
}
