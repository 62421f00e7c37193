//! Whoever is stopped while it waits takes back what it asked for.

use std::io::Read;
use std::process::Stdio;

use banksman_client::ActionsQuery;
use banksman_core::Status;
use rustix::process::{Pid, Signal, kill_process};

use super::{pending, served};
use crate::hooks::{User, bash, decision, reason};
use crate::pty::end;

#[test]
fn a_command_that_is_stopped_while_it_waits_is_withdrawn() {
    let (_installation, server) = served();
    let first = server.first().clone();
    let reviewer = server.client(&first.reviewer_token);
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let user = User::new();
        let mut command = user.command();
        command.args(["exec", "--", "touch", "held-for-review"]);
        command.env("BANKSMAN_URL", server.url()).env("BANKSMAN_TOKEN", &first.agent_token);
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let held = pending(&reviewer);
        // That it is held is said once its id is known.
        let mut words = [0; 64];
        child.stderr.as_mut().unwrap().read_exact(&mut words).unwrap();
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(end(&mut child).code(), Some(code));
        let mut rest = String::new();
        child.stderr.take().unwrap().read_to_string(&mut rest).unwrap();
        assert!(rest.contains(&format!("{} was withdrawn", held.id)), "{rest}");
        assert_eq!(reviewer.action(held.id).unwrap().status, Status::Cancelled);
        assert!(!user.home().join("held-for-review").exists());
    }
}

#[test]
fn a_hook_that_is_stopped_while_it_waits_says_no_and_withdraws() {
    let (_installation, server) = served();
    let first = server.first().clone();
    let reviewer = server.client(&first.reviewer_token);
    let user = User::new();
    let mut command = user.command();
    command.args(["hook", "claude-code"]);
    command.env("BANKSMAN_URL", server.url()).env("BANKSMAN_TOKEN", &first.agent_token);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), &bash("rm -rf /srv/data")).unwrap();
    // In the middle of proposing: the hook does not know the id yet.
    let held = pending(&reviewer);
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(decision(&output), "deny");
    assert!(reason(&output).contains(&format!("{} was withdrawn", held.id)), "{}", reason(&output));
    let all = reviewer.actions(&ActionsQuery::default()).unwrap().items;
    assert_eq!(all.iter().map(|action| action.status).collect::<Vec<_>>(), [Status::Cancelled]);
}
