//! `banksman pending`: what waits for a decision.

use std::cmp::Reverse;
use std::process::ExitCode;

use banksman_core::ActionId;
use banksman_core::wire::{ActionView, Page};

use crate::context::Context;
use crate::display::Tone;
use crate::exit::Exit;
use crate::pretty::one_line;
use crate::select;
use crate::span::span;
use crate::table::{Cell, Column, Table, TooWide};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show whole ids, names and arguments
    #[arg(long)]
    wide: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let actions = select::pending(&context.client()?)?;
    if context.globals.json {
        context.print_json(&Page { items: actions, next_cursor: None })?;
    } else if actions.is_empty() {
        context.print("Nothing is waiting.\n")?;
    } else {
        let too_wide = if args.wide { TooWide::GoOn } else { TooWide::Cut };
        context.print(&table(actions, too_wide, context))?;
    }
    Ok(Exit::Done.into())
}

fn table(mut actions: Vec<ActionView>, too_wide: TooWide, context: &Context) -> String {
    // What triage calls urgent comes first, and then what expires first.
    let priority = |action: &ActionView| action.assessment.triage.as_ref().and_then(|triage| triage.priority);
    actions.sort_by_key(|action| {
        (Reverse(priority(action)), action.expires_at.is_none(), action.expires_at, action.id)
    });
    let ids: Vec<ActionId> = actions.iter().map(|action| action.id).collect();
    let mut table = Table::new(vec![
        Column { heading: "ID", most: 26 },
        Column { heading: "RISK", most: 8 },
        Column { heading: "TOOL", most: 18 },
        Column { heading: "AGENT", most: 12 },
        Column { heading: "AGE", most: 6 },
        Column { heading: "LEFT", most: 6 },
        Column { heading: "ARGUMENTS", most: 80 },
    ]);
    for action in &actions {
        let id = match too_wide {
            TooWide::Cut => select::short(action.id, &ids),
            TooWide::GoOn => action.id.to_string(),
        };
        table.row(vec![
            Cell::new(&id),
            Cell::toned(action.verdict.risk.as_str(), action.verdict.risk.into()),
            Cell::new(&action.tool),
            Cell::new(&action.agent),
            Cell::new(&span(context.now.since(action.created_at))),
            left(action, context),
            Cell::new(&one_line(&action.args)),
        ]);
    }
    table.render(context.screen, too_wide)
}

fn left(action: &ActionView, context: &Context) -> Cell {
    match action.expires_at {
        Some(at) if at > context.now => {
            let left = at.since(context.now);
            let tone = if left.as_secs() < 60 { Tone::Warning } else { Tone::Plain };
            Cell::toned(&span(left), tone)
        }
        // The server has not yet got round to it, or our clocks differ.
        Some(_) => Cell::toned("over", Tone::Faint),
        None => Cell::new("-"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::display::width;
    use crate::sample;

    #[test]
    fn a_compact_table_with_the_most_urgent_first() {
        let mut urgent = sample::action();
        urgent.id = "act_01J9ZKQ7V8Y3F5T2M6N4P0R1ZZ".parse().unwrap();
        urgent.expires_at = Some(sample::seconds(30));
        assert_eq!(
            table(vec![sample::action(), urgent], TooWide::Cut, &sample::context()),
            "\
ID      RISK  TOOL            AGENT        AGE    LEFT   ARGUMENTS
P0R1ZZ  high  process_refund  support-bot  2 min  30 s   {\"amount\":899,\"order_i…
P0R1SB  high  process_refund  support-bot  2 min  4 min  {\"amount\":899,\"order_i…
"
        );
    }

    #[test]
    fn a_hostile_row_stays_one_row_of_80_columns() {
        let mut action = sample::action();
        action.tool = format!("rm\u{202e}\n{}", "t".repeat(250));
        action.agent = format!("\u{1b}[8m{}", "a".repeat(250));
        action.args = sample::json("{\"a\":\"\u{9b}2J\u{200b}返返返返返返返返返返返返返返返\"}");
        action.expires_at = Some(sample::seconds(-1));
        let text = table(vec![action], TooWide::Cut, &sample::context());
        assert_eq!(text.lines().count(), 2);
        assert!(text.lines().all(|line| width(line) <= 80), "{text}");
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
        assert!(text.contains(r"rm\u{202e}\nttttt…"), "{text}");
    }

    #[test]
    fn wide_keeps_everything() {
        let text = table(vec![sample::action()], TooWide::GoOn, &sample::context());
        assert!(text.contains("act_01J9ZKQ7V8Y3F5T2M6N4P0R1SB"), "{text}");
        assert!(text.contains(r#"{"amount":899,"order_id":"78291"}"#), "{text}");
    }
}
