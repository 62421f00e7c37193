//! `banksman policy check`: is it valid, and does all of it matter?

use std::path::PathBuf;
use std::process::ExitCode;

use banksman_policy::Remark;
use serde::Serialize;

use super::Chosen;
use crate::context::Context;
use crate::display::{Tone, Visible};
use crate::exit::Exit;
use crate::folder::{policy_sources, read_policy};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    chosen: Chosen,
    /// Fail if there is a warning, too
    #[arg(long)]
    strict: bool,
}

#[derive(Serialize)]
struct Checked {
    ok: bool,
    path: PathBuf,
    files: usize,
    rules: usize,
    digest: String,
    warnings: Vec<Warning>,
}

#[derive(Serialize)]
struct Warning {
    rule: String,
    file: String,
    line: u64,
    column: u64,
    problem: String,
}

impl From<&Remark> for Warning {
    fn from(remark: &Remark) -> Self {
        Self {
            rule: remark.rule.clone(),
            file: remark.place.file.clone(),
            line: remark.place.line,
            column: remark.place.column,
            problem: remark.problem.clone(),
        }
    }
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let path = args.chosen.path(context)?;
    let sources = policy_sources(&path)?;
    let policy = read_policy(&path)?;
    let remarks = policy.remarks();
    let fine = remarks.is_empty() || !args.strict;
    if context.globals.json {
        context.print_json(&Checked {
            ok: fine,
            path,
            files: sources.len(),
            rules: policy.rule_count(),
            digest: policy.digest().to_string(),
            warnings: remarks.iter().map(Warning::from).collect(),
        })?;
    } else {
        let word = context.screen.paint(Tone::Warning, "warning");
        for remark in &remarks {
            let place = remark.place.to_string();
            context.print(&format!("{}: {word}: {}", Visible(&place), Visible(&remark.problem)))?;
            context.print(&format!("{}\n", remark.snippet(&sources)))?;
        }
        let odd = match remarks.len() {
            0 => String::new(),
            1 => ", with one warning".to_owned(),
            count => format!(", with {count} warnings"),
        };
        let rules = policy.rule_count();
        let path = path.display().to_string();
        context.print(&format!("{} is a valid policy of {rules} rules{odd}.\n", Visible(&path)))?;
    }
    Ok(if fine { Exit::Done } else { Exit::Failure }.into())
}
