//! The commands of people, end to end: what they do, print and exit with.

use std::os::unix::fs::PermissionsExt;

use banksman_client::{Client, Proposal};
use banksman_core::audit::Event;
use banksman_core::wire::{ActionView, ClaimBody, EventView, FreezeView, List, Page, Problem};
use banksman_core::{Decision, Status};
use serde_json::{Value, json};

use crate::help::{stderr, stdout};
use crate::hooks::feed;
use crate::installation::{Installation, OPERATOR, Server, document, program, said};

/// A server with a policy that has something of everything, and someone on each side of it.
struct Office {
    installation: Installation,
    server: Server,
    agent: Client,
    reviewer: String,
}

const POLICY: &str = "version: 1\n\
    tools:\n\
    \x20 refund: {risk: high, tier: approve}\n\
    \x20 explain: {risk: high, tier: approve, require_reason: true}\n\
    \x20 wipe: {risk: critical, tier: escalate}\n\
    \x20 charge: {risk: high, tier: approve, redact: [to]}\n";

impl Office {
    fn open() -> Self {
        let installation = Installation::new();
        let policy = installation.policy(POLICY);
        let server = installation.serve_with(&["--policy", policy.to_str().unwrap()]);
        let agent = server.client(&server.first().agent_token);
        let reviewer = server.first().reviewer_token.clone();
        Self { installation, server, agent, reviewer }
    }

    fn hold(&self, tool: &str, amount: u64) -> ActionView {
        let body = json!({"tool": tool, "args": {"amount": amount, "to": "ada"}}).to_string();
        let held = self.agent.propose(&Proposal::new(&body)).unwrap();
        assert_eq!(held.status, Status::Pending);
        held
    }

    /// Runs a command as the reviewer and expects its code; what it said.
    fn run(&self, args: &[&str], code: i32) -> (String, String) {
        let output = self.server.run(&self.reviewer, args);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", said(&output));
        (stdout(&output), stderr(&output))
    }

    /// The same for a command that is refused, whose document is the problem.
    fn problem(&self, args: &[&str], code: i32) -> Problem {
        let output = self.server.run(&self.reviewer, &[args, &["--json"]].concat());
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", said(&output));
        document(&output)
    }

    fn json<T: serde::de::DeserializeOwned>(&self, args: &[&str]) -> T {
        self.server.run_json(&self.reviewer, args)
    }

    fn status(&self, action: &ActionView) -> Status {
        self.agent.action(action.id).unwrap().status
    }
}

#[test]
fn pending_lists_what_waits_and_nothing_else() {
    let office = Office::open();
    assert_eq!(office.run(&["pending"], 0).0, "Nothing is waiting.\n");
    assert!(office.json::<Page<ActionView>>(&["pending"]).items.is_empty());
    let held: Vec<ActionView> = (0..3).map(|amount| office.hold("refund", amount)).collect();
    office.run(&["deny", &held[1].id.to_string()], 0);
    let page: Page<ActionView> = office.json(&["pending"]);
    let ids: Vec<_> = page.items.iter().map(|action| action.id).collect();
    assert_eq!(ids, [held[0].id, held[2].id]);
    let (text, _) = office.run(&["pending", "--wide"], 0);
    assert!(text.contains(&held[0].id.to_string()) && !text.contains(&held[1].id.to_string()), "{text}");
    // More than a page of the API is still one list.
    for amount in 100..205 {
        office.hold("refund", amount);
    }
    assert_eq!(office.json::<Page<ActionView>>(&["pending"]).items.len(), 107);
}

#[test]
fn show_tells_what_would_run_and_how_it_stands() {
    let office = Office::open();
    let held = office.hold("refund", 42);
    let id = held.id.to_string();
    let (text, _) = office.run(&["show", &id], 0);
    for expected in [&id, "refund", "\"amount\": 42", "pending", &held.digest.to_string(), "banksman approve"]
    {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    let shown: ActionView = office.json(&["show", &id]);
    assert_eq!((shown.id, shown.digest, shown.args), (held.id, held.digest, held.args));
    // The end of an id is enough while it is pending.
    let short = &id[id.len() - 8..];
    assert_eq!(office.json::<ActionView>(&["show", short]).id, held.id);
    let (_, hint) = office.run(&["show", "ZZZZZZZZ"], 3);
    assert!(hint.contains("no pending action"), "{hint}");
    assert_eq!(office.problem(&["show", "act_01J9ZKQ7V8Y3F5T2M6N4P0R1SB"], 3).code, "not_found");
}

#[test]
fn approve_lets_exactly_this_run_once() {
    let office = Office::open();
    let held = office.hold("refund", 1);
    let id = held.id.to_string();
    let (text, _) = office.run(&["approve", &id, "--yes", "--reason", "looks right"], 0);
    assert!(text.contains("\"amount\": 1") && text.contains("Approved: refund may run once"), "{text}");
    let action = office.agent.action(held.id).unwrap();
    assert_eq!(action.status, Status::Authorised);
    assert_eq!((action.votes[0].by.as_str(), action.votes[0].decision), (OPERATOR, Decision::Approve));
    assert_eq!(action.votes[0].reason.as_deref(), Some("looks right"));
    let claim = office.agent.claim(held.id, &ClaimBody { digest: held.digest, preconditions: None }).unwrap();
    assert_eq!(claim.args, held.args);

    let problem = office.problem(&["approve", &id, "--yes"], 4);
    assert_eq!((problem.code.as_str(), problem.action), ("already_decided", Some(held.id)));
    let (_, hint) = office.run(&["deny", &id], 4);
    assert!(hint.contains(&format!("banksman show {id}")), "{hint}");
}

#[test]
fn nothing_is_let_run_where_nobody_can_be_asked() {
    let office = Office::open();
    let held = office.hold("refund", 1);
    let id = held.id.to_string();
    for answer in ["n\n", "y\n", ""] {
        for args in [&["approve", &id][..], &["modify", &id, "--set", "amount=2"]] {
            let mut command = program();
            command.args(args).env("BANKSMAN_URL", office.server.url());
            let output = feed(command.env("BANKSMAN_TOKEN", &office.reviewer), answer.as_bytes());
            assert_eq!(output.status.code(), Some(2), "{args:?} told {answer:?}: {}", said(&output));
            assert!(stderr(&output).contains("say --yes"), "{}", said(&output));
        }
    }
    assert_eq!(office.status(&held), Status::Pending);
    // A no lets nothing run.
    office.run(&["deny", &id], 0);
}

#[test]
fn remembering_without_a_session_names_the_way() {
    let office = Office::open();
    let id = office.hold("refund", 1).id.to_string();
    let (_, words) = office.run(&["approve", &id, "--remember", "--yes"], 2);
    assert!(words.contains("--all-sessions"), "{words}");
}

#[test]
fn what_policy_hides_in_part_is_decided_and_said_to_be_unchecked() {
    let office = Office::open();
    let decided = |amount: u64, command: &[&str]| {
        let held = office.hold("charge", amount);
        let id = held.id.to_string();
        let (shown, _) = office.run(&["show", &id], 0);
        let shown = shown.replace("\n ", "");
        assert!(
            !shown.contains("exactly what would run") && shown.contains("cannot be checked here"),
            "{shown}"
        );
        let (text, more) = office.run(&[&command[..1], &[id.as_str()], &command[1..]].concat(), 0);
        let said = format!("{text}{more}").replace("\n ", "");
        assert!(said.contains("cannot be checked here") && !said.contains("ada"), "{said}");
        office.agent.action(held.id).unwrap()
    };
    assert_eq!(decided(1, &["deny"]).status, Status::Denied);
    assert_eq!(decided(2, &["deny", "--message", "not now"]).status, Status::Denied);
    assert_eq!(decided(3, &["approve", "--yes"]).status, Status::Authorised);
    let changed = decided(4, &["modify", "--set", "amount=5", "--yes"]);
    assert_eq!(changed.status, Status::Authorised);
    assert_eq!(changed.args.as_str(), r#"{"amount":5,"to":"ada"}"#);
}

#[test]
fn approving_takes_as_many_people_as_policy_says() {
    let office = Office::open();
    let held = office.hold("wipe", 1);
    let id = held.id.to_string();
    let first: ActionView = office.json(&["approve", &id, "--yes"]);
    assert_eq!(first.status, Status::Pending);
    // The same person by another token is still the same person.
    let again = office.installation.token("admin", OPERATOR);
    let output = office.server.run(&again.token, &["approve", &id, "--yes", "--json"]);
    assert_eq!(output.status.code(), Some(4), "{}", said(&output));
    assert_eq!(document::<Problem>(&output).code, "already_voted");
    let ann = office.installation.token("reviewer", "ann");
    let second: ActionView = office.server.run_json(&ann.token, &["approve", &id, "--yes"]);
    assert_eq!(second.status, Status::Authorised);
}

#[test]
fn deny_says_no_with_or_without_words() {
    let office = Office::open();
    let (plain, answered) = (office.hold("refund", 1), office.hold("refund", 2));
    let (text, _) = office.run(&["deny", &plain.id.to_string(), "--reason", "too much"], 0);
    assert!(text.ends_with("Denied.\n"), "{text}");
    let action = office.agent.action(plain.id).unwrap();
    assert_eq!(action.status, Status::Denied);
    assert_eq!(action.resolution.unwrap().reason.as_deref(), Some("too much"));
    let denied: ActionView = office.json(&["deny", &answered.id.to_string(), "--message", "ask Ann first"]);
    assert_eq!(denied.votes[0].decision, Decision::Respond);
    assert_eq!(denied.resolution.unwrap().message.as_deref(), Some("ask Ann first"));
}

#[test]
fn modify_sets_what_it_names_and_nothing_else() {
    let office = Office::open();
    let held = office.hold("refund", 899);
    let id = held.id.to_string();
    let (text, _) = office.run(&["modify", &id, "--set", "amount=9007199254740993", "--yes"], 0);
    assert!(text.contains("- \"amount\": 899") && text.contains("+ \"amount\": 9007199254740993"), "{text}");
    assert!(text.contains("with your arguments"), "{text}");
    let action = office.agent.action(held.id).unwrap();
    assert_eq!(action.args.as_str(), r#"{"amount":9007199254740993,"to":"ada"}"#);
    assert_eq!((action.status, action.version), (Status::Authorised, 2));
    assert!(action.resolution.unwrap().modified);
    let (shown, _) = office.run(&["show", &id], 0);
    assert!(
        shown.contains("- \"amount\": 899") && shown.contains("+ \"amount\": 9007199254740993"),
        "{shown}"
    );
    // What was proposed no longer runs.
    let old = ClaimBody { digest: held.digest, preconditions: None };
    assert_eq!(office.agent.claim(held.id, &old).unwrap_err().code(), Some("digest_mismatch"));

    let other = office.hold("refund", 5).id.to_string();
    for (args, said) in [
        (&["modify", &other, "--set", "amount=5", "--yes"][..], "the same"),
        (&["modify", &other, "--set", "to=ann", "--yes"], "quotes"),
        (&["modify", &other, "--args", "[]", "--yes"], "object"),
        (&["modify", &other], "--set"),
    ] {
        let (_, text) = office.run(args, 2);
        assert!(text.contains(said), "{args:?}: {text}");
    }
    let changed: ActionView = office.json(&["modify", &other, "--args", r#"{"amount":6}"#, "--yes"]);
    assert_eq!(changed.args.as_str(), r#"{"amount":6}"#);
}

#[test]
fn a_reason_that_policy_asks_for_is_asked_for() {
    let office = Office::open();
    let id = office.hold("explain", 1).id.to_string();
    let (_, hint) = office.run(&["approve", &id, "--yes"], 2);
    assert!(hint.contains("--reason TEXT"), "{hint}");
    assert_eq!(office.problem(&["approve", &id, "--yes"], 2).code, "reason_required");
    assert_eq!(
        office.json::<ActionView>(&["approve", &id, "--yes", "--reason", "r"]).status,
        Status::Authorised
    );
}

#[test]
fn cancel_withdraws_and_takes_back() {
    let office = Office::open();
    let (held, approved) = (office.hold("refund", 1), office.hold("refund", 2));
    let cancelled: ActionView =
        office.json(&["cancel", &held.id.to_string(), "--reason", "no longer needed"]);
    assert_eq!(cancelled.status, Status::Cancelled);
    office.run(&["approve", &approved.id.to_string(), "--yes"], 0);
    let (text, _) = office.run(&["cancel", &approved.id.to_string()], 0);
    assert!(text.contains("is now revoked"), "{text}");
    let claim = ClaimBody { digest: approved.digest, preconditions: None };
    assert_eq!(office.agent.claim(approved.id, &claim).unwrap_err().code(), Some("not_authorised"));
    assert_eq!(office.problem(&["cancel", &held.id.to_string()], 4).code, "already_decided");
    assert_eq!(office.problem(&["cancel", "act_01J9ZKQ7V8Y3F5T2M6N4P0R1SB"], 3).code, "not_found");
}

#[test]
fn a_freeze_stops_what_it_names_until_it_is_lifted() {
    let office = Office::open();
    let held = office.hold("refund", 1);
    office.run(&["approve", &held.id.to_string(), "--yes"], 0);
    let claim = ClaimBody { digest: held.digest, preconditions: None };
    for scope in [&["--tool", "refund"][..], &["--agent", "agent"], &["--everything"]] {
        let freeze: FreezeView = office.json(&[&["freeze"], scope, &["--reason", "it went wild"]].concat());
        assert_eq!(freeze.by, OPERATOR);
        assert_eq!(office.agent.claim(held.id, &claim).unwrap_err().code(), Some("frozen"), "{scope:?}");
        let more = office.agent.propose(&Proposal::new(r#"{"tool":"refund","args":{"amount":9}}"#));
        assert_eq!(more.unwrap_err().code(), Some("blocked"), "{scope:?}");
        let (text, _) = office.run(&["freeze", "list"], 0);
        assert!(text.contains(&freeze.id.to_string()) && text.contains("it went wild"), "{text}");
        assert_eq!(office.json::<List<FreezeView>>(&["freeze", "list"]).items.len(), 1);
        let lifted: Value = office.json(&["freeze", "lift", &freeze.id.to_string()]);
        assert_eq!(lifted, json!({"id": freeze.id}));
    }
    assert_eq!(office.run(&["freeze", "list"], 0).0, "Nothing is frozen.\n");
    assert_eq!(office.problem(&["freeze", "lift", "frz_01J9ZKQ7V8Y3F5T2M6N4P0R1SB"], 3).code, "not_found");
    assert!(office.agent.claim(held.id, &claim).is_ok(), "what was approved before is good again");
}

#[test]
fn the_audit_log_says_who_did_what() {
    let office = Office::open();
    let (held, other) = (office.hold("refund", 1), office.hold("wipe", 2));
    office.run(&["approve", &held.id.to_string(), "--yes", "--reason", "looks right"], 0);
    office.run(&["deny", &other.id.to_string()], 0);
    let query = |args: &[&str]| -> Vec<Event> {
        let page: Page<EventView> = office.json(&[&["audit", "query"], args].concat());
        page.items.iter().map(|item| Event::from_bytes(item.event.get().as_bytes()).unwrap()).collect()
    };
    let about = query(&["--action", &held.id.to_string()]);
    let types: Vec<_> = about.iter().map(|event| event.fact.type_name()).collect();
    assert_eq!(types, ["decided", "proposed"], "newest first");
    assert_eq!(about[0].actor.name(), Some(OPERATOR));
    for (args, count) in [
        (&["--type", "proposed"][..], 2),
        (&["--decision", "deny"], 1),
        (&["--reviewer", OPERATOR], 2),
        (&["--tool", "wipe"], 2),
        (&["--risk", "critical"], 2),
        (&["--agent", "nobody"], 0),
        (&["--since", "1h", "--type", "decided"], 2),
        (&["--until", "1h"], 0),
        (&["--limit", "3"], 3),
    ] {
        assert_eq!(query(args).len(), count, "{args:?}");
    }
    let (text, _) = office.run(&["audit", "query", "--limit", "1", "--wide"], 0);
    assert!(text.contains("denied: wipe") && text.contains("There is more: add --cursor"), "{text}");
    assert_eq!(office.run(&["audit", "query", "--agent", "nobody"], 0).0, "Nothing matches.\n");
}

#[test]
fn doctor_finds_a_sound_house_sound_and_a_broken_one_broken() {
    let installation = Installation::new();
    let server = installation.serve();
    let reviewer = &server.first().reviewer_token;
    let data = installation.data();
    let doctor = ["doctor", "--data", data.to_str().unwrap()];
    let output = server.run(reviewer, &doctor);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(stdout(&output).ends_with("All is well.\n"), "{}", said(&output));
    let report: Value = server.run_json(reviewer, &doctor);
    assert_eq!(report["ok"], true, "{report}");

    std::fs::write(data.join("policy.yaml"), "version: 1\ntols: {}\n").unwrap();
    std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o755)).unwrap();
    let told = stdout(&server.run("bkm_reviewer_wrong", &doctor));
    assert!(told.contains("      2 | tols: {}\n") && !told.contains("\\n"), "{told}");
    let output = server.run("bkm_reviewer_wrong", &[&doctor[..], &["--json"]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let report: Value = document(&output);
    let checks = report["checks"].as_array().unwrap();
    let broken: Vec<&Value> = checks.iter().filter(|check| check["ok"] == false).collect();
    let names: Vec<&str> = broken.iter().map(|check| check["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["privacy", "policy", "token"], "{report}");
    assert!(broken.iter().all(|check| check["mend"].is_string()), "each with what to do about it: {report}");
    server.kill();
    let output = installation.operator(&["doctor", "--url", "http://127.0.0.1:1"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("start `banksman serve`"), "{}", said(&output));
}

#[test]
fn whoever_may_not_is_told_so_and_nothing_happens() {
    let office = Office::open();
    let held = office.hold("refund", 1);
    let id = held.id.to_string();
    let own = office
        .installation
        .operator(&["token", "new", "--kind", "agent", "--name", "bot", "--owner", OPERATOR, "--json"]);
    let bot = office.server.client(document::<Value>(&own)["token"].as_str().unwrap());
    let mine = bot.propose(&Proposal::new(r#"{"tool":"refund","args":{}}"#)).unwrap();
    assert_eq!(office.problem(&["approve", &mine.id.to_string(), "--yes"], 5).code, "self_approval");
    let agent = &office.server.first().agent_token;
    for (token, code) in [(agent.as_str(), "wrong_credential"), ("bkm_reviewer_wrong", "unauthenticated")] {
        for args in
            [&["approve", &id, "--yes"][..], &["deny", &id], &["freeze", "--everything"], &["pending"]]
        {
            let output = office.server.run(token, &[args, &["--json"]].concat());
            assert_eq!(output.status.code(), Some(5), "{args:?}: {}", said(&output));
            assert_eq!(document::<Problem>(&output).code, code, "{args:?}");
        }
    }
    assert_eq!(office.status(&held), Status::Pending);
    assert!(office.json::<List<FreezeView>>(&["freeze", "list"]).items.is_empty());
}

#[test]
fn a_server_that_went_away_has_its_own_code() {
    let office = Office::open();
    let url = office.server.url().to_owned();
    let token = office.reviewer.clone();
    drop(office);
    let output = crate::installation::program()
        .args(["pending", "--json", "--url", &url, "--token", &token])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(6), "{}", said(&output));
    assert!(stderr(&output).contains(&url) && !stderr(&output).contains(&token), "{}", said(&output));
    let told: serde_json::Value = document(&output);
    assert_eq!(told["exit"], 6);
    assert!(told["error"].as_str().unwrap().contains(&url) && !stdout(&output).contains(&token), "{told}");
}
