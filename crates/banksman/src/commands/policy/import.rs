//! `banksman policy import`: another system's rules, in this language.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use banksman_config::Source;
use banksman_policy::Imported;

use crate::context::Context;
use crate::display::Visible;
use crate::exit::{Exit, stop};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The document: harombe's `security.hitl`, Tinman's `approval`, or automaton's table of TTLs
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Write the policy here instead of to standard output; never over a file that is there
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let name = args.file.display().to_string();
    let text = std::fs::read_to_string(&args.file)
        .map_err(|error| stop(Exit::Usage, format!("cannot read {name}: {error}")))?;
    let imported =
        Imported::from(&Source::new(name, text)).map_err(|error| stop(Exit::Usage, error.to_string()))?;
    if let Some(path) = &args.output {
        let written = std::fs::File::create_new(path)
            .and_then(|mut file| std::io::Write::write_all(&mut file, imported.policy.as_bytes()));
        written.with_context(|| format!("cannot write {}", path.display()))?;
    }
    if context.globals.json {
        let Imported { system, policy, warnings } = &imported;
        context.print_json(&serde_json::json!({"system": system, "policy": policy, "warnings": warnings}))?;
    } else if let Some(path) = &args.output {
        let path = path.display().to_string();
        context.print(&format!("wrote {}, from {}'s document\n", Visible(&path), imported.system))?;
        for warning in &imported.warnings {
            context.print(&format!("  note: {}\n", Visible(warning)))?;
        }
    } else {
        // The notes stand in it as comments.
        for line in imported.policy.lines() {
            context.print(&format!("{}\n", Visible(line)))?;
        }
    }
    Ok(Exit::Done.into())
}
