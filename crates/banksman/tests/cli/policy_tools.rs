//! What is done with policies besides using them: templates, schemas, imports, differences, replays.

use std::fs;
use std::process::Output;

use banksman_client::Proposal;
use serde_json::Value;

use crate::help::{stderr, stdout};
use crate::installation::{Installation, program, said};

fn policy(installation: &Installation, args: &[&str]) -> Output {
    program().current_dir(installation.beside("")).arg("policy").args(args).output().unwrap()
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", said(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_template_is_written_once_and_passes_its_cases() {
    let installation = Installation::new();
    let listed = json(&policy(&installation, &["init", "--list", "--json"]));
    let names: Vec<&str> =
        listed.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["coding-agent", "support-desk", "finance", "read-only", "ci-lockdown"]);
    for name in names {
        let file = format!("{name}.yaml");
        let made =
            policy(&installation, &["init", "--template", name, "--output", &file, "--editor", "--force"]);
        assert!(made.status.success(), "{}", said(&made));
        let first = fs::read_to_string(installation.beside(&file)).unwrap();
        assert!(first.starts_with("# yaml-language-server: $schema=policy.schema.json\n"));
        for check in [&["check", "--strict", "--policy", &file][..], &["test", "--policy", &file]] {
            let output = policy(&installation, check);
            assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        }
    }
    fs::write(installation.beside("finance.yaml"), "mine").unwrap();
    let refused = policy(&installation, &["init", "--template", "finance", "--output", "finance.yaml"]);
    assert_eq!(refused.status.code(), Some(4), "{}", said(&refused));
    assert_eq!(fs::read_to_string(installation.beside("finance.yaml")).unwrap(), "mine");
    let unknown = policy(&installation, &["init", "--template", "nope", "--output", "x.yaml"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("support-desk") && !installation.beside("x.yaml").exists());
}

#[test]
fn a_check_shows_what_changes_nothing() {
    let installation = Installation::new();
    let file = installation.policy(
        "version: 1\ntools: {pay: {tier: auto}}\nrules:\n- {id: all, match: {tool: 'p*'}, tier: block}\n",
    );
    let output = program().args(["policy", "check", "--policy"]).arg(&file).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let text = stdout(&output);
    assert!(
        text.contains(":2:14: warning: tools.pay changes nothing: all (") && text.contains("    2 | tools:"),
        "{text}"
    );
    let strict =
        program().args(["policy", "check", "--strict", "--json", "--policy"]).arg(&file).output().unwrap();
    assert_eq!(strict.status.code(), Some(1));
    let checked: Value = serde_json::from_slice(&strict.stdout).unwrap();
    assert_eq!((&checked["ok"], &checked["warnings"][0]["line"]), (&false.into(), &2.into()));
}

#[test]
fn the_schema_is_printed_and_imports_are_policies() {
    let installation = Installation::new();
    let schema = json(&policy(&installation, &["schema"]));
    assert_eq!(schema["title"], "Banksman policy");
    fs::write(installation.beside("theirs.yaml"), "approval: {timeout_seconds: 300, timeouts: {S3: 600}}")
        .unwrap();
    let done = policy(&installation, &["import", "theirs.yaml", "--output", "ours.yaml"]);
    assert!(done.status.success() && stdout(&done).contains("Tinman"), "{}", said(&done));
    assert!(policy(&installation, &["check", "--policy", "ours.yaml"]).status.success());
    let again = policy(&installation, &["import", "theirs.yaml", "--output", "ours.yaml"]);
    assert!(!again.status.success(), "it wrote over a file");
    let none = policy(&installation, &["import", "ours.yaml"]);
    assert_eq!(none.status.code(), Some(2), "{}", said(&none));
}

#[test]
fn a_difference_that_lets_more_through_can_stop_a_merge() {
    let installation = Installation::new();
    fs::write(installation.beside("old.yaml"), "version: 1\ntools: {pay: {tier: escalate}}\n").unwrap();
    fs::write(installation.beside("new.yaml"), "version: 1\ntools: {pay: {tier: auto}}\n").unwrap();
    let found = json(&policy(&installation, &["diff", "old.yaml", "new.yaml", "--json"]));
    assert_eq!(found["differences"][0]["entry"], "tools.pay");
    assert_eq!(found["differences"][0]["effect"], "milder");
    let stopped = policy(&installation, &["diff", "old.yaml", "new.yaml", "--fail-if-milder"]);
    assert_eq!(stopped.status.code(), Some(1), "{}", said(&stopped));
    let fine = policy(&installation, &["diff", "new.yaml", "old.yaml", "--fail-if-milder"]);
    assert_eq!(fine.status.code(), Some(0), "{}", said(&fine));
    assert!(stdout(&policy(&installation, &["diff", "old.yaml", "old.yaml"])).contains("the same"));
}

#[test]
fn history_is_judged_again_and_people_are_not_contradicted_unseen() {
    let installation = Installation::new();
    let server = installation.serve();
    let agent = server.client(&server.first().agent_token);
    let reviewer = server.first().reviewer_token.clone();
    // More than a page of the API, so that pages are followed.
    for number in 0..520 {
        agent.propose(&Proposal::new(&format!(r#"{{"tool": "read", "args": {{"n": {number}}}}}"#))).unwrap();
    }
    let pay = agent.propose(&Proposal::new(r#"{"tool": "pay", "args": {"amount": 7}}"#)).unwrap();
    let ship = agent.propose(&Proposal::new(r#"{"tool": "ship", "args": {}}"#)).unwrap();
    for (decision, id) in [(&["deny"][..], pay.id), (&["approve", "--yes"], ship.id)] {
        let done = server.run(&reviewer, &[decision, &[&id.to_string(), "--reason", "so"]].concat());
        assert!(done.status.success(), "{}", said(&done));
    }
    let changed = installation
        .policy("version: 1\ntools: {read: {tier: auto}, pay: {tier: notify}, ship: {tier: block}}\n");
    let changed = changed.to_str().unwrap();
    let replay =
        |more: &[&str]| server.run(&reviewer, &[&["policy", "replay", "--policy", changed], more].concat());
    let found = json(&replay(&["--json", "--limit", "5"]));
    assert_eq!(
        (&found["actions"], &found["changed"], &found["contradicting"]),
        (&522.into(), &522.into(), &2.into())
    );
    assert_eq!(found["counts"]["approve"]["auto"], 520);
    assert_eq!(found["changes"].as_array().unwrap().len(), 5);
    let contradictions: Vec<&str> = found["contradictions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["contradiction"].as_str().unwrap())
        .collect();
    assert_eq!(contradictions, ["blocks_approved", "lets_through_denied"]);
    let text = replay(&["--limit", "5"]);
    assert!(
        stdout(&text).contains("... and 517 more") && stdout(&text).contains("denied"),
        "{}",
        said(&text)
    );
    assert_eq!(replay(&["--fail-if-contradicted"]).status.code(), Some(1));
    let none = json(&replay(&["--json", "--since", "2999-01-01T00:00:00Z"]));
    assert_eq!(none["actions"], 0);
}

#[test]
fn history_is_judged_in_the_mode_of_its_moment() {
    let installation = Installation::new();
    let server = installation.serve();
    let agent = server.client(&server.first().agent_token);
    let admin = installation.token("admin", "ada").token;
    let propose = |n: u32| {
        agent.propose(&Proposal::new(&format!(r#"{{"tool": "pay", "args": {{"n": {n}}}}}"#))).unwrap()
    };
    let first = propose(1);
    let moved = server.run(&admin, &["mode", "set", "shadow", "--reason", "try"]);
    assert!(moved.status.success(), "{}", said(&moved));
    let second = propose(2);
    let changed = installation.policy(
        "version: 1\n\
         tools: {pay: {tier: approve}}\n\
         rules:\n\
         - {id: two, match: {tool: pay, mode: production}, tier: approve, quorum: 2, require_reason: true}\n",
    );
    let changed = changed.to_str().unwrap();
    let replay =
        |more: &[&str]| server.run(&admin, &[&["policy", "replay", "--policy", changed], more].concat());
    let found = json(&replay(&["--json"]));
    assert_eq!(found["changed"], 1, "{found}");
    assert_eq!(found["changes"][0]["id"], first.id.to_string(), "{found}");
    assert_eq!(found["changes"][0]["change"], serde_json::json!(["1 → 2 people", "+reason"]), "{found}");
    let text = stdout(&replay(&["--wide"]));
    assert!(text.contains("CHANGE") && text.contains("1 → 2 people, +reason"), "{text}");
    let always = json(&replay(&["--json", "--mode", "production"]));
    assert_eq!(
        (&always["changed"], always["changes"][0]["id"].as_str()),
        (&2.into(), Some(second.id.to_string().as_str()))
    );
}
