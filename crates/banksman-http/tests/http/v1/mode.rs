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
    for body in [
        json!({}),
        json!({"mode": "Lab"}),
        json!({"mode": 1}),
        json!({"mode": "shadow", "force": true}),
        json!({"mode": "shadow", "reason": 1}),
    ] {
        let answer = server.send(Request::post("/v1/mode", &body).by(&server.ada)).await;
        answer.problem(422, "invalid_request");
    }
    assert_eq!(server.newest_seq().await, before);
}

#[tokio::test]
async fn only_administrators_change_the_mode_unless_policy_says_otherwise() {
    let server = Server::start().await;
    let by_ben = || Request::post("/v1/mode", &json!({"mode": "shadow", "reason": "drill"})).by(&server.ben);
    server.send(by_ben()).await.problem(403, "not_yours");
    load(&server, "modes: {change_to: {shadow: {roles: [finance], require_reason: true}}}\n").await;
    change(&server, "shadow").await.problem(403, "missing_role");
    let silent = Request::post("/v1/mode", &json!({"mode": "shadow"})).by(&server.ben);
    server.send(silent).await.problem(422, "reason_required");
    assert_eq!(server.send(by_ben()).await.ok(200), json!({"mode": "shadow"}));
    let audit = server.send(Request::get("/v1/audit?type=mode_changed").by(&server.ann)).await.ok(200);
    assert_eq!(audit["items"][0]["event"]["reason"], "drill");
}

#[tokio::test]
async fn any_reviewer_can_call_a_fallback_and_the_mode_says_so() {
    let server = Server::start().await;
    let call = |reason: &str| Request::post("/v1/mode/fallback", &json!({"reason": reason})).by(&server.ann);
    server.send(call("")).await.problem(422, "reason_required");
    let fallen = json!({"mode": "shadow", "fell_back_from": "production"});
    assert_eq!(server.send(call("odd numbers")).await.ok(200), fallen);
    assert_eq!(server.send(Request::get("/v1/mode").by(&server.riley)).await.ok(200), fallen);
    assert_eq!(change(&server, "production").await.ok(200), json!({"mode": "production"}));
}

#[tokio::test]
async fn a_policy_that_observes_says_so_and_what_it_let_through_can_be_listed() {
    let server = Server::start().await;
    load(
        &server,
        "tools: {mail: {tier: approve}, wipe: {tier: block}}\nenforcement: observe\nsolo_operator: olga\n",
    )
    .await;
    let mode = server.send(Request::get("/v1/mode").by(&server.riley)).await.ok(200);
    assert_eq!(mode, json!({"mode": "production", "observes": true, "solo_operator": "olga"}));
    let mail = server.propose("mail", json!({})).await;
    assert_eq!((&mail["status"], &mail["observed"]), (&json!("authorised"), &json!(true)));
    assert_eq!(
        (&mail["verdict"]["tier"], &mail["resolution"]["by"]),
        (&json!("approve"), &json!("observation"))
    );
    let wipe = Request::post("/v1/actions", &json!({"tool": "wipe", "args": {}})).by(&server.riley);
    server.send(wipe).await.problem(403, "blocked");
    let listed = server.send(Request::get("/v1/audit?observed=true").by(&server.ann)).await.ok(200);
    let items = listed["items"].as_array().unwrap();
    assert_eq!(items.len(), 1);
    assert_eq!(items[0]["event"]["action"]["id"], mail["id"]);
    let odd = Request::get("/v1/audit?observed=perhaps").by(&server.ann);
    server.send(odd).await.problem(422, "invalid_request");
}

async fn load(server: &Server, text: &str) {
    let policy = banksman_policy::Policy::parse("policy.yaml", &format!("version: 1\n{text}")).unwrap();
    server.engine.load_policy(std::sync::Arc::new(policy), "test").await.unwrap();
}
