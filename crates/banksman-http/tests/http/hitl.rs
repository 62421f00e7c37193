//! `/hitl`: the same actions in harombe's words.

use serde_json::{Value, json};

use crate::client::{Request, Response};
use crate::server::{Server, id};

async fn decide(server: &Server, reviewer: &str, action: &Value, body: Value) -> Response {
    server.send(Request::post(format!("/hitl/decide/{}", id(action)), &body).by(reviewer)).await
}

async fn pending(server: &Server, query: &str) -> Value {
    server.send(Request::get(format!("/hitl/pending{query}")).by(&server.ann)).await.ok(200)
}

#[tokio::test]
async fn nobody_approves_an_edit_that_they_never_saw() {
    let server = Server::start().await;
    let action = server.propose("delete_customer", json!({"id": 1})).await;
    let edit = json!({"decision": "modify", "args": {"id": 2}});
    server.decide(&server.ben, &action, edit).await.ok(200);
    let stale = decide(&server, &server.ann, &action, json!({"decision": "approve"})).await;
    let problem = stale.problem(409, "stale_version");
    assert_eq!(problem["current_version"], 2);
    assert!(problem["detail"].as_str().unwrap().contains("`version`"), "{problem}");
    let first = json!({"decision": "approve", "version": 1});
    decide(&server, &server.ann, &action, first).await.problem(409, "stale_version");
    assert_eq!(server.show(&server.riley, &action).await["status"], "pending");
    let seen = json!({"decision": "approve", "version": 2});
    assert_eq!(decide(&server, &server.ann, &action, seen).await.ok(200)["status"], "approved");
}

#[tokio::test]
async fn what_has_no_word_here_is_sent_elsewhere() {
    let server = Server::start().await;
    let action = server.propose("send_email", json!({})).await;
    for decision in ["modify", "respond"] {
        let refused = decide(&server, &server.ann, &action, json!({"decision": decision})).await;
        let problem = refused.problem(422, "invalid_request");
        assert!(problem["detail"].as_str().unwrap().contains("/v1/actions/{id}/decision"), "{problem}");
    }
    decide(&server, &server.ann, &action, json!({"decision": "maybe"})).await.problem(422, "invalid_request");
    let denied =
        decide(&server, &server.ann, &action, json!({"decision": "deny", "reason": "no"})).await.ok(200);
    assert_eq!((&denied["status"], &denied["denied_by"]), (&json!("denied"), &json!("ann")));
}

#[tokio::test]
async fn the_list_says_how_many_wait_and_goes_on() {
    let server = Server::start().await;
    let mut proposed = Vec::new();
    for n in 0..4 {
        proposed.push(id(&server.propose("send_email", json!({"n": n})).await).to_owned());
    }
    let mut seen: Vec<String> = Vec::new();
    let mut query = "?limit=2".to_owned();
    loop {
        let page = pending(&server, &query).await;
        assert_eq!(page["count"], 4);
        let ids = page["pending"].as_array().unwrap().iter();
        seen.extend(ids.map(|item| item["approval_id"].as_str().unwrap().to_owned()));
        match page.get("next_cursor") {
            Some(cursor) => query = format!("?limit=2&cursor={}", cursor.as_str().unwrap()),
            None => break,
        }
    }
    assert_eq!(seen.len(), 4, "each once, and no empty page: {seen:?}");
    seen.sort();
    proposed.sort();
    assert_eq!(seen, proposed);
    assert_eq!(pending(&server, "").await["pending"].as_array().unwrap().len(), 4);
    let absurd = server.send(Request::get("/hitl/pending?limit=501").by(&server.ann)).await;
    absurd.problem(422, "invalid_request");
}

#[tokio::test]
async fn who_approved_is_named() {
    let server = Server::start().await;
    let action = server.propose("delete_customer", json!({})).await;
    for reviewer in [&server.ann, &server.ben] {
        decide(&server, reviewer, &action, json!({"decision": "approve"})).await.ok(200);
    }
    let path = format!("/hitl/pending/{}", id(&action));
    let shown = server.send(Request::get(path).by(&server.riley)).await.ok(200);
    assert_eq!((&shown["status"], &shown["decided_by"]), (&json!("approved"), &json!("ann, ben")));
}

#[tokio::test]
async fn a_reviewer_gets_no_result_that_is_redacted_for_them() {
    let server = Server::start().await;
    let action = server.propose("charge_card", json!({"card": "4111-1111"})).await;
    server.approve(&server.ann, &action).await;
    server.claim(&server.riley, &action).await.ok(200);
    let result = json!({"content": [{"type": "text", "text": "charged 4111-1111"}], "card": "4111-1111"});
    server.outcome(&server.riley, &action, json!({"status": "succeeded", "result": result})).await.ok(200);
    let path = format!("/hitl/result/{}", id(&action));
    let seen = server.send(Request::get(path.clone()).by(&server.ann)).await;
    assert!(!seen.text().contains("4111-1111") && seen.text().contains("[redacted]"), "{}", seen.text());
    assert!(server.send(Request::get(path).by(&server.riley)).await.text().contains("4111-1111"));
}
