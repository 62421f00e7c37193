//! `banksman setup`: what it writes, that hosts can run it, and that undo leaves no trace.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::{User, bash, decision, feed, reason};
use crate::installation::{Installation, mode, said};

const HOSTS: [(&str, &str, &str); 2] = [
    ("claude-code", ".claude/settings.json", ".claude/settings.local.json"),
    ("codex", ".codex/hooks.json", ".codex/hooks.json"),
];

fn setup(user: &User, args: &[&str]) -> Output {
    user.command().arg("setup").args(args).stdin(Stdio::null()).output().unwrap()
}

fn done(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", said(output));
    said(output)
}

/// Runs the hook as its host would: by a shell, from the settings.
fn as_the_host(user: &User, settings: &Path, event: &str, input: &[u8]) -> Output {
    let value: Value = serde_json::from_str(&fs::read_to_string(settings).unwrap()).unwrap();
    let line = value["hooks"][event][0]["hooks"][0]["command"].as_str().unwrap().to_owned();
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &line]).env("HOME", user.home()).current_dir("/");
    feed(&mut shell, input)
}

fn everything_below(folder: &Path) -> Vec<String> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { all.push(path.display().to_string()) }
        }
    }
    all.sort();
    all
}

#[test]
fn hosts_can_run_what_was_written_and_undo_leaves_no_file() {
    for (host, file, _) in HOSTS {
        let user = User::new();
        let policy = user.policy();
        let text = done(&setup(&user, &[host, "--policy", policy.to_str().unwrap()]));
        assert!(text.contains("--undo"), "{text}");
        let settings = user.home().join(file);
        let allowed = if host == "codex" { "silence" } else { "allow" };
        assert_eq!(decision(&as_the_host(&user, &settings, "PreToolUse", &bash("ls"))), allowed);
        let denied = as_the_host(&user, &settings, "PreToolUse", &bash("rm -rf /"));
        assert_ne!(decision(&denied), allowed, "{}", reason(&denied));
        done(&setup(&user, &[host, "--undo"]));
        assert_eq!(everything_below(&user.home()), Vec::<String>::new());
        done(&setup(&user, &[host, "--undo"]));
    }
}

#[test]
fn twice_is_once_and_undo_gives_every_byte_back() {
    let before = "{\n\t\"model\" : \"opus\",  \"hooks\": {\"PreToolUse\": [ {\"matcher\":\"Bash\",\"hooks\":[{\"type\":\"command\",\"command\":\"mine\"}]} ]}\n}";
    for (host, file, _) in HOSTS {
        let user = User::new();
        let settings = user.home().join(file);
        fs::create_dir_all(settings.parent().unwrap()).unwrap();
        fs::write(&settings, before).unwrap();
        done(&setup(&user, &[host]));
        let once = fs::read_to_string(&settings).unwrap();
        let value: Value = serde_json::from_str(&once).unwrap();
        assert_eq!(value["model"], "opus");
        assert_eq!(value["hooks"]["PreToolUse"][0]["hooks"][0]["command"], "mine");
        assert_eq!(value["hooks"]["PreToolUse"].as_array().unwrap().len(), 2);
        let text = done(&setup(&user, &[host]));
        assert!(text.contains("already"), "{text}");
        assert_eq!(fs::read_to_string(&settings).unwrap(), once);
        let backup = format!("{}.banksman-backup", settings.display());
        assert_eq!(fs::read_to_string(&backup).unwrap(), before);
        done(&setup(&user, &[host, "--undo"]));
        assert_eq!(fs::read_to_string(&settings).unwrap(), before);
        assert_eq!(everything_below(&user.home()), [settings.display().to_string()]);
    }
}

#[test]
fn what_was_changed_since_stays_when_it_is_undone() {
    let user = User::new();
    let settings = user.home().join(".claude/settings.json");
    done(&setup(&user, &["claude-code"]));
    let text = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, text.replacen('{', "{\n  \"theme\": \"dark\",", 1)).unwrap();
    done(&setup(&user, &["claude-code", "--undo"]));
    let left: Value = serde_json::from_str(&fs::read_to_string(&settings).unwrap()).unwrap();
    assert_eq!(left, serde_json::json!({ "theme": "dark" }));
}

#[test]
fn a_project_gets_its_own_and_links_stay_links() {
    for (host, _, file) in HOSTS {
        let user = User::new();
        let project = user.home().join("project");
        let elsewhere = user.home().join("dotfiles.json");
        let settings = project.join(file);
        fs::create_dir_all(settings.parent().unwrap()).unwrap();
        fs::write(&elsewhere, "{}").unwrap();
        std::os::unix::fs::symlink(&elsewhere, &settings).unwrap();
        done(&setup(&user, &[host, "--project", project.to_str().unwrap()]));
        assert!(settings.is_symlink());
        assert!(fs::read_to_string(&elsewhere).unwrap().contains("PreToolUse"));
        done(&setup(&user, &[host, "--project", project.to_str().unwrap(), "--undo"]));
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "{}");
    }
}

#[test]
fn settings_that_are_not_understood_are_not_touched() {
    for text in ["{ // comment\n}", "[]", "{\"hooks\": 5}", "{\"a\":1,\"a\":2}"] {
        let user = User::new();
        let settings = user.home().join(".claude/settings.json");
        fs::create_dir_all(settings.parent().unwrap()).unwrap();
        fs::write(&settings, text).unwrap();
        for more in [&[][..], &["--undo"]] {
            let output = setup(&user, &[&["claude-code"], more].concat());
            assert_eq!(output.status.code(), Some(2), "{}", said(&output));
            assert_eq!(fs::read_to_string(&settings).unwrap(), text);
        }
    }
}

#[test]
fn a_hook_that_is_gone_blocks() {
    let user = User::new();
    done(&setup(&user, &["codex"]));
    let settings = user.home().join(".codex/hooks.json");
    let text = fs::read_to_string(&settings).unwrap();
    let own = env!("CARGO_BIN_EXE_banksman");
    fs::write(&settings, text.replace(own, "/no/such/banksman")).unwrap();
    let output = as_the_host(&user, &settings, "PreToolUse", &bash("ls"));
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("did not answer"), "{}", said(&output));
    // And one that lost what setup wrote down denies.
    fs::write(&settings, text).unwrap();
    fs::remove_file(user.home().join(".config/banksman/codex.json")).unwrap();
    assert_eq!(decision(&as_the_host(&user, &settings, "PreToolUse", &bash("ls"))), "deny");
}

#[test]
fn only_an_agents_token_is_written_down_and_only_its_owner_can_read_it() {
    let installation = Installation::new();
    let server = installation.serve();
    let user = User::new();
    let with = |token: &str| {
        let mut command = user.command();
        command.args(["setup", "claude-code"]).env("BANKSMAN_URL", server.url()).env("BANKSMAN_TOKEN", token);
        command.stdin(Stdio::null()).output().unwrap()
    };
    let refused = with(&server.first().reviewer_token);
    assert_eq!(refused.status.code(), Some(5), "{}", said(&refused));
    assert_eq!(everything_below(&user.home()), Vec::<String>::new());
    let text = done(&with(&server.first().agent_token));
    assert!(!text.contains("bkm_"), "{text}");
    let installed = user.home().join(".config/banksman/claude-code.json");
    assert_eq!(mode(&installed), 0o600);
    let settings = user.home().join(".claude/settings.json");
    assert!(!fs::read_to_string(&settings).unwrap().contains("bkm_"));
    // The environment of whoever starts the host does not lead the hook elsewhere.
    let value: Value = serde_json::from_str(&fs::read_to_string(&settings).unwrap()).unwrap();
    let line = value["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap();
    let mut shell = Command::new("/bin/sh");
    let line = line.replace(" --installed", " --deadline 2 --installed");
    shell.args(["-c", &line]).env("HOME", user.home());
    shell.env("BANKSMAN_URL", "http://127.0.0.1:1").env("BANKSMAN_TOKEN", "x");
    let output = feed(&mut shell, &bash("ls"));
    assert_eq!(decision(&output), "deny");
    assert!(reason(&output).contains("still pending"), "{}", reason(&output));
}
