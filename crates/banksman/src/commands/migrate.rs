//! `banksman migrate`: brings the database up to date, as every start does; for those who do it before they roll out.

use std::process::ExitCode;
use std::time::Instant;

use crate::context::Context;
use crate::database::DatabaseArgs;
use crate::exit::Exit;
use crate::folder::Folder;
use crate::progress::Progress;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let folder = match args.database.shared()? {
        Some(_) => Folder::at(&context.globals.data),
        None => Folder::open(&context.globals.data)?,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let began = Instant::now();
    Progress::beside(
        |progress| progress.elapsed(began, "bringing the database up to date"),
        || runtime.block_on(args.database.open_up_to_date(&folder)),
    )?;
    if context.globals.json {
        context.print_json(&serde_json::json!({"up_to_date": true}))?;
    } else {
        context.print("The database is up to date.\n")?;
    }
    Ok(Exit::Done.into())
}
