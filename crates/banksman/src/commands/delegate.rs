//! `banksman delegate`: someone else decides in your place, for a while.

use std::process::ExitCode;
use std::time::Duration;

use banksman_core::wire::{DelegationBody, DelegationView};
use banksman_core::{DelegationId, Timestamp};
use clap::Subcommand;

use crate::context::Context;
use crate::display::Visible;
use crate::exit::Exit;
use crate::span::{both, parse_span, relative};
use crate::table::{Cell, Column, Table, TooWide};

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Args {
    /// Who may use the roles
    #[arg(long, value_name = "NAME", required = true)]
    to: Option<String>,
    /// Only this role; may be given several times [default: all of yours]
    #[arg(long = "role", value_name = "ROLE")]
    roles: Vec<String>,
    /// For so long: 8h, 5d
    #[arg(long = "for", value_name = "SPAN", value_parser = parse_span, required_unless_present = "until")]
    lasting: Option<Duration>,
    /// Until then, such as 2026-12-01T09:00:00Z
    #[arg(long, value_name = "TIME", conflicts_with = "lasting")]
    until: Option<Timestamp>,
    /// Not before then [default: at once]
    #[arg(long, value_name = "TIME")]
    starting: Option<Timestamp>,
    /// In someone else's name; administrators only
    #[arg(long, value_name = "NAME")]
    from: Option<String>,
    /// Why, for the audit log
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the delegations that are not over
    List {
        /// Show everything, however long
        #[arg(long)]
        wide: bool,
    },
    /// End a delegation, at once
    Revoke {
        /// The delegation's id, as `banksman delegate list` shows it
        id: DelegationId,
    },
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    match &args.command {
        None => delegate(args, context),
        Some(Command::List { wide }) => list(if *wide { TooWide::GoOn } else { TooWide::Cut }, context),
        Some(Command::Revoke { id }) => revoke(*id, context),
    }?;
    Ok(Exit::Done.into())
}

fn delegate(args: &Args, context: &Context) -> anyhow::Result<()> {
    let body = DelegationBody {
        from: args.from.clone(),
        to: args.to.clone().unwrap_or_default(),
        roles: args.roles.clone(),
        starts_at: args.starting,
        ends_at: args.until,
        for_seconds: args.lasting.map(|span| span.as_secs()),
        reason: args.reason.clone(),
    };
    let delegation = context.client()?.delegate(&body)?;
    if context.globals.json {
        return context.print_json(&delegation);
    }
    let DelegationView { from, to, id, ends_at, .. } = &delegation;
    context.print(&format!(
        "{} may decide in place of {} ({}), until {}.\nEnd it with: banksman delegate revoke {id}\n",
        Visible(to),
        Visible(from),
        Visible(&roles(&delegation)),
        both(context.now, *ends_at),
    ))
}

fn list(too_wide: TooWide, context: &Context) -> anyhow::Result<()> {
    let delegations = context.client()?.delegations()?;
    context.print_list(&delegations, "Nobody decides in another's place.", |delegations| {
        table(delegations, too_wide, context)
    })
}

fn revoke(id: DelegationId, context: &Context) -> anyhow::Result<()> {
    context.client()?.revoke_delegation(id)?;
    context.print_over("Ended", id)
}

fn roles(delegation: &DelegationView) -> String {
    if delegation.roles.is_empty() { "all roles".into() } else { delegation.roles.join(", ") }
}

fn table(delegations: &[DelegationView], too_wide: TooWide, context: &Context) -> String {
    let mut table = Table::new(vec![
        // Whole, because revoking needs it whole.
        Column { heading: "ID", most: 30 },
        Column { heading: "FROM", most: 12 },
        Column { heading: "TO", most: 12 },
        Column { heading: "ROLES", most: 20 },
        Column { heading: "BEGINS", most: 10 },
        Column { heading: "ENDS", most: 10 },
    ]);
    for delegation in delegations {
        table.row(vec![
            Cell::new(&delegation.id.to_string()),
            Cell::new(&delegation.from),
            Cell::new(&delegation.to),
            Cell::new(&roles(delegation)),
            Cell::new(&relative(context.now, delegation.starts_at)),
            Cell::new(&relative(context.now, delegation.ends_at)),
        ]);
    }
    table.render(context.screen, too_wide)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::display::width;
    use crate::sample;

    #[test]
    fn delegations_are_listed_with_whole_ids_and_nothing_hostile() {
        let delegation = DelegationView {
            id: "dlg_01J9ZKQ7V8Y3F5T2M6N4P0R1SB".parse().unwrap(),
            from: "ann".into(),
            to: "b\u{202e}ob".into(),
            roles: Vec::new(),
            starts_at: sample::seconds(-60),
            ends_at: sample::seconds(7_200),
            by: "ann".into(),
            at: sample::seconds(-60),
            reason: None,
        };
        let text = table(&[delegation], TooWide::Cut, &sample::context());
        assert!(text.contains("dlg_01J9ZKQ7V8Y3F5T2M6N4P0R1SB  ann "), "{text}");
        assert!(
            text.contains("all roles") && text.contains("in 2 h") && !text.contains('\u{202e}'),
            "{text}"
        );
        let text = table(&[], TooWide::GoOn, &sample::context());
        assert!(text.lines().all(|line| width(line) <= 100), "{text}");
    }
}
