//! `POST /v1/actions/{id}/outcome`

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::Request;
use crate::server::{Server, id};

/// An action that riley has claimed.
async fn claimed(server: &Server, args: Value) -> Value {
    let action = server.propose("read_file", args).await;
    server.claim(&server.riley, &action).await.ok(200);
    action
}

#[tokio::test]
async fn an_outcome_is_recorded_with_what_came_out() {
    let server = Server::start().await;
    let action = claimed(&server, json!({"n": 1})).await;
    let body = json!({"status": "succeeded", "result": {"lines": 3}});
    let done = server.outcome(&server.riley, &action, body).await.ok(200);
    assert_eq!(done["status"], "succeeded");
    assert_eq!(done["outcome"]["result"], json!({"lines": 3}));

    let action = claimed(&server, json!({"n": 2})).await;
    let body = json!({"status": "failed", "error": "no such file", "result": {"lines": 0}});
    let done = server.outcome(&server.riley, &action, body).await.ok(200);
    assert_eq!(done["status"], "failed");
    assert_eq!(done["outcome"]["error"], "no such file");
    assert_eq!(server.show(&server.ann, &action).await["outcome"], done["outcome"]);
}

#[tokio::test]
async fn a_result_may_be_any_json() {
    let server = Server::start().await;
    for (n, result) in [json!([1, 2]), json!("text"), json!(4), json!(false)].into_iter().enumerate() {
        let action = claimed(&server, json!({"n": n})).await;
        let body = json!({"status": "succeeded", "result": result});
        let request = Request::post(format!("/v1/actions/{}/outcome", id(&action)), &body).by(&server.riley);
        let done = server.send(request).await.ok(200);
        assert_eq!(done["outcome"]["result"], result);
    }
}

#[tokio::test]
async fn saying_it_again_changes_nothing_and_is_no_error() {
    let server = Server::start().await;
    let action = claimed(&server, json!({})).await;
    let body = json!({"status": "succeeded", "result": {"lines": 3}});
    let first = server.outcome(&server.riley, &action, body.clone()).await.ok(200);
    let before = server.newest_seq().await;
    assert_eq!(server.outcome(&server.riley, &action, body).await.ok(200), first);
    let opposite = json!({"status": "failed", "error": "after all"});
    let problem = server.outcome(&server.riley, &action, opposite).await.problem(409, "already_recorded");
    assert_eq!(problem["action_status"], "succeeded");
    assert_eq!(server.newest_seq().await, before);
    assert_eq!(server.show(&server.riley, &action).await, first);
}

#[tokio::test]
async fn there_is_nothing_to_report_about_what_never_ran() {
    let server = Server::start().await;
    let authorised = server.propose("read_file", json!({})).await;
    let pending = server.propose("send_email", json!({})).await;
    for action in [&authorised, &pending] {
        let answer = server.outcome(&server.riley, action, json!({"status": "succeeded"})).await;
        answer.problem(409, "not_claimed");
    }
}

#[tokio::test]
async fn an_outcome_that_makes_no_sense_is_refused() {
    let server = Server::start().await;
    let action = claimed(&server, json!({})).await;
    for body in [
        json!({}),
        json!({"status": "unknown"}),
        json!({"status": "pending"}),
        json!({"status": "succeeded", "error": "but"}),
        json!({"status": "failed", "error": {"code": 1}}),
        json!({"status": "succeeded", "digest": "x"}),
    ] {
        server.outcome(&server.riley, &action, body).await.problem(422, "invalid_request");
    }
    assert_eq!(server.show(&server.riley, &action).await["status"], "executing");
}

#[tokio::test]
async fn silence_beyond_the_lease_is_unknown_and_a_late_word_still_counts() {
    let server = Server::start().await;
    let action = claimed(&server, json!({})).await;
    server.pass(Duration::from_secs(600)).await;
    let shown = server.show(&server.riley, &action).await;
    assert_eq!((&shown["status"], &shown["outcome"]["status"]), (&json!("unknown"), &json!("unknown")));
    let done = server.outcome(&server.riley, &action, json!({"status": "succeeded"})).await.ok(200);
    assert_eq!(done["status"], "succeeded");
}
