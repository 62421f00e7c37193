//! `POST /v1/actions/{id}/decision` with `modify`: an edit is a new version, judged like a new proposal.

use serde_json::{Value, json};

use crate::server::Server;

fn modify(args: Value) -> Value {
    json!({"decision": "modify", "args": args})
}

#[tokio::test]
async fn what_runs_is_what_the_reviewer_wrote() {
    let server = Server::start().await;
    let action = server.propose("send_email", json!({"to": "everyone"})).await;
    let edited = server.decide(&server.ann, &action, modify(json!({"to": "ada"}))).await.ok(200);
    assert_eq!(edited["status"], "authorised");
    assert_eq!(edited["version"], 2);
    assert_ne!(edited["digest"], action["digest"]);
    assert_eq!(edited["resolution"]["modified"], true);
    // The old digest claims nothing any more.
    server.claim(&server.riley, &action).await.problem(409, "digest_mismatch");
    let claimed = server.claim(&server.riley, &edited).await.ok(200);
    assert_eq!(claimed["args"], json!({"to": "ada"}));
    assert_eq!(claimed["digest"], edited["digest"]);
}

#[tokio::test]
async fn approvals_of_the_old_version_do_not_count_for_the_new() {
    let server = Server::start().await;
    let action = server.propose("delete_customer", json!({"id": 1})).await;
    server.approve(&server.ann, &action).await;
    let edited = server.decide(&server.ben, &action, modify(json!({"id": 2}))).await.ok(200);
    assert_eq!((&edited["status"], &edited["version"]), (&json!("pending"), &json!(2)));
    // Decisions on what was seen before are stale, also that of who had approved it.
    let stale = server.decide(&server.ann, &action, json!({"decision": "approve"})).await;
    assert_eq!(stale.problem(409, "stale_version")["current_version"], 2);
    assert_eq!(server.approve(&server.ann, &edited).await["status"], "authorised");
}

#[tokio::test]
async fn edits_that_are_no_arguments_are_refused() {
    let server = Server::start().await;
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let body = json!({"tool": "send_email", "args": {"n": 1}, "args_schema": schema});
    let action = server.propose_as(&server.riley, body).await;
    for wrong in [
        json!({"decision": "modify"}),
        modify(json!([1])),
        modify(json!("n")),
        modify(json!(7)),
        modify(json!({"n": "two"})),
        modify(json!({"n": 1})),
    ] {
        server.decide(&server.ann, &action, wrong).await.problem(422, "invalid_args");
    }
    assert_eq!(server.show(&server.riley, &action).await["version"], 1);
}

#[tokio::test]
async fn an_edit_into_what_policy_blocks_is_refused() {
    let server = Server::start().await;
    let action = server.propose("send_email", json!({"to": "ada"})).await;
    let refused = server.decide(&server.ann, &action, modify(json!({"forbidden": 1}))).await;
    refused.problem(422, "modification_blocked");
    let shown = server.show(&server.riley, &action).await;
    assert_eq!((&shown["version"], &shown["status"]), (&json!(1), &json!("pending")));
}

#[tokio::test]
async fn who_may_not_approve_may_not_edit() {
    let server = Server::start().await;
    let action = server.propose("pay", json!({"amount": 1})).await;
    server.decide(&server.ann, &action, modify(json!({"amount": 2}))).await.problem(403, "missing_role");
    server.decide(&server.olga, &action, modify(json!({"amount": 2}))).await.problem(403, "self_approval");
}

#[tokio::test]
async fn edited_numbers_keep_every_digit() {
    let server = Server::start().await;
    let action = server.propose("send_email", json!({})).await;
    let body = format!(
        r#"{{"decision":"modify","version":1,"digest":{},"args":{{"n":123456789012345678901234567890.5}}}}"#,
        action["digest"]
    );
    let path = format!("/v1/actions/{}/decision", crate::server::id(&action));
    let answer = server.send(crate::client::Request::post_bytes(path, body).by(&server.ann)).await;
    assert_eq!(answer.status, 200);
    assert!(answer.text().contains("1.234567890123456789012345678905e+29"), "{}", answer.text());
}

#[tokio::test]
async fn the_agent_is_told_what_changed() {
    let server = Server::start().await;
    let action = server.propose("send_email", json!({"to": "everyone"})).await;
    assert!(action.get("proposed_args").is_none());
    let edited = server.decide(&server.ann, &action, modify(json!({"to": "ada"}))).await.ok(200);
    let shown = server.show(&server.riley, &action).await;
    let resolved = crate::client::Request::get("/v1/resolutions").by(&server.riley);
    let resolved = server.send(resolved).await.ok(200);
    let again = json!({"tool": "send_email", "args": {"to": "ada"}});
    let joined = server.propose_as(&server.riley, again).await;
    let claimed = server.claim(&server.riley, &edited).await.ok(200);
    for told in [&edited, &shown, &resolved["items"][0], &joined, &claimed] {
        assert_eq!(
            (&told["args"], &told["proposed_args"]),
            (&json!({"to": "ada"}), &json!({"to": "everyone"}))
        );
    }
}

#[tokio::test]
async fn what_is_hidden_is_hidden_in_what_was_proposed() {
    let server = Server::start().await;
    let action = server.propose("charge_card", json!({"amount": 50, "card": "4111-1111"})).await;
    let edit = modify(json!({"amount": 40, "card": "[redacted]"}));
    let edited = server.decide(&server.ann, &action, edit).await.ok(200);
    assert_eq!(edited["proposed_args"], json!({"amount": 50, "card": "[redacted]"}));
    let whole = server.show(&server.riley, &action).await;
    assert_eq!(whole["proposed_args"], json!({"amount": 50, "card": "4111-1111"}));
}

#[tokio::test]
async fn the_log_keeps_what_the_editor_told_the_agent() {
    let server = Server::start().await;
    let action = server.propose("send_email", json!({"to": "everyone"})).await;
    let mut edit = modify(json!({"to": "ada"}));
    edit["message"] = json!("only to Ada");
    server.decide(&server.ann, &action, edit).await.ok(200);
    let log = crate::client::Request::get("/v1/audit?type=modified").by(&server.ann);
    assert_eq!(server.send(log).await.ok(200)["items"][0]["event"]["message"], "only to Ada");
}
