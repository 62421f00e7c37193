//! Input that no host would send, or that an agent made its host send.

use serde_json::{Value, json};

use super::{User, bash, before, decision, reason};
use crate::installation::said;

#[test]
fn what_cannot_be_read_is_denied_in_words_and_by_the_exit_code() {
    let user = User::new();
    let deep = format!("{{\"hook_event_name\":\"PreToolUse\",\"tool_input\":{}", "[".repeat(100_000));
    for (input, event) in [
        (&b""[..], "PreToolUse"),
        (b"not json", "PreToolUse"),
        (b"[]", "PreToolUse"),
        (b"{}", "PreToolUse"),
        (b"\xff\xfe", "PreToolUse"),
        (b"{\"hook_event_name\":\"PreToolUse\"}", "PreToolUse"),
        (b"{\"hook_event_name\":\"PermissionRequest\"}", "PermissionRequest"),
        (b"{\"hook_event_name\":\"PreToolUse\",\"hook_event_name\":\"Stop\"}", "PreToolUse"),
        (deep.as_bytes(), "PreToolUse"),
    ] {
        for host in ["claude-code", "codex"] {
            let output = user.hook(host, input);
            assert_eq!(output.status.code(), Some(2), "{}", said(&output));
            let document: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(document["hookSpecificOutput"]["hookEventName"], event);
            let text = document.to_string();
            assert!(text.contains("\"deny\""), "{text}");
            assert!(!output.stderr.is_empty());
        }
    }
}

#[test]
fn too_much_is_no_reason_to_let_anything_run() {
    let user = User::new();
    let huge = json!({ "command": "x".repeat(17 * 1024 * 1024) });
    let output = user.hook("codex", &before("PreToolUse", "Bash", &huge, "t"));
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("larger than"), "{}", said(&output));
}

#[test]
fn names_are_only_names() {
    let user = User::new();
    for tool in ["Bash\u{1b}[2J", "../../etc/passwd", "mcp__\u{202e}__x", "\"}", &"x".repeat(5_000)] {
        let output =
            user.hook("codex", &before("PreToolUse", tool, &json!({ "command": "ls" }), "../../../x"));
        assert_eq!(decision(&output), "deny", "{tool:?}");
        assert!(!reason(&output).contains("\u{1b}[2J"));
    }
}

#[test]
fn an_agent_cannot_decide_for_itself_through_its_own_hook() {
    let user = User::new();
    for command in [
        "banksman approve act_01J9ZKQ7V8Y3F5T2M6N4P0R1SB --yes",
        "banksman setup claude-code --undo",
        "banksman prompt act_01J9ZKQ7V8Y3F5T2M6N4P0R1SB",
    ] {
        assert_eq!(decision(&user.hook("codex", &bash(command))), "deny", "{command}");
    }
}
