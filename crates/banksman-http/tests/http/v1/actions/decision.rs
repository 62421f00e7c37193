//! `POST /v1/actions/{id}/decision`

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::Request;
use crate::server::{Server, id};

const OTHER_DIGEST: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

fn approve() -> Value {
    json!({"decision": "approve"})
}

#[tokio::test]
async fn an_approval_authorises_exactly_what_was_seen() {
    let server = Server::start().await;
    let action = server.propose("send_email", json!({"to": "ada"})).await;
    let decided =
        server.decide(&server.ann, &action, json!({"decision": "approve", "reason": "fine"})).await.ok(200);
    assert_eq!(decided["status"], "authorised");
    assert_eq!(decided["digest"], action["digest"]);
    assert_eq!(decided["resolution"]["by"], "reviewers");
    assert_eq!(decided["resolution"]["reason"], "fine");
    assert_eq!(decided["votes"][0]["by"], "ann");
    assert_eq!(decided["votes"][0]["decision"], "approve");
    // The proof is for whoever runs it, not for whoever approved it.
    assert!(decided.get("authorization").is_none(), "{decided}");
}

#[tokio::test]
async fn a_denial_and_a_response_reach_the_agent() {
    let server = Server::start().await;
    let denied = server.propose("send_email", json!({"n": 1})).await;
    server.decide(&server.ann, &denied, json!({"decision": "deny", "reason": "no"})).await.ok(200);
    let denied = server.show(&server.riley, &denied).await;
    assert_eq!((&denied["status"], &denied["resolution"]["by"]), (&json!("denied"), &json!("ann")));
    assert_eq!(denied["resolution"]["reason"], "no");

    let answered = server.propose("send_email", json!({"n": 2})).await;
    let respond = json!({"decision": "respond", "message": "use the template"});
    server.decide(&server.ann, &answered, respond).await.ok(200);
    let answered = server.show(&server.riley, &answered).await;
    assert_eq!(answered["status"], "denied");
    assert_eq!(answered["resolution"]["message"], "use the template");
}

#[tokio::test]
async fn refusals_come_in_the_order_of_the_contract() {
    let server = Server::start().await;
    // Riley's own owner decides about what needs a reason and is expired, stale and denied, all at once: each
    // refusal is the first that applies.
    let action = server.propose("fire", json!({})).await;
    let decide = |body: Value| {
        let path = format!("/v1/actions/{}/decision", id(&action));
        server.send(Request::post(path, &body).by(&server.olga))
    };
    let unknown = "/v1/actions/act_01J9ZKQ7V8Y3F5T2M6N4P0R1SB/decision";
    let body = json!({"decision": "approve", "version": 9, "digest": OTHER_DIGEST});
    server.send(Request::post(unknown, &body).by(&server.olga)).await.problem(404, "not_found");

    let stale = decide(body).await.problem(409, "stale_version");
    assert_eq!(stale["current_version"], 1);
    assert_eq!(stale["current_digest"], action["digest"]);
    assert_eq!(stale["action_status"], "pending");
    let mismatched = json!({"decision": "approve", "version": 1, "digest": OTHER_DIGEST});
    decide(mismatched.clone()).await.problem(409, "digest_mismatch");
    let seen = json!({"decision": "approve", "version": 1, "digest": action["digest"]});
    decide(seen.clone()).await.problem(403, "self_approval");
    let by_ann = || server.decide(&server.ann, &action, approve());
    by_ann().await.problem(422, "reason_required");

    // The deadline comes before who asks and how.
    server.jump(Duration::from_secs(3601));
    decide(seen.clone()).await.problem(409, "expired");
    decide(mismatched.clone()).await.problem(409, "digest_mismatch");
    server.pass(Duration::ZERO).await;
    decide(seen).await.problem(409, "expired");

    // And so does that it was decided.
    let again = server.propose("fire", json!({})).await;
    let reasoned = json!({"decision": "deny", "reason": "because"});
    server.decide(&server.ann, &again, reasoned).await.ok(200);
    let late = server.decide(&server.olga, &again, approve()).await.problem(409, "already_decided");
    assert_eq!((&late["decided_by"], &late["action_status"]), (&json!("ann"), &json!("denied")));
}

#[tokio::test]
async fn what_was_denied_is_never_approved_later() {
    let server = Server::start().await;
    let action = server.propose("send_email", json!({})).await;
    server.decide(&server.ann, &action, json!({"decision": "deny"})).await.ok(200);
    for who in [&server.ann, &server.ben, &server.ada] {
        for decision in ["approve", "deny", "respond", "modify"] {
            let body = json!({"decision": decision, "message": "m"});
            server.decide(who, &action, body).await.problem(409, "already_decided");
        }
    }
    server.claim(&server.riley, &action).await.problem(403, "not_authorised");
    server.pass(Duration::from_secs(7200)).await;
    server.decide(&server.ada, &action, approve()).await.problem(409, "already_decided");
    assert_eq!(server.show(&server.riley, &action).await["status"], "denied");
}

#[tokio::test]
async fn what_expired_is_neither_denied_nor_approvable() {
    let server = Server::start().await;
    let action = server.propose("send_email", json!({})).await;
    server.pass(Duration::from_secs(3600)).await;
    let shown = server.show(&server.riley, &action).await;
    assert_eq!(shown["status"], "expired");
    assert_eq!(shown["resolution"]["by"], "timeout");
    assert_eq!(shown["votes"], json!([]));
    for decision in ["approve", "deny"] {
        let problem =
            server.decide(&server.ann, &action, json!({"decision": decision})).await.problem(409, "expired");
        assert_eq!(problem["action_status"], "expired");
    }
    server.claim(&server.riley, &action).await.problem(403, "not_authorised");
    assert_eq!(server.show(&server.riley, &action).await["status"], "expired");
}

#[tokio::test]
async fn an_agent_that_waits_less_is_held_for_less() {
    let server = Server::start().await;
    let body = json!({"tool": "send_email", "args": {}, "timeout_seconds": 60});
    let action = server.propose_as(&server.riley, body).await;
    server.jump(Duration::from_secs(60));
    server.decide(&server.ann, &action, approve()).await.problem(409, "expired");
}

#[tokio::test]
async fn nobody_approves_their_own_or_their_own_agents() {
    let server = Server::start().await;
    let action = server.propose("send_email", json!({})).await;
    let namesake = server.issue(banksman_core::PrincipalKind::Admin, "riley", None).await;
    for own in [&server.olga, &namesake] {
        server.decide(own, &action, approve()).await.problem(403, "self_approval");
        let edit = json!({"decision": "modify", "args": {"x": 1}});
        server.decide(own, &action, edit).await.problem(403, "self_approval");
    }
    // Saying no to one's own is always right.
    server.decide(&server.olga, &action, json!({"decision": "deny"})).await.ok(200);
}

#[tokio::test]
async fn a_role_that_is_missing_stays_missing() {
    let server = Server::start().await;
    let action = server.propose("pay", json!({"amount": 100})).await;
    for without in [&server.ann, &server.ada] {
        let problem = server.decide(without, &action, approve()).await.problem(403, "missing_role");
        assert!(problem["detail"].as_str().unwrap().contains("finance"), "{problem}");
    }
    assert_eq!(server.approve(&server.ben, &action).await["status"], "authorised");
}

#[tokio::test]
async fn nobody_alone_is_two_people() {
    let server = Server::start().await;
    let action = server.propose("delete_customer", json!({"id": 1})).await;
    assert_eq!(server.approve(&server.ann, &action).await["status"], "pending");
    let namesake = server.issue(banksman_core::PrincipalKind::Admin, "ann", None).await;
    for again in [&server.ann, &namesake] {
        server.decide(again, &action, approve()).await.problem(409, "already_voted");
    }
    server.claim(&server.riley, &action).await.problem(403, "not_authorised");
    assert_eq!(server.approve(&server.ben, &action).await["status"], "authorised");
}

#[tokio::test]
async fn one_no_ends_what_two_have_to_approve() {
    let server = Server::start().await;
    let action = server.propose("delete_customer", json!({"id": 1})).await;
    server.approve(&server.ann, &action).await;
    server.decide(&server.ann, &action, json!({"decision": "deny"})).await.ok(200);
    server.decide(&server.ben, &action, approve()).await.problem(409, "already_decided");
}

#[tokio::test]
async fn where_a_reason_is_required_blanks_are_none() {
    let server = Server::start().await;
    let action = server.propose("fire", json!({})).await;
    for decision in ["approve", "deny", "modify"] {
        for reason in [json!(null), json!(""), json!(" \t\n")] {
            let body = json!({"decision": decision, "reason": reason});
            server.decide(&server.ann, &action, body).await.problem(422, "reason_required");
        }
    }
    let reasoned = json!({"decision": "approve", "reason": "redundant"});
    assert_eq!(server.decide(&server.ann, &action, reasoned).await.ok(200)["status"], "authorised");
}

#[tokio::test]
async fn a_response_needs_a_message() {
    let server = Server::start().await;
    let action = server.propose("send_email", json!({})).await;
    for message in [json!(null), json!(""), json!("  ")] {
        let body = json!({"decision": "respond", "message": message, "reason": "r"});
        server.decide(&server.ann, &action, body).await.problem(422, "message_required");
    }
}

#[tokio::test]
async fn what_goes_only_with_another_decision_is_refused() {
    let server = Server::start().await;
    let action = server.propose("run_tests", json!({})).await;
    for body in [
        json!({"decision": "approve", "args": {"x": 1}}),
        json!({"decision": "deny", "args": {}}),
        json!({"decision": "deny", "remember": {}}),
        json!({"decision": "modify", "args": {"x": 1}, "remember": {}}),
    ] {
        server.decide(&server.ann, &action, body).await.problem(422, "invalid_request");
    }
    assert_eq!(server.show(&server.riley, &action).await["status"], "pending");
}

#[tokio::test]
async fn only_what_policy_lets_be_remembered_is() {
    let server = Server::start().await;
    let remember = json!({"decision": "approve", "remember": {"all_sessions": true}});
    let email = server.propose("send_email", json!({})).await;
    server.decide(&server.ann, &email, remember.clone()).await.problem(422, "remember_not_allowed");
    let customer = server.propose("delete_customer", json!({})).await;
    server.decide(&server.ann, &customer, remember.clone()).await.problem(422, "remember_not_allowed");
    // Without a session there is no session to remember it in.
    let tests = server.propose("run_tests", json!({})).await;
    let in_session = json!({"decision": "approve", "remember": {}});
    server.decide(&server.ann, &tests, in_session).await.problem(422, "remember_not_allowed");
    for seconds in [0, 90 * 24 * 3600 + 1] {
        let remember = json!({"all_sessions": true, "expires_in_seconds": seconds});
        let body = json!({"decision": "approve", "remember": remember});
        server.decide(&server.ann, &tests, body).await.problem(422, "invalid_request");
    }
    assert_eq!(server.show(&server.riley, &tests).await["status"], "pending");
    server.decide(&server.ann, &tests, remember).await.ok(200);
    let next = server.propose("run_tests", json!({})).await;
    assert_eq!(next["status"], "authorised");
}

#[tokio::test]
async fn a_decision_without_its_binding_is_none() {
    let server = Server::start().await;
    let action = server.propose("send_email", json!({})).await;
    let path = format!("/v1/actions/{}/decision", id(&action));
    let digest = &action["digest"];
    for body in [
        json!({}),
        json!({"decision": "approve"}),
        json!({"decision": "approve", "version": 1}),
        json!({"decision": "approve", "digest": digest}),
        json!({"version": 1, "digest": digest}),
        json!({"decision": "approve", "version": "1", "digest": digest}),
        json!({"decision": "approve", "version": 1.5, "digest": digest}),
        json!({"decision": "approve", "version": -1, "digest": digest}),
        json!({"decision": "approve", "version": 4_294_967_297_u64, "digest": digest}),
        json!({"decision": "approve", "version": 1, "digest": "sha256:"}),
        json!({"decision": "approve", "version": 1, "digest": digest.as_str().unwrap().to_uppercase()}),
        json!({"decision": "yes", "version": 1, "digest": digest}),
        json!({"decision": "Approve", "version": 1, "digest": digest}),
        json!({"decision": ["approve"], "version": 1, "digest": digest}),
        json!({"decision": "approve", "version": 1, "digest": digest, "force": true}),
        json!({"decision": "approve", "version": 1, "digest": digest, "reason": 7}),
        json!([1]),
        json!("approve"),
    ] {
        let answer = server.send(Request::post(path.clone(), &body).by(&server.ann)).await;
        answer.problem(422, "invalid_request");
    }
    assert_eq!(server.show(&server.riley, &action).await["votes"], json!([]));
}
