//! `banksman audit observed`: what a policy that only observes would have held.

use std::collections::BTreeMap;
use std::process::ExitCode;

use banksman_client::AuditQuery;
use banksman_core::audit::{Event, Fact};
use banksman_core::wire::EventView;
use serde::Serialize;

use crate::context::Context;
use crate::display::Visible;
use crate::exit::Exit;
use crate::progress::Progress;
use crate::span::When;
use crate::table::TooWide;

/// How many events are fetched at a time.
const PAGE: u32 = 500;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Not before this: a time such as 2026-11-15T10:00:00Z, or how long ago, such as 2h
    #[arg(long, value_name = "WHEN", value_parser = When::parse)]
    since: Option<When>,
    /// Before this
    #[arg(long, value_name = "WHEN", value_parser = When::parse)]
    until: Option<When>,
    /// How many of the newest to list; all are counted
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    limit: usize,
    /// Show everything, however long
    #[arg(long)]
    wide: bool,
}

/// How often people would have been asked.
#[derive(Debug, Default, Serialize)]
struct Summary {
    total: u64,
    by_tier: BTreeMap<String, u64>,
    by_rule: BTreeMap<String, u64>,
    by_tool: BTreeMap<String, u64>,
    by_agent: BTreeMap<String, u64>,
}

#[derive(Serialize)]
struct Report<'a> {
    summary: &'a Summary,
    newest: &'a [EventView],
}

impl Summary {
    fn count(&mut self, view: &EventView) {
        self.total += 1;
        // Written by a newer version: counted all the same, only not by what it was.
        let Ok(event) = Event::from_bytes(view.event.get().as_bytes()) else { return };
        let Fact::Proposed { verdict, .. } = event.fact else { return };
        *self.by_tier.entry(verdict.tier.to_string()).or_default() += 1;
        *self.by_rule.entry(verdict.rule.clone()).or_default() += 1;
        if let Some(action) = event.action {
            *self.by_tool.entry(action.tool).or_default() += 1;
            *self.by_agent.entry(action.agent).or_default() += 1;
        }
    }

    fn render(&self) -> String {
        let mut text = format!("People would have been asked {} times.\n", self.total);
        for (name, counts) in [
            ("tier", &self.by_tier),
            ("rule", &self.by_rule),
            ("tool", &self.by_tool),
            ("agent", &self.by_agent),
        ] {
            let mut counts: Vec<_> = counts.iter().collect();
            counts.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
            for (what, count) in counts {
                text.push_str(&format!("{count:>8}  {name} {}\n", Visible(what)));
            }
        }
        text
    }
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let client = context.client()?;
    let mut query = AuditQuery {
        observed_only: true,
        since: args.since.map(|when| when.from(context.now)),
        until: args.until.map(|when| when.from(context.now)),
        limit: Some(PAGE),
        ..AuditQuery::default()
    };
    let mut summary = Summary::default();
    let mut newest: Vec<EventView> = Vec::new();
    let mut progress = Progress::new();
    loop {
        let page = client.audit(&query)?;
        progress.count(summary.total, "events counted");
        for view in page.items {
            summary.count(&view);
            if newest.len() < args.limit {
                newest.push(view);
            }
        }
        // A server that hands out the same cursor again would keep us here for ever.
        if page.next_cursor.is_none() || page.next_cursor == query.cursor {
            break;
        }
        query.cursor = page.next_cursor;
    }
    drop(progress);
    if context.globals.json {
        context.print_json(&Report { summary: &summary, newest: &newest })?;
    } else if summary.total == 0 {
        context.print("Nothing was let through by a policy that only observes.\n")?;
    } else {
        let too_wide = if args.wide { TooWide::GoOn } else { TooWide::Cut };
        context.print(&summary.render())?;
        context.print(&super::table(&newest, too_wide, context))?;
    }
    Ok(Exit::Done.into())
}
