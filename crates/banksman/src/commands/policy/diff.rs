//! `banksman policy diff`: what changed between two policies, and which way.

use std::path::PathBuf;
use std::process::ExitCode;

use banksman_policy::{Difference, Effect, differences};

use crate::context::Context;
use crate::display::Tone;
use crate::exit::{Exit, stop};
use crate::folder::{policy_sources, read_policy};
use crate::table::{Cell, Column, Table, TooWide};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The policy as it was: a file, or a folder of them
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The policy as it is to be
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// Fail if anything could get milder, for a check before a merge
    #[arg(long)]
    fail_if_milder: bool,
    /// Show everything, however long
    #[arg(long)]
    wide: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    // Only what can be used is worth comparing, and whoever compares wants to know that it cannot.
    for path in [&args.old, &args.new] {
        read_policy(path)?;
    }
    let (old, new) = (policy_sources(&args.old)?, policy_sources(&args.new)?);
    let found = differences(&old, &new).map_err(|error| stop(Exit::Usage, error.to_string()))?;
    let milder = found.iter().filter(|difference| may_be_milder(difference.effect)).count();
    if context.globals.json {
        let all: Vec<_> = found.iter().map(json).collect();
        context.print_json(&serde_json::json!({"differences": all, "milder": milder}))?;
    } else if found.is_empty() {
        context.print("Both say the same.\n")?;
    } else {
        let too_wide = if args.wide { TooWide::GoOn } else { TooWide::Cut };
        context.print(&table(&found).render(context.screen, too_wide))?;
        let milder = match milder {
            0 => "none of which can let more through".to_owned(),
            count => format!("{count} of which can let more through"),
        };
        context.print(&format!("{} differences, {milder}.\n", found.len()))?;
    }
    Ok(if milder > 0 && args.fail_if_milder { Exit::Failure } else { Exit::Done }.into())
}

fn may_be_milder(effect: Effect) -> bool {
    match effect {
        Effect::Milder | Effect::Depends => true,
        Effect::Stricter | Effect::Words => false,
    }
}

fn json(difference: &Difference) -> serde_json::Value {
    serde_json::json!({
        "entry": difference.entry,
        "field": difference.field,
        "old": difference.old,
        "new": difference.new,
        "effect": difference.effect.as_str(),
    })
}

fn table(found: &[Difference]) -> Table {
    let mut table = Table::new(vec![
        Column { heading: "", most: 1 },
        Column { heading: "ENTRY", most: 32 },
        Column { heading: "FIELD", most: 16 },
        Column { heading: "EFFECT", most: 8 },
        Column { heading: "OLD", most: 40 },
        Column { heading: "NEW", most: 80 },
    ]);
    for difference in found {
        let (mark, tone) = match (&difference.old, &difference.new) {
            (None, _) => ("+", Tone::Fine),
            (_, None) => ("-", Tone::Alarm),
            (Some(_), Some(_)) => ("~", Tone::Plain),
        };
        let effect = match difference.effect {
            Effect::Stricter => Tone::Fine,
            Effect::Milder => Tone::Alarm,
            Effect::Depends => Tone::Warning,
            Effect::Words => Tone::Faint,
        };
        table.row(vec![
            Cell::toned(mark, tone),
            Cell::new(&difference.entry),
            Cell::new(difference.field.as_deref().unwrap_or("")),
            Cell::toned(difference.effect.as_str(), effect),
            Cell::new(difference.old.as_deref().unwrap_or("")),
            Cell::new(difference.new.as_deref().unwrap_or("")),
        ]);
    }
    table
}
