//! `banksman prompt ID`: about what a server holds.

use std::io::Read;
use std::process::{Child, Stdio};

use banksman_client::Proposal;
use banksman_core::wire::{ActionView, DecisionRequest};
use banksman_core::{Decision, Status};

use super::served;
use crate::hooks::User;
use crate::installation::Server;
use crate::pty::{Person, end};

/// The reviewer of a server, asked at a terminal about an action.
fn asked_about(held: &ActionView, server: &Server) -> (Person, Child, User) {
    let mut person = Person::sit_down();
    let user = User::new();
    let mut command = user.command();
    command.args(["prompt", &held.id.to_string(), "--terminal", &person.path]);
    command.env("BANKSMAN_URL", server.url()).env("BANKSMAN_TOKEN", &server.first().reviewer_token);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    person.sees("closes in");
    (person, child, user)
}

#[test]
fn a_reviewer_decides_at_the_prompt() {
    let (_installation, server) = served();
    let first = server.first().clone();
    let agent = server.client(&first.agent_token);
    let reviewer = server.client(&first.reviewer_token);
    let body = r#"{"tool":"shell","kind":"shell","args":{"command":"ls held-for-review /srv"}}"#;
    for (key, status) in [("a", Status::Authorised), ("d", Status::Denied)] {
        let body = body.replace("/srv", &format!("/srv/{key}"));
        let held = agent.propose(&Proposal::new(&body)).unwrap();
        let (mut person, mut child, _user) = asked_about(&held, &server);
        person.types(key);
        assert_eq!(end(&mut child).code(), Some(0));
        assert_eq!(reviewer.action(held.id).unwrap().status, status);
    }
    // Silence at one terminal is nobody's no: others may still decide.
    let held = agent.propose(&Proposal::new(body)).unwrap();
    let mut person = Person::sit_down();
    let user = User::new();
    let mut command = user.command();
    command.args(["prompt", &held.id.to_string(), "--timeout", "1", "--terminal", &person.path]);
    command.env("BANKSMAN_URL", server.url()).env("BANKSMAN_TOKEN", &first.reviewer_token);
    let mut child = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    person.sees("Nobody answered: nothing was decided.");
    assert_eq!(end(&mut child).code(), Some(4));
    assert_eq!(reviewer.action(held.id).unwrap().status, Status::Pending);
}

#[test]
fn the_prompt_closes_when_someone_else_decides() {
    let (installation, server) = served();
    let first = server.first().clone();
    let agent = server.client(&first.agent_token);
    let bob = server.client(&installation.token("reviewer", "bob").token);
    let body = r#"{"tool":"shell","kind":"shell","args":{"command":"ls held-for-review"}}"#;
    let held = agent.propose(&Proposal::new(body)).unwrap();
    let mut person = Person::sit_down();
    let user = User::new();
    let mut command = user.command();
    command.args(["prompt", &held.id.to_string(), "--terminal", &person.path]);
    command.env("BANKSMAN_URL", server.url()).env("BANKSMAN_TOKEN", &first.reviewer_token);
    let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    person.sees("closes in");
    let request = DecisionRequest {
        decision: Decision::Deny,
        version: held.version,
        digest: held.digest,
        reason: Some("not today".into()),
        args: None,
        message: None,
        remember: None,
    };
    bob.decide(held.id, &request).unwrap();
    person.sees("Already denied by bob");
    assert_eq!(end(&mut child).code(), Some(4));
    let mut words = String::new();
    child.stderr.take().unwrap().read_to_string(&mut words).unwrap();
    assert!(words.contains("by bob") && words.contains("Nothing was sent."), "{words}");
}

#[test]
fn a_decision_at_the_prompt_carries_the_reason_that_policy_wants() {
    let (_installation, server) = served();
    let first = server.first().clone();
    let agent = server.client(&first.agent_token);
    let reviewer = server.client(&first.reviewer_token);
    for (key, status) in [("a", Status::Authorised), ("d", Status::Denied)] {
        let body =
            format!(r#"{{"tool":"shell","kind":"shell","args":{{"command":"ls held-with-reason {key}"}}}}"#);
        let held = agent.propose(&Proposal::new(&body)).unwrap();
        let (mut person, mut child, _user) = asked_about(&held, &server);
        person.types(key);
        person.sees("Policy wants a reason: ");
        person.types("because\n");
        assert_eq!(end(&mut child).code(), Some(0));
        let decided = reviewer.action(held.id).unwrap();
        assert_eq!(decided.status, status);
        assert_eq!(decided.votes[0].reason.as_deref(), Some("because"));
    }
}
