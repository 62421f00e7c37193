//! `banksman audit`: what happened, by whom.

mod export;
mod observed;
mod prove;
mod sealed;
mod verify;

use std::process::ExitCode;

use banksman_client::AuditQuery;
use banksman_core::audit::Event;
use banksman_core::wire::EventView;
use banksman_core::{ActionId, Decision, Risk};
use banksman_review::event_line;
use clap::Subcommand;

use crate::context::Context;
use crate::display::Tone;
use crate::exit::Exit;
use crate::span::{When, to_the_second};
use crate::table::{Cell, Column, Table, TooWide};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List events, by what and who and when
    Query(Query),
    /// What people would have been asked about, had policy not only observed; and how often
    Observed(observed::Args),
    /// Write the whole log, oldest first, one event a line; `audit verify` reads it
    Export(export::Args),
    /// Check that a log is what was signed: whole, unchanged, with the passkeys' signatures; without a server
    Verify(verify::Args),
    /// Prove that one event is in the log, to someone who has neither the log nor the server
    Prove(prove::Args),
}

#[derive(Debug, clap::Args)]
struct Query {
    /// Only events of this type, such as proposed, decided, claimed, finished, frozen
    #[arg(long = "type", value_name = "TYPE")]
    event_type: Option<String>,
    /// Only decisions of this kind: approve, deny, modify, respond
    #[arg(long)]
    decision: Option<Decision>,
    /// Only about actions of this risk: none, low, medium, high, critical
    #[arg(long)]
    risk: Option<Risk>,
    /// Only about actions with this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Only about actions of this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only what this reviewer did
    #[arg(long, value_name = "NAME")]
    reviewer: Option<String>,
    /// Only about this action
    #[arg(long, value_name = "ID")]
    action: Option<ActionId>,
    /// Not before this: a time such as 2026-11-15T10:00:00Z, or how long ago, such as 2h
    #[arg(long, value_name = "WHEN", value_parser = When::parse)]
    since: Option<When>,
    /// Before this
    #[arg(long, value_name = "WHEN", value_parser = When::parse)]
    until: Option<When>,
    /// How many events at most
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Go on where a query before ended
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    /// Show everything, however long
    #[arg(long)]
    wide: bool,
}

impl Query {
    fn to_api(&self, context: &Context) -> AuditQuery {
        AuditQuery {
            event_type: self.event_type.clone(),
            decision: self.decision,
            risk: self.risk,
            tool: self.tool.clone(),
            agent: self.agent.clone(),
            reviewer: self.reviewer.clone(),
            action: self.action,
            observed_only: false,
            since: self.since.map(|when| when.from(context.now)),
            until: self.until.map(|when| when.from(context.now)),
            oldest_first: false,
            cursor: self.cursor.clone(),
            limit: self.limit,
        }
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::Query(query) => list(query, context),
        Command::Observed(args) => observed::run(args, context),
        Command::Export(args) => export::run(args, context),
        Command::Verify(args) => verify::run(args, context),
        Command::Prove(args) => prove::run(args, context),
    }
}

fn list(query: &Query, context: &Context) -> anyhow::Result<ExitCode> {
    let page = context.client()?.audit(&query.to_api(context))?;
    if context.globals.json {
        context.print_json(&page)?;
    } else if page.items.is_empty() {
        context.print("Nothing matches.\n")?;
    } else {
        let too_wide = if query.wide { TooWide::GoOn } else { TooWide::Cut };
        context.print(&table(&page.items, too_wide, context))?;
        if let Some(cursor) = &page.next_cursor {
            let cursor = crate::display::Visible(cursor);
            context.print(&format!("There is more: add --cursor {cursor} to the same query.\n"))?;
        }
    }
    Ok(Exit::Done.into())
}

fn table(events: &[EventView], too_wide: TooWide, context: &Context) -> String {
    let mut table = Table::new(vec![
        Column { heading: "SEQ", most: 10 },
        Column { heading: "TIME", most: 20 },
        Column { heading: "EVENT", most: 14 },
        Column { heading: "BY", most: 12 },
        Column { heading: "WHAT", most: 120 },
    ]);
    for view in events {
        let seq = Cell::toned(&view.seq.to_string(), Tone::Faint);
        let text = view.event.get();
        table.row(match Event::from_bytes(text.as_bytes()) {
            Ok(event) => vec![
                seq,
                Cell::new(&to_the_second(event.at)),
                Cell::new(event.fact.type_name()),
                Cell::new(event.actor.name().unwrap_or_else(|| event.actor.kind())),
                Cell::new(&event_line(&event)),
            ],
            // Written by a newer version: better raw than not at all.
            Err(_) => vec![seq, Cell::new("?"), Cell::new("?"), Cell::new("?"), Cell::new(text)],
        });
    }
    table.render(context.screen, too_wide)
}

#[cfg(test)]
mod tests {
    use banksman_core::audit::{ActionRef, FORMAT, Fact};
    use banksman_core::{Actor, Mode};
    use serde_json::value::RawValue;

    use super::*;
    use crate::display::width;
    use crate::sample;

    fn view(seq: u64, event: &Event) -> EventView {
        EventView { seq, event: RawValue::from_string(serde_json::to_string(event).unwrap()).unwrap() }
    }

    fn decided() -> Event {
        let action = sample::action();
        let about = ActionRef {
            id: action.id,
            revision: 2,
            version: 1,
            digest: action.digest,
            agent: action.agent,
            tool: "rm\u{1b}[2J\nforged".into(),
            risk: Risk::High,
            tier: action.verdict.tier,
            status: banksman_core::Status::Denied,
            session: None,
            batch: None,
        };
        Event {
            v: FORMAT,
            at: sample::NOW,
            actor: Actor::Reviewer { name: "ann".into() },
            action: Some(about),
            via: None,
            fact: Fact::Decided {
                decision: Decision::Deny,
                reason: Some("no".into()),
                message: None,
                acting: Vec::new(),
                solo_operator: false,
                step_up: None,
            },
        }
    }

    #[test]
    fn an_event_is_a_line() {
        let change = Event::general(
            sample::NOW,
            Actor::Operator,
            Fact::ModeChanged { from: Mode::Lab, to: Mode::Shadow, reason: None, fallback: false },
        );
        let unknown = RawValue::from_string(r#"{"v":99}"#.into()).unwrap();
        let events = [view(7, &decided()), view(8, &change), EventView { seq: 9, event: unknown }];
        let text = table(&events, TooWide::GoOn, &sample::context());
        assert_eq!(
            text,
            "\
SEQ  TIME                  EVENT         BY        WHAT
7    2023-11-14T22:13:20Z  decided       ann       denied (no): rm\\u{1b}[2J\\nforged (high) act_01J9ZKQ7V8Y3F5T2M6N4P0R1SB -> denied
8    2023-11-14T22:13:20Z  mode_changed  operator  mode from lab to shadow
9    ?                     ?             ?         {\"v\":99}
"
        );
        let text = table(&events, TooWide::Cut, &sample::context());
        assert!(text.lines().all(|line| width(line) <= 80), "{text}");
    }
}
