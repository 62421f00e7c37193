//! What agents write is shown to people, and must not act on their terminals.

use std::time::{Duration, Instant};

use banksman_client::Proposal;
use banksman_core::wire::{ActionView, Page};
use serde_json::json;

use crate::help::stdout;
use crate::installation::{Installation, PATIENCE, said};

/// Clears the screen, renames the window, reverses what follows, hides in no width at all, overwrites its line.
const HOSTILE: &str = "rm\u{1b}[2J\u{1b}]0;approved\u{7}\u{9b}31m \
    \u{202e}fdp.exe\u{202c}\u{2066}x\u{2069} \u{200b}\u{feff}a\rb\nSTATUS approved";

/// The same as far as a name may be: control characters are refused at the door.
const NAME: &str = "rm \u{202e}fdp.exe\u{202c}\u{2066}x\u{2069} \u{200b}\u{feff}a\u{2028}STATUS approved";

/// Whether a character acts on a terminal, or on the order or look of what is around it.
fn acts(c: char) -> bool {
    (c.is_control() && c != '\n')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2028}' | '\u{2029}'
            | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{61c}')
}

#[test]
fn nothing_that_an_agent_wrote_acts_on_a_reviewers_terminal() {
    let installation = Installation::new();
    let server = installation.serve();
    let bot = installation.token("agent", "bot\u{202e}\u{2066}");
    let mut body = json!({
        "tool": NAME,
        "args": {HOSTILE: HOSTILE, "script": format!("ls\n{HOSTILE}\nls")},
        "checkpoint": {HOSTILE: 1},
        "evidence": [HOSTILE],
        "preconditions": {HOSTILE: HOSTILE},
        "affected_systems": [NAME],
    });
    for member in ["description", "rationale", "rollback_plan"] {
        body[member] = json!(HOSTILE);
    }
    for member in ["session", "thread", "task", "action_type"] {
        body[member] = json!(NAME);
    }
    let held = server.client(&bot.token).propose(&Proposal::new(&body.to_string())).unwrap();
    assert_eq!(held.tool, NAME, "it is kept as it is; only showing it is not");
    let reviewer = &server.first().reviewer_token;
    let id = held.id.to_string();
    for args in [
        &["pending"][..],
        &["pending", "--wide"],
        &["show", &id],
        &["audit", "query"],
        &["audit", "query", "--wide"],
        &[
            "modify",
            &id,
            "--set",
            &format!("{HOSTILE}=1"),
            "--reason",
            HOSTILE,
            "--message",
            HOSTILE,
            "--yes",
        ],
        &["show", &id],
        &["cancel", &id, "--reason", HOSTILE],
        &["show", &id],
        // Refused, and the refusal quotes it.
        &["deny", &id, "--reason", HOSTILE],
        &["freeze", "--tool", NAME, "--reason", HOSTILE],
        &["freeze", "list"],
        &["freeze", "list", "--wide"],
        &["audit", "query", "--wide"],
    ] {
        let output = server.run(reviewer, args);
        let text = said(&output);
        assert!(!text.chars().any(acts), "{args:?}: {text:?}");
        // A line break in a text is no line break on the screen, where it could pass for a line of ours.
        assert!(!text.lines().any(|line| line.starts_with("STATUS approved")), "{args:?}: {text}");
        assert!(output.status.success() || args[0] == "deny", "{args:?}: {text}");
    }
    // The server's log tells of it too, in its own time.
    let began = Instant::now();
    while !installation.log().contains("for people's attention") {
        assert!(began.elapsed() < PATIENCE, "{}", installation.log());
        std::thread::sleep(Duration::from_millis(20));
    }
    let log = installation.log();
    assert!(!log.chars().any(acts), "{log:?}");
}

#[test]
fn programs_get_exactly_what_the_agent_wrote() {
    let installation = Installation::new();
    let server = installation.serve();
    let first = server.first();
    let body = json!({"tool": NAME, "args": {"a": HOSTILE}, "description": HOSTILE}).to_string();
    let held = server.client(&first.agent_token).propose(&Proposal::new(&body)).unwrap();
    let page: Page<ActionView> = server.run_json(&first.reviewer_token, &["pending"]);
    assert_eq!(page.items[0].tool, NAME);
    let shown: ActionView = server.run_json(&first.reviewer_token, &["show", &held.id.to_string()]);
    assert_eq!(shown.context.description.as_deref(), Some(HOSTILE));
    assert_eq!(shown.args, held.args);
    // Even then no escape sequence is among the bytes: JSON spells control characters out.
    let output = server.run(&first.reviewer_token, &["show", &held.id.to_string(), "--json"]);
    assert!(!stdout(&output).contains('\u{1b}'));
}
