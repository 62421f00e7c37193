//! Coding agents' hooks from outside: the real binary, as hosts start it, with a real server and without one.

mod codex;
mod deadlines;
mod embedded;
mod hostile;
mod leave;
mod served;
mod setup;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::installation::{program, said};

/// A policy under which a hook has something to let run, to hold and to block.
pub(crate) const POLICY: &str = "\
version: 1
tools:
  Bash: {tier: auto}
  Write: {tier: auto}
  apply_patch: {tier: auto}
  WebFetch: {tier: approve}
  drop_database: {tier: block}
rules:
  - id: dangerous
    match: {risk: [high, critical]}
    tier: approve
";

/// A user with folders of their own.
pub(crate) struct User {
    root: TempDir,
}

impl User {
    pub(crate) fn new() -> Self {
        Self { root: TempDir::new().unwrap() }
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.home().join(".local/state/banksman/hooks")
    }

    pub(crate) fn policy(&self) -> PathBuf {
        let path = self.root.path().join("policy.yaml");
        std::fs::write(&path, POLICY).unwrap();
        path
    }

    pub(crate) fn command(&self) -> Command {
        std::fs::create_dir_all(self.home()).unwrap();
        let mut command = program();
        command.env("HOME", self.home()).current_dir(self.home());
        for name in ["XDG_STATE_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "BANKSMAN_SHELL"]
        {
            command.env_remove(name);
        }
        command
    }

    /// A hook with the embedded policy.
    pub(crate) fn hook(&self, host: &str, input: &[u8]) -> Output {
        feed(self.command().args(["hook", host, "--policy"]).arg(self.policy()), input)
    }
}

/// Runs a command with this on its standard input.
pub(crate) fn feed(command: &mut Command, input: &[u8]) -> Output {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A hook may answer before it has read everything.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

/// What a host says before a call.
pub(crate) fn before(event: &str, tool: &str, input: &Value, id: &str) -> Vec<u8> {
    json!({
        "session_id": "8f14e45f-ceea-467f-a0e6-2b6b5e6d3a10",
        "transcript_path": "/home/u/.claude/projects/x/1.jsonl",
        "cwd": "/srv/app",
        "permission_mode": "default",
        "hook_event_name": event,
        "tool_name": tool,
        "tool_input": input,
        "tool_use_id": id,
    })
    .to_string()
    .into_bytes()
}

pub(crate) fn bash(command: &str) -> Vec<u8> {
    before("PreToolUse", "Bash", &json!({ "command": command }), "toolu_01")
}

/// The decision, and that nothing else was said.
pub(crate) fn decision(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", said(output));
    if output.stdout.is_empty() {
        return "silence".to_owned();
    }
    let text = std::str::from_utf8(&output.stdout).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    let document: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let specific = &document["hookSpecificOutput"];
    let decision = match specific["hookEventName"].as_str().unwrap() {
        "PreToolUse" => &specific["permissionDecision"],
        "PermissionRequest" => &specific["decision"]["behavior"],
        other => panic!("{other}"),
    };
    decision.as_str().unwrap().to_owned()
}

/// The words that came with it.
pub(crate) fn reason(output: &Output) -> String {
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let specific = &document["hookSpecificOutput"];
    let said = specific["permissionDecisionReason"].as_str().or(specific["decision"]["message"].as_str());
    said.unwrap_or_default().to_owned()
}

pub(crate) fn count(folder: &Path) -> usize {
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}
