//! With a server: proposed, held, decided, claimed once, reported.

use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use banksman_client::{ActionsQuery, Client};
use banksman_core::json::CanonicalJson;
use banksman_core::wire::{ActionView, DecisionRequest};
use banksman_core::{ActionId, Decision, Status};
use serde_json::{Value, json};

use super::{POLICY, User, bash, before, count, decision, reason};
use crate::installation::{Installation, PATIENCE, Server, said};

pub(super) struct Site {
    pub(super) user: User,
    pub(super) server: Server,
    pub(super) agent: String,
    reviewer: Client,
    _installation: Installation,
}

impl Site {
    pub(super) fn new() -> Self {
        let installation = Installation::new();
        let policy = installation.policy(POLICY);
        let server = installation.serve_with(&["--policy", policy.to_str().unwrap()]);
        let first = server.first().clone();
        Self {
            user: User::new(),
            agent: first.agent_token,
            reviewer: server.client(&first.reviewer_token),
            server,
            _installation: installation,
        }
    }

    pub(super) fn start(&self, host: &str, more: &[&str], input: &[u8]) -> Child {
        let mut command = self.user.command();
        command.args(["hook", host]).args(more);
        command.env("BANKSMAN_URL", self.server.url()).env("BANKSMAN_TOKEN", &self.agent);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), input).unwrap();
        child
    }

    pub(super) fn hook(&self, host: &str, more: &[&str], input: &[u8]) -> Output {
        self.start(host, more, input).wait_with_output().unwrap()
    }

    pub(super) fn pending(&self) -> ActionView {
        self.held_with("")
    }

    /// What is held and has this among its arguments.
    pub(super) fn held_with(&self, text: &str) -> ActionView {
        let query = ActionsQuery { status: Some(Status::Pending), ..ActionsQuery::default() };
        let began = Instant::now();
        loop {
            let held = self.reviewer.actions(&query).unwrap().items;
            if let Some(action) = held.into_iter().find(|action| action.args.as_str().contains(text)) {
                return action;
            }
            assert!(began.elapsed() < PATIENCE, "nothing is held");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(super) fn decide(
        &self,
        action: &ActionView,
        decision: Decision,
        words: Option<&str>,
        args: Option<&str>,
    ) {
        let request = DecisionRequest {
            decision,
            version: action.version,
            digest: action.digest,
            reason: Some("because".into()),
            args: args.map(|args| CanonicalJson::parse(args.as_bytes()).unwrap()),
            message: words.map(str::to_owned),
            remember: None,
        };
        self.reviewer.decide(action.id, &request).unwrap();
    }

    pub(super) fn only(&self) -> ActionView {
        let [only] = &self.all()[..] else { panic!("not one action: {:?}", self.all()) };
        only.clone()
    }

    /// One action, as it is now.
    pub(super) fn reviewed(&self, id: ActionId) -> ActionView {
        self.reviewer.action(id).unwrap()
    }

    /// Every action, newest first.
    pub(super) fn all(&self) -> Vec<ActionView> {
        let items = self.reviewer.actions(&ActionsQuery::default()).unwrap().items;
        items.iter().map(|item| self.reviewer.action(item.id).unwrap()).collect()
    }
}

fn done(event: &str, id: &str) -> Vec<u8> {
    let mut value: Value =
        serde_json::from_slice(&before(event, "Bash", &json!({ "command": "x" }), id)).unwrap();
    value["tool_response"] = json!({ "stdout": "secret output \u{1b}[2J", "n": 1 });
    value["error"] = json!("Command exited with code 1");
    value.to_string().into_bytes()
}

/// What Claude Code passes on to its model.
fn for_the_model(output: &Output) -> Option<String> {
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    document["hookSpecificOutput"]["additionalContext"].as_str().map(str::to_owned)
}

#[test]
fn what_policy_lets_run_is_claimed_and_its_end_is_reported_once() {
    for (host, allowed) in [("claude-code", "allow"), ("codex", "silence")] {
        let site = Site::new();
        assert_eq!(decision(&site.hook(host, &[], &bash("ls"))), allowed);
        let action = site.only();
        assert_eq!((action.status, action.tool.as_str()), (Status::Executing, "Bash"));
        assert_eq!(action.args.as_str(), r#"{"command":"ls","cwd":"/srv/app"}"#);
        assert_eq!(count(&site.user.state()), 1);
        for _ in 0..2 {
            assert_eq!(decision(&site.hook(host, &[], &done("PostToolUse", "toolu_01"))), "silence");
        }
        let action = site.only();
        assert_eq!(action.status, Status::Succeeded);
        assert!(!format!("{action:?}").contains("secret output"), "what tools print is not ours to keep");
        assert_eq!(count(&site.user.state()), 0);
    }
}

#[test]
fn a_failure_is_reported_as_one() {
    let site = Site::new();
    site.hook("claude-code", &[], &bash("ls"));
    site.hook("claude-code", &[], &done("PostToolUseFailure", "toolu_01"));
    let action = site.only();
    assert_eq!(action.status, Status::Failed);
    assert_eq!(action.outcome.unwrap().error.as_deref(), Some("Command exited with code 1"));
}

#[test]
fn the_same_call_is_not_let_run_twice() {
    let site = Site::new();
    assert_eq!(decision(&site.hook("claude-code", &[], &bash("ls"))), "allow");
    let again = site.hook("claude-code", &[], &bash("ls"));
    assert_eq!(decision(&again), "deny");
    assert!(reason(&again).contains("not let run twice"), "{}", reason(&again));
    site.only();
}

#[test]
fn a_held_call_waits_for_its_reviewer_and_hears_their_words() {
    let site = Site::new();
    let hook = site.start("claude-code", &[], &bash("rm -rf /srv/data"));
    site.decide(&site.pending(), Decision::Approve, None, None);
    let output = hook.wait_with_output().unwrap();
    assert_eq!(decision(&output), "allow");
    assert_eq!(for_the_model(&output), None, "there is nothing to tell");

    let site = Site::new();
    let hook = site.start("claude-code", &[], &bash("rm -rf /srv/data"));
    site.decide(&site.pending(), Decision::Approve, Some("the last time"), None);
    let told = for_the_model(&hook.wait_with_output().unwrap()).unwrap();
    assert!(told.contains("the last time"), "{told}");

    let site = Site::new();
    let hook = site.start("codex", &[], &bash("rm -rf /srv/data"));
    site.decide(&site.pending(), Decision::Respond, Some("archive it instead"), None);
    let output = hook.wait_with_output().unwrap();
    assert_eq!(decision(&output), "deny");
    assert!(reason(&output).contains("archive it instead"), "{}", reason(&output));
}

#[test]
fn what_a_reviewer_changed_is_what_runs() {
    let edited = r#"{"command":"rm -rf /srv/archive","cwd":"/srv/app"}"#;
    let site = Site::new();
    let hook = site.start("claude-code", &[], &bash("rm -rf /srv/data"));
    site.decide(&site.pending(), Decision::Modify, None, Some(edited));
    if let Status::Pending = site.only().status {
        site.decide(&site.pending(), Decision::Approve, None, None);
    }
    let output = hook.wait_with_output().unwrap();
    assert_eq!(decision(&output), "allow", "{}", said(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["hookSpecificOutput"]["updatedInput"], json!({ "command": "rm -rf /srv/archive" }));
    let told = for_the_model(&output).unwrap();
    assert!(told.contains("changed") && told.contains(r#"{"command":"rm -rf /srv/archive"}"#), "{told}");

    // Codex is told what to send, and sending that claims what was authorised.
    let site = Site::new();
    let hook = site.start("codex", &[], &bash("rm -rf /srv/data"));
    site.decide(&site.pending(), Decision::Modify, None, Some(edited));
    if let Status::Pending = site.only().status {
        site.decide(&site.pending(), Decision::Approve, None, None);
    }
    let output = hook.wait_with_output().unwrap();
    assert_eq!(decision(&output), "deny");
    assert!(reason(&output).contains(r#"{"command":"rm -rf /srv/archive"}"#), "{}", reason(&output));
    assert_eq!(site.only().status, Status::Authorised, "nobody claimed it");
    let again = before("PreToolUse", "Bash", &json!({ "command": "rm -rf /srv/archive" }), "toolu_02");
    assert_eq!(decision(&site.hook("codex", &[], &again)), "silence");
    assert_eq!(site.only().status, Status::Executing);
}

#[test]
fn at_the_deadline_a_held_call_is_denied_and_the_next_one_joins_it() {
    let site = Site::new();
    let began = Instant::now();
    let output = site.hook("claude-code", &["--deadline", "3"], &bash("rm -rf /srv/data"));
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    assert_eq!(decision(&output), "deny");
    let held = site.only();
    for expected in ["still pending", held.id.to_string().as_str(), site.server.url(), "joins it"] {
        assert!(reason(&output).contains(expected), "{expected} in {}", reason(&output));
    }
    site.decide(&held, Decision::Approve, None, None);
    let again = before("PreToolUse", "Bash", &json!({ "command": "rm -rf /srv/data" }), "toolu_02");
    assert_eq!(decision(&site.hook("claude-code", &[], &again)), "allow");
    assert_eq!(site.only().id, held.id);
}

#[test]
fn a_server_that_is_not_there_is_never_a_yes() {
    let user = User::new();
    let policy = user.policy();
    // Nobody listens on port 1. The policy at hand would have let this run.
    for (host, mode) in
        [("claude-code", "default"), ("claude-code", "bypassPermissions"), ("codex", "default")]
    {
        let input = String::from_utf8(bash("ls")).unwrap().replace("\"default\"", &format!("\"{mode}\""));
        let mut command = user.command();
        command.args(["hook", host, "--policy"]).arg(&policy);
        command.env("BANKSMAN_URL", "http://127.0.0.1:1").env("BANKSMAN_TOKEN", "bkm_x");
        assert_eq!(decision(&super::feed(&mut command, input.as_bytes())), "deny", "{host} {mode}");
        command.env("BANKSMAN_TOKEN", "");
        assert_eq!(decision(&super::feed(&mut command, input.as_bytes())), "deny", "{host} {mode}");
    }
}

#[test]
fn a_token_that_is_none_is_no_way_around() {
    let site = Site::new();
    for token in ["bkm_wrong", "x\ny"] {
        let mut command = site.user.command();
        command.args(["hook", "codex"]).env("BANKSMAN_URL", site.server.url()).env("BANKSMAN_TOKEN", token);
        assert_eq!(decision(&super::feed(&mut command, &bash("ls"))), "deny");
    }
}
