//! `banksman store copy`: from one machine to many, with everything that is pending.

use std::process::ExitCode;

use anyhow::Context as _;
use banksman_store::copy::{Copied, copy};
use clap::Subcommand;

use crate::context::Context;
use crate::database::DatabaseArgs;
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
    let Command::Copy { to, keep } = &args.command;
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
    tell(&copied, &folder, *keep, context)?;
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
