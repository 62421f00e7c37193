//! `banksman policy replay`: a changed policy against what the server has recorded.

use std::path::PathBuf;
use std::process::ExitCode;

use banksman_client::ActionsQuery;
use banksman_core::wire::ActionView;
use banksman_core::{ActionId, Assessment, Decision, Mode, Status, Tier, Timestamp, Verdict};
use banksman_policy::{Contradiction, Ending, Facts, HumanAnswer, Meters, Policy, Replay, Replayed};

use super::modes::{Modes, Then};
use crate::context::Context;
use crate::display::Tone;
use crate::exit::{Exit, stop};
use crate::folder::read_policy;
use crate::progress::Progress;
use crate::span::{When, to_the_second};
use crate::table::{Cell, Column, Table, TooWide};

/// How many actions are asked for at a time: what is held in memory, whatever the length of history.
const PAGE: u32 = 500;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The changed policy: a file, or a folder of them
    #[arg(long, value_name = "PATH", env = "BANKSMAN_POLICY")]
    policy: Option<PathBuf>,
    /// Only what was proposed since then: a time such as 2026-11-15T10:00:00Z, or how long ago, such as 7d
    #[arg(long, value_name = "WHEN", value_parser = When::parse)]
    since: Option<When>,
    /// As if always in this mode [default: that of each moment, from the log]
    #[arg(long)]
    mode: Option<Mode>,
    /// Judge by what was found then, instead of reading each action again
    #[arg(long)]
    recorded_findings: bool,
    /// How many changed verdicts, and how many contradictions, to show
    #[arg(long, value_name = "COUNT", default_value_t = 50)]
    limit: usize,
    /// Fail if a person is contradicted, for a check before a merge
    #[arg(long)]
    fail_if_contradicted: bool,
    /// Show everything, however long
    #[arg(long)]
    wide: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let Some(path) = &args.policy else {
        return Err(stop(Exit::Usage, "which policy is to be tried? Name it with --policy PATH"));
    };
    let policy = read_policy(path)?;
    let Done { replay, redacted } = replay(args, &policy, context)?;
    if context.globals.json {
        context.print_json(&json(&replay, redacted))?;
    } else {
        let too_wide = if args.wide { TooWide::GoOn } else { TooWide::Cut };
        context.print(&text(&replay, too_wide, context))?;
        if redacted > 0 {
            context.print(&format!(
                "{redacted} of them have arguments that people do not get to see: rules were asked about the rest.\n"
            ))?;
        }
    }
    let contradicted = replay.contradicting() > 0 && args.fail_if_contradicted;
    Ok(if contradicted { Exit::Failure } else { Exit::Done }.into())
}

/// What came of it.
struct Done {
    replay: Replay,
    /// How many actions were not seen whole.
    redacted: u64,
}

fn replay(args: &Args, policy: &Policy, context: &Context) -> anyhow::Result<Done> {
    let client = context.client()?;
    let modes = match args.mode {
        Some(mode) => Modes::always(mode),
        None => Modes::of_log(&client)?,
    };
    let since = args.since.map(|when| when.from(context.now));
    let mut replay = Replay::new(args.limit);
    let mut redacted = 0;
    let mut again =
        Again { policy, modes, recorded_findings: args.recorded_findings, meters: Meters::default() };
    // Oldest first, because windows fill in the order of things; ids begin with their time.
    let mut query = ActionsQuery {
        oldest_first: true,
        cursor: since.map(before).map(|id| id.to_string()),
        limit: Some(PAGE),
        ..ActionsQuery::default()
    };
    let mut progress = Progress::new();
    loop {
        let page = client.actions(&query)?;
        for view in page.items.iter().filter(|view| since.is_none_or(|since| view.created_at >= since)) {
            redacted += u64::from(is_redacted(view));
            replay.add(again.judge(view));
        }
        progress.count(replay.total(), "actions judged again");
        match page.next_cursor {
            Some(cursor) => query.cursor = Some(cursor),
            None => break,
        }
    }
    Ok(Done { replay, redacted })
}

/// An id before all those of a moment.
fn before(moment: Timestamp) -> ActionId {
    let millis = u64::try_from(moment.as_micros() / 1000).unwrap_or(0);
    ActionId::from_parts(millis.saturating_sub(1), 0)
}

/// Whether people see less of it than there is.
fn is_redacted(view: &ActionView) -> bool {
    !view.verdict.redact.is_empty()
}

/// What history is judged by, and what windows hold so far.
struct Again<'p> {
    policy: &'p Policy,
    modes: Modes,
    recorded_findings: bool,
    meters: Meters,
}

impl Again<'_> {
    fn judge(&mut self, view: &ActionView) -> Replayed {
        let action = view.to_action();
        let mut assessment = Assessment::clone(&view.assessment);
        // What was hidden cannot be read again; what was found in it is on record.
        if !self.recorded_findings && !is_redacted(view) {
            // What triage said is not asked again: it may cost, and it would not say the same.
            assessment = Assessment { triage: assessment.triage, ..self.policy.assessor().assess(&action) };
        }
        let Then { mode, fell_back_from } = self.modes.at(view.created_at);
        let mut judged = |mode, ending| {
            let facts = Facts { mode, ..Facts::plain(&view.agent, view.created_at) };
            self.meters.judge(self.policy, &action, &assessment, &facts, view.id, ending).verdict
        };
        // First, because only what is judged last fills windows.
        let before = fell_back_from.map(|mode| judged(mode, Ending::NeverRan));
        let now = judged(mode, ending(view.status));
        Replayed {
            id: view.id,
            at: view.created_at,
            agent: view.agent.clone(),
            tool: view.tool.clone(),
            before: Verdict::clone(&view.verdict),
            after: before.map_or_else(|| now.clone(), |before| now.clone().at_least(&before)),
            human: human(view),
        }
    }
}

fn ending(status: Status) -> Ending {
    if status == Status::Failed {
        Ending::Failed
    } else if status.never_ran() {
        Ending::NeverRan
    } else {
        Ending::Ran
    }
}

/// What a person said last, if anyone said something that counts.
fn human(view: &ActionView) -> Option<HumanAnswer> {
    let last = view.votes.last()?;
    let approved = match last.decision {
        Decision::Approve | Decision::Modify => true,
        Decision::Deny | Decision::Respond => false,
    };
    Some(HumanAnswer { by: last.by.clone(), approved })
}

fn json(replay: &Replay, redacted: u64) -> serde_json::Value {
    let counts: serde_json::Map<String, serde_json::Value> = Tier::ALL
        .iter()
        .map(|before| {
            let row: serde_json::Map<String, serde_json::Value> = Tier::ALL
                .iter()
                .map(|after| (after.to_string(), replay.count(*before, *after).into()))
                .collect();
            (before.to_string(), row.into())
        })
        .collect();
    let item = |replayed: &Replayed| {
        serde_json::json!({
            "id": replayed.id,
            "at": replayed.at,
            "agent": replayed.agent,
            "tool": replayed.tool,
            "before": replayed.before,
            "after": replayed.after,
            "change": difference(&replayed.before, &replayed.after),
            "by": replayed.human.as_ref().map(|human| &human.by),
            "contradiction": replayed.contradiction().map(Contradiction::as_str),
        })
    };
    serde_json::json!({
        "actions": replay.total(),
        "redacted": redacted,
        "changed": replay.changed(),
        "contradicting": replay.contradicting(),
        "counts": counts,
        "changes": replay.kept_changed().map(item).collect::<Vec<_>>(),
        "contradictions": replay.kept_contradicting().map(item).collect::<Vec<_>>(),
    })
}

fn text(replay: &Replay, too_wide: TooWide, context: &Context) -> String {
    let mut out = counts(replay).render(context.screen, TooWide::GoOn);
    out.push_str(&format!(
        "{} actions judged again: {} would be judged otherwise, {} against what a person said.\n",
        replay.total(),
        replay.changed(),
        replay.contradicting()
    ));
    for (heading, count, kept) in [
        (
            "Against what a person said",
            replay.contradicting(),
            replay.kept_contradicting().collect::<Vec<_>>(),
        ),
        ("Judged otherwise", replay.changed(), replay.kept_changed().collect()),
    ] {
        if kept.is_empty() {
            continue;
        }
        out.push_str(&format!("\n{heading}:\n"));
        out.push_str(&list(&kept).render(context.screen, too_wide));
        let more = count.saturating_sub(kept.len() as u64);
        if more > 0 {
            out.push_str(&format!("... and {more} more: raise --limit to see them\n"));
        }
    }
    out
}

/// Tiers then, by row, and tiers now, by column.
fn counts(replay: &Replay) -> Table {
    let headings = ["THEN \\ NOW", "auto", "notify", "approve", "escalate", "block"];
    let mut table = Table::new(headings.map(|heading| Column { heading, most: 12 }).into());
    for before in Tier::ALL {
        let mut row = vec![Cell::new(before.as_str())];
        row.extend(Tier::ALL.iter().map(|after| match replay.count(*before, *after) {
            0 => Cell::toned(".", Tone::Faint),
            count if after < before => Cell::toned(&count.to_string(), Tone::Alarm),
            count if after > before => Cell::toned(&count.to_string(), Tone::Warning),
            count => Cell::new(&count.to_string()),
        }));
        table.row(row);
    }
    table
}

/// What is demanded now and was not, or the other way round, besides the tier.
fn difference(before: &Verdict, after: &Verdict) -> Vec<String> {
    let mut found = Vec::new();
    let (then, now) = (before.quorum.count(), after.quorum.count());
    if then != now {
        found.push(format!("{then} → {now} people"));
    }
    let (then, now) = (before.quorum.roles(), after.quorum.roles());
    found.extend(now.iter().filter(|role| !then.contains(role)).map(|role| format!("+role {role}")));
    found.extend(then.iter().filter(|role| !now.contains(role)).map(|role| format!("-role {role}")));
    for (what, then, now) in [
        ("reason", before.require_reason, after.require_reason),
        ("passkey", before.require_passkey, after.require_passkey),
        ("only observed", before.observed, after.observed),
        ("approved by preset", before.approved_by_preset.is_some(), after.approved_by_preset.is_some()),
    ] {
        if then != now {
            found.push(format!("{}{what}", if now { '+' } else { '-' }));
        }
    }
    found
}

/// What matters most comes first: a narrow terminal cuts the rest.
fn list(replayed: &[&Replayed]) -> Table {
    let mut table = Table::new(vec![
        Column { heading: "ID", most: 30 },
        Column { heading: "TOOL", most: 16 },
        Column { heading: "THEN", most: 8 },
        Column { heading: "NOW", most: 8 },
        Column { heading: "CHANGE", most: 40 },
        Column { heading: "PERSON", most: 20 },
        Column { heading: "RULE", most: 40 },
        Column { heading: "AGENT", most: 16 },
        Column { heading: "PROPOSED", most: 20 },
    ]);
    for one in replayed {
        let person = one
            .human
            .as_ref()
            .map(|human| format!("{} {}", human.by, if human.approved { "approved" } else { "denied" }));
        let tone = if one.contradiction().is_some() { Tone::Alarm } else { Tone::Plain };
        let now = if one.after.tier < one.before.tier { Tone::Alarm } else { Tone::Warning };
        table.row(vec![
            Cell::new(&one.id.to_string()),
            Cell::new(&one.tool),
            Cell::new(one.before.tier.as_str()),
            Cell::toned(one.after.tier.as_str(), now),
            Cell::new(&difference(&one.before, &one.after).join(", ")),
            Cell::toned(person.as_deref().unwrap_or(""), tone),
            Cell::new(&one.after.rule),
            Cell::new(&one.agent),
            Cell::new(&to_the_second(one.at)),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use banksman_core::{Quorum, Risk};

    use super::*;

    #[test]
    fn what_differs_is_said_besides_the_tier() {
        let verdict = |people, roles: &[&str]| Verdict {
            quorum: Quorum::new(people, roles.iter().map(|role| (*role).to_owned()).collect()),
            ..Verdict::new(Tier::Approve, Risk::High, "rule")
        };
        let (one, two) = (verdict(1, &["lead"]), verdict(2, &["finance"]));
        let two = Verdict { require_reason: true, ..two };
        assert_eq!(difference(&one, &two), ["1 → 2 people", "+role finance", "-role lead", "+reason"]);
        assert_eq!(difference(&two, &one), ["2 → 1 people", "+role lead", "-role finance", "-reason"]);
        assert!(difference(&one, &one).is_empty());
    }
}
