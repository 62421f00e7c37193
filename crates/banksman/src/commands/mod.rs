//! One file per command: its arguments, and `run`.

use std::process::ExitCode;

use crate::cli::Command;
use crate::context::Context;

pub(crate) mod next;
pub(crate) mod serve;

pub(crate) mod check;
pub(crate) mod mcp;
pub(crate) mod policy;
pub(crate) mod rules;

pub(crate) mod exec;
pub(crate) mod hook;
pub(crate) mod prompt;
pub(crate) mod setup;
pub(crate) mod shell_guard;

pub(crate) mod pending;
pub(crate) mod show;
pub(crate) mod watch;

pub(crate) mod approve;
pub(crate) mod deny;
pub(crate) mod modify;

pub(crate) mod cancel;
pub(crate) mod freeze;

pub(crate) mod delegate;
pub(crate) mod grant;
pub(crate) mod mode;

pub(crate) mod jobs;
pub(crate) mod notifications;

pub(crate) mod audit;
pub(crate) mod doctor;
pub(crate) mod migrate;
pub(crate) mod store;
pub(crate) mod token;

/// Runs a command; an error is reported, and given its exit code, by [`crate::exit::report`].
pub(crate) fn run(command: Command, context: &Context) -> anyhow::Result<ExitCode> {
    match command {
        Command::Serve(args) => serve::run(&args, context),
        Command::Mcp(args) => mcp::run(&args, context),
        Command::Check(args) => check::run(&args, context),
        Command::Rules(args) => rules::run(&args, context),
        Command::Policy(args) => policy::run(&args, context),
        Command::Hook(args) => hook::run(&args, context),
        Command::Setup(args) => setup::run(&args, context),
        Command::Exec(args) => exec::run(&args, context),
        Command::ShellGuard(args) => shell_guard::run(&args, context),
        Command::Prompt(args) => prompt::run(&args, context),
        Command::Watch(args) => watch::run(&args, context),
        Command::Pending(args) => pending::run(&args, context),
        Command::Show(args) => show::run(&args, context),
        Command::Approve(args) => approve::run(&args, context),
        Command::Deny(args) => deny::run(&args, context),
        Command::Modify(args) => modify::run(&args, context),
        Command::Cancel(args) => cancel::run(&args, context),
        Command::Freeze(args) => freeze::run(&args, context),
        Command::Grant(args) => grant::run(&args, context),
        Command::Delegate(args) => delegate::run(&args, context),
        Command::Mode(args) => mode::run(&args, context),
        Command::Notifications(args) => notifications::run(&args, context),
        Command::Jobs(args) => jobs::run(&args, context),
        Command::Audit(args) => audit::run(&args, context),
        Command::Token(args) => token::run(&args, context),
        Command::Migrate(args) => migrate::run(&args, context),
        Command::Store(args) => store::run(&args, context),
        Command::Doctor(args) => doctor::run(&args, context),
    }
}
