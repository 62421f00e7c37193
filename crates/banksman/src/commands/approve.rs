//! `banksman approve`: let exactly this run.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use banksman_core::{Decision, GrantMatch, Remember};

use crate::commands::grant::parse_pattern;
use crate::context::Context;
use crate::exit::{Exit, stop};
use crate::review::{Confirmation, Review};
use crate::span::parse_span;

const EIGHT_HOURS: Duration = Duration::from_secs(8 * 3_600);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The action: its id, or at least 4 characters that it begins or ends with
    id: String,
    /// Why, for the audit log
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Words for the agent
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
    /// Also approve this exact call, calls of a kind, or any call of the tool, when it comes again
    #[arg(long, value_name = "WHICH", num_args = 0..=1, default_missing_value = "exact")]
    remember: Option<Which>,
    /// With --remember args: what an argument has to fit, such as to=*@example.com; others stay as they are
    #[arg(long = "arg", value_name = "NAME=PATTERN", requires = "remember", value_parser = parse_pattern)]
    patterns: Vec<(String, String)>,
    /// Remember it for so many calls
    #[arg(long, value_name = "COUNT", requires = "remember", value_parser = clap::value_parser!(u32).range(1..))]
    uses: Option<u32>,
    /// Remember it in all the agent's sessions, not only in this one
    #[arg(long, requires = "remember")]
    all_sessions: bool,
    /// Remember it for so long: 90s, 15m, 8h, 2d [default: 8h]
    #[arg(long = "for", value_name = "SPAN", requires = "remember", value_parser = parse_span)]
    lasting: Option<Duration>,
    /// Do not ask; needed where no terminal is there to ask at
    #[arg(long, short)]
    yes: bool,
}

/// Which calls a remembered approval covers.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Which {
    /// Exactly this call
    Exact,
    /// Calls whose arguments fit what --arg says
    Args,
    /// Any call of the tool, whatever its arguments
    Tool,
}

impl Args {
    fn remembered(&self) -> Option<Remember> {
        self.remember.map(|which| Remember {
            matches: match which {
                Which::Exact => GrantMatch::Exact,
                Which::Args => GrantMatch::Args,
                Which::Tool => GrantMatch::Tool,
            },
            args: self.patterns.iter().cloned().collect::<BTreeMap<_, _>>(),
            all_sessions: self.all_sessions,
            expires_in_seconds: self.lasting.unwrap_or(EIGHT_HOURS).as_secs(),
            uses: self.uses,
        })
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let review = Review::open(context, &args.id)?;
    if args.remember.is_some() && !args.all_sessions && review.action.context.session.is_none() {
        let words = "it belongs to no session in which it could be remembered: say --all-sessions, or leave out --remember";
        return Err(stop(Exit::Usage, words));
    }
    review.show("To be approved")?;
    let mut request = review.request(Decision::Approve)?;
    request.reason.clone_from(&args.reason);
    request.message.clone_from(&args.message);
    request.remember = args.remembered();
    let question = match args.remember {
        None => "Approve it?",
        Some(Which::Exact) => "Approve it, and this exact call when it comes again?",
        Some(Which::Args) => "Approve it, and later calls that fit?",
        Some(Which::Tool) => "Approve it, and ANY later call of this tool?",
    };
    let confirmation = if args.yes { Confirmation::Given } else { Confirmation::Ask };
    review.finish(request, confirmation, question)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn remembered(line: &str) -> Option<Remember> {
        Line::parse_from(line.split(' ')).args.remembered()
    }

    #[test]
    fn what_is_remembered_is_narrow_unless_said_otherwise() {
        assert_eq!(remembered("approve R1SB"), None);
        assert_eq!(remembered("approve R1SB --remember"), Some(Remember::default()));
        let broad = Remember {
            matches: GrantMatch::Tool,
            all_sessions: true,
            expires_in_seconds: 900,
            uses: Some(3),
            ..Remember::default()
        };
        let line = "approve R1SB --remember tool --all-sessions --for 15m --uses 3";
        assert_eq!(remembered(line), Some(broad));
        let some = Remember {
            matches: GrantMatch::Args,
            args: [("to".to_owned(), "*@example.com".to_owned())].into(),
            ..Remember::default()
        };
        assert_eq!(remembered("approve R1SB --remember args --arg to=*@example.com"), Some(some));
    }
}
