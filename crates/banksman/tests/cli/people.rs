//! Delegations, grants, modes, chains and observing, end to end; and `kill -9` in the middle of a chain.

use std::time::{Duration, Instant};

use banksman_client::{AuditQuery, Client, Proposal};
use banksman_core::audit::{Event, Fact};
use banksman_core::wire::{ActionView, DelegationView, GrantView, List, ModeView, Problem};
use banksman_core::{ActionId, Mode, Status};
use serde_json::{Value, json};

use crate::help::stdout;
use crate::installation::{Installation, Server, document, said};

const POLICY: &str = "\
version: 1
tools:
  invoice: {risk: high, tier: approve, roles: [finance]}
  label: {risk: medium, tier: approve, allow_remember: {scopes: [exact, args], uses: 5}}
modes:
  change_to: {shadow: {require_reason: true}}
";

fn token(installation: &Installation, kind: &str, name: &str, roles: &[&str]) -> String {
    let mut args = vec!["token", "new", "--kind", kind, "--name", name, "--json"];
    args.extend(roles.iter().flat_map(|role| ["--role", role]));
    let output = installation.operator(&args);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    document::<Value>(&output)["token"].as_str().unwrap().to_owned()
}

fn start(installation: &Installation, policy: &str) -> Server {
    let path = installation.policy(policy);
    installation.serve_with(&["--policy", path.to_str().unwrap()])
}

fn propose(agent: &Client, tool: &str, args: &Value) -> ActionView {
    let body = json!({"tool": tool, "args": args, "session": "s1"}).to_string();
    agent.propose(&Proposal::new(&body)).unwrap()
}

fn refused(server: &Server, token: &str, args: &[&str]) -> Problem {
    let output = server.run(token, &[args, &["--json"]].concat());
    assert_ne!(output.status.code(), Some(0), "{args:?}: {}", said(&output));
    document(&output)
}

fn text(server: &Server, token: &str, args: &[&str]) -> String {
    let output = server.run(token, args);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", said(&output));
    stdout(&output)
}

#[test]
fn a_delegate_decides_in_anothers_place() {
    let installation = Installation::new();
    let server = start(&installation, POLICY);
    let agent = server.client(&server.first().agent_token);
    let ann = token(&installation, "reviewer", "ann", &["finance"]);
    let bob = token(&installation, "reviewer", "bob", &[]);
    let held = propose(&agent, "invoice", &json!({"n": 1})).id.to_string();
    assert_eq!(refused(&server, &bob, &["approve", &held, "--yes"]).code, "missing_role");
    let lent: DelegationView = server.run_json(&ann, &["delegate", "--to", "bob", "--for", "5d"]);
    assert!(text(&server, &bob, &["delegate", "list"]).contains(&lent.id.to_string()));
    let approved: ActionView = server.run_json(&bob, &["approve", &held, "--yes"]);
    assert_eq!(approved.status, Status::Authorised);
    let shown = text(&server, &bob, &["show", &held]);
    assert!(shown.contains("as finance on behalf of ann"), "{shown}");
    let log = text(&server, &bob, &["audit", "query", "--wide"]);
    assert!(log.contains("ann lends all roles to bob") && log.contains("on behalf of ann"), "{log}");
    text(&server, &ann, &["delegate", "revoke", &lent.id.to_string()]);
    assert_eq!(text(&server, &ann, &["delegate", "list"]), "Nobody decides in another's place.\n");
    let next = propose(&agent, "invoice", &json!({"n": 2})).id.to_string();
    assert_eq!(refused(&server, &bob, &["approve", &next, "--yes"]).code, "missing_role");
}

#[test]
fn grants_are_given_listed_used_and_revoked() {
    let installation = Installation::new();
    let server = start(&installation, POLICY);
    let (reviewer, agent) = (&server.first().reviewer_token, server.client(&server.first().agent_token));
    let held = propose(&agent, "label", &json!({"issue": 1, "label": "bug"}));
    let id = held.id.to_string();
    let wide = ["approve", &id, "--yes", "--remember", "tool"];
    assert_eq!(refused(&server, reviewer, &wide).code, "remember_not_allowed");
    text(
        &server,
        reviewer,
        &["approve", &id, "--yes", "--remember", "args", "--arg", "issue=*", "--uses", "2"],
    );
    let grants: List<GrantView> = server.run_json(reviewer, &["grant", "list"]);
    assert_eq!((grants.items.len(), grants.items[0].uses_left), (1, Some(2)));
    let again = propose(&agent, "label", &json!({"issue": 2, "label": "bug"}));
    assert_eq!(again.status, Status::Authorised);
    let grant = grants.items[0].id.to_string();
    assert_eq!(again.resolution.unwrap().reason.as_deref(), Some(grant.as_str()));
    let log = text(&server, reviewer, &["audit", "query", "--type", "proposed", "--wide"]);
    assert!(log.contains(&format!("let through by {grant}")), "{log}");
    assert_eq!(propose(&agent, "label", &json!({"issue": 3, "label": "security"})).status, Status::Pending);
    text(&server, reviewer, &["grant", "revoke", &grant]);
    assert_eq!(text(&server, reviewer, &["grant", "list"]), "Nothing is granted.\n");
}

#[test]
fn the_mode_is_shown_changed_and_falls_back() {
    let installation = Installation::new();
    let server = start(&installation, POLICY);
    let admin = token(&installation, "admin", "ada", &[]);
    let reviewer = &server.first().reviewer_token;
    assert_eq!(text(&server, reviewer, &["mode"]), "The mode is production.\n");
    assert_eq!(refused(&server, reviewer, &["mode", "set", "shadow", "--reason", "x"]).code, "not_yours");
    assert_eq!(refused(&server, &admin, &["mode", "set", "shadow"]).code, "reason_required");
    assert_eq!(refused(&server, &admin, &["mode", "set", "lab"]).code, "illegal_mode_change");
    let mode: ModeView = server.run_json(&admin, &["mode", "set", "shadow", "--reason", "drill"]);
    assert_eq!(mode.mode, Mode::Shadow);
    text(&server, &admin, &["mode", "set", "production"]);
    let fallen = text(&server, reviewer, &["mode", "fall-back", "--reason", "odd numbers"]);
    assert!(fallen.contains("fell back from production"), "{fallen}");
}

#[test]
fn observing_and_working_alone_are_loud() {
    let installation = Installation::new();
    let server = start(&installation, &format!("{POLICY}enforcement: observe\nsolo_operator: ada\n"));
    let log = installation.log();
    assert!(log.contains("WARN") && log.contains("observe") && log.contains("solo_operator: ada"), "{log}");
    let (reviewer, agent) = (&server.first().reviewer_token, server.client(&server.first().agent_token));
    for number in 0..3 {
        assert_eq!(propose(&agent, "invoice", &json!({"n": number})).status, Status::Authorised);
    }
    assert_eq!(text(&server, reviewer, &["mode"]).matches("WARNING").count(), 2);
    let observed = text(&server, reviewer, &["audit", "observed"]);
    assert!(observed.starts_with("People would have been asked 3 times.\n"), "{observed}");
    assert!(observed.contains("3  rule tools.invoice") && observed.contains("3  tier approve"), "{observed}");
    let report: Value = server.run_json(reviewer, &["audit", "observed", "--limit", "1"]);
    assert_eq!((&report["summary"]["total"], report["newest"].as_array().unwrap().len()), (&json!(3), 1));
    let data = installation.data();
    let policy = installation.beside("own-policy.yaml");
    let doctor = ["doctor", "--data", data.to_str().unwrap(), "--policy", policy.to_str().unwrap()];
    assert_eq!(text(&server, reviewer, &doctor).matches("\nWARN").count(), 2);
}

/// The numbers of the steps that were taken, by action.
fn steps(client: &Client, id: ActionId) -> Vec<u32> {
    let query =
        AuditQuery { action: Some(id), event_type: Some("escalated".into()), ..AuditQuery::default() };
    let page = client.audit(&query).unwrap();
    let mut numbers: Vec<u32> = page
        .items
        .iter()
        .map(|view| match Event::from_bytes(view.event.get().as_bytes()).unwrap().fact {
            Fact::Escalated { number, .. } => number,
            other => panic!("{other:?} among the steps"),
        })
        .collect();
    // Newest first.
    numbers.reverse();
    numbers
}

#[test]
fn chains_and_delegations_survive_being_killed_at_any_moment() {
    const CHAIN: &str = "\
version: 1
tools:
  invoice:
    risk: high
    tier: approve
    roles: [finance]
    timeout: 1h
    escalation:
      - {after: 1s, notify: again}
      - {after: 2s, hand_to: lead}
      - {after: 3s, notify: again}
";
    let installation = Installation::new();
    let mut server = start(&installation, CHAIN);
    let (reviewer, agent) = (server.first().reviewer_token.clone(), server.first().agent_token.clone());
    let lead = token(&installation, "reviewer", "lea", &["lead"]);
    let ann = token(&installation, "reviewer", "ann", &["finance"]);
    let bob = token(&installation, "reviewer", "bob", &[]);
    let cases: Vec<ActionView> =
        (0..10).map(|number| propose(&server.client(&agent), "invoice", &json!({"n": number}))).collect();
    let lent: DelegationView = server.run_json(&ann, &["delegate", "--to", "bob", "--for", "1d"]);
    let began = Instant::now();
    let mut pause = 0;
    while began.elapsed() < Duration::from_secs(4) {
        pause = (pause + 37) % 180;
        std::thread::sleep(Duration::from_millis(pause));
        server.kill();
        server = start(&installation, CHAIN);
    }
    let client = server.client(&reviewer);
    let patience = Instant::now();
    while cases.iter().any(|case| steps(&client, case.id).len() < 3) {
        assert!(patience.elapsed() < Duration::from_secs(20), "a step was forgotten");
        std::thread::sleep(Duration::from_millis(50));
    }
    for case in &cases {
        assert_eq!(steps(&client, case.id), [1, 2, 3]);
    }
    let delegations = client.delegations().unwrap();
    assert_eq!(delegations.items.iter().map(|item| item.id).collect::<Vec<_>>(), [lent.id]);
    for (approver, case) in [&lead, &bob, &ann].into_iter().zip(&cases) {
        let approved: ActionView = server.run_json(approver, &["approve", &case.id.to_string(), "--yes"]);
        assert_eq!(approved.status, Status::Authorised);
    }
}
