//! `banksman token`, beside a server that runs.

use banksman_client::Proposal;
use banksman_core::wire::{DecisionRequest, List, TokenView};
use banksman_core::{Decision, PrincipalKind, Status};
use serde_json::Value;

use crate::help::{stderr, stdout};
use crate::installation::{Installation, document, said};

#[test]
fn a_new_token_is_two_members_and_works_at_once() {
    let installation = Installation::new();
    let server = installation.serve();
    for (kind, more) in [
        ("agent", &["--owner", "ann"][..]),
        ("reviewer", &["--role", "finance", "--role", "support-lead"]),
        ("admin", &["--for", "12h"]),
    ] {
        let args = [&["token", "new", "--kind", kind, "--name", "ann or her bot", "--json"], more].concat();
        let output = installation.operator(&args);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        // Scripts rely on exactly this: one line, two members, in this order.
        let text = stdout(&output);
        assert_eq!(text.lines().count(), 1, "{text}");
        let Value::Object(members) = document(&output) else { panic!("{text}") };
        assert_eq!(members.keys().collect::<Vec<_>>(), ["id", "token"], "{text}");
        assert!(members["id"].as_str().unwrap().starts_with("tok_"), "{text}");
        let secret = members["token"].as_str().unwrap();
        assert!(text.starts_with(r#"{"id":"#), "{text}");

        let client = server.client(secret);
        let proposed = client.propose(&Proposal::new(r#"{"tool":"t","args":{}}"#));
        let listed = client.actions(&Default::default());
        if kind == "agent" {
            assert_eq!(proposed.unwrap().status, Status::Pending);
            assert_eq!(listed.unwrap_err().code(), Some("wrong_credential"));
        } else {
            assert_eq!(proposed.unwrap_err().code(), Some("wrong_credential"));
            assert_eq!(listed.unwrap().items.len(), 1);
        }
    }
}

#[test]
fn for_people_a_new_token_is_the_token_alone() {
    let installation = Installation::new();
    let server = installation.serve();
    let output = installation.operator(&["token", "new", "--kind", "reviewer", "--name", "ann"]);
    let text = stdout(&output);
    assert_eq!(text.lines().count(), 1, "{text}");
    // As in TOKEN=$(banksman token new …)
    assert!(server.client(text.trim_end()).mode().is_ok());
}

#[test]
fn a_revoked_token_decides_nothing_from_that_moment_on() {
    let installation = Installation::new();
    let server = installation.serve();
    let agent = server.client(&server.first().agent_token);
    for round in 0..5 {
        let held = agent
            .propose(&Proposal::new(&format!(r#"{{"tool":"refund","args":{{"amount":{round}}}}}"#)))
            .unwrap();
        let reviewer = installation.token("reviewer", "ann");
        let client = server.client(&reviewer.token);
        // The server has just seen the token, and believes it for a moment when it only reads.
        assert_eq!(client.action(held.id).unwrap().status, Status::Pending);
        let revoked = installation.operator(&["token", "revoke", &reviewer.id, "--json"]);
        assert_eq!(revoked.status.code(), Some(0), "{}", said(&revoked));
        assert_eq!(document::<Value>(&revoked)["id"], reviewer.id);
        let decision = DecisionRequest {
            decision: Decision::Approve,
            version: held.version,
            digest: held.digest,
            reason: None,
            args: None,
            message: None,
            remember: None,
        };
        assert_eq!(client.decide(held.id, &decision).unwrap_err().code(), Some("unauthenticated"));
        assert_eq!(agent.action(held.id).unwrap().status, Status::Pending);
        // And on the command line that is "not allowed", with the way to another.
        let output = server.run(&reviewer.token, &["approve", &held.id.to_string(), "--yes"]);
        assert_eq!(output.status.code(), Some(5), "{}", said(&output));
        assert!(stderr(&output).contains("banksman token new"), "{}", said(&output));
    }
}

#[test]
fn a_revoked_agent_claims_nothing_from_that_moment_on() {
    let installation = Installation::new();
    let server = installation.serve();
    let issued = installation.token("agent", "bot");
    let agent = server.client(&issued.token);
    let held = agent.propose(&Proposal::new(r#"{"tool":"refund","args":{}}"#)).unwrap();
    let approved =
        server.run(&server.first().reviewer_token, &["approve", &held.id.to_string(), "--yes", "--json"]);
    assert_eq!(approved.status.code(), Some(0), "{}", said(&approved));
    assert_eq!(agent.action(held.id).unwrap().status, Status::Authorised);
    installation.operator(&["token", "revoke", &issued.id]);
    let claim = banksman_core::wire::ClaimBody { digest: held.digest, preconditions: None };
    assert_eq!(agent.claim(held.id, &claim).unwrap_err().code(), Some("unauthenticated"));
}

#[test]
fn the_list_names_everyone_and_shows_no_secret() {
    let installation = Installation::new();
    let server = installation.serve();
    let ann = installation.token("reviewer", "ann");
    let bot = installation.token("agent", "bot\u{202e}gnp.exe");
    installation.operator(&["token", "revoke", &ann.id]);

    let output = installation.operator(&["token", "list", "--json"]);
    let list: List<TokenView> = document(&output);
    let of = |id: &str| list.items.iter().find(|token| token.id.to_string() == id).unwrap();
    assert_eq!(list.items.len(), 4, "two of the first start and two more: {}", said(&output));
    assert_eq!((of(&ann.id).kind, of(&ann.id).name.as_str()), (PrincipalKind::Reviewer, "ann"));
    assert!(of(&ann.id).revoked_at.is_some());
    assert!(of(&bot.id).revoked_at.is_none());

    let people = installation.operator(&["token", "list"]);
    let text = stdout(&people);
    assert_eq!(text.lines().count(), 4, "{text}");
    let line = text.lines().find(|line| line.starts_with(&ann.id)).unwrap();
    assert!(line.contains("reviewer") && line.contains("no longer valid"), "{text}");
    assert!(text.contains(r"bot\u{202e}gnp.exe"), "{text}");
    for secret in [&ann.token, &bot.token, &server.first().reviewer_token] {
        assert!(!said(&output).contains(secret) && !said(&people).contains(secret));
    }
}

#[test]
fn mistakes_with_tokens_have_their_codes() {
    let installation = Installation::new();
    let nowhere = installation.operator(&["token", "list"]);
    assert_eq!(nowhere.status.code(), Some(3), "{}", said(&nowhere));
    assert!(stderr(&nowhere).contains("banksman serve"), "{}", said(&nowhere));
    assert!(!installation.data().exists(), "looking made something");

    installation.serve().kill();
    for (args, code) in [
        (&["token", "new", "--kind", "king", "--name", "ann"][..], 2),
        (&["token", "new", "--kind", "agent"], 2),
        (&["token", "new", "--kind", "agent", "--name", ""], 2),
        (&["token", "new", "--kind", "agent", "--name", "a\u{1b}[2Jb"], 2),
        (&["token", "new", "--kind", "agent", "--name", "bot", "--role", "finance"], 2),
        (&["token", "new", "--kind", "reviewer", "--name", "ann", "--owner", "bob"], 2),
        (&["token", "revoke", "ann"], 2),
        (&["token", "revoke", "tok_01J9ZKQ7V8Y3F5T2M6N4P0R1SB"], 3),
    ] {
        let output = installation.operator(args);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", said(&output));
        assert_eq!(stdout(&output), "", "{args:?}");
        assert!(!stderr(&output).contains('\u{1b}'), "{args:?}: {:?}", stderr(&output));
    }
    // All this also works without a server.
    assert!(installation.token("agent", "bot").token.starts_with("bkm_agent_"));
}
