//! `banksman policy explain`: why an action is judged as it is.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use banksman_core::json::parse;
use banksman_core::{Action, Mode, Tier, Verdict};
use banksman_policy::{Facts, Judgement};
use serde::Serialize;

use super::Chosen;
use crate::context::Context;
use crate::display::{Screen, Tone, Visible};
use crate::exit::{Exit, stop};
use crate::span::span;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The action, as it would be proposed; `-` reads it from standard input
    #[arg(value_name = "ACTION.json")]
    action: PathBuf,
    #[command(flatten)]
    chosen: Chosen,
    /// As if this agent proposed it
    #[arg(long, default_value = "agent")]
    agent: String,
    /// As if in this mode
    #[arg(long, default_value = "production")]
    mode: Mode,
}

/// What scripts rely on, and why.
#[derive(Serialize)]
struct Explained<'a> {
    #[serde(flatten)]
    verdict: &'a Verdict,
    reasons: Vec<Why<'a>>,
    set_aside: Vec<SetAside<'a>>,
}

#[derive(Serialize)]
struct Why<'a> {
    source: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tier: Option<banksman_core::Tier>,
    #[serde(skip_serializing_if = "Option::is_none")]
    risk: Option<banksman_core::Risk>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
}

#[derive(Serialize)]
struct SetAside<'a> {
    finding: &'a str,
    rule: &'a str,
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let policy = args.chosen.policy_or_usual(context)?;
    let action = read_action(&args.action)?;
    let assessment = policy.assessor().assess(&action);
    let facts = Facts { mode: args.mode, ..Facts::plain(&args.agent, context.now) };
    // History is elsewhere: windows show what they would if this action were the first.
    let windows = policy.assumed_windows(&action, &assessment, &facts, &BTreeMap::new());
    let facts = Facts { windows: &windows, ..facts };
    let judged = policy.judge(&action, &assessment, &facts);
    if context.globals.json {
        context.print_json(&explained(&judged))?;
    } else {
        context.print(&tree(&action, &judged, &assessment, context.screen))?;
    }
    Ok(Exit::Done.into())
}

fn read_action(path: &Path) -> anyhow::Result<Action> {
    let text = if path.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut std::io::stdin(), &mut bytes)
            .context("cannot read standard input")?;
        bytes
    } else {
        std::fs::read(path)
            .map_err(|error| stop(Exit::Usage, format!("cannot read {}: {error}", path.display())))?
    };
    let wrong = |problem: String| stop(Exit::Usage, format!("{} is no action: {problem}", path.display()));
    let json = parse(&text).map_err(|error| wrong(error.to_string()))?;
    Action::from_json(json).map_err(|error| wrong(error.to_string()))
}

fn explained(judged: &Judgement) -> Explained<'_> {
    Explained {
        verdict: &judged.verdict,
        reasons: judged
            .reasons
            .iter()
            .map(|reason| Why {
                source: &reason.source,
                tier: reason.tier,
                risk: reason.risk,
                note: reason.note.as_deref(),
            })
            .collect(),
        set_aside: judged.set_aside.iter().map(|(finding, rule)| SetAside { finding, rule }).collect(),
    }
}

/// What becomes of the action.
fn consequence(verdict: &Verdict) -> String {
    let demanded = demanded(verdict);
    if let Some(preset) = &verdict.approved_by_preset {
        return format!("runs at once: {} approves it in people's place; else {demanded}", Visible(preset));
    }
    if verdict.observed {
        return format!("runs at once: policy only observes; else {demanded}");
    }
    demanded
}

/// What policy demands.
fn demanded(verdict: &Verdict) -> String {
    match verdict.tier {
        Tier::Auto => "runs at once".into(),
        Tier::Notify => "runs at once, and people are told".into(),
        Tier::Block => "never runs".into(),
        Tier::Approve | Tier::Escalate => {
            let people = match verdict.quorum.count() {
                1 => "one person".to_owned(),
                count => format!("{count} people"),
            };
            let within = span(Duration::from_secs(verdict.timeout_seconds));
            match verdict.quorum.roles() {
                [] => format!("held for {people}, within {within}"),
                roles => format!("held for {people} ({}), within {within}", roles.join(", ")),
            }
        }
    }
}

/// Why this verdict, as a tree: what was said, by whom, and which of it decided.
fn tree(
    action: &Action,
    judged: &Judgement,
    assessment: &banksman_core::Assessment,
    screen: Screen,
) -> String {
    let verdict = &judged.verdict;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{}  {} at risk {}: {}",
        Visible(&action.tool),
        screen.paint(Tone::Bold, verdict.tier.as_str()),
        screen.paint(verdict.risk.into(), verdict.risk.as_str()),
        Visible(&verdict.rule),
    );
    let _ = writeln!(out, "|  {}", consequence(verdict));
    for reason in &judged.reasons {
        let mark = if reason.source == verdict.rule { "=>" } else { "+-" };
        let tier = reason.tier.map_or("-", banksman_core::Tier::as_str);
        let risk = reason.risk.map_or("-", banksman_core::Risk::as_str);
        let note = reason.note.as_deref().map(|note| format!("  ({})", Visible(note))).unwrap_or_default();
        let _ = writeln!(
            out,
            "{mark} {:<32} tier {tier:<9} risk {risk}{note}",
            Visible(&reason.source).to_string()
        );
    }
    for finding in &assessment.findings {
        let aside = judged.set_aside.iter().find(|(id, _)| *id == finding.rule);
        let note = match aside {
            Some((_, rule)) => format!("set aside by {rule}"),
            None => finding.reason.clone(),
        };
        let level = screen.paint(finding.level.into(), finding.level.as_str());
        let name = format!("finding.{}", finding.rule);
        let _ = writeln!(out, "+- {:<32} {level}  {}", Visible(&name).to_string(), Visible(&note));
    }
    out
}
