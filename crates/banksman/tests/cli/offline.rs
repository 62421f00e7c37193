//! What happens without a server.

use std::process::Command;

use crate::help::{banksman, stderr, stdout};

/// Nobody listens on port 1.
const NOWHERE: &str = "http://127.0.0.1:1";

#[test]
fn an_absent_server_has_its_own_code_and_a_hint() {
    for args in [&["pending"][..], &["pending", "--json"], &["show", "act_01J9ZKQ7V8Y3F5T2M6N4P0R1SB"]] {
        let output = banksman(&[args, &["--url", NOWHERE]].concat());
        assert_eq!(output.status.code(), Some(6), "{args:?}");
        let text = stderr(&output);
        assert!(text.contains(NOWHERE) && text.contains("banksman serve"), "{text}");
        assert!(stdout(&output).is_empty());
    }
}

#[test]
fn without_a_token_the_way_to_one_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_banksman"))
        .args(["pending", "--url", NOWHERE, "--data"])
        .arg(folder.path())
        .env_remove("BANKSMAN_TOKEN")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(5));
    assert!(stderr(&output).contains("banksman token new --kind reviewer --name you"));
}

#[test]
fn what_cannot_be_an_action_is_refused_before_anything_is_sent() {
    for wrong in ["abc", "\u{1b}[2Jxxxx", "act_", "grt_01J9ZKQ7V8Y3F5T2M6N4P0R1SB"] {
        let output = banksman(&["approve", wrong, "--yes", "--url", NOWHERE]);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
        assert!(!output.stderr.contains(&0x1b));
    }
}

#[test]
fn an_address_that_is_none_is_a_usage_error() {
    let output = banksman(&["pending", "--url", "not an address"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}
