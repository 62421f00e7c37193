//! Policies: checked, explained and tested without a server, and taken up by one that runs.

use std::fs;
use std::time::{Duration, Instant};

use banksman_client::Proposal;
use banksman_core::Status;

use crate::help::{stderr, stdout};
use crate::installation::{Installation, program, said};

const POLICY: &str = "version: 1
tools: {read: {risk: low, tier: auto}}
rules:
- {id: large, match: {tool: pay, args: {amount: {gt: 500}}}, tier: escalate, roles: [lead, finance], timeout: 10m}
- {id: small, match: {tool: pay}, tier: approve}
";

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_changed_policy_is_taken_up_and_a_broken_one_is_not() {
    let installation = Installation::new();
    let server = installation.serve();
    let agent = server.client(&server.first().agent_token);
    let mut number = 0;
    let mut status_of_read = || {
        number += 1;
        agent
            .propose(&Proposal::new(&format!(r#"{{"tool":"read","args":{{"n":{number}}}}}"#)))
            .unwrap()
            .status
    };
    assert_eq!(status_of_read(), Status::Pending);
    let path = installation.data().join("policy.yaml");
    fs::write(&path, POLICY).unwrap();
    eventually("the changed policy is in force", || status_of_read() == Status::Authorised);
    fs::write(&path, "version: 1\ntools: {read: {tier: maybe}}\n").unwrap();
    eventually("the broken policy is told of", || installation.log().contains("the old one stays in force"));
    assert!(installation.log().contains("policy.yaml:2:22"), "{}", installation.log());
    let doctor = server.run(&server.first().reviewer_token, &["doctor"]);
    assert_eq!(doctor.status.code(), Some(1), "{}", said(&doctor));
    assert!(
        stdout(&doctor).contains("could not be used") && stdout(&doctor).contains("policy.yaml:2:22"),
        "{}",
        said(&doctor)
    );
    assert_eq!(status_of_read(), Status::Authorised);
}

#[test]
fn a_policy_is_checked_and_mistakes_are_shown_where_they_are() {
    let installation = Installation::new();
    let good = installation.policy(POLICY);
    let output = program().args(["policy", "check", "--policy"]).arg(&good).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let bad = installation.policy("version: 1\nrules:\n- {id: a, tier: nope}\n");
    let output = program().args(["policy", "check", "--policy"]).arg(&bad).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    let told = program().args(["policy", "check", "--json", "--policy"]).arg(&bad).output().unwrap();
    assert_eq!(told.status.code(), Some(2), "{}", said(&told));
    let told: serde_json::Value = serde_json::from_str(&stdout(&told)).unwrap();
    assert_eq!((&told["ok"], &told["exit"]), (&false.into(), &2.into()), "{told}");
    let mistake = &told["errors"][0];
    assert_eq!((&mistake["line"], &mistake["column"]), (&3.into(), &17.into()), "{told}");
    assert_eq!(mistake["file"].as_str(), bad.to_str(), "{told}");
    assert!(mistake["problem"].as_str().is_some_and(|problem| !problem.is_empty()), "{told}");
    let text = stderr(&output);
    assert!(
        text.contains(":3:17: ") && text.contains("    3 | - {id: a, tier: nope}") && text.contains('^'),
        "{text}"
    );
}

#[test]
fn an_action_is_explained_for_scripts_and_people() {
    let installation = Installation::new();
    let policy = installation.policy(POLICY);
    let action = installation.beside("action.json");
    fs::write(&action, r#"{"tool": "pay", "args": {"amount": 899}}"#).unwrap();
    let explain = |more: &[&str]| {
        let output = program()
            .args(["policy", "explain"])
            .arg(&action)
            .arg("--policy")
            .arg(&policy)
            .args(more)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        stdout(&output)
    };
    let verdict: serde_json::Value = serde_json::from_str(&explain(&["--json"])).unwrap();
    assert_eq!(verdict["tier"], "escalate");
    assert_eq!(verdict["rule"], "large");
    assert_eq!(verdict["quorum"]["count"], 2);
    assert_eq!(verdict["timeout_seconds"], 600);
    assert!(verdict["matched"].as_array().unwrap().iter().any(|rule| rule == "small"));
    assert!(verdict["risk"].is_string());
    let text = explain(&[]);
    assert!(text.starts_with("pay  escalate at risk ") && text.contains("=> large"), "{text}");
}

#[test]
fn without_a_policy_the_one_that_a_first_start_writes_is_explained() {
    let installation = Installation::new();
    let action = installation.beside("action.json");
    fs::write(&action, r#"{"tool": "pay", "args": {"amount": 899}}"#).unwrap();
    let output = program()
        .args(["policy", "explain", "--json"])
        .arg(&action)
        .arg("--data")
        .arg(installation.data())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let verdict: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(verdict["tier"], "approve");
    assert!(stderr(&output).contains("`banksman serve` begins with"), "{}", said(&output));
}

#[test]
fn what_a_preset_approves_or_is_only_observed_is_not_said_to_be_held() {
    let installation = Installation::new();
    let action = installation.beside("action.json");
    fs::write(&action, r#"{"tool": "pay", "args": {"amount": 899}}"#).unwrap();
    for (policy, why) in [
        ("version: 1\npreset: auto_approve\n", "in people's place"),
        ("version: 1\nenforcement: observe\ntools: {pay: {tier: approve}}\n", "only observes"),
    ] {
        let policy = installation.policy(policy);
        let output =
            program().args(["policy", "explain"]).arg(&action).arg("--policy").arg(&policy).output().unwrap();
        let text = stdout(&output);
        assert!(text.contains("|  runs at once: ") && text.contains(why), "{}", said(&output));
    }
}

#[test]
fn cases_beside_a_policy_are_run() {
    let installation = Installation::new();
    let policy = installation.policy(POLICY);
    let cases = policy.with_extension("test.yaml");
    let junit = installation.beside("junit.xml");
    fs::write(
        &cases,
        "cases:\n- name: large\n  action: {tool: pay, args: {amount: 501}}\n  expect: {tier: escalate, rule: large}\n- name: wrong <one>\n  action: {tool: pay, args: {amount: 1}}\n  expect: {tier: auto}\n",
    )
    .unwrap();
    let output = program()
        .args(["policy", "test", "--policy"])
        .arg(&policy)
        .arg("--junit")
        .arg(&junit)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let text = stdout(&output);
    assert!(text.contains("ok    large") && text.contains("tier: expected auto, got approve"), "{text}");
    let xml = fs::read_to_string(junit).unwrap();
    assert!(xml.contains("failures=\"1\"") && xml.contains("wrong &lt;one&gt;"), "{xml}");
}
