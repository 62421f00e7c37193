//! What the binary says about itself.

use std::process::{Command, Output};

pub(crate) fn banksman(args: &[&str]) -> Output {
    // The environment of whoever runs the tests is not part of them.
    Command::new(env!("CARGO_BIN_EXE_banksman"))
        .args(args)
        .env_remove("BANKSMAN_URL")
        .env_remove("BANKSMAN_DATA")
        .env("BANKSMAN_TOKEN", "tok-from-the-environment")
        .output()
        .unwrap()
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn alone_it_says_what_to_do_next() {
    let output = banksman(&[]);
    assert_eq!(output.status.code(), Some(0));
    let text = stdout(&output);
    assert!(text.contains("banksman serve") && text.contains("banksman watch"), "{text}");
}

#[test]
fn help_names_commands_environment_and_exit_codes_but_no_token() {
    let output = banksman(&["--help"]);
    assert_eq!(output.status.code(), Some(0));
    let text = stdout(&output);
    for expected in
        ["pending", "approve", "deny", "modify", "freeze", "BANKSMAN_TOKEN", "BANKSMAN_URL", "Exit codes:"]
    {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    assert!(!text.contains("tok-from-the-environment"), "{text}");
}

#[test]
fn every_command_has_help_with_exit_codes() {
    for command in [
        "watch",
        "pending",
        "show",
        "approve",
        "deny",
        "modify",
        "cancel",
        "freeze",
        "audit",
        "hook",
        "setup",
        "exec",
        "shell-guard",
        "prompt",
    ] {
        let output = banksman(&[command, "--help"]);
        assert_eq!(output.status.code(), Some(0), "{command}");
        let text = stdout(&output);
        assert!(text.contains("Exit codes:") && text.contains("--json"), "{command}: {text}");
        assert!(!text.contains("tok-from-the-environment"), "{text}");
    }
}

#[test]
fn what_the_environment_gives_is_not_said_to_be_needed() {
    let output = banksman(&["approve"]);
    let text = stderr(&output);
    assert!(text.contains("<ID>") && !text.contains("--token <TOKEN>") && !text.contains("--url"), "{text}");
}

#[test]
fn mistakes_are_usage_errors() {
    for args in [&["no-such-command"][..], &["approve"], &["freeze"], &["pending", "--no-such-flag"]] {
        let output = banksman(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stdout(&output).is_empty(), "{args:?}");
    }
}
