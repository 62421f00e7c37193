//! `banksman policy`: everything that is done with a policy. One file per command.

mod check;
mod diff;
mod explain;
mod import;
mod init;
mod modes;
mod replay;
mod schema;
mod test;

use std::path::PathBuf;
use std::process::ExitCode;

use banksman_policy::{DEFAULT_POLICY, Policy};
use clap::Subcommand;

use crate::context::Context;
use crate::exit::{Exit, exit_of, stop};
use crate::folder::{Folder, read_policy};

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
        self.named(context)?.ok_or_else(|| {
            stop(Exit::Usage, "which policy? Name it with --policy PATH, or its data folder with --data DIR")
        })
    }

    /// The one that was named, or that of the data folder, if there is one.
    fn named(&self, context: &Context) -> anyhow::Result<Option<PathBuf>> {
        if let Some(path) = self.policy.as_ref().filter(|path| !path.as_os_str().is_empty()) {
            return Ok(Some(path.clone()));
        }
        match Folder::open(&context.globals.data) {
            Ok(folder) => Ok(Some(folder.policy())),
            Err(error) if exit_of(&error) == Exit::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The same, or else the policy that a first start would write.
    fn policy_or_usual(&self, context: &Context) -> anyhow::Result<Policy> {
        if let Some(path) = self.named(context)? {
            return read_policy(&path);
        }
        context
            .complain("banksman: no policy was named: judged by the one that `banksman serve` begins with")?;
        Policy::parse("the default policy", DEFAULT_POLICY)
            .map_err(|error| stop(Exit::Failure, error.to_string()))
    }
}
