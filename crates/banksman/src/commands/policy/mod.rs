//! `banksman policy`: everything that is done with a policy. One file per command.

mod check;
mod diff;
mod explain;
mod import;
mod init;
mod replay;
mod schema;
mod test;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;

use crate::context::Context;
use crate::exit::{Exit, stop};
use crate::folder::Folder;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: PolicyCommand,
}

#[derive(Debug, Subcommand)]
enum PolicyCommand {
    /// Read a policy and say what is wrong with it, and which rules can never matter
    Check(check::Args),
    /// Say what an action would demand, and why
    Explain(explain::Args),
    /// Run the cases beside a policy
    Test(test::Args),
    /// Say what changed between two policies, and which way
    Diff(diff::Args),
    /// Judge what the server has recorded by a changed policy
    Replay(replay::Args),
    /// Write a policy to start from
    Init(init::Args),
    /// Turn another system's rules into a policy
    Import(import::Args),
    /// Print the JSON Schema of policies, for editors
    Schema(schema::Args),
}

#[derive(Debug, clap::Args)]
struct Chosen {
    /// The policy: a file, or a folder of them (default: the data folder's)
    #[arg(long, value_name = "PATH", env = "BANKSMAN_POLICY")]
    policy: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    match &args.command {
        PolicyCommand::Check(args) => check::run(args, context),
        PolicyCommand::Explain(args) => explain::run(args, context),
        PolicyCommand::Test(args) => test::run(args, context),
        PolicyCommand::Diff(args) => diff::run(args, context),
        PolicyCommand::Replay(args) => replay::run(args, context),
        PolicyCommand::Init(args) => init::run(args, context),
        PolicyCommand::Import(args) => import::run(args, context),
        PolicyCommand::Schema(args) => schema::run(args, context),
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
