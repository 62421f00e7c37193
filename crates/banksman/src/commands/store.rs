//! `banksman store`: a copy of the data for safe keeping, or for many nodes.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context as _;
use banksman_store::copy::{Copied, copy};
use banksman_store::sqlite::examine;
use clap::Subcommand;

use crate::context::Context;
use crate::database::DatabaseArgs;
use crate::display::Visible;
use crate::exit::{Exit, stop};
use crate::folder::Folder;
use crate::progress::Progress;
use crate::table::{Cell, Column, Table, TooWide};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write what DATA/banksman.db holds to a new file, while the server runs
    Backup {
        /// The file to write; it must not exist
        file: PathBuf,
    },
    /// Move what DATA/banksman.db holds to an empty PostgreSQL, compared row by row
    Copy {
        #[command(flatten)]
        to: DatabaseArgs,
        /// Leave banksman.db where it is; nothing then keeps a server from working on the old copy
        #[arg(long)]
        keep: bool,
    },
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::Backup { file } => back_up(file, context),
        Command::Copy { to, keep } => move_out(to, *keep, context),
    }
}

fn back_up(file: &Path, context: &Context) -> anyhow::Result<ExitCode> {
    let folder = Folder::open(&context.globals.data)?;
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |found| found.len());
    let (total, began) = (size(&folder.database()), Instant::now());
    Progress::beside(|progress| progress.share(size(file), total, "writing"), || folder.back_up(file))?;
    // What cannot be read is no backup.
    let found = Progress::beside(|progress| progress.elapsed(began, "reading it back"), || examine(file))
        .with_context(|| format!("{} is not sound", file.display()))?;
    if context.globals.json {
        context.print_json(&serde_json::json!({
            "file": file, "actions": found.actions, "events": found.events, "schema": found.schema,
        }))?;
    } else {
        context.print(&format!(
            "{}: {} actions, {} events. Keep {} with it, apart from everyone who must not sign.\n",
            Visible(&file.display().to_string()),
            found.actions,
            found.events,
            Visible(&folder.key().display().to_string()),
        ))?;
    }
    Ok(Exit::Done.into())
}

fn move_out(to: &DatabaseArgs, keep: bool, context: &Context) -> anyhow::Result<ExitCode> {
    let url = to.shared()?.ok_or_else(|| {
        stop(Exit::Usage, "say where to: --database postgres://USER@HOST/NAME, or BANKSMAN_DATABASE")
    })?;
    let folder = Folder::open(&context.globals.data)?;
    let source = folder.database();
    // A server that goes on here while others begin there would let the same action through on both sides.
    let lock = folder.lock()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut bar = Progress::new();
    let copied = runtime
        .block_on(copy(&source, url, |now| {
            let what = if now.comparing { "comparing" } else { "copying" };
            bar.share(now.done, now.total, &format!("{what} {}", now.table));
        }))
        .context("nothing was copied")?;
    drop(bar);
    if !keep {
        folder.retire_database()?;
    }
    drop(lock);
    tell(&copied, &folder, keep, context)?;
    Ok(Exit::Done.into())
}

fn tell(copied: &Copied, folder: &Folder, keep: bool, context: &Context) -> anyhow::Result<()> {
    if context.globals.json {
        let tables: serde_json::Map<String, serde_json::Value> =
            copied.iter().map(|(table, rows)| ((*table).to_owned(), (*rows).into())).collect();
        return context.print_json(&serde_json::json!({"copied": tables, "kept": keep}));
    }
    let columns = ["TABLE", "ROWS"].map(|heading| Column { heading, most: 40 });
    let mut table = Table::new(columns.into());
    for (name, rows) in copied {
        table.row(vec![Cell::new(name), Cell::new(&rows.to_string())]);
    }
    context.print(&table.render(context.screen, TooWide::Cut))?;
    let old = if keep {
        format!("{} is still there. Do not start a server on it again.", folder.database().display())
    } else {
        format!("The old file is now {}.", folder.retired_database().display())
    };
    context.print(&format!(
        "\nEverything arrived as it was. {old}\nStart each node with --database, and with the same {} and policy.\n",
        folder.key().display()
    ))
}
