//! `banksman prompt`: asks the person at the terminal about one action. No unless a key says yes.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use banksman_core::json::parse;
use banksman_core::{Action, Decision, Status, Tier};
use serde::Serialize;

use crate::context::Context;
use crate::exit::{Exit, stop};
use crate::gate::{Embedded, Question, blocked, chosen_policy};
use crate::prompt::{self, Card, Choice};
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
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    match &args.id {
        Some(id) => decide(args, context, id),
        None => ask(args, context),
    }
}

impl Args {
    fn ask(&self, card: &Card, patience: Duration) -> anyhow::Result<Choice> {
        let asked = match &self.terminal {
            Some(terminal) => prompt::ask_at(terminal, card, patience),
            None => prompt::ask_here(card, patience),
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
    };
    let seen = embedded.assess(&question, context.now);
    if seen.verdict.tier == Tier::Block {
        // Nobody can let through what policy blocks, so nobody is asked.
        return Err(stop(Exit::NotAllowed, blocked(&seen.verdict)));
    }
    let choice =
        args.ask(&Card::of_action(&action, question.agent, &seen), Duration::from_secs(args.timeout))?;
    let (answered, exit) = match choice {
        Choice::Approve => (Answered { decision: "approve", by: "terminal" }, Exit::Done),
        Choice::Deny => (Answered { decision: "deny", by: "terminal" }, Exit::Failure),
        Choice::TimedOut => (Answered { decision: "deny", by: "timeout" }, Exit::Refused),
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
    let decision = match args.ask(&Card::of_view(action), patience)? {
        Choice::Approve => Decision::Approve,
        Choice::Deny => Decision::Deny,
        // Someone else may still decide: silence at one terminal is not a person's no.
        Choice::TimedOut => return Err(stop(Exit::Refused, "nobody answered: nothing was sent")),
    };
    review.send(&review.request(decision))
}
