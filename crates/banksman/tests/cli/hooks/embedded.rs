//! Without a server: policy lets run or blocks at once; a person is asked where there is one.

use serde_json::json;

use super::{User, bash, before, decision, reason};

#[test]
fn policy_answers_at_once_in_both_dialects() {
    let user = User::new();
    let fetch = json!({ "url": "https://example.com", "prompt": "read" });
    for (input, claude, codex) in [
        (bash("ls -la"), "allow", "silence"),
        (bash("rm -rf /"), "ask", "deny"),
        (before("PreToolUse", "WebFetch", &fetch, "t"), "ask", "deny"),
        (before("PreToolUse", "drop_database", &json!({}), "t"), "deny", "deny"),
        (before("PreToolUse", "mcp__mail__send", &json!({ "to": "x" }), "t"), "ask", "deny"),
        // Codex asks in this shape also for leave to run it outside of its sandbox.
        (before("PermissionRequest", "Bash", &json!({ "command": "ls" }), "t"), "allow", "deny"),
        (before("PermissionRequest", "WebFetch", &fetch, "t"), "silence", "deny"),
        (before("PermissionRequest", "drop_database", &json!({}), "t"), "deny", "deny"),
    ] {
        let text = String::from_utf8_lossy(&input).into_owned();
        assert_eq!(decision(&user.hook("claude-code", &input)), claude, "{text}");
        assert_eq!(decision(&user.hook("codex", &input)), codex, "{text}");
    }
}

#[test]
fn nobody_is_asked_in_a_mode_in_which_nobody_would_be() {
    let user = User::new();
    for mode in ["dontAsk", "bypassPermissions", "auto", "something-new"] {
        let input =
            String::from_utf8(bash("rm -rf /")).unwrap().replace("\"default\"", &format!("\"{mode}\""));
        let output = user.hook("claude-code", input.as_bytes());
        assert_eq!(decision(&output), "deny", "{mode}");
        assert!(reason(&output).contains("a person has to see this"), "{}", reason(&output));
    }
}

#[test]
fn a_patch_and_a_file_are_read_for_what_they_change() {
    let user = User::new();
    let write = |path: &str| json!({ "file_path": path, "content": "x" });
    let output = user.hook("claude-code", &before("PreToolUse", "Write", &write("/srv/app/a.txt"), "t"));
    assert_eq!(decision(&output), "allow");
    let output = user.hook("claude-code", &before("PreToolUse", "Write", &write("/etc/sudoers"), "t"));
    assert_eq!(decision(&output), "ask", "{}", reason(&output));
    for (change, expected) in [
        ("*** Update File: src/main.rs", "silence"),
        ("*** Delete File: /etc/passwd", "deny"),
        ("*** Update File: /home/u/.ssh/authorized_keys", "deny"),
        ("nothing that names a file", "deny"),
    ] {
        let patch = json!({ "command": format!("*** Begin Patch\n{change}\n@@\n-a\n+b\n*** End Patch") });
        let output = user.hook("codex", &before("PreToolUse", "apply_patch", &patch, "t"));
        assert_eq!(decision(&output), expected, "{change}");
    }
}

#[test]
fn a_policy_that_cannot_be_read_lets_nothing_run() {
    let user = User::new();
    for text in ["", "version: 1\nnonsense: true\n", "{", "\0"] {
        let path = user.home().join("broken.yaml");
        std::fs::create_dir_all(user.home()).unwrap();
        std::fs::write(&path, text).unwrap();
        let output = super::feed(user.command().args(["hook", "codex", "--policy"]).arg(&path), &bash("ls"));
        assert_eq!(decision(&output), "deny", "{text:?}");
    }
    let output =
        super::feed(user.command().args(["hook", "codex", "--policy", "/no/such/policy"]), &bash("ls"));
    assert_eq!(decision(&output), "deny");
}

#[test]
fn a_repository_does_not_choose_the_policy_it_is_judged_by() {
    let user = User::new();
    let trap = user.home().join("banksman-data");
    std::fs::create_dir_all(&trap).unwrap();
    std::fs::write(trap.join("policy.yaml"), "version: 1\ntools:\n  '*': {tier: auto}\n").unwrap();
    let output = super::feed(user.command().args(["hook", "codex"]), &bash("ls"));
    assert_eq!(decision(&output), "deny", "{}", reason(&output));
    // A folder that someone named is another matter.
    let output = super::feed(user.command().args(["hook", "codex", "--data"]).arg(&trap), &bash("ls"));
    assert_eq!(decision(&output), "silence");
}

#[test]
fn other_events_are_none_of_our_business() {
    let user = User::new();
    for event in
        ["SessionStart", "Stop", "UserPromptSubmit", "PreCompact", "PostToolUse", "PostToolUseFailure"]
    {
        let input = before(event, "Bash", &json!({ "command": "ls" }), "t");
        assert_eq!(decision(&user.hook("claude-code", &input)), "silence", "{event}");
    }
}
