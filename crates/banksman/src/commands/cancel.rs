//! `banksman cancel`: withdraw an action, or take back its authorisation before it is claimed.

use std::process::ExitCode;

use banksman_core::wire::CancelBody;

use crate::context::Context;
use crate::display::Visible;
use crate::exit::Exit;
use crate::select;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The action: its id, or at least 4 characters that a pending one begins or ends with
    id: String,
    /// Why, for the audit log
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let client = context.client()?;
    let id = select::resolve(&client, &args.id)?;
    let action = client.cancel(id, &CancelBody { reason: args.reason.clone() })?;
    if context.globals.json {
        context.print_json(&action)?;
    } else {
        let (tool, status) = (Visible(&action.tool), action.status);
        context.print(&format!("{id} ({tool}) is now {status}.\n"))?;
    }
    Ok(Exit::Done.into())
}
