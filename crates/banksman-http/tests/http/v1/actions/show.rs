//! `GET /v1/actions/{id}`

use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::Request;
use crate::server::{Server, id};

#[tokio::test]
async fn everything_the_agent_said_is_shown_as_it_said_it() {
    let server = Server::start().await;
    let body = json!({
        "tool": "send_email", "kind": "tool", "args": {"to": "ada"}, "description": "d", "rationale": "r",
        "evidence": {"log": ["line"]}, "session": "s", "thread": "t", "task": "k", "action_type": "mail",
        "predicted_severity": "S2", "estimate": {"cost_usd": 0.5, "duration_ms": 20},
        "affected_systems": ["mail"], "reversible": false, "rollback_plan": "none",
        "args_schema": {"type": "object"}, "state_before": {"sent": 0}, "preconditions": {"sent": 0},
        "checkpoint": {"step": 3}, "timeout_seconds": 60,
        "annotations": {"destructiveHint": true, "openWorldHint": false},
    });
    let proposed = server.propose_as(&server.riley, body.clone()).await;
    let shown = server.show(&server.riley, &proposed).await;
    for member in [
        "description",
        "rationale",
        "evidence",
        "session",
        "thread",
        "task",
        "action_type",
        "predicted_severity",
        "affected_systems",
        "reversible",
        "rollback_plan",
        "args_schema",
        "state_before",
        "preconditions",
        "annotations",
    ] {
        assert_eq!(shown["context"][member], body[member], "{member}");
    }
    assert_eq!(shown["context"]["estimated_cost_usd"], 0.5);
    assert_eq!(shown["context"]["estimated_duration_ms"], 20);
    assert_eq!(shown["checkpoint"], body["checkpoint"]);
    assert_eq!(shown["args"], body["args"]);
    assert_eq!(server.show(&server.ann, &proposed).await, shown);
}

#[tokio::test]
async fn what_the_agent_calls_state_may_be_any_json() {
    let server = Server::start().await;
    for (n, value) in [json!([1]), json!("text"), json!(3), json!(true)].into_iter().enumerate() {
        let body = json!({"tool": "send_email", "args": {"n": n}, "evidence": value, "checkpoint": value,
            "state_before": value});
        let request = Request::post("/v1/actions", &body).by(&server.riley);
        let shown = server.send(request).await.ok(202);
        assert_eq!(shown["checkpoint"], value);
        assert_eq!(shown["context"]["evidence"], value);
    }
}

#[tokio::test]
async fn an_id_that_names_nothing_is_not_found() {
    let server = Server::start().await;
    let action = server.propose("send_email", json!({})).await;
    let known = id(&action);
    let batch = known.replace("act_", "bat_");
    let lower = known.to_lowercase();
    let longer = format!("{known}0");
    for wrong in [
        "act_01J9ZKQ7V8Y3F5T2M6N4P0R1SB",
        "act_",
        "1",
        "null",
        "..%2f..%2fetc%2fpasswd",
        "%00",
        "%ff",
        "act_%F0%9F%92%A9",
        "'%20OR%201=1--",
        &batch,
        &lower,
        &longer,
    ] {
        let answer = server.send(Request::get(format!("/v1/actions/{wrong}")).by(&server.ann)).await;
        answer.problem(404, "not_found");
    }
}

#[tokio::test]
async fn a_patient_reader_learns_of_the_decision_when_it_falls() {
    let server = Server::start().await;
    let action = server.propose("send_email", json!({})).await;
    let started = Instant::now();
    let wait = |who: &str| {
        let request = Request::get(format!("/v1/actions/{}", id(&action))).by(who);
        server.send(request.header("Prefer", "wait=25"))
    };
    let (agent, reviewer, ()) = tokio::join!(wait(&server.riley), wait(&server.ben), async {
        tokio::time::sleep(Duration::from_millis(150)).await;
        server.approve(&server.ann, &action).await;
    });
    assert_eq!(agent.ok(200)["status"], "authorised");
    assert_eq!(reviewer.ok(200)["status"], "authorised");
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
    // What is decided is answered at once, however patient one is.
    assert_eq!(wait(&server.riley).await.ok(200)["status"], "authorised");
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_reader_whose_patience_ends_sees_it_pending() {
    let server = Server::start().await;
    let action = server.propose("send_email", json!({})).await;
    let started = Instant::now();
    let request = Request::get(format!("/v1/actions/{}", id(&action))).by(&server.riley);
    let answer = server.send(request.header("Prefer", "wait=1")).await.ok(200);
    assert_eq!(answer["status"], "pending");
    assert!(started.elapsed() >= Duration::from_secs(1), "{:?}", started.elapsed());
}

#[tokio::test]
async fn one_of_two_approvals_does_not_end_the_wait() {
    let server = Server::start().await;
    let action = server.propose("delete_customer", json!({"id": 7})).await;
    let request = Request::get(format!("/v1/actions/{}", id(&action))).by(&server.riley);
    let (answer, ()) = tokio::join!(server.send(request.header("Prefer", "wait=25")), async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(server.approve(&server.ann, &action).await["status"], "pending");
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(server.approve(&server.ben, &action).await["status"], "authorised");
    });
    let shown = answer.ok(200);
    assert_eq!(shown["status"], "authorised");
    assert_eq!(shown["votes"].as_array().unwrap().len(), 2);
}
