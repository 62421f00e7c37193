//! `banksman deny`: do not let it run, with or without words for the agent.

use std::process::ExitCode;

use banksman_core::Decision;

use crate::context::Context;
use crate::review::{Confirmation, Review};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The action: its id, or at least 4 characters that it begins or ends with
    id: String,
    /// Why, for the audit log
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// What the agent should do instead; it gets these words
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let review = Review::open(context, &args.id)?;
    review.show("To be denied")?;
    let decision = if args.message.is_some() { Decision::Respond } else { Decision::Deny };
    let mut request = review.request(decision)?;
    request.reason.clone_from(&args.reason);
    request.message.clone_from(&args.message);
    // A no harms nobody and can be asked again: it is not asked about.
    review.finish(request, Confirmation::Given, "")
}
