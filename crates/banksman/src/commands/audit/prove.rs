//! `banksman audit prove`: that an event is in the log, for someone who has neither the log nor the server.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use banksman_core::audit::Event;
use banksman_core::wire::ProofView;
use banksman_ledger::{Checkpoint, NoteKey, holds, leaf};
use banksman_review::event_line;

use crate::context::Context;
use crate::exit::{Exit, stop};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The number of the event, as `audit query` shows it
    #[arg(value_name = "SEQ", value_parser = clap::value_parser!(u64).range(1..))]
    event: u64,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let proof = context.client()?.proof(args.event)?;
    match &args.out {
        None => context.print_json(&proof)?,
        Some(path) => {
            let mut text = serde_json::to_vec(&proof)?;
            text.push(b'\n');
            std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
            let key = &proof.checkpoint.key;
            context.print(&format!(
                "Whoever has the file can check it: banksman audit verify --proof {} --key {key}\n",
                path.display()
            ))?;
        }
    }
    Ok(Exit::Done.into())
}

/// Whether a proof holds, by that key.
pub(super) fn verify(path: &Path, key: &NoteKey, context: &Context) -> anyhow::Result<ExitCode> {
    let unreadable = |error: &dyn std::fmt::Display| {
        stop(Exit::Usage, format!("{} is not a proof: {error}", path.display()))
    };
    let text = std::fs::read(path).map_err(|error| unreadable(&error))?;
    let proof: ProofView = serde_json::from_slice(&text).map_err(|error| unreadable(&error))?;
    let body = proof.event.get();
    let opened = Checkpoint::open(&proof.checkpoint.note, key);
    let problem = match &opened {
        Err(error) => Some(error.to_string()),
        Ok(signed) => {
            let index = proof.seq.checked_sub(1);
            let fits = index.is_some_and(|index| {
                holds(&leaf(body.as_bytes()), index, signed.size, &proof.path, &signed.root)
            });
            (!fits).then(|| "the event is not in the log that was signed, or not in this place".to_owned())
        }
    };
    if context.globals.json {
        let held = problem.is_none();
        context.print_json(&serde_json::json!({"ok": held, "seq": proof.seq, "flaw": problem}))?;
    } else if let Some(problem) = &problem {
        context.print(&format!("This proves nothing: {problem}.\n"))?;
    } else {
        let what =
            Event::from_bytes(body.as_bytes()).map_or_else(|_| body.to_owned(), |event| event_line(&event));
        let size = opened.map_or(0, |signed| signed.size);
        context.print(&format!(
            "Event {} is in the log of {size} events that was signed with this key:\n{what}\n",
            proof.seq
        ))?;
    }
    Ok(if problem.is_none() { Exit::Done } else { Exit::Refused }.into())
}
