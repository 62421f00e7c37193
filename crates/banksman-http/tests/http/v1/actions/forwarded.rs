//! Calls that the MCP gateway runs: its agent neither claims nor reports them.

use banksman_core::json::CanonicalJson;
use banksman_core::{Action, Kind, Outcome, Status};
use banksman_engine::ProposeRequest;
use serde_json::{Value, json};

use crate::server::{Server, id};

/// A call of riley's through the gateway, as riley sees it.
async fn forwarded(server: &Server, tool: &str, claims: bool) -> Value {
    let mut action = Action::bare(tool, Kind::Tool, CanonicalJson::parse(b"{}").unwrap());
    action.server = Some("files".to_owned());
    action.forwarded = true;
    let riley = server.engine.authenticate(&server.riley).await.unwrap();
    let request = ProposeRequest { claims, ..ProposeRequest::of(action) };
    let case = server.engine.propose(&riley, request).await.unwrap().case;
    server.show(&server.riley, &json!({"id": case.id})).await
}

#[tokio::test]
async fn its_agent_does_not_say_how_a_call_of_the_gateway_ended() {
    let server = Server::start().await;
    let action = forwarded(&server, "read_file", true).await;
    assert_eq!(action["status"], "executing");
    let before = server.newest_seq().await;
    for body in [json!({"status": "failed", "error": "no"}), json!({"status": "succeeded"})] {
        let problem = server.outcome(&server.riley, &action, body).await.problem(403, "run_by_gateway");
        assert_eq!((&problem["action"], &problem["action_status"]), (&action["id"], &json!("executing")));
    }
    assert_eq!(server.newest_seq().await, before);
    // To others it is still nothing at all.
    server.outcome(&server.sam, &action, json!({"status": "failed"})).await.problem(404, "not_found");
    let id = id(&action).parse().unwrap();
    let case = server.engine.record_forwarded(id, Outcome::Succeeded { result: None }).await.unwrap();
    assert_eq!(case.status(), Status::Succeeded);
}

#[tokio::test]
async fn its_agent_does_not_take_the_claim_of_a_call_of_the_gateway() {
    let server = Server::start().await;
    let action = forwarded(&server, "send_email", false).await;
    server.approve(&server.ann, &action).await;
    server.claim(&server.riley, &action).await.problem(403, "run_by_gateway");
    assert_eq!(server.show(&server.ann, &action).await["status"], "authorised");
    server.claim(&server.sam, &action).await.problem(404, "not_found");
}
