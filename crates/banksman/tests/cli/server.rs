//! Starting: what a first start gives, what it refuses, and what it leaves in its folder.

use std::fs;
use std::net::TcpListener;
use std::process::Command;
use std::time::Duration;

use banksman_client::Proposal;
use banksman_core::Status;
use banksman_core::wire::ActionView;

use crate::help::{stderr, stdout};
use crate::installation::{Installation, OPERATOR, mode, program, said};

/// The last line that a first start prints for people.
const LAST_LINE: &str = "approve ID";

#[test]
fn the_first_start_prints_a_command_that_gets_held_when_pasted() {
    let installation = Installation::new();
    let mut server = installation.spawn(installation.serve_command(&[]));
    let text = server.text_until(LAST_LINE);
    let start = text.find("curl ").unwrap_or_else(|| panic!("no command to try in {text}"));
    // Up to the empty line, with its continuation lines, as someone would select it.
    let command = text[start..].split("\n\n").next().unwrap();
    assert!(command.contains("\\\n"), "{command}");
    if !banksman_faults::has_curl() {
        return;
    }
    let output = Command::new("sh").args(["-c", command]).output().unwrap();
    assert!(output.status.success(), "{command}\n{}", said(&output));
    let held: ActionView = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(held.status, Status::Pending);
    assert_eq!((held.agent.as_str(), held.tool.as_str()), ("agent", "send_email"));

    // And what it says to type next works too, in a shell, as it stands there.
    let start = text.find("export BANKSMAN_TOKEN=").unwrap();
    let script = text[start..].replace("approve ID", &format!("approve {} --yes", held.id));
    let output = Command::new("sh").args(["-e", "-c", &script]).output().unwrap();
    assert!(output.status.success(), "{script}\n{}", said(&output));
    assert!(stdout(&output).contains("Approved: send_email may run once"), "{}", said(&output));
}

#[test]
fn the_first_start_gives_one_person_all_they_need() {
    let installation = Installation::new();
    let server = installation.serve();
    assert_eq!(server.welcome.data, installation.data());
    assert_eq!(server.welcome.policy, installation.data().join("policy.yaml"));
    let first = server.first();
    let agent = server.client(&first.agent_token);
    let held = agent.propose(&Proposal::new(r#"{"tool":"anything","args":{}}"#)).unwrap();
    assert_eq!(held.status, Status::Pending, "what no policy names is held");
    let page = server.client(&first.reviewer_token).actions(&Default::default()).unwrap();
    assert_eq!(page.items.len(), 1);
    let code = first
        .sign_in_link
        .strip_prefix(&format!("{}/sign-in?code=", server.url().replace("127.0.0.1", "localhost")))
        .unwrap();
    assert!(code.len() >= 20, "{code}");
    let tokens = stdout(&installation.operator(&["token", "list"]));
    assert!(tokens.contains(OPERATOR), "{tokens}");
}

#[test]
fn a_later_start_prints_no_secrets() {
    let installation = Installation::new();
    let server = installation.serve();
    let first = server.first().clone();
    server.kill();
    let server = installation.serve();
    assert!(server.welcome.first.is_none());
    // What the first start gave still works.
    assert!(server.client(&first.reviewer_token).actions(&Default::default()).is_ok());
    server.tell_to_stop();
    let (_, rest) = server.end_within(Duration::from_secs(5)).unwrap();
    assert_eq!(rest, "");

    let mut server = installation.spawn(installation.serve_command(&[]));
    let text = server.text_until("policy");
    server.kill();
    for text in [text, installation.log()] {
        for secret in ["bkm_", "sign-in?code=", &first.reviewer_token, &first.agent_token] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
    }
}

#[test]
fn a_start_that_could_not_listen_does_not_count_as_the_first() {
    // Whoever finds the port taken tries another, and must get the tokens then: they are shown only once.
    let installation = Installation::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut command = program();
    command.args(["serve", "--json", "--listen", &address, "--data"]).arg(installation.data());
    let status = installation.spawn(command).ready().err().unwrap();
    assert_eq!(status.code(), Some(1));
    assert!(installation.log().contains(&format!("cannot listen on {address}")), "{}", installation.log());
    let server = installation.serve();
    assert!(server.client(&server.first().reviewer_token).mode().is_ok());
}

#[test]
fn a_second_server_on_the_same_folder_is_refused_and_harms_nothing() {
    let installation = Installation::new();
    let server = installation.serve();
    let output = installation.serve_in_vain(&[]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let text = stderr(&output);
    assert!(text.contains("another `banksman serve` is already running on"), "{text}");
    assert!(text.contains(installation.data().to_str().unwrap()), "{text}");
    assert_eq!(stdout(&output), "");
    assert!(server.client(&server.first().reviewer_token).mode().is_ok());
    server.kill();
    // A lock that outlived its holder would lock everyone out.
    installation.serve();
}

#[test]
fn a_policy_that_cannot_be_used_stops_the_start_and_says_where() {
    let installation = Installation::new();
    installation.serve().kill();
    let own = installation.data().join("policy.yaml");
    for (broken, line) in [
        ("version: 1\ntools:\n  a: {risk: low, tier: maybe}\n", ":3:24: "),
        ("version: 1\ndefaults:\n  timeout: soon\n", ":3:12: "),
        ("version: 1\n\n\ntols: {}\n", ":4:1: "),
        ("version: 1\ntools: {a: {risk: low, tier: auto}\n", ".yaml:"),
    ] {
        fs::write(&own, broken).unwrap();
        let given = installation.policy(broken);
        let given = given.to_str().unwrap();
        for (output, file) in [
            (installation.serve_in_vain(&[]), own.to_str().unwrap()),
            (installation.serve_in_vain(&["--policy", given]), given),
        ] {
            assert_eq!(output.status.code(), Some(2), "{broken}\n{}", said(&output));
            let text = stderr(&output);
            assert!(text.contains(file) && text.contains(line), "{broken}\n{text}");
            assert_eq!(stdout(&output), "");
        }
    }
}

#[test]
fn a_policy_that_is_not_there_stops_the_start() {
    let installation = Installation::new();
    let absent = installation.beside("absent.yaml");
    let output = installation.serve_in_vain(&["--policy", absent.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(stderr(&output).contains(absent.to_str().unwrap()), "{}", said(&output));
    // No default is put in its place, and nothing else has begun.
    assert!(!absent.exists());
    assert!(installation.serve().welcome.first.is_some());
}

#[test]
fn a_policy_of_ones_own_is_what_judges() {
    let installation = Installation::new();
    let path = installation.policy(
        "version: 1\n\
         tools:\n\
         \x20 read_file: {risk: low, tier: auto}\n\
         \x20 drop_database: {risk: critical, tier: block}\n\
         \x20 delete_customer: {risk: critical, tier: escalate}\n",
    );
    let server = installation.serve_with(&["--policy", path.to_str().unwrap()]);
    assert_eq!(server.welcome.policy, path);
    let agent = server.client(&server.first().agent_token);
    let propose = |tool: &str| agent.propose(&Proposal::new(&format!(r#"{{"tool":"{tool}","args":{{}}}}"#)));
    assert_eq!(propose("read_file").unwrap().status, Status::Authorised);
    assert_eq!(propose("drop_database").unwrap_err().code(), Some("blocked"));
    assert_eq!(propose("delete_customer").unwrap().verdict.quorum.count(), 2);
    assert_eq!(propose("something_else").unwrap().status, Status::Pending);
}

#[test]
fn the_folder_and_all_in_it_are_private_whatever_the_umask() {
    let installation = Installation::new();
    let mut lax = Command::new("sh");
    lax.args(["-c", "umask 000; exec \"$0\" serve --json --listen 127.0.0.1:0 --data \"$1\""]);
    lax.arg(env!("CARGO_BIN_EXE_banksman")).arg(installation.data());
    let server = installation.spawn(lax).ready().unwrap();
    // So that there is a log beside the database, which holds just as much.
    let agent = server.client(&server.first().agent_token);
    agent.propose(&Proposal::new(r#"{"tool":"t","args":{"secret":"of the customer"}}"#)).unwrap();
    assert_eq!(mode(&installation.data()), 0o700);
    let mut names = Vec::new();
    for entry in fs::read_dir(installation.data()).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        names.push(path.file_name().unwrap().to_str().unwrap().to_owned());
    }
    for expected in ["banksman.db", "banksman.db-wal", "signing.key", "policy.yaml"] {
        assert!(names.iter().any(|name| name == expected), "{expected} in {names:?}");
    }
}

#[test]
fn the_log_is_plain_text_when_no_one_watches() {
    let installation = Installation::new();
    let server = installation.serve();
    server.tell_to_stop();
    server.end_within(Duration::from_secs(5)).unwrap();
    let log = installation.log();
    assert!(log.contains("stopped"), "{log}");
    assert!(!log.contains('\u{1b}'), "{log:?}");
}
