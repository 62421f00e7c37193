//! What can be typed.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::Resettable;
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::commands::{
    approve, audit, cancel, check, delegate, deny, doctor, exec, freeze, grant, hook, jobs, mcp, migrate,
    mode, modify, notifications, pending, policy, prompt, rules, serve, setup, shell_guard, show, store,
    token, user, watch,
};
use crate::exit::HELP;

/// Where the server listens unless told otherwise.
pub(crate) const DEFAULT_URL: &str = "http://127.0.0.1:7447";

/// Where the server keeps its data unless told otherwise.
pub(crate) const DEFAULT_DATA: &str = "./banksman-data";

/// Holds what AI agents want to do until a human gives the signal
#[derive(Debug, Parser)]
#[command(name = "banksman", version, after_help = HELP, subcommand_required = false)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// What every command understands.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Globals {
    /// Print the API's JSON, one document, for programs
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// The server's address
    #[arg(long, global = true, value_name = "URL", env = "BANKSMAN_URL", default_value = DEFAULT_URL)]
    pub(crate) url: String,
    /// Your token
    #[arg(long, global = true, value_name = "TOKEN", env = "BANKSMAN_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<Secret>,
    /// The server's data folder
    #[arg(long, global = true, value_name = "DIR", env = "BANKSMAN_DATA", default_value = DEFAULT_DATA,
        value_parser = parse_data)]
    pub(crate) data: PathBuf,
}

/// BANKSMAN_DATA= in an environment file means unset.
fn parse_data(text: &str) -> Result<PathBuf, std::convert::Infallible> {
    Ok(PathBuf::from(if text.is_empty() { DEFAULT_DATA } else { text }))
}

/// One variant per file in `commands/`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start the server; it needs no configuration
    #[command(after_help = HELP)]
    Serve(serve::Args),
    /// Stand before one MCP server's program, for clients that start it
    #[command(after_help = HELP)]
    Mcp(mcp::Args),
    /// Say what a command, a program or a statement could do; nothing runs
    #[command(after_help = HELP)]
    Check(check::Args),
    /// List what is judged, and by which examples
    #[command(after_help = HELP)]
    Rules(rules::Args),
    /// Write, check, test and compare policies, and try them on history
    #[command(after_help = HELP)]
    Policy(policy::Args),
    /// Answer a coding agent's hook: may this run?
    #[command(after_help = HELP)]
    Hook(hook::Args),
    /// Let Banksman judge what a coding agent does, or stop that again
    #[command(after_help = HELP)]
    Setup(setup::Args),
    /// Run one command, if it may run
    #[command(after_help = HELP)]
    Exec(exec::Args),
    /// Stand in for a shell: what it is given to run is judged first
    #[command(after_help = HELP)]
    ShellGuard(shell_guard::Args),
    /// Ask the person at this terminal about one action
    #[command(after_help = HELP)]
    Prompt(prompt::Args),
    /// Watch what waits, live, and decide by keyboard
    #[command(after_help = HELP)]
    Watch(watch::Args),
    /// List what waits for a decision
    #[command(after_help = HELP)]
    Pending(pending::Args),
    /// Show everything about one action
    #[command(after_help = HELP)]
    Show(show::Args),
    /// Let an action run, exactly as shown
    #[command(after_help = HELP)]
    Approve(approve::Args),
    /// Do not let an action run
    #[command(after_help = HELP)]
    Deny(deny::Args),
    /// Let an action run with other arguments
    #[command(after_help = HELP)]
    Modify(modify::Args),
    /// Withdraw an action, or take back its authorisation
    #[command(after_help = HELP)]
    Cancel(cancel::Args),
    /// Stop an agent, a tool or everything, at once
    #[command(after_help = HELP)]
    Freeze(freeze::Args),
    /// Let an agent do something again without asking, where policy allows it
    #[command(after_help = HELP)]
    Grant(grant::Args),
    /// Let someone else decide in your place, for a while
    #[command(after_help = HELP)]
    Delegate(delegate::Args),
    /// Show or change the operating mode
    #[command(after_help = HELP)]
    Mode(mode::Args),
    /// Show who was told of what, and send again what failed
    #[command(after_help = HELP)]
    Notifications(notifications::Args),
    /// Show calls of agents whose actions were resolved
    #[command(after_help = HELP)]
    Jobs(jobs::Args),
    /// Look into the audit log
    #[command(after_help = HELP)]
    Audit(audit::Args),
    /// Issue, list and revoke credentials, on the server's machine
    #[command(after_help = HELP)]
    Token(token::Args),
    /// Add, invite, list and lock people, on the server's machine
    #[command(after_help = HELP)]
    User(user::Args),
    /// Bring the database up to date, as every start does
    #[command(after_help = HELP)]
    Migrate(migrate::Args),
    /// Move the data to a PostgreSQL that several nodes share
    #[command(after_help = HELP)]
    Store(store::Args),
    /// Check an installation and say what to mend
    #[command(after_help = HELP)]
    Doctor(doctor::Args),
}

/// The name under which this binary is a shell: `$SHELL` is a path and takes no arguments.
const SHELL_NAME: &str = "banksman-shell";

/// What was typed, with the command in front that a name of ours stands for.
pub(crate) fn command_line() -> Vec<OsString> {
    as_typed(std::env::args_os().collect())
}

/// Reads a command line.
pub(crate) fn parse(words: &[OsString]) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(words).map_err(|error| {
        if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
            return error;
        }
        // What the environment gives is no part of what was typed; told with it, a mistake would look as if it had to be.
        let typed = ["url", "token", "data"].into_iter().fold(Cli::command(), |command, name| {
            command.mut_arg(name, |argument| argument.env(Resettable::<clap::builder::OsStr>::Reset))
        });
        typed.try_get_matches_from(words).err().unwrap_or(error)
    })
}

fn as_typed(mut words: Vec<OsString>) -> Vec<OsString> {
    let name = words.first().map(PathBuf::from).and_then(|path| path.file_name().map(OsString::from));
    // A login shell's name begins with a dash.
    if name
        .and_then(|name| name.into_string().ok())
        .is_some_and(|name| name.trim_start_matches('-') == SHELL_NAME)
    {
        words.insert(1, "shell-guard".into());
    }
    words
}

/// A secret from the command line: whatever prints arguments does not print it.
#[derive(Clone)]
pub(crate) struct Secret(String);

impl Secret {
    /// The secret itself, for the one place that sends it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl FromStr for Secret {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // A token read from a file into a variable often brings its line end along.
        Ok(Self(text.trim().to_owned()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(line.split(' '))
    }

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn under_the_name_of_a_shell_it_is_one() {
        let typed = |line: &str| as_typed(line.split(' ').map(OsString::from).collect());
        for line in ["banksman-shell -c ls", "/usr/bin/banksman-shell -c ls", "-banksman-shell -c ls"] {
            assert_eq!(typed(line)[1], "shell-guard", "{line}");
        }
        for line in ["banksman -c ls", "banksman", "banksman-shells -c"] {
            assert_ne!(typed(line).get(1).and_then(|word| word.to_str()), Some("shell-guard"), "{line}");
        }
    }

    #[test]
    fn global_flags_go_anywhere() {
        for line in ["banksman --json pending", "banksman pending --json"] {
            assert!(parse(line).unwrap().globals.json, "{line}");
        }
    }

    #[test]
    fn a_secret_is_not_printed() {
        let cli = parse("banksman --token tok-secret pending").unwrap();
        assert!(!format!("{cli:?}").contains("tok-secret"));
        assert_eq!(cli.globals.token.unwrap().reveal(), "tok-secret");
    }

    #[test]
    fn an_empty_data_folder_is_the_default_one() {
        let cli = Cli::try_parse_from(["banksman", "--data", "", "pending"]).unwrap();
        assert_eq!(cli.globals.data, PathBuf::from(DEFAULT_DATA));
    }

    #[test]
    fn freezing_names_exactly_one_thing() {
        for line in [
            "banksman freeze --agent bot",
            "banksman freeze --tool rm --reason why",
            "banksman freeze --everything",
            "banksman freeze list",
            "banksman freeze lift frz_01J9ZKQ7V8Y3F5T2M6N4P0R1SB",
        ] {
            assert!(parse(line).is_ok(), "{line}");
        }
        for line in [
            "banksman freeze",
            "banksman freeze --reason why",
            "banksman freeze --agent bot --tool rm",
            "banksman freeze --everything --agent bot",
            "banksman freeze lift",
            "banksman freeze lift bot",
            "banksman freeze --agent bot list",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn remembering_is_asked_for_on_purpose() {
        for line in [
            "banksman approve R1SB",
            "banksman approve R1SB --remember",
            "banksman approve R1SB --remember tool --all-sessions --for 90m",
        ] {
            assert!(parse(line).is_ok(), "{line}");
        }
        for line in [
            "banksman approve",
            "banksman approve R1SB --for 8h",
            "banksman approve R1SB --all-sessions",
            "banksman approve R1SB --remember everything",
            "banksman approve R1SB --remember --for ever",
            "banksman deny R1SB --remember",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn what_is_lent_or_granted_always_ends() {
        for line in [
            "banksman delegate --to bob --for 5d",
            "banksman delegate --to bob --role finance --role lead --until 2026-12-01T00:00:00Z --reason holiday",
            "banksman delegate --from ann --to bob --starting 2026-12-01T00:00:00Z --for 1d",
            "banksman delegate list",
            "banksman delegate revoke dlg_01J9ZKQ7V8Y3F5T2M6N4P0R1SB",
            "banksman grant --agent bot --tool mail --for 8h",
            "banksman grant --agent bot --tool mail --arg to=*@example.com --session s1 --uses 3 --for 8h",
            "banksman grant list",
            "banksman grant revoke grt_01J9ZKQ7V8Y3F5T2M6N4P0R1SB",
            "banksman mode",
            "banksman mode set shadow --reason why",
            "banksman mode fall-back --reason why",
        ] {
            assert!(parse(line).is_ok(), "{line}");
        }
        for line in [
            "banksman delegate --to bob",
            "banksman delegate --for 5d",
            "banksman delegate --to bob --for 5d --until 2026-12-01T00:00:00Z",
            "banksman delegate --to bob --until tomorrow",
            "banksman delegate revoke bob",
            "banksman grant --agent bot --tool mail",
            "banksman grant --agent bot --for 8h",
            "banksman grant --agent bot --tool mail --for 8h --uses 0",
            "banksman grant --agent bot --tool mail --for 8h --arg to",
            "banksman mode set dream",
            "banksman mode fall-back",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn arguments_are_edited_in_one_way_at_a_time() {
        assert!(parse("banksman modify R1SB").is_ok());
        assert!(parse("banksman modify R1SB --set amount=5 --set to=\"x\"").is_ok());
        assert!(parse("banksman modify R1SB --args {}").is_ok());
        assert!(parse("banksman modify R1SB --args {} --set amount=5").is_err());
        assert!(parse("banksman modify R1SB --set amount").is_err());
    }

    #[test]
    fn audit_queries_are_checked_before_they_are_sent() {
        assert!(
            parse("banksman audit query --type decided --decision deny --risk high --since 2h --limit 5")
                .is_ok()
        );
        assert!(parse("banksman audit query --since 2026-11-15T10:00:00Z --until 1d").is_ok());
        for line in [
            "banksman audit",
            "banksman audit query --decision perhaps",
            "banksman audit query --risk 7",
            "banksman audit query --since yesterday",
            "banksman audit query --limit 0",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
