//! `/v1/delegations`

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Request, Response};
use crate::server::{Server, id};

async fn delegate(server: &Server, by: &str, body: Value) -> Response {
    server.send(Request::post("/v1/delegations", &body).by(by)).await
}

async fn delegations(server: &Server) -> Vec<Value> {
    let list = server.send(Request::get("/v1/delegations").by(&server.ann)).await.ok(200);
    list["items"].as_array().unwrap().clone()
}

/// Ben is of finance; Ann is not.
#[tokio::test]
async fn a_delegate_decides_until_it_is_revoked_and_the_vote_says_for_whom() {
    let server = Server::start().await;
    let approve = || json!({"decision": "approve"});
    let first = server.propose("pay", json!({"amount": 1})).await;
    server.decide(&server.ann, &first, approve()).await.problem(403, "missing_role");
    let made =
        delegate(&server, &server.ben, json!({"to": "ann", "for_seconds": 3600, "reason": "away"})).await;
    let made = made.ok(201);
    assert_eq!((&made["from"], &made["to"], &made["by"]), (&json!("ben"), &json!("ann"), &json!("ben")));
    assert_eq!(delegations(&server).await, std::slice::from_ref(&made));
    let decided = server.decide(&server.ann, &first, approve()).await.ok(200);
    assert_eq!(decided["status"], "authorised");
    let acting = &decided["votes"][0]["acting"][0];
    assert_eq!((&acting["role"], &acting["on_behalf_of"]), (&json!("finance"), &json!("ben")));
    assert_eq!(acting["delegation"], made["id"]);

    let second = server.propose("pay", json!({"amount": 2})).await;
    let revoke = |by: &str| Request::delete(format!("/v1/delegations/{}", id(&made))).by(by);
    server.send(revoke(&server.olga)).await.problem(403, "not_yours");
    server.send(revoke(&server.ben)).await.ok(204);
    server.send(revoke(&server.ben)).await.problem(404, "not_found");
    server.decide(&server.ann, &second, approve()).await.problem(403, "missing_role");
    let audit = server.send(Request::get("/v1/audit?type=delegated").by(&server.ann)).await.ok(200);
    assert_eq!(audit["items"][0]["event"]["delegation"]["reason"], "away");
}

#[tokio::test]
async fn a_delegation_ends_by_itself() {
    let server = Server::start().await;
    delegate(&server, &server.ben, json!({"to": "ann", "for_seconds": 60})).await.ok(201);
    server.jump(Duration::from_secs(61));
    assert_eq!(delegations(&server).await, Vec::<Value>::new());
    let action = server.propose("pay", json!({})).await;
    let decision = server.decide(&server.ann, &action, json!({"decision": "approve"})).await;
    decision.problem(403, "missing_role");
}

#[tokio::test]
async fn what_cannot_be_lent_is_refused_and_changes_nothing() {
    let server = Server::start().await;
    let before = server.newest_seq().await;
    let hour = 3_600;
    for (by, body, status, code) in [
        (&server.ben, json!({"to": "ann"}), 422, "invalid_request"),
        (&server.ben, json!({"to": "ben", "for_seconds": hour}), 422, "invalid_request"),
        (&server.ben, json!({"to": "riley", "for_seconds": hour}), 422, "invalid_request"),
        (&server.ben, json!({"to": "ann", "for_seconds": 0}), 422, "invalid_request"),
        (&server.ben, json!({"to": "ann", "for_seconds": hour, "force": true}), 422, "invalid_request"),
        (&server.ben, json!({"to": "ann", "ends_at": "yesterday"}), 422, "invalid_request"),
        (&server.ben, json!({"to": "ann", "ends_at": "2020-01-01T00:00:00Z"}), 422, "invalid_request"),
        (&server.ben, json!({"to": "ann", "roles": ["vault"], "for_seconds": hour}), 403, "missing_role"),
        (&server.ann, json!({"to": "olga", "from": "ben", "for_seconds": hour}), 403, "not_yours"),
        (&server.ada, json!({"to": "ada", "from": "ben", "for_seconds": hour}), 403, "not_yours"),
    ] {
        delegate(&server, by, body).await.problem(status, code);
    }
    assert_eq!(server.newest_seq().await, before);
    delegate(&server, &server.ada, json!({"to": "ann", "from": "ben", "for_seconds": hour})).await.ok(201);
}
