//! `banksman hook`: answers a coding agent's hook. Everything that goes wrong ends in no.

use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use banksman_core::Digest;
use banksman_core::wire::{OutcomeBody, OutcomeStatus};

use crate::context::Context;
use crate::gate::{Clearance, Gate, Leave, Question, Ruling, Unseen, Where};
use crate::hook::{Answer, Call, Claimed, Claims, Event, Form, Host, Outlet, Report, likely_form};
use crate::pretty::one_line;
use crate::prompt::{self, Asking, Choice};

/// No call that a reviewer could judge is larger, and memory is not for whoever writes the most.
const MAX_INPUT_BYTES: u64 = 16 * 1024 * 1024;
/// Longest error of a tool that is passed on.
const ERROR_CHARS: usize = 2_000;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Whose hook this is
    host: Host,
    /// Answer within so many seconds; it has to be less than what the host waits
    #[arg(long, value_name = "SECONDS", default_value = "570", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    deadline: u64,
    /// Ask here what no server and no host can ask: another terminal, as `tty` names it there
    #[arg(long, value_name = "TTY")]
    terminal: Option<PathBuf>,
    #[command(flatten)]
    place: Where,
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let began = Instant::now();
    let outlet = Outlet::new(args.host);
    let deadline = Duration::from_secs(args.deadline);
    outlet.watch(deadline);
    // Time to claim and to print has to be left when waiting ends.
    let slack = (deadline / 4).min(Duration::from_secs(5));
    let until = began + deadline - slack;
    let worked = catch_unwind(AssertUnwindSafe(|| work(args, context, &outlet, until)));
    match worked {
        Ok(never) => never,
        Err(_) => outlet.give_up("Banksman: the hook broke, so no. It was not executed."),
    }
}

fn work(args: &Args, context: &Context, outlet: &Outlet, until: Instant) -> ! {
    let mut input = Vec::new();
    if let Err(error) = std::io::stdin().take(MAX_INPUT_BYTES + 1).read_to_end(&mut input) {
        outlet.refuse(&format!("Banksman: the hook's input cannot be read: {error}"), Form::PreToolUse);
    }
    if input.len() as u64 > MAX_INPUT_BYTES {
        let reason = format!("Banksman: this is larger than {MAX_INPUT_BYTES} bytes; nobody could judge it");
        outlet.refuse(&reason, likely_form(&input));
    }
    match Event::read(args.host, &input) {
        Err(problem) => {
            let reason = format!("Banksman: the hook's input is not understood, so no: {problem}");
            outlet.refuse(&reason, likely_form(&input))
        }
        Ok(Event::Other) => {
            outlet.asked(None);
            outlet.silence()
        }
        Ok(Event::Done(report)) => {
            outlet.asked(None);
            if let Err(error) = tell(args, context, &report) {
                outlet.give_up(&format!("banksman: the outcome could not be reported: {error:#}"));
            }
            outlet.silence()
        }
        Ok(Event::Asked(call)) => {
            outlet.asked(Some(call.form));
            let answer = decide(args, context, &call, outlet, until);
            outlet.answer(&answer, call.form)
        }
    }
}

fn decide(args: &Args, context: &Context, call: &Call, outlet: &Outlet, until: Instant) -> Answer {
    let gate = match Gate::open(&args.place, context) {
        Ok(gate) => gate,
        Err(error) => return Answer::deny(format!("Banksman cannot judge this, so no: {error:#}")),
    };
    let claims = Claims::of_user(args.host);
    if was_let_run(&gate, claims.as_ref(), call) {
        let reason = "Banksman: this call was let run".to_owned();
        return Answer::Allow { reason, input: None, told: None };
    }
    let key = call.id.as_deref().map(|id| key_of(args.host, call.session.as_deref(), id));
    let stopped = outlet.clone();
    // Hosts take a hook that a signal ended for a yes.
    let leave: Leave =
        Arc::new(move |_, words| stopped.give_up(&format!("Banksman: stopped while it waited. {words}")));
    let question = Question {
        action: &call.action,
        agent: args.host.as_str(),
        key: key.as_deref(),
        until: Some(until),
        takes_edits: args.host.takes_edits() && call.input_of(&call.action.args).is_some(),
        on_hold: None,
        leave: Some(leave),
    };
    match gate.ask(&question, context) {
        Ruling::Allowed(clearance) => let_run(&gate, claims.as_ref(), call, clearance),
        Ruling::Edited { args: edited, words } if call.asks_leave => Answer::deny(format!(
            "{words} But a reviewer changed what leave was asked for, and the host can only be told yes or no: {}. So no.",
            one_line(&edited)
        )),
        Ruling::Edited { args: edited, words } => {
            let shown = call.input_of(&edited).unwrap_or(edited);
            Answer::deny(format!(
                "{words} A reviewer changed the arguments, and only these may run: {}. Make the call again with \
                 exactly them; it will not be held again.",
                one_line(&shown)
            ))
        }
        Ruling::NeedsPerson(unseen) => ask_person(args, call, &unseen, until),
        Ruling::Denied(denial) => Answer::deny(denial.words),
        // The one in front of the host is not asked instead: what the server would say may need others, or be no.
        Ruling::Unreachable(why) => Answer::deny(format!(
            "Banksman's server does not answer, so nobody has let this run: {why}. It was not executed."
        )),
    }
}

/// Whether the host asks for leave to run the very call that was let run a moment ago, and asks that for the first time.
///
/// The note beside the call says which that was, and the server whether it is so: an agent that runs as this user can
/// write such notes too. Without a server nothing is noted, and policy answers again.
fn was_let_run(gate: &Gate, claims: Option<&Claims>, call: &Call) -> bool {
    if call.form != Form::PermissionRequest || call.asks_leave {
        return false;
    }
    let (Gate::Server(server), Some(claims)) = (gate, claims) else { return false };
    let (session, deed) = (call.session.as_deref(), call.deed(&call.action.args));
    claims
        .asked_about(session, deed)
        .is_some_and(|action| server.is_under_way(action, &deed, call.action.session.as_deref()))
}

/// The answer to a call that may run, and the note for its report.
fn let_run(gate: &Gate, claims: Option<&Claims>, call: &Call, clearance: Clearance) -> Answer {
    let Clearance { args, modified, claimed, words, said } = clearance;
    let input = if modified { call.input_of(&args) } else { None };
    if modified && input.is_none() {
        // Claimed, and not to be run: that is how it ended, and nobody should have to wonder.
        let error = "the host cannot run the reviewer's arguments".to_owned();
        if let (Gate::Server(server), Some(id)) = (gate, claimed) {
            let outcome =
                OutcomeBody { status: OutcomeStatus::Failed, result: None, error: Some(error.clone()) };
            let _ = server.report(id, &outcome);
        }
        return Answer::deny(format!("{words} But {error}: {}", one_line(&args)));
    }
    if call.asks_leave {
        // All that was to be done is done with this answer. How the command ends is reported of the call itself.
        if let (Gate::Server(server), Some(id)) = (gate, claimed) {
            let outcome = OutcomeBody { status: OutcomeStatus::Succeeded, result: None, error: None };
            let _ = server.report(id, &outcome);
        }
    } else if let (Some(claims), Some(id), Some(action)) = (claims, &call.id, claimed) {
        // Without the file nobody reports the outcome, and a human is shown that it is unknown.
        let _ = claims.put(call.session.as_deref(), id, &Claimed { action, deed: call.deed(&args) });
    }
    // The reason is for whoever reads along: the model would go on as if it had run what it asked for.
    let told = match &input {
        Some(input) => Some(format!(
            "{words} A reviewer changed this call before it was let run: what runs is not what you asked for, but {}",
            one_line(input)
        )),
        None => said.then(|| words.clone()),
    };
    let reason = if modified { format!("{words} A reviewer changed the arguments.") } else { words };
    Answer::Allow { reason, input, told }
}

/// On the terminal that was named, by the host, or not at all.
fn ask_person(args: &Args, call: &Call, unseen: &Unseen, until: Instant) -> Answer {
    let found = unseen.assessment.findings.iter().map(|finding| finding.reason.as_str());
    let found: Vec<&str> = unseen.verdict.messages.iter().map(String::as_str).chain(found).take(5).collect();
    let why = format!(
        "risk {}, rule {}{}{}",
        unseen.verdict.risk,
        unseen.verdict.rule,
        if found.is_empty() { "" } else { ": " },
        found.join(" ")
    );
    if let Some(terminal) = &args.terminal {
        let card = prompt::Card::of_action(&call.action, args.host.as_str(), unseen);
        let patience = until.saturating_duration_since(Instant::now());
        return match prompt::ask_at(terminal, &card, Asking::Alone, patience) {
            Ok(Choice::Approve { reason }) => {
                let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
                let reason = format!("Banksman: approved at the terminal{reason}");
                Answer::Allow { reason, input: None, told: None }
            }
            Ok(Choice::Deny { .. } | Choice::Elsewhere(_)) => {
                Answer::deny("Banksman: denied at the terminal. It was not executed.")
            }
            Ok(Choice::TimedOut) => {
                Answer::deny("Banksman: nobody answered at the terminal in time, so no. It was not executed.")
            }
            Err(error) => Answer::deny(format!("Banksman: nobody can be asked ({error:#}), so no ({why})")),
        };
    }
    if unseen.verdict.require_reason {
        return Answer::deny(format!(
            "Banksman: policy wants a reason for this, and the host's question has no room for one ({why}). It was not \
             executed. `banksman hook {} --terminal TTY` asks for it at another terminal; a server (`banksman serve`) \
             holds it until someone decides.",
            args.host.as_str()
        ));
    }
    if args.host.can_ask(call.permission_mode.as_deref()) {
        Answer::Ask { reason: format!("Banksman wants a person to see this ({why})") }
    } else {
        Answer::deny(format!(
            "Banksman: a person has to see this, and there is none to ask here ({why}). It was not executed. With a \
             server (`banksman serve`) it would be held until someone decides."
        ))
    }
}

/// Reports the outcome of what was claimed, if it was.
fn tell(args: &Args, context: &Context, report: &Report) -> anyhow::Result<()> {
    let Some(claims) = Claims::of_user(args.host) else { return Ok(()) };
    let Some(claimed) = claims.take(report.session.as_deref(), &report.id) else { return Ok(()) };
    if let Gate::Server(server) = Gate::open(&args.place, context)? {
        let status = if report.error.is_none() { OutcomeStatus::Succeeded } else { OutcomeStatus::Failed };
        let error = report.error.as_ref().map(|error| error.chars().take(ERROR_CHARS).collect());
        server.report(claimed.action, &OutcomeBody { status, result: None, error })?;
    }
    Ok(())
}

/// The same call asked about twice is the same proposal. A digest, because hosts' ids may be anything.
fn key_of(host: Host, session: Option<&str>, id: &str) -> String {
    let whole = serde_json::json!([host.as_str(), session, id]).to_string();
    Digest::of(whole.as_bytes()).to_string()
}
