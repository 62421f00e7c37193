//! `banksman policy schema`: the language as JSON Schema, for editors.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use banksman_policy::Document;

use crate::context::Context;
use crate::exit::Exit;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The schema of test cases (policy.test.yaml) instead of that of policies
    #[arg(long)]
    cases: bool,
    /// Write it here instead of to standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let document = if args.cases { Document::Cases } else { Document::Policy };
    let text = schema_text(document)?;
    match &args.output {
        None => context.print(&text)?,
        Some(path) => {
            std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?
        }
    }
    Ok(Exit::Done.into())
}

/// The schema as a file holds it.
pub(super) fn schema_text(document: Document) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(&document.schema())? + "\n")
}
