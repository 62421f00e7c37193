//! `POST /v1/actions/{id}/cancel`

use std::time::Duration;

use serde_json::json;

use crate::client::Request;
use crate::server::{Server, id};

#[tokio::test]
async fn an_agent_withdraws_its_question() {
    let server = Server::start().await;
    let action = server.propose("send_email", json!({})).await;
    let cancelled = server.cancel(&server.riley, &action, json!({"reason": "changed plans"})).await.ok(200);
    assert_eq!(cancelled["status"], "cancelled");
    assert_eq!(cancelled["resolution"]["by"], "riley");
    assert_eq!(cancelled["resolution"]["reason"], "changed plans");
    let late = server.decide(&server.ann, &action, json!({"decision": "approve"})).await;
    assert_eq!(late.problem(409, "already_decided")["decided_by"], "riley");
    server.claim(&server.riley, &action).await.problem(403, "not_authorised");
}

#[tokio::test]
async fn a_body_is_not_needed() {
    let server = Server::start().await;
    let action = server.propose("send_email", json!({})).await;
    let path = format!("/v1/actions/{}/cancel", id(&action));
    server.send(Request::new("POST", path).by(&server.riley)).await.ok(200);
}

#[tokio::test]
async fn a_reviewer_takes_an_unused_authorisation_back() {
    let server = Server::start().await;
    let action = server.propose("send_email", json!({})).await;
    server.approve(&server.ann, &action).await;
    let revoked = server.cancel(&server.ben, &action, json!({"reason": "second thoughts"})).await.ok(200);
    assert_eq!((&revoked["status"], &revoked["resolution"]["by"]), (&json!("revoked"), &json!("ben")));
    server.claim(&server.riley, &action).await.problem(403, "not_authorised");
}

#[tokio::test]
async fn what_is_too_late_to_stop_says_why() {
    let server = Server::start().await;
    let running = server.propose("read_file", json!({"n": 1})).await;
    server.claim(&server.riley, &running).await.ok(200);
    server.cancel(&server.riley, &running, json!({})).await.problem(409, "already_claimed");

    let denied = server.propose("send_email", json!({"n": 2})).await;
    server.decide(&server.ann, &denied, json!({"decision": "deny"})).await.ok(200);
    server.cancel(&server.riley, &denied, json!({})).await.problem(409, "already_decided");

    let expired = server.propose("send_email", json!({"n": 3})).await;
    let lapsed = server.propose("read_file", json!({"n": 4})).await;
    server.jump(Duration::from_secs(3600));
    server.cancel(&server.riley, &expired, json!({})).await.problem(409, "expired");
    // Which of the two depends on whether the timekeeper has been there yet.
    let problem = server.cancel(&server.riley, &lapsed, json!({})).await.any_problem();
    assert_eq!(problem["code"], "lapsed", "{problem}");
    server.pass(Duration::ZERO).await;
    server.cancel(&server.riley, &expired, json!({})).await.problem(409, "expired");
    assert_eq!(server.show(&server.riley, &running).await["status"], "unknown");
}
