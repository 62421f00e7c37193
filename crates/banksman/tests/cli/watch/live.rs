//! What changes while someone looks.

use std::time::Duration;

use banksman_core::wire::DecisionRequest;
use banksman_core::{Decision, Status};
use serde_json::json;

use super::seat::{ENTER, SMALL};
use super::{Office, decides};
use crate::installation::program;

#[test]
fn what_comes_in_appears_and_what_is_decided_elsewhere_goes() {
    let office = Office::open();
    let mut seat = office.watch(SMALL);
    seat.sees("live");
    seat.sees("Nothing is waiting.");
    insta::assert_snapshot!("empty_80x24", seat.picture());
    let mail = office.mail("ada@example.com");
    seat.sees("1 waiting: 1 medium");
    decides(&office.other, &mail, Decision::Deny);
    seat.sees("Nothing is waiting.");
    seat.types("t");
    let screen = seat.sees("I was first");
    assert!(screen.contains("decided") && screen.contains("bob"), "{screen}");
    seat.types("q");
    seat.sees("Nothing is waiting.");
}

#[test]
fn who_loses_a_race_is_told_to_whom_and_when() {
    let office = Office::open();
    let mail = office.mail("ada@example.com");
    let mut seat = office.watch(SMALL);
    seat.sees("send_email");
    seat.types("a");
    seat.reads("APPROVAL REQUIRED");
    decides(&office.other, &mail, Decision::Deny);
    let screen = seat.sees("Already denied by bob");
    assert!(screen.contains("s ago: I was first."), "{screen}");
    insta::assert_snapshot!("lost_race_80x24", seat.picture());
    seat.types("y");
    seat.types("n");
    std::thread::sleep(Duration::from_millis(300));
    assert!(seat.screen().contains("Already denied by bob"), "{}", seat.screen());
    assert_eq!(office.stands(&mail).votes.len(), 1);
}

#[test]
fn a_version_that_changes_under_the_finger_is_not_decided_unseen() {
    let office = Office::open();
    let refund = office.refund();
    let mut seat = office.watch(SMALL);
    seat.sees("process_refund");
    seat.types("a");
    seat.reads("APPROVAL REQUIRED");
    // Two are needed, so the edit is held again.
    let edit = DecisionRequest {
        decision: Decision::Modify,
        version: refund.version,
        digest: refund.digest,
        reason: None,
        args: Some(
            banksman_core::json::CanonicalJson::parse(br#"{"order_id":"78291","amount":9999}"#).unwrap(),
        ),
        message: None,
        remember: None,
    };
    office.other.decide(refund.id, &edit).unwrap();
    seat.sees("It changed: version 2 is held now, edited by bob");
    seat.types("y");
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(office.stands(&refund).votes.len(), 1, "a key for version 1 says nothing about version 2");
    seat.types(ENTER);
    seat.reads("9999");
    seat.types("\u{1b}[6~");
    seat.types("y");
    let now = office.becomes(&refund, Status::Authorised);
    assert_eq!(now.version, 2);
}

#[test]
fn what_expires_while_it_is_open_can_no_longer_be_decided() {
    let office = Office::open();
    let held = office.proposes(&json!({"tool": "brief", "args": {"n": 1}}));
    let mut seat = office.watch(SMALL);
    seat.sees("brief");
    seat.types("a");
    seat.sees("APPROVAL REQUIRED");
    let screen = seat.sees("nobody decided in time");
    assert!(!screen.contains("[Y]"), "{screen}");
    seat.types("y");
    assert_eq!(office.stands(&held).status, Status::Expired);
}

#[test]
fn a_server_that_is_gone_is_said_to_be_gone_and_found_again() {
    let office = Office::open();
    office.mail("ada@example.com");
    let mut seat = office.watch(SMALL);
    seat.sees("live");
    seat.sees("send_email");
    let Office { installation, server, token: _, .. } = office;
    let address = server.url().strip_prefix("http://").unwrap().to_owned();
    server.kill();
    let screen = seat.sees("NO CONNECTION");
    assert!(screen.contains("send_email"), "what was known stays in sight: {screen}");
    seat.sees("Trying again");
    insta::assert_snapshot!("no_connection_80x24", masked(&seat.picture()));
    // A decision meanwhile is not lost in silence.
    seat.types("a");
    seat.reads("APPROVAL REQUIRED");
    seat.types("y");
    seat.sees("cannot reach the server");
    let policy = installation.policy(super::POLICY);
    let mut command = program();
    command.args(["serve", "--json", "--listen", &address, "--data"]).arg(installation.data());
    command.arg("--policy").arg(policy);
    let server = installation.spawn(command).ready().unwrap();
    seat.sees("live");
    seat.types("y");
    seat.sees("Approved: send_email may run once");
    server.kill();
}

/// How long it has been gone differs from run to run.
fn masked(screen: &str) -> String {
    regex::Regex::new(r"for \d+ s").unwrap().replace_all(screen, "for 0 s").into_owned()
}
