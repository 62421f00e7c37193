//! `banksman grant`: what an agent may do again without asking.

use std::process::ExitCode;
use std::time::Duration;

use banksman_core::wire::{GrantBody, GrantView};
use banksman_core::{Digest, GrantId, GrantMatch};
use clap::Subcommand;

use crate::context::Context;
use crate::display::Visible;
use crate::exit::Exit;
use crate::span::{both, parse_span, relative};
use crate::table::{Cell, Column, Table, TooWide};

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Args {
    /// The agent that it holds for
    #[arg(long, value_name = "NAME", required = true)]
    agent: Option<String>,
    /// The tool that it covers
    #[arg(long, value_name = "NAME", required = true)]
    tool: Option<String>,
    /// For so long: 90s, 15m, 8h, 2d; policy may cut it short
    #[arg(long = "for", value_name = "SPAN", required = true, value_parser = parse_span)]
    lasting: Option<Duration>,
    /// Only this exact call, by its digest
    #[arg(long, value_name = "DIGEST", conflicts_with = "patterns")]
    digest: Option<Digest>,
    /// Only calls with exactly these arguments, such as to=*@example.com; may be given several times
    #[arg(long = "arg", value_name = "NAME=PATTERN", value_parser = parse_pattern)]
    patterns: Vec<(String, String)>,
    /// Only in this session of the agent
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Only for so many calls
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    uses: Option<u32>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the grants that can still be used
    List {
        /// Show everything, however long
        #[arg(long)]
        wide: bool,
    },
    /// Revoke a grant, at once
    Revoke {
        /// The grant's id, as `banksman grant list` shows it
        id: GrantId,
    },
}

/// Reads `name=pattern`.
pub(crate) fn parse_pattern(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, pattern)) if !name.is_empty() => Ok((name.to_owned(), pattern.to_owned())),
        _ => Err(format!("expected NAME=PATTERN, such as to=*@example.com, not {text:?}")),
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    match &args.command {
        None => grant(args, context),
        Some(Command::List { wide }) => list(if *wide { TooWide::GoOn } else { TooWide::Cut }, context),
        Some(Command::Revoke { id }) => revoke(*id, context),
    }?;
    Ok(Exit::Done.into())
}

fn grant(args: &Args, context: &Context) -> anyhow::Result<()> {
    let body = GrantBody {
        agent: args.agent.clone().unwrap_or_default(),
        tool: args.tool.clone().unwrap_or_default(),
        digest: args.digest,
        args: (!args.patterns.is_empty()).then(|| args.patterns.iter().cloned().collect()),
        session: args.session.clone(),
        expires_in_seconds: args.lasting.map_or(0, |span| span.as_secs()),
        uses: args.uses,
    };
    let grant = context.client()?.grant(&body)?;
    if context.globals.json {
        return context.print_json(&grant);
    }
    context.print(&format!(
        "Granted: {} for {}, until {}, where policy allows it.\nRevoke it with: banksman grant revoke {}\n",
        Visible(&what(&grant)),
        Visible(&grant.agent),
        both(context.now, grant.expires_at),
        grant.id,
    ))
}

fn list(too_wide: TooWide, context: &Context) -> anyhow::Result<()> {
    let grants = context.client()?.grants()?;
    context.print_list(&grants, "Nothing is granted.", |grants| table(grants, too_wide, context))
}

fn revoke(id: GrantId, context: &Context) -> anyhow::Result<()> {
    context.client()?.revoke_grant(id)?;
    context.print_over("Revoked", id)
}

/// Which calls, in a few words.
fn what(grant: &GrantView) -> String {
    let tool = &grant.tool;
    match (grant.matches, &grant.args) {
        (GrantMatch::Exact, _) => format!("{tool}, one exact call"),
        (GrantMatch::Args, Some(args)) => {
            let args: Vec<_> = args.iter().map(|(name, pattern)| format!("{name}={pattern}")).collect();
            format!("{tool} with {}", args.join(" "))
        }
        (GrantMatch::Args | GrantMatch::Tool, _) => format!("{tool}, any call"),
    }
}

fn table(grants: &[GrantView], too_wide: TooWide, context: &Context) -> String {
    let mut table = Table::new(vec![
        // Whole, because revoking needs it whole.
        Column { heading: "ID", most: 30 },
        Column { heading: "AGENT", most: 14 },
        Column { heading: "SESSION", most: 12 },
        Column { heading: "BY", most: 10 },
        Column { heading: "ENDS", most: 10 },
        Column { heading: "LEFT", most: 6 },
        Column { heading: "WHAT", most: 80 },
    ]);
    for grant in grants {
        table.row(vec![
            Cell::new(&grant.id.to_string()),
            Cell::new(&grant.agent),
            Cell::new(grant.session.as_deref().unwrap_or("all")),
            Cell::new(&grant.by),
            Cell::new(&relative(context.now, grant.expires_at)),
            Cell::new(&grant.uses_left.map_or_else(|| "-".into(), |left| left.to_string())),
            Cell::new(&what(grant)),
        ]);
    }
    table.render(context.screen, too_wide)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_a_name_and_a_text() {
        assert_eq!(parse_pattern("to=*@a=b"), Ok(("to".into(), "*@a=b".into())));
        assert_eq!(parse_pattern("note="), Ok(("note".into(), String::new())));
        assert!(parse_pattern("to").is_err());
        assert!(parse_pattern("=x").is_err());
    }
}
