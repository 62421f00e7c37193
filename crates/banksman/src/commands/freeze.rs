//! `banksman freeze`: the kill switch.

use std::process::ExitCode;

use banksman_core::FreezeId;
use banksman_core::wire::{FreezeBody, FreezeView};
use clap::Subcommand;

use crate::context::Context;
use crate::display::{Tone, Visible};
use crate::exit::Exit;
use crate::span::relative;
use crate::table::{Cell, Column, Table, TooWide};

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Args {
    #[command(flatten)]
    scope: Scope,
    /// Why, for everyone who meets the freeze
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Scope {
    /// Freeze everything this agent does
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Freeze every use of this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Freeze everything
    #[arg(long)]
    everything: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the freezes in force
    List {
        /// Show everything, however long
        #[arg(long)]
        wide: bool,
    },
    /// Lift a freeze
    Lift {
        /// The freeze's id, as `banksman freeze list` shows it
        id: FreezeId,
    },
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    match &args.command {
        None => freeze(args, context),
        Some(Command::List { wide }) => list(if *wide { TooWide::GoOn } else { TooWide::Cut }, context),
        Some(Command::Lift { id }) => lift(*id, context),
    }?;
    Ok(Exit::Done.into())
}

fn freeze(args: &Args, context: &Context) -> anyhow::Result<()> {
    let body = FreezeBody {
        everything: args.scope.everything,
        agent: args.scope.agent.clone(),
        tool: args.scope.tool.clone(),
        reason: args.reason.clone(),
    };
    let freeze = context.client()?.freeze(&body)?;
    if context.globals.json {
        return context.print_json(&freeze);
    }
    let (what, id) = (what(&freeze), freeze.id);
    context.print(&format!("Frozen: {}.\nLift it with: banksman freeze lift {id}\n", Visible(&what)))
}

fn list(too_wide: TooWide, context: &Context) -> anyhow::Result<()> {
    let freezes = context.client()?.freezes()?;
    context.print_list(&freezes, "Nothing is frozen.", |freezes| table(freezes, too_wide, context))
}

fn lift(id: FreezeId, context: &Context) -> anyhow::Result<()> {
    context.client()?.unfreeze(id)?;
    context.print_over("Lifted", id)
}

fn what(freeze: &FreezeView) -> String {
    match &freeze.name {
        Some(name) => format!("{} {name}", freeze.scope),
        None => freeze.scope.clone(),
    }
}

fn table(freezes: &[FreezeView], too_wide: TooWide, context: &Context) -> String {
    let mut table = Table::new(vec![
        // Whole, because lifting needs it whole.
        Column { heading: "ID", most: 30 },
        Column { heading: "FROZEN", most: 18 },
        Column { heading: "BY", most: 8 },
        Column { heading: "SINCE", most: 10 },
        Column { heading: "REASON", most: 80 },
    ]);
    for freeze in freezes {
        table.row(vec![
            Cell::new(&freeze.id.to_string()),
            Cell::toned(&what(freeze), Tone::Alarm),
            Cell::new(&freeze.by),
            Cell::new(&relative(context.now, freeze.at)),
            Cell::new(&freeze.reason),
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
    fn freezes_are_listed_with_whole_ids() {
        let freeze = FreezeView {
            id: "frz_01J9ZKQ7V8Y3F5T2M6N4P0R1SB".parse().unwrap(),
            scope: "agent".into(),
            name: Some("support-bot-with-a-long\u{202e}name".into()),
            reason: "it went wild and nobody knew why it did that".into(),
            by: "annabelle".into(),
            at: sample::seconds(-7_200),
        };
        let text = table(&[freeze], TooWide::Cut, &sample::context());
        assert!(
            text.contains("frz_01J9ZKQ7V8Y3F5T2M6N4P0R1SB  agent support-bot…  annabel…  2 h ago  it"),
            "{text}"
        );
        assert!(text.lines().all(|line| width(line) <= 80), "{text}");
    }
}
