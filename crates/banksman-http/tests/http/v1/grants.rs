//! `/v1/grants`

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Request, Response};
use crate::server::{Server, id};

async fn grant(server: &Server, body: Value) -> Response {
    server.send(Request::post("/v1/grants", &body).by(&server.ann)).await
}

async fn grants(server: &Server) -> Vec<Value> {
    let list = server.send(Request::get("/v1/grants").by(&server.ann)).await.ok(200);
    list["items"].as_array().unwrap().clone()
}

/// How a proposal of riley's fares.
async fn status(server: &Server, tool: &str, more: Value) -> String {
    let mut body = json!({"tool": tool, "args": {}});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let action = server.propose_as(&server.riley, body).await;
    let status = action["status"].as_str().unwrap().to_owned();
    // Out of the way of the next one.
    server.cancel(&server.riley, &action, json!({})).await.ok(200);
    status
}

#[tokio::test]
async fn a_grant_stands_in_for_an_approval_until_it_is_revoked() {
    let server = Server::start().await;
    assert_eq!(status(&server, "run_tests", json!({})).await, "pending");
    let body = json!({"agent": "riley", "tool": "run_tests", "expires_in_seconds": 60});
    let granted = grant(&server, body).await.ok(201);
    assert_eq!((&granted["by"], &granted["match"]), (&json!("ann"), &json!("tool")));
    assert_eq!(grants(&server).await, std::slice::from_ref(&granted));
    assert_eq!(status(&server, "run_tests", json!({})).await, "authorised");
    let through = server.propose("run_tests", json!({"n": 1})).await;
    assert_eq!(
        (&through["resolution"]["by"], &through["resolution"]["reason"]),
        (&json!("grant"), &granted["id"])
    );

    let revoke = || Request::delete(format!("/v1/grants/{}", id(&granted))).by(&server.ben);
    server.send(revoke()).await.ok(204);
    server.send(revoke()).await.problem(404, "not_found");
    assert_eq!(grants(&server).await, Vec::<Value>::new());
    assert_eq!(status(&server, "run_tests", json!({})).await, "pending");
}

#[tokio::test]
async fn a_grant_reaches_no_further_than_it_says() {
    let server = Server::start().await;
    let body = json!({"agent": "riley", "tool": "run_tests", "session": "monday", "expires_in_seconds": 60});
    grant(&server, body).await.ok(201);
    assert_eq!(status(&server, "run_tests", json!({"session": "monday"})).await, "authorised");
    assert_eq!(status(&server, "run_tests", json!({"session": "tuesday"})).await, "pending");
    assert_eq!(status(&server, "run_tests", json!({})).await, "pending");
    let sams = json!({"tool": "run_tests", "args": {}, "session": "monday"});
    assert_eq!(server.propose_as(&server.sam, sams).await["status"], "pending");
    server.jump(Duration::from_secs(60));
    assert_eq!(status(&server, "run_tests", json!({"session": "monday"})).await, "pending");
}

#[tokio::test]
async fn a_grant_for_one_call_covers_that_call() {
    let server = Server::start().await;
    let action = server.propose("run_tests", json!({"n": 1})).await;
    let body =
        json!({"agent": "riley", "tool": "run_tests", "digest": action["digest"], "expires_in_seconds": 60});
    assert_eq!(grant(&server, body).await.ok(201)["match"], "exact");
    server.cancel(&server.riley, &action, json!({})).await.ok(200);
    assert_eq!(server.propose("run_tests", json!({"n": 1})).await["status"], "authorised");
    assert_eq!(server.propose("run_tests", json!({"n": 2})).await["status"], "pending");
}

#[tokio::test]
async fn no_grant_overrides_policy() {
    let server = Server::start().await;
    for tool in ["send_email", "pay", "delete_customer", "drop_database"] {
        let body = json!({"agent": "riley", "tool": tool, "expires_in_seconds": 60});
        grant(&server, body).await.problem(422, "remember_not_allowed");
        // Of one call it is not known beforehand what policy will say.
        let exact = server.propose_as(&server.sam, json!({"tool": "run_tests", "args": {}})).await;
        let body =
            json!({"agent": "riley", "tool": tool, "digest": exact["digest"], "expires_in_seconds": 60});
        grant(&server, body).await.ok(201);
    }
    for tool in ["send_email", "pay", "delete_customer"] {
        assert_eq!(status(&server, tool, json!({})).await, "pending", "{tool}");
    }
    let blocked =
        Request::post("/v1/actions", &json!({"tool": "drop_database", "args": {}})).by(&server.riley);
    server.send(blocked).await.problem(403, "blocked");
}

#[tokio::test]
async fn a_grant_that_makes_no_sense_is_refused() {
    let server = Server::start().await;
    let before = server.newest_seq().await;
    for body in [
        json!({}),
        json!({"agent": "riley", "tool": "run_tests"}),
        json!({"agent": "riley", "tool": "run_tests", "expires_in_seconds": 0}),
        json!({"agent": "riley", "tool": "run_tests", "expires_in_seconds": 90 * 24 * 3600 + 1}),
        json!({"agent": "riley", "tool": "run_tests", "expires_in_seconds": -1}),
        json!({"agent": "riley", "tool": "run_tests", "expires_in_seconds": 1e30}),
        json!({"agent": " ", "tool": "run_tests", "expires_in_seconds": 60}),
        json!({"agent": "riley", "tool": "", "expires_in_seconds": 60}),
        json!({"agent": "ann", "tool": "run_tests", "expires_in_seconds": 60}),
        json!({"agent": "riley", "tool": "run_tests", "expires_in_seconds": 60, "digest": "x"}),
        json!({"agent": "riley", "tool": "run_tests", "expires_in_seconds": 60, "tier": "block"}),
    ] {
        grant(&server, body).await.problem(422, "invalid_request");
    }
    assert_eq!(server.newest_seq().await, before);
    let wrong = Request::delete("/v1/grants/frz_01J9ZKQ7V8Y3F5T2M6N4P0R1SB").by(&server.ann);
    server.send(wrong).await.problem(404, "not_found");
}

#[tokio::test]
async fn a_grant_can_be_for_arguments_of_a_kind_and_for_so_many_calls() {
    let server = Server::start().await;
    let body = json!({
        "agent": "riley", "tool": "run_tests", "args": {"path": "tests/*"}, "uses": 2, "expires_in_seconds": 60,
    });
    let granted = grant(&server, body).await.ok(201);
    assert_eq!((&granted["match"], &granted["uses_left"]), (&json!("args"), &json!(2)));
    let run = |args: Value| status(&server, "run_tests", json!({"args": args}));
    assert_eq!(run(json!({"path": "src/a"})).await, "pending");
    assert_eq!(run(json!({"path": "tests/a", "force": true})).await, "pending");
    assert_eq!(run(json!({"path": "tests/a"})).await, "authorised");
    assert_eq!(grants(&server).await[0]["uses_left"], 1);
    assert_eq!(run(json!({"path": "tests/b"})).await, "authorised");
    assert_eq!(run(json!({"path": "tests/c"})).await, "pending");
    assert_eq!(grants(&server).await, Vec::<Value>::new());
    let own = json!({"agent": "riley", "tool": "run_tests", "expires_in_seconds": 60});
    server.send(Request::post("/v1/grants", &own).by(&server.olga)).await.problem(422, "invalid_request");
}
