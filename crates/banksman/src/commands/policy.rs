//! `banksman policy`: checks, explains and tests a policy, without a server.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use banksman_core::json::parse;
use banksman_core::{Action, Mode, Verdict};
use banksman_policy::{Facts, Judgement, Policy, Source};
use clap::Subcommand;
use serde::Serialize;

use crate::context::Context;
use crate::display::{Screen, Tone, Visible};
use crate::exit::{Exit, stop};
use crate::folder::{Folder, policy_sources, read_policy};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: PolicyCommand,
}

#[derive(Debug, Subcommand)]
enum PolicyCommand {
    /// Read a policy and say what is wrong with it, and where
    Check(Chosen),
    /// Say what an action would demand, and why
    Explain(ExplainArgs),
    /// Run the cases beside a policy
    Test(TestArgs),
}

#[derive(Debug, clap::Args)]
struct Chosen {
    /// The policy: a file, or a folder of them (default: the data folder's)
    #[arg(long, value_name = "PATH", env = "BANKSMAN_POLICY")]
    policy: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct ExplainArgs {
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

#[derive(Debug, clap::Args)]
struct TestArgs {
    #[command(flatten)]
    chosen: Chosen,
    /// Files of cases (default: those beside the policy, *.test.yaml)
    #[arg(value_name = "CASES.yaml")]
    cases: Vec<PathBuf>,
    /// Also write the results here, as JUnit XML
    #[arg(long, value_name = "PATH")]
    junit: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    match &args.command {
        PolicyCommand::Check(chosen) => check(chosen, context),
        PolicyCommand::Explain(args) => explain(args, context),
        PolicyCommand::Test(args) => test(args, context),
    }
}

impl Chosen {
    fn path(&self, context: &Context) -> anyhow::Result<PathBuf> {
        match self.policy.as_ref().filter(|path| !path.as_os_str().is_empty()) {
            Some(path) => Ok(path.clone()),
            None => Folder::open(&context.globals.data).map(|folder| folder.policy()).map_err(|_| {
                stop(
                    Exit::Usage,
                    "which policy? Name it with --policy PATH, or its data folder with --data DIR",
                )
            }),
        }
    }
}

#[derive(Serialize)]
struct Checked {
    ok: bool,
    path: PathBuf,
    files: usize,
    digest: String,
}

fn check(chosen: &Chosen, context: &Context) -> anyhow::Result<ExitCode> {
    let path = chosen.path(context)?;
    let sources = policy_sources(&path)?;
    let policy = read_policy(&path)?;
    let checked =
        Checked { ok: true, path: path.clone(), files: sources.len(), digest: policy.digest().to_string() };
    if context.globals.json {
        context.print_json(&checked)?;
    } else {
        context.print(&format!("{} is a valid policy.\n", Visible(&path.display().to_string())))?;
    }
    Ok(Exit::Done.into())
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

fn explain(args: &ExplainArgs, context: &Context) -> anyhow::Result<ExitCode> {
    let policy = read_policy(&args.chosen.path(context)?)?;
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

/// Why this verdict, as a tree: what was said, by whom, and which of it decided.
fn tree(
    action: &Action,
    judged: &Judgement,
    assessment: &banksman_core::Assessment,
    screen: Screen,
) -> String {
    let verdict = &judged.verdict;
    let mut out = String::new();
    let people = match verdict.quorum.count() {
        1 => "one person".to_owned(),
        count => format!("{count} people"),
    };
    let _ = writeln!(
        out,
        "{}  {} at risk {}: {}",
        Visible(&action.tool),
        screen.paint(Tone::Bold, verdict.tier.as_str()),
        screen.paint(verdict.risk.into(), verdict.risk.as_str()),
        Visible(&verdict.rule),
    );
    let _ = writeln!(out, "|  {people}, within {} s", verdict.timeout_seconds);
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

fn test(args: &TestArgs, context: &Context) -> anyhow::Result<ExitCode> {
    let path = args.chosen.path(context)?;
    let policy = read_policy(&path)?;
    let files = if args.cases.is_empty() { cases_beside(&path)? } else { args.cases.clone() };
    let mut results = Vec::new();
    for file in &files {
        results.extend(run_file(&policy, file)?);
    }
    let failed = results.iter().filter(|result| !result.differences.is_empty()).count();
    if let Some(junit) = &args.junit {
        std::fs::write(junit, junit_xml(&results))
            .with_context(|| format!("cannot write {}", junit.display()))?;
    }
    if context.globals.json {
        let cases: Vec<_> = results
            .iter()
            .map(|result| {
                serde_json::json!({"name": result.name, "place": result.place,
                    "ok": result.differences.is_empty(), "differences": result.differences})
            })
            .collect();
        context.print_json(&serde_json::json!({"ok": failed == 0, "failed": failed, "cases": cases}))?;
    } else {
        for result in &results {
            let good = result.differences.is_empty();
            let mark = if good {
                context.screen.paint(Tone::Fine, "ok  ")
            } else {
                context.screen.paint(Tone::Alarm, "FAIL")
            };
            context.print(&format!("{mark}  {}\n", Visible(&result.name)))?;
            for difference in &result.differences {
                context.print(&format!("      {}: {}\n", Visible(&result.place), Visible(difference)))?;
            }
        }
        context.print(&format!("{} cases, {failed} failed\n", results.len()))?;
    }
    Ok(if failed == 0 { Exit::Done } else { Exit::Failure }.into())
}

fn run_file(policy: &Policy, file: &Path) -> anyhow::Result<Vec<banksman_policy::CaseResult>> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| stop(Exit::Usage, format!("cannot read {}: {error}", file.display())))?;
    policy
        .run_cases(&Source::new(file.display().to_string(), text))
        .map_err(|error| stop(Exit::Usage, error.to_string()))
}

/// `policy.test.yaml` beside `policy.yaml`, or every `*.test.yaml` in a folder.
fn cases_beside(policy: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let found: Vec<PathBuf> = if policy.is_dir() {
        let mut files: Vec<PathBuf> = std::fs::read_dir(policy)
            .with_context(|| format!("cannot read {}", policy.display()))?
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| path.to_string_lossy().ends_with(".test.yaml"))
            .collect();
        files.sort();
        files
    } else {
        vec![policy.with_extension("test.yaml")]
    };
    if found.iter().any(|path| path.exists()) {
        return Ok(found);
    }
    let expected = policy.with_extension("test.yaml");
    Err(stop(
        Exit::NotFound,
        format!("there are no cases beside the policy: write some in {}", expected.display()),
    ))
}

fn junit_xml(results: &[banksman_policy::CaseResult]) -> String {
    let failed = results.iter().filter(|result| !result.differences.is_empty()).count();
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"policy\" tests=\"{}\" failures=\"{failed}\">\n",
        results.len()
    );
    for result in results {
        let _ =
            write!(out, "  <testcase name=\"{}\" classname=\"{}\"", xml(&result.name), xml(&result.place));
        if result.differences.is_empty() {
            out.push_str("/>\n");
        } else {
            let _ = writeln!(
                out,
                ">\n    <failure message=\"{}\"/>\n  </testcase>",
                xml(&result.differences.join("; "))
            );
        }
    }
    out.push_str("</testsuite>\n");
    out
}

/// A text in an XML attribute; what XML cannot hold at all is shown as its number.
fn xml(text: &str) -> String {
    Visible(text)
        .to_string()
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
