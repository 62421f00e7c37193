//! `banksman prompt`: asks the person at the terminal about one action. No unless a key says yes.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use banksman_core::json::parse;
use banksman_core::wire::DecisionRequest;
use banksman_core::{Action, Decision, Status};
use serde::Serialize;

use crate::context::Context;
use crate::exit::{Exit, stop};
use crate::gate::{Embedded, Question, chosen_policy, refusal};
use crate::prompt::{self, Asking, Card, Choice};
use crate::review::Review;

/// Larger than any action that a server takes.
const MAX_INPUT_BYTES: u64 = 2 * 1024 * 1024;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// An action of the server, to be decided with your token: its id, or the start or end of it; without one, an
    /// action is read from standard input as it would be proposed, and nothing but the exit code comes of it
    id: Option<String>,
    /// Wait so many seconds for an answer
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
    /// Ask at this terminal instead of one's own
    #[arg(long, value_name = "TTY")]
    terminal: Option<PathBuf>,
    /// Without an id: judge by this policy, to show how risky it is
    #[arg(long, value_name = "PATH", env = "BANKSMAN_POLICY")]
    policy: Option<PathBuf>,
}

/// What scripts read.
#[derive(Serialize)]
struct Answered {
    decision: &'static str,
    by: &'static str,
    /// Why, if policy wants to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    match &args.id {
        Some(id) => decide(args, context, id),
        None => ask(args, context),
    }
}

impl Args {
    fn ask(&self, card: &Card, asking: Asking<'_>, patience: Duration) -> anyhow::Result<Choice> {
        let asked = match &self.terminal {
            Some(terminal) => prompt::ask_at(terminal, card, asking, patience),
            None => prompt::ask_here(card, asking, patience),
        };
        asked.map_err(|error| stop(Exit::Usage, format!("{error:#}: a prompt needs a person")))
    }
}

/// About an action on standard input.
fn ask(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let action = read_action()?;
    let policy = chosen_policy(args.policy.as_deref(), context);
    let embedded = Embedded::load(policy.as_deref())?;
    let question = Question {
        action: &action,
        agent: "prompt",
        key: None,
        until: None,
        takes_edits: false,
        on_hold: None,
        leave: None,
    };
    let seen = embedded.assess(&question, context.now);
    if let Some(denial) = refusal(&seen.verdict) {
        // Nobody here can let it through, so nobody is asked.
        return Err(stop(denial.exit, denial.words));
    }
    let card = Card::of_action(&action, question.agent, &seen);
    let answer = |decision, by, reason| Answered { decision, by, reason };
    let (answered, exit) = match args.ask(&card, Asking::Alone, Duration::from_secs(args.timeout))? {
        Choice::Approve { reason } => (answer("approve", "terminal", reason), Exit::Done),
        Choice::Deny { reason } => (answer("deny", "terminal", reason), Exit::Failure),
        Choice::TimedOut | Choice::Elsewhere(_) => (answer("deny", "timeout", None), Exit::Refused),
    };
    if context.globals.json {
        context.print_json(&answered)?;
    }
    Ok(exit.into())
}

fn read_action() -> anyhow::Result<Action> {
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut std::io::Read::take(std::io::stdin(), MAX_INPUT_BYTES), &mut bytes)?;
    let wrong = |problem: String| stop(Exit::Usage, format!("standard input is no action: {problem}"));
    let json = parse(&bytes).map_err(|error| wrong(error.to_string()))?;
    Action::from_json(json).map_err(|error| wrong(error.to_string()))
}

/// About an action of the server.
fn decide(args: &Args, context: &Context, id: &str) -> anyhow::Result<ExitCode> {
    let review = Review::open(context, id)?;
    let action = &review.action;
    if action.status != Status::Pending {
        return Err(stop(
            Exit::Refused,
            format!("{} is {}: there is nothing to decide", action.id, action.status),
        ));
    }
    let left = action.expires_at.map_or(Duration::MAX, |at| at.since(context.now));
    let patience = Duration::from_secs(args.timeout).min(left);
    let news = review.follow();
    let elsewhere = || news.try_recv().ok();
    let (decision, reason) =
        match args.ask(&Card::of_view(action), Asking::Held { elsewhere: &elsewhere }, patience)? {
            Choice::Approve { reason } => (Decision::Approve, reason),
            Choice::Deny { reason } => (Decision::Deny, reason),
            // Someone else may still decide: silence at one terminal is not a person's no.
            Choice::TimedOut => {
                let words = format!("nobody answered: nothing was sent, and {} stays held", action.id);
                return Err(stop(Exit::Refused, words));
            }
            Choice::Elsewhere(words) => {
                return Err(stop(Exit::Refused, format!("{words} Nothing was sent.")));
            }
        };
    review.send(&DecisionRequest { reason, ..review.request(decision)? })
}
