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
        if args.contains(&"--json") {
            let told: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
            assert!(told["exit"] == 6 && told["error"].as_str().unwrap().contains(NOWHERE), "{told}");
        } else {
            assert!(stdout(&output).is_empty());
        }
    }
}

#[test]
fn whatever_fails_is_one_document_for_programs() {
    for (args, exit) in [
        (&["approve", "--json"][..], 2),
        (&["--json", "no-such-command"], 2),
        (&["approve", "abc", "--json", "--url", NOWHERE], 2),
        (&["policy", "check", "--policy", "/no/such/policy.yaml", "--json"], 2),
        (&["token", "list", "--data", "/no/such/folder", "--json"], 3),
    ] {
        let output = banksman(args);
        assert_eq!(output.status.code(), Some(exit), "{args:?}: {}", stderr(&output));
        let told: serde_json::Value = serde_json::from_str(&stdout(&output))
            .unwrap_or_else(|error| panic!("{args:?}: {error}: {}", stdout(&output)));
        assert_eq!(told["exit"], exit, "{args:?}: {told}");
        assert!(
            !told["error"].as_str().unwrap().is_empty() && !stderr(&output).is_empty(),
            "{args:?}: {told}"
        );
    }
    // What a command is told to run may well have such an option.
    let output = banksman(&["exec", "--no-such-flag", "--", "ls", "--json"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""));
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
