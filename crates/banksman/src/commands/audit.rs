//! `banksman audit`: what happened, by whom.

mod observed;

use std::fmt::Write as _;
use std::process::ExitCode;

use banksman_client::AuditQuery;
use banksman_core::audit::{Event, Fact};
use banksman_core::wire::EventView;
use banksman_core::{ActionId, Decision, FreezeScope, Risk};
use clap::Subcommand;

use crate::context::Context;
use crate::display::Tone;
use crate::exit::Exit;
use crate::people::{standing, step_taken};
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
            cursor: self.cursor.clone(),
            limit: self.limit,
        }
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::Query(query) => list(query, context),
        Command::Observed(args) => observed::run(args, context),
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
                Cell::new(&what(&event)),
            ],
            // Written by a newer version: better raw than not at all.
            Err(_) => vec![seq, Cell::new("?"), Cell::new("?"), Cell::new("?"), Cell::new(text)],
        });
    }
    table.render(context.screen, too_wide)
}

/// What an event is about, in a line: first what was said, then about which action.
pub(crate) fn what(event: &Event) -> String {
    let mut detail = detail(&event.fact);
    if let Some(channel) = &event.via {
        let _ = write!(detail, " via {channel}");
    }
    match &event.action {
        None => detail,
        Some(action) => {
            let about = format!("{} ({}) {} -> {}", action.tool, action.risk, action.id, action.status);
            if detail.is_empty() { about } else { format!("{detail}: {about}") }
        }
    }
}

fn detail(fact: &Fact) -> String {
    let because =
        |reason: &Option<String>| reason.as_ref().map(|text| format!(" ({text})")).unwrap_or_default();
    match fact {
        Fact::Proposed { verdict, grant, .. } => {
            let observed = if verdict.observed { " (observed only)" } else { "" };
            let granted = grant.map(|id| format!(", granted by {id}")).unwrap_or_default();
            format!("{} by {}{observed}{granted}", verdict.tier, verdict.rule)
        }
        Fact::Decided { decision, reason, acting, solo_operator, .. } => {
            format!("{decision}{}{}", because(reason), standing(acting, *solo_operator))
        }
        Fact::Modified { reason, acting, solo_operator, .. } => {
            format!("modify{}{}", because(reason), standing(acting, *solo_operator))
        }
        Fact::Escalated { number, step } => format!("step {number}: {}", step_taken(step)),
        Fact::Cancelled { reason } | Fact::Revoked { reason } => because(reason).trim_start().to_owned(),
        Fact::Finished { error, .. } => because(error).trim_start().to_owned(),
        Fact::Expired | Fact::Lapsed | Fact::Claimed { .. } | Fact::LeaseEnded => String::new(),
        Fact::BatchProposed { batch, items, .. } => format!("{batch} with {} items", items.len()),
        Fact::Frozen { freeze } => {
            let scope = match &freeze.scope {
                FreezeScope::Everything => "everything".to_owned(),
                FreezeScope::Agent(name) => format!("agent {name}"),
                FreezeScope::Tool(name) => format!("tool {name}"),
            };
            format!("{scope} ({}) {}", freeze.reason, freeze.id)
        }
        Fact::Unfrozen { freeze } => freeze.to_string(),
        Fact::Granted { grant } => format!("{} for {} {}", grant.tool, grant.agent, grant.id),
        Fact::GrantRevoked { grant } => grant.to_string(),
        Fact::Delegated { delegation } => {
            let roles =
                if delegation.roles.is_empty() { "all roles".into() } else { delegation.roles.join(", ") };
            let until = to_the_second(delegation.ends_at);
            format!("{roles} of {} to {} until {until} {}", delegation.from, delegation.to, delegation.id)
        }
        Fact::DelegationRevoked { delegation } => delegation.to_string(),
        Fact::ModeChanged { from, to, reason, fallback } => {
            let fell = if *fallback { "fell back, " } else { "" };
            format!("{fell}{from} -> {to}{}", because(reason))
        }
        Fact::TokenIssued { token, kind, name, .. } => format!("{kind} {name} {token}"),
        Fact::TokenRevoked { token } => token.to_string(),
        Fact::PolicyLoaded { digest, source } => format!("{source} {digest}"),
        Fact::InboundRefused { why, who, about, unrecorded, .. } => {
            let who = who.as_ref().map(|who| format!(" from {who}")).unwrap_or_default();
            let about = about.map(|about| format!(" about {about}")).unwrap_or_default();
            let more = if *unrecorded > 0 { format!(" and {unrecorded} more before") } else { String::new() };
            format!("{why}{who}{about}{more}")
        }
        Fact::Notified { about, channel, recipient, outcome, error, .. } => {
            format!("{outcome} to {recipient} by {channel} about {about}{}", because(error))
        }
        Fact::NotificationRetried { about, delivery } => format!("message {delivery} about {about}"),
        Fact::Resumed { about, outcome, error, .. } => format!("{outcome} about {about}{}", because(error)),
        Fact::JobRetried { about, job } | Fact::JobDropped { about, job } => {
            format!("job {job} about {about}")
        }
    }
}

#[cfg(test)]
mod tests {
    use banksman_core::audit::{ActionRef, FORMAT};
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
7    2023-11-14T22:13:20Z  decided       ann       deny (no): rm\\u{1b}[2J\\nforged (high) act_01J9ZKQ7V8Y3F5T2M6N4P0R1SB -> denied
8    2023-11-14T22:13:20Z  mode_changed  operator  lab -> shadow
9    ?                     ?             ?         {\"v\":99}
"
        );
        let text = table(&events, TooWide::Cut, &sample::context());
        assert!(text.lines().all(|line| width(line) <= 80), "{text}");
    }
}
