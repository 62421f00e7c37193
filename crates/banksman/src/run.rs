//! Running a command that has been let run: exactly it, with its signals and its exit code.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{ExitCode, ExitStatus};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use banksman_core::json::{CanonicalJson, Json, Object};
use banksman_core::wire::{ActionView, OutcomeBody, OutcomeStatus};
use banksman_core::{Action, ActionId, Kind};
use rustix::process::{Pid, Signal, kill_process};
use tokio::signal::unix::{SignalKind, signal};

use crate::context::Context;
use crate::display::Visible;
use crate::environment::unjudged;
use crate::exit::{Exit, stop};
use crate::gate::{Gate, Leave, Question, Ruling, ServerGate, Where, code_of_signal};
use crate::prompt::{self, Asking, Card, Choice};

/// What policies know commands as.
const TOOL: &str = "shell";
/// What shells answer for a program that is not there, and for one that cannot be run.
const NOT_FOUND: u8 = 127;
const NOT_RUNNABLE: u8 = 126;

/// What is going to run: a program and its arguments.
pub(crate) struct Program {
    pub(crate) argv: Vec<OsString>,
}

/// The action that running a command is: its text, where it runs, and whatever else decides what it does.
pub(crate) fn action(command: &str, more: Vec<(&str, Json)>) -> anyhow::Result<Action> {
    let folder = std::env::current_dir().context("there is no current folder")?;
    let mut members = vec![
        ("command".to_owned(), Json::String(command.to_owned())),
        ("cwd".to_owned(), Json::String(text(folder.as_os_str())?.to_owned())),
    ];
    members.extend(more.into_iter().map(|(name, value)| (name.to_owned(), value)));
    let object = Object::from_members(members).map_err(|key| anyhow::anyhow!("{key} is there twice"))?;
    Ok(Action::bare(TOOL, Kind::Shell, CanonicalJson::of(&Json::Object(object))))
}

/// A word that can be shown to whoever decides.
pub(crate) fn text(word: &OsStr) -> anyhow::Result<&str> {
    let shown = || Visible(&word.to_string_lossy()).to_string();
    word.to_str().filter(|word| !word.contains('\0')).ok_or_else(|| {
        stop(Exit::Usage, format!("{} is not UTF-8: nobody could see exactly what would run", shown()))
    })
}

/// The shell behind `--shell` and the guard.
pub(crate) fn real_shell() -> anyhow::Result<PathBuf> {
    let named = std::env::var_os("BANKSMAN_SHELL").filter(|shell| !shell.is_empty()).map(PathBuf::from);
    let usual = || ["/bin/bash", "/bin/sh"].map(PathBuf::from).into_iter().find(|path| path.exists());
    let shell =
        named.or_else(usual).ok_or_else(|| stop(Exit::Usage, "there is no shell: set BANKSMAN_SHELL"))?;
    let same = |path: &PathBuf| {
        Some(std::fs::canonicalize(path).ok()? == std::fs::canonicalize(std::env::current_exe().ok()?).ok()?)
    };
    if same(&shell).unwrap_or(false) {
        return Err(stop(Exit::Usage, "BANKSMAN_SHELL is Banksman itself: name the real shell"));
    }
    Ok(shell)
}

/// Asks whether it may run, and runs it.
pub(crate) fn gated(
    place: &Where,
    context: &Context,
    action: &Action,
    program: &Program,
    patience: Duration,
) -> anyhow::Result<ExitCode> {
    let gate = Gate::open(place, context)?;
    let held = |action: &ActionView, url: &str| {
        let _ = context.complain(&format!(
            "banksman: held for a person: {} (risk {}). Decide at {url} or with: banksman approve {}",
            action.id, action.verdict.risk, action.id
        ));
    };
    let leave: Leave = Arc::new(|signal, words| {
        let _ = writeln!(std::io::stderr(), "banksman: stopped. {}", Visible(words));
        std::process::exit(code_of_signal(signal));
    });
    let question = Question {
        action,
        agent: "exec",
        key: None,
        until: None,
        takes_edits: false,
        on_hold: Some(&held),
        leave: Some(leave),
    };
    match gate.ask(&question, context) {
        Ruling::Allowed(clearance) => match (&gate, clearance.claimed) {
            (Gate::Server(server), Some(id)) => run_and_report(program, server, id, context),
            (Gate::Server(_) | Gate::Embedded(_), _) => Err(replace(program)),
        },
        Ruling::NeedsPerson(unseen) => {
            let card = Card::of_action(action, question.agent, &unseen);
            match prompt::ask_here(&card, Asking::Alone, patience) {
                Ok(Choice::Approve { reason }) => {
                    if let Some(reason) = reason {
                        // There is no other record of it.
                        let _ = context.complain(&format!("banksman: approved at the terminal: {reason}"));
                    }
                    Err(replace(program))
                }
                Ok(Choice::Deny { .. } | Choice::Elsewhere(_)) => {
                    Err(stop(Exit::NotAllowed, "denied: nothing was run"))
                }
                Ok(Choice::TimedOut) => Err(stop(Exit::Refused, "nobody answered: nothing was run")),
                Err(error) => Err(stop(
                    Exit::NotAllowed,
                    format!(
                        "a person has to see this (risk {}, rule {}), and there is no terminal to ask at \
                         ({error:#}): nothing was run",
                        unseen.verdict.risk, unseen.verdict.rule
                    ),
                )),
            }
        }
        Ruling::Edited { args, words } => Err(stop(
            Exit::NotAllowed,
            format!(
                "{words} A reviewer changed it, and only this may run: {}",
                crate::pretty::one_line(&args)
            ),
        )),
        Ruling::Denied(denial) => Err(stop(denial.exit, denial.words)),
        Ruling::Unreachable(why) => Err(stop(Exit::Unreachable, format!("{why}; nothing was run"))),
    }
}

/// Becomes the program: signals and the exit code are its own. It only returns if that failed.
fn replace(program: &Program) -> anyhow::Error {
    let Some((name, args)) = program.argv.split_first() else {
        return stop(Exit::Usage, "there is nothing to run");
    };
    let mut command = std::process::Command::new(name);
    for name in unjudged() {
        command.env_remove(name);
    }
    let error = command.args(args).exec();
    not_started(name, &error);
    std::process::exit(i32::from(start_code(&error)))
}

/// Runs the program beside us, passes signals on, and reports how it ended.
fn run_and_report(
    program: &Program,
    server: &ServerGate,
    id: ActionId,
    context: &Context,
) -> anyhow::Result<ExitCode> {
    let (outcome, code) = match run(program) {
        Ok(status) => (outcome_of(status), code_of(status)),
        Err(error) => {
            if let Some(name) = program.argv.first() {
                not_started(name, &error);
            }
            (failed(format!("it could not be started: {error}")), start_code(&error))
        }
    };
    if let Err(error) = server.report(id, &outcome) {
        // It has run: its own code matters more than ours, and the server will call the outcome unknown.
        let _ = context.complain(&format!("banksman: the outcome of {id} could not be reported: {error}"));
    }
    Ok(ExitCode::from(code))
}

fn run(program: &Program) -> std::io::Result<ExitStatus> {
    let (name, args) = program.argv.split_first().ok_or_else(|| std::io::Error::other("nothing to run"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        // A terminal sends these to the program as well; sent on, they would arrive twice.
        let from_terminal = std::io::IsTerminal::is_terminal(&std::io::stdin());
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut quit = signal(SignalKind::quit())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hangup = signal(SignalKind::hangup())?;
        let mut user1 = signal(SignalKind::user_defined1())?;
        let mut user2 = signal(SignalKind::user_defined2())?;
        let mut command = tokio::process::Command::new(name);
        for name in unjudged() {
            command.env_remove(name);
        }
        let mut child = command.args(args).spawn()?;
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        loop {
            let passed_on = tokio::select! {
                status = child.wait() => return status,
                _ = interrupt.recv() => (!from_terminal).then_some(Signal::INT),
                _ = quit.recv() => (!from_terminal).then_some(Signal::QUIT),
                _ = terminate.recv() => Some(Signal::TERM),
                _ = hangup.recv() => Some(Signal::HUP),
                _ = user1.recv() => Some(Signal::USR1),
                _ = user2.recv() => Some(Signal::USR2),
            };
            if let (Some(pid), Some(signal)) = (pid, passed_on) {
                let _ = kill_process(pid, signal);
            }
        }
    })
}

fn not_started(name: &OsStr, error: &std::io::Error) {
    eprintln!("banksman: cannot run {}: {error}", Visible(&name.to_string_lossy()));
}

fn start_code(error: &std::io::Error) -> u8 {
    if error.kind() == std::io::ErrorKind::NotFound { NOT_FOUND } else { NOT_RUNNABLE }
}

fn outcome_of(status: ExitStatus) -> OutcomeBody {
    match (status.code(), status.signal()) {
        (Some(0), _) => OutcomeBody { status: OutcomeStatus::Succeeded, result: None, error: None },
        (Some(code), _) => failed(format!("exit code {code}")),
        (None, Some(signal)) => failed(format!("ended by signal {signal}")),
        (None, None) => failed("ended in an unknown way".to_owned()),
    }
}

fn failed(error: String) -> OutcomeBody {
    OutcomeBody { status: OutcomeStatus::Failed, result: None, error: Some(error) }
}

/// As shells say it: the program's own code, or 128 and the signal that ended it.
fn code_of(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(code_of_signal)).unwrap_or(1);
    u8::try_from(code).unwrap_or(u8::MAX)
}
