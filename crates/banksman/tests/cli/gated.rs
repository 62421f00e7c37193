//! `banksman exec`, `shell-guard` and `prompt`: gated, asked about at a real terminal, and then exactly that.

mod environment;
mod person;
mod prompt;
mod stopped;

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use banksman_client::{ActionsQuery, Client};
use banksman_core::wire::DecisionRequest;
use banksman_core::{Decision, Status};
use rustix::process::{Pid, Signal, kill_process};

use crate::hooks::{User, bash, decision, feed};
use crate::installation::{Installation, PATIENCE, Server, said};
use crate::pty::{Person, end, start_at};

const POLICY: &str = "\
version: 1
tools:
  shell: {tier: auto}
rules:
  - id: seen
    match: {tool: shell, args: {command: {regex: 'held-for-review'}}}
    tier: approve
  - id: why
    match: {tool: shell, args: {command: {regex: 'held-with-reason'}}}
    tier: approve
    require_reason: true
  - id: grave
    match: {tool: shell, args: {command: {regex: 'held-for-many'}}}
    tier: escalate
    risk: critical
    quorum: 3
    roles: [finance]
    require_passkey: true
    require_reason: true
  - id: never
    match: {tool: shell, args: {command: {regex: 'never-ever'}}}
    tier: block
";

/// Harmless, should it run although it must not: it leaves a file as a trace.
const BLOCKED: &str = "touch never-ever";

struct Site {
    user: User,
    policy: std::path::PathBuf,
}

impl Site {
    fn new() -> Self {
        let user = User::new();
        std::fs::create_dir_all(user.home()).unwrap();
        let policy = user.home().join("gated.yaml");
        std::fs::write(&policy, POLICY).unwrap();
        Self { user, policy }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.user.command();
        command.env("BANKSMAN_POLICY", &self.policy).args(words);
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(words).stdin(Stdio::null()).output().unwrap()
    }
}

#[test]
fn what_may_run_runs_exactly_with_its_own_output_and_code() {
    let site = Site::new();
    let output = site.run(&["exec", "--", "printf", "%s|", "a b", "$(id)", "*", ""]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "a b|$(id)|*||", "no shell has read it");
    std::fs::write(site.user.home().join("no-program"), "text").unwrap();
    for (words, code) in [
        (&["exec", "--", "sh", "-c", "exit 7"][..], 7),
        (&["exec", "--shell", "exit 9"], 9),
        (&["exec", "--", "/no/such/program"], 127),
        (&["exec", "--", "./no-program"], 126),
        (&["shell-guard", "-c", "exit 5"], 5),
        (&["shell-guard", "-ec", "false; exit 5"], 1),
    ] {
        let output = site.run(words);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {}", said(&output));
    }
}

#[test]
fn what_is_blocked_or_needs_a_person_who_is_not_there_does_not_run() {
    let site = Site::new();
    for words in [
        &["exec", "--shell", "touch held-for-review"][..],
        &["exec", "--", "touch", "held-for-review"],
        &["shell-guard", "-c", BLOCKED],
        &["shell-guard", "-c", "touch held-for-review"],
    ] {
        // Without a controlling terminal, wherever the test itself runs.
        let mut command = Command::new("setsid");
        let inner = site.command(words);
        command.arg("--wait").arg(inner.get_program()).args(inner.get_args());
        command.env("BANKSMAN_POLICY", &site.policy).env("HOME", site.user.home());
        let output = command.current_dir(site.user.home()).stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(5), "{words:?}: {}", said(&output));
        for trace in ["held-for-review", "never-ever"] {
            assert!(!site.user.home().join(trace).exists(), "{words:?} ran");
        }
    }
}

#[test]
fn scripts_and_what_comes_in_by_a_pipe_are_read_before_they_run() {
    let site = Site::new();
    let script = site.user.home().join("script.sh");
    std::fs::write(&script, "echo \"$0 $1 $#\"\n").unwrap();
    let output = site.run(&["shell-guard", script.to_str().unwrap(), "one"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), format!("{} one 1", script.display()));
    std::fs::write(&script, BLOCKED).unwrap();
    let output = site.run(&["shell-guard", script.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(5), "{}", said(&output));
    let piped = feed(&mut site.command(&["shell-guard"]), b"echo from a pipe");
    assert_eq!(String::from_utf8_lossy(&piped.stdout), "from a pipe\n");
    let piped = feed(&mut site.command(&["shell-guard"]), BLOCKED.as_bytes());
    assert_eq!(piped.status.code(), Some(5));
}

#[test]
fn under_its_other_name_it_is_a_shell() {
    let site = Site::new();
    let link = site.user.home().join("banksman-shell");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_banksman"), &link).unwrap();
    let shell = |text: &str| {
        let mut command = Command::new(&link);
        command.args(["-c", text]).env("BANKSMAN_POLICY", &site.policy).env("HOME", site.user.home());
        command.env_remove("BANKSMAN_TOKEN").env_remove("BANKSMAN_URL").stdin(Stdio::null()).output().unwrap()
    };
    assert_eq!(String::from_utf8_lossy(&shell("echo $((1+1))").stdout), "2\n");
    assert_eq!(shell(BLOCKED).status.code(), Some(5));
}

#[test]
fn the_person_at_the_terminal_decides() {
    let site = Site::new();
    for (keys, ran, code) in
        [("a", true, 0), ("d", false, 5), ("\r", false, 5), ("\u{3}", false, 5), ("va", true, 0)]
    {
        let folder = site.user.home().join("precious");
        std::fs::create_dir_all(&folder).unwrap();
        let mut person = Person::sit_down();
        let words = ["exec", "--", "sh", "-c", "rmdir \"$1\"", "held-for-review", folder.to_str().unwrap()];
        let mut child = start_at(&person, &site.command(&words));
        let shown = person.sees("auto-deny in");
        assert!(shown.contains("APPROVAL REQUIRED") && shown.contains("precious"), "{shown}");
        for key in keys.chars() {
            person.types(&key.to_string());
            if key == 'v' {
                person.sees("FULL DETAILS");
                person.sees("auto-deny in");
            }
        }
        assert_eq!(end(&mut child).code(), Some(code), "{keys:?}");
        assert_eq!(!folder.exists(), ran, "{keys:?}");
    }
}

#[test]
fn time_runs_out_while_it_waits_for_a_key_and_pasted_text_is_no_answer() {
    let site = Site::new();
    let folder = site.user.home().join("precious");
    std::fs::create_dir_all(&folder).unwrap();
    let mut person = Person::sit_down();
    // Typed before there was a question.
    person.types("aaaa");
    let words = ["exec", "--timeout", "2", "--", "rmdir", folder.to_str().unwrap(), "held-for-review"];
    let began = Instant::now();
    let mut child = start_at(&person, &site.command(&words));
    person.sees("auto-deny in 2 s");
    person.types("yes please");
    person.sees("auto-deny in 1 s");
    person.sees("Nobody answered: denied.");
    assert_eq!(end(&mut child).code(), Some(4));
    assert!(began.elapsed() >= Duration::from_secs(2));
    assert!(folder.exists());
}

#[test]
fn a_hook_asks_at_another_terminal_if_told_so() {
    let user = User::new();
    for (key, expected) in [("a", "silence"), ("n", "deny")] {
        let mut person = Person::sit_down();
        let mut command = user.command();
        command.args(["hook", "codex", "--terminal", &person.path, "--policy"]).arg(user.policy());
        let answer = std::thread::spawn(move || feed(&mut command, &bash("rm -rf /srv/\u{1b}[2Jdata")));
        let shown = person.sees("auto-deny in");
        assert!(shown.contains("rm -rf /srv/") && !shown.contains("\u{1b}[2J"), "{shown:?}");
        person.types(key);
        assert_eq!(decision(&answer.join().unwrap()), expected);
    }
}

#[test]
fn the_prompt_answers_scripts_and_refuses_without_a_terminal() {
    let site = Site::new();
    let action = br#"{"tool":"shell","kind":"shell","args":{"command":"rm -rf /srv"},"description":"\u001b[31mtrust me"}"#;
    for (key, code, answer) in [("y", 0, "approve"), ("n", 1, "deny")] {
        let mut person = Person::sit_down();
        let mut command = site.command(&["prompt", "--json", "--terminal", &person.path]);
        let input = action.to_vec();
        let asked = std::thread::spawn(move || feed(&mut command, &input));
        let shown = person.sees("auto-deny in");
        assert!(shown.contains("It says, description: \\u{1b}[31mtrust me"), "{shown}");
        person.types(key);
        let output = asked.join().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", said(&output));
        assert!(said(&output).contains(answer), "{}", said(&output));
    }
    let mut alone = Command::new("setsid");
    let inner = site.command(&["prompt"]);
    alone.arg("--wait").arg(inner.get_program()).args(inner.get_args()).env("BANKSMAN_POLICY", &site.policy);
    let output = feed(&mut alone, action);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    let blocked = br#"{"tool":"shell","kind":"shell","args":{"command":"touch never-ever"}}"#;
    let output = feed(&mut site.command(&["prompt"]), blocked);
    assert_eq!(output.status.code(), Some(5), "{}", said(&output));
}

fn pending(reviewer: &Client) -> banksman_core::wire::ActionView {
    let query = ActionsQuery { status: Some(Status::Pending), ..ActionsQuery::default() };
    let began = Instant::now();
    loop {
        if let Some(action) = reviewer.actions(&query).unwrap().items.into_iter().next() {
            return action;
        }
        assert!(began.elapsed() < PATIENCE, "nothing is held");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn served() -> (Installation, Server) {
    let installation = Installation::new();
    let policy = installation.policy(POLICY);
    let server = installation.serve_with(&["--policy", policy.to_str().unwrap()]);
    (installation, server)
}

#[test]
fn with_a_server_a_command_is_held_run_once_and_reported() {
    let (_installation, server) = served();
    let first = server.first().clone();
    let reviewer = server.client(&first.reviewer_token);
    for (verdict, code, status) in
        [(Decision::Approve, 3, Status::Failed), (Decision::Deny, 5, Status::Denied)]
    {
        let user = User::new();
        let mut command = user.command();
        command.args(["exec", "--", "sh", "-c", "exit 3", "held-for-review"]);
        command.env("BANKSMAN_URL", server.url()).env("BANKSMAN_TOKEN", &first.agent_token);
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let held = pending(&reviewer);
        assert!(held.args.as_str().contains("sh -c 'exit 3' held-for-review"), "{}", held.args.as_str());
        let request = DecisionRequest {
            decision: verdict,
            version: held.version,
            digest: held.digest,
            reason: Some("because".into()),
            args: None,
            message: None,
            remember: None,
        };
        reviewer.decide(held.id, &request).unwrap();
        assert_eq!(end(&mut child).code(), Some(code));
        assert_eq!(reviewer.action(held.id).unwrap().status, status);
    }
}

#[test]
fn signals_reach_the_command_and_its_end_is_reported() {
    let (_installation, server) = served();
    let first = server.first().clone();
    let user = User::new();
    let mut command = user.command();
    command.args(["exec", "--", "sleep", "60"]);
    command.env("BANKSMAN_URL", server.url()).env("BANKSMAN_TOKEN", &first.agent_token);
    let mut child = command.stdin(Stdio::null()).spawn().unwrap();
    let reviewer = server.client(&first.reviewer_token);
    let query = ActionsQuery { status: Some(Status::Executing), ..ActionsQuery::default() };
    let began = Instant::now();
    while reviewer.actions(&query).unwrap().items.is_empty() {
        assert!(began.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(5));
    }
    // The claim comes a moment before the command.
    std::thread::sleep(Duration::from_millis(300));
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(end(&mut child).code(), Some(128 + 15));
    let failed = ActionsQuery { status: Some(Status::Failed), ..ActionsQuery::default() };
    let items = reviewer.actions(&failed).unwrap().items;
    assert_eq!(items[0].outcome.as_ref().unwrap().error.as_deref(), Some("ended by signal 15"));
}
