//! What the one person at a terminal can answer, and when an answer counts.

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{LocalModes, tcgetattr};

use super::Site;
use crate::hooks::{bash, decision, feed, reason};
use crate::installation::said;
use crate::pty::{Person, end, start_at};

#[test]
fn one_person_at_a_terminal_is_not_the_three_that_policy_wants() {
    let site = Site::new();
    let trace = site.user.home().join("held-for-many");
    let person = Person::sit_down();
    let mut child = start_at(&person, &site.command(&["exec", "--", "touch", "held-for-many"]));
    // Nobody types anything: it ends by itself, because nobody is asked.
    assert_eq!(end(&mut child).code(), Some(5));
    let mut words = String::new();
    child.stderr.take().unwrap().read_to_string(&mut words).unwrap();
    for expected in ["3 different people", "the role finance", "touch of a passkey", "banksman serve"] {
        assert!(words.contains(expected), "{expected} in {words}");
    }
    let action = br#"{"tool":"shell","kind":"shell","args":{"command":"touch held-for-many"}}"#;
    let output = feed(&mut site.command(&["prompt", "--terminal", &person.path]), action);
    assert_eq!(output.status.code(), Some(5), "{}", said(&output));
    for host in ["codex", "claude-code"] {
        let policy = site.user.home().join("grave.yaml");
        std::fs::write(&policy, "version: 1\ntools:\n  Bash: {tier: approve, quorum: 2}\n").unwrap();
        let mut hook = site.command(&["hook", host, "--terminal", &person.path, "--policy"]);
        let output = feed(hook.arg(&policy), &bash("touch held-for-many"));
        assert_eq!(decision(&output), "deny", "{host}");
        assert!(reason(&output).contains("2 different people"), "{}", reason(&output));
    }
    assert!(!trace.exists());
}

#[test]
fn a_reason_that_policy_wants_is_asked_for() {
    let site = Site::new();
    let trace = site.user.home().join("held-with-reason");
    let mut person = Person::sit_down();
    let mut child = start_at(&person, &site.command(&["exec", "--", "touch", "held-with-reason"]));
    person.sees("auto-deny in");
    person.types("a");
    person.sees("Policy wants a reason: ");
    person.types(" \n");
    person.sees("Without a reason nothing is answered.");
    assert!(!trace.exists(), "no reason, no yes");
    person.sees("auto-deny in");
    person.types("a");
    person.sees("Policy wants a reason: ");
    person.types("asked ops\n");
    person.sees("Approved.");
    assert_eq!(end(&mut child).code(), Some(0));
    assert!(trace.exists());
    let mut words = String::new();
    child.stderr.take().unwrap().read_to_string(&mut words).unwrap();
    assert!(words.contains("approved at the terminal: asked ops"), "{words}");
    // A host that asks has no place for a reason.
    let policy = site.user.home().join("why.yaml");
    std::fs::write(&policy, "version: 1\ntools:\n  Bash: {tier: approve, require_reason: true}\n").unwrap();
    let output = feed(site.command(&["hook", "claude-code", "--policy"]).arg(&policy), &bash("ls"));
    assert_eq!(decision(&output), "deny");
    assert!(reason(&output).contains("policy wants a reason"), "{}", reason(&output));
}

#[test]
fn yes_does_not_count_before_all_has_been_shown() {
    let site = Site::new();
    let trace = site.user.home().join("trace");
    let script = format!(
        "{}touch trace # held-for-review, and the last line\n",
        (0..400).map(|line| format!("true {line}\n")).collect::<String>()
    );
    let mut person = Person::sit_down();
    let mut child = start_at(&person, &site.command(&["exec", "--shell", &script]));
    let shown = person.sees("There is more: [v] to see it");
    assert!(!shown.contains("the last line"), "{shown}");
    person.types("a");
    person.sees("Not all of it has been shown: press v");
    for _ in 0..50 {
        if person.sees("  auto-deny in").contains("Approve? [a/D/v]") {
            break;
        }
        assert!(!trace.exists(), "it ran before all was shown");
        person.types("v");
    }
    person.types("a");
    assert_eq!(end(&mut child).code(), Some(0));
    assert!(trace.exists());
}

/// Whether what is typed at this terminal is shown there, as a shell wants it.
fn echoes(person: &Person) -> bool {
    let terminal = std::fs::File::open(&person.path).unwrap();
    tcgetattr(&terminal)
        .unwrap()
        .local_modes
        .contains(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG)
}

#[test]
fn a_signal_leaves_the_terminal_as_it_was() {
    let site = Site::new();
    let action = br#"{"tool":"shell","kind":"shell","args":{"command":"rm -rf /srv"}}"#;
    for signal in [Signal::TERM, Signal::HUP, Signal::INT, Signal::QUIT] {
        let mut person = Person::sit_down();
        // Someone sits there, so that the terminal outlives the prompt.
        let _shell = std::fs::File::open(&person.path).unwrap();
        assert!(echoes(&person));
        let mut command = site.command(&["prompt", "--terminal", &person.path]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(action).unwrap();
        person.sees("auto-deny in");
        assert!(!echoes(&person), "the prompt reads single keys");
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(end(&mut child).signal(), Some(signal.as_raw()));
        assert!(echoes(&person), "{signal:?}");
    }
}
