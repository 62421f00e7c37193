//! `banksman policy test`: runs the cases beside a policy.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use banksman_config::Source;
use banksman_policy::{CaseResult, Policy};

use super::Chosen;
use crate::context::Context;
use crate::display::{Tone, Visible};
use crate::exit::{Exit, stop};
use crate::folder::read_policy;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    chosen: Chosen,
    /// Files of cases (default: those beside the policy, *.test.yaml)
    #[arg(value_name = "CASES.yaml")]
    cases: Vec<PathBuf>,
    /// Also write the results here, as JUnit XML
    #[arg(long, value_name = "PATH")]
    junit: Option<PathBuf>,
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
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

fn run_file(policy: &Policy, file: &Path) -> anyhow::Result<Vec<CaseResult>> {
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

fn junit_xml(results: &[CaseResult]) -> String {
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
