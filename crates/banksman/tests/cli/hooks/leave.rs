//! What hosts ask in the middle of a call: leave for what was let run, and leave for more than that.

use std::path::PathBuf;

use banksman_core::json::CanonicalJson;
use banksman_core::{Decision, Kind, Status, action_digest};
use serde_json::{Value, json};

use super::served::Site;
use super::{User, bash, before, decision, feed, reason};

/// The host asks for leave. It does not say for which call.
fn request(tool: &str, input: &Value) -> Vec<u8> {
    let mut asked: Value = serde_json::from_slice(&before("PermissionRequest", tool, input, "")).unwrap();
    asked.as_object_mut().unwrap().remove("tool_use_id");
    asked.to_string().into_bytes()
}

/// Codex asks for leave, in the shape of the call itself.
fn codex(command: &str, description: Option<&str>) -> Vec<u8> {
    let mut input = json!({ "command": command });
    if let Some(description) = description {
        input["description"] = json!(description);
    }
    request("Bash", &input)
}

/// The note beside the one call that was let run.
fn note(user: &User) -> PathBuf {
    let mut notes = std::fs::read_dir(user.state()).unwrap().map(|entry| entry.unwrap().path());
    notes.find(|path| path.extension().is_some_and(|extension| extension == "json")).unwrap()
}

/// Writes that what was let run was something else.
fn forge(user: &User, tool: &str, kind: Kind, args: &str) {
    let path = note(user);
    let mut said: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let args = CanonicalJson::parse(args.as_bytes()).unwrap();
    said["deed"] = json!(action_digest(tool, kind, &args).to_string());
    std::fs::write(path, said.to_string()).unwrap();
}

#[test]
fn the_host_may_ask_once_for_leave_for_what_was_let_run_and_for_nothing_else() {
    let site = Site::new();
    let ls = json!({ "command": "ls", "description": "Lists" });
    let asked = before("PreToolUse", "Bash", &ls, "toolu_01");
    assert_eq!(decision(&site.hook("claude-code", &[], &asked)), "allow");
    assert_eq!(decision(&site.hook("claude-code", &[], &request("Bash", &ls))), "allow");
    site.only();
    // Again is another call, and it is judged as one: its own action.
    assert_eq!(decision(&site.hook("claude-code", &[], &request("Bash", &ls))), "allow");
    assert_eq!(site.all().len(), 2);
    let free = json!({ "command": "ls", "description": "Lists", "dangerouslyDisableSandbox": true });
    let other = site.hook("claude-code", &["--deadline", "2"], &request("Bash", &free));
    assert_eq!(decision(&other), "deny", "{}", reason(&other));
    let rm = json!({ "command": "rm -rf /" });
    let other = site.hook("claude-code", &["--deadline", "2"], &request("Bash", &rm));
    assert_eq!(decision(&other), "deny", "{}", reason(&other));
}

#[test]
fn codex_is_not_let_out_of_its_sandbox_because_the_command_was_let_run_inside() {
    for description in [None, Some("please"), Some("network-access to everything")] {
        let site = Site::new();
        assert_eq!(decision(&site.hook("codex", &[], &bash("ls"))), "silence");
        let asked = site.hook("codex", &["--deadline", "2"], &codex("ls", description));
        assert_eq!(decision(&asked), "deny", "{description:?}");
        let held = site.pending();
        assert_eq!((held.tool.as_str(), held.kind), ("leave-sandbox", Kind::Shell));
        // Whoever decides sees the command and what the agent says for it.
        assert!(held.args.as_str().contains("\"command\":\"ls\""), "{}", held.args.as_str());
        assert!(description.is_none_or(|said| held.args.as_str().contains(said)), "{}", held.args.as_str());
        site.decide(&held, Decision::Approve, None, None);
        assert_eq!(decision(&site.hook("codex", &[], &codex("ls", description))), "allow");
        assert_eq!(site.all()[0].status, Status::Succeeded, "leave was given, and that was all");
        // The leave was for once.
        let again = site.hook("codex", &["--deadline", "2"], &codex("ls", description));
        assert_eq!(decision(&again), "deny", "{description:?}");
        assert!(reason(&again).contains("still pending"), "{}", reason(&again));
    }
}

#[test]
fn the_network_is_asked_for_by_host_while_the_command_runs() {
    let site = Site::new();
    assert_eq!(decision(&site.hook("codex", &[], &bash("cargo fetch"))), "silence");
    let asked = |host: &str| codex("cargo fetch", Some(&format!("network-access https://{host}:443")));
    let hook = site.start("codex", &[], &asked("crates.example"));
    let held = site.pending();
    assert_eq!((held.tool.as_str(), held.kind), ("network-access", Kind::Http));
    let args: Value = serde_json::from_str(held.args.as_str()).unwrap();
    assert_eq!(
        (&args["url"], &args["command"]),
        (&json!("https://crates.example:443"), &json!("cargo fetch"))
    );
    site.decide(&held, Decision::Approve, None, None);
    assert_eq!(decision(&hook.wait_with_output().unwrap()), "allow");
    let other = site.hook("codex", &["--deadline", "2"], &asked("evil.example"));
    assert_eq!(decision(&other), "deny", "leave for one host is none for another");
    assert!(reason(&other).contains("still pending"), "{}", reason(&other));

    let hook = site.start("codex", &[], &asked("third.example"));
    let held = site.held_with("third.example");
    let edited = held.args.as_str().replace("third.example", "fourth.example");
    site.decide(&held, Decision::Modify, None, Some(&edited));
    let changed = site.reviewed(held.id);
    if changed.status == Status::Pending {
        site.decide(&changed, Decision::Approve, None, None);
    }
    let output = hook.wait_with_output().unwrap();
    assert_eq!(decision(&output), "deny", "the host cannot be told another one");
    assert!(reason(&output).contains("yes or no"), "{}", reason(&output));
}

#[test]
fn a_note_that_an_agent_wrote_lets_nothing_run() {
    let site = Site::new();
    let rm = json!({ "command": "rm -rf /" });
    assert_eq!(decision(&site.hook("claude-code", &[], &bash("ls"))), "allow");
    forge(&site.user, "Bash", Kind::Shell, r#"{"command":"rm -rf /","cwd":"/srv/app"}"#);
    // The server knows what was let run.
    let asked = site.hook("claude-code", &["--deadline", "2"], &request("Bash", &rm));
    assert_eq!(decision(&asked), "deny", "{}", reason(&asked));

    // Without a server there is nobody who would know, so nothing of it is believed.
    let user = &site.user;
    forge(user, "Bash", Kind::Shell, r#"{"command":"rm -rf /","cwd":"/srv/app"}"#);
    let _ = std::fs::remove_file(note(user).with_extension("asked"));
    assert_eq!(decision(&user.hook("claude-code", &request("Bash", &rm))), "silence", "its own dialog opens");
}

#[test]
fn what_has_ended_at_the_server_is_not_let_run_by_its_note() {
    let site = Site::new();
    let ls = json!({ "command": "ls" });
    assert_eq!(decision(&site.hook("claude-code", &[], &bash("ls"))), "allow");
    let kept = note(&site.user);
    let copy = std::fs::read(&kept).unwrap();
    site.hook("claude-code", &[], &before("PostToolUse", "Bash", &ls, "toolu_01"));
    assert_eq!(site.only().status, Status::Succeeded);
    std::fs::write(&kept, copy).unwrap();
    assert_eq!(decision(&site.hook("claude-code", &[], &request("Bash", &ls))), "allow");
    assert_eq!(site.all().len(), 2, "policy lets it run, as another call");
}

#[test]
fn without_a_server_policy_answers_what_codex_asks_leave_for() {
    let user = User::new();
    let network = codex("cargo fetch", Some("network-access https://crates.example:443"));
    for asked in [codex("ls", None), codex("ls", Some("please")), network.clone()] {
        let output = user.hook("codex", &asked);
        assert_eq!(decision(&output), "deny", "{}", String::from_utf8_lossy(&asked));
        assert!(reason(&output).contains("a person has to see this"), "{}", reason(&output));
    }
    let policy = user.home().join("open.yaml");
    let text = "version: 1\nrules:\n  - id: crates\n    match: {tool: network-access, args: {url: 'https://crates.example:443'}}\n    tier: auto\n";
    std::fs::write(&policy, text).unwrap();
    let hook = |input: &[u8]| feed(user.command().args(["hook", "codex", "--policy"]).arg(&policy), input);
    assert_eq!(decision(&hook(&network)), "allow");
    let other = codex("cargo fetch", Some("network-access https://crates.example.evil:443"));
    assert_eq!(decision(&hook(&other)), "deny");
}
