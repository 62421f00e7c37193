//! `banksman doctor`: looks an installation over and says what to mend.

use std::collections::BTreeMap;
use std::process::ExitCode;

use banksman_client::{Client, ClientError, PostQuery};
use banksman_core::DeliveryStatus;
use banksman_core::wire::{DeliveryView, PolicyView};
use serde::Serialize;

use crate::context::Context;
use crate::database::DatabaseArgs;
use crate::display::Visible;
use crate::exit::{Exit, exit_of};
use crate::folder::{self, Folder};
use crate::span::to_the_second;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    /// The policy file, if the server was started with another
    #[arg(long, value_name = "PATH", env = "BANKSMAN_POLICY")]
    policy: Option<std::path::PathBuf>,
}

#[derive(Serialize)]
struct Report {
    ok: bool,
    checks: Vec<Check>,
}

#[derive(Serialize)]
struct Check {
    name: &'static str,
    ok: bool,
    /// Nothing is broken, and everyone should know.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    warning: bool,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    mend: Option<String>,
}

impl Check {
    fn good(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, ok: true, warning: false, detail: detail.into(), mend: None }
    }

    fn warn(name: &'static str, detail: impl Into<String>) -> Self {
        Self { warning: true, ..Self::good(name, detail) }
    }

    fn bad(name: &'static str, detail: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { name, ok: false, warning: false, detail: detail.into(), mend: Some(mend.into()) }
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let mut checks = folder_checks(args, context)?;
    checks.extend(server_checks(context));
    let report = Report { ok: checks.iter().all(|check| check.ok), checks };
    if context.globals.json {
        context.print_json(&report)?;
    } else {
        for check in &report.checks {
            let mark = match (check.ok, check.warning) {
                (true, false) => "ok  ",
                (true, true) => "WARN",
                (false, _) => "MEND",
            };
            context.print(&format!("{mark}  {:<12} {}\n", check.name, below(&check.detail)))?;
            if let Some(mend) = &check.mend {
                context.print(&format!("      {:<12} -> {}\n", "", Visible(mend)))?;
            }
        }
        let end = if report.ok { "All is well.\n" } else { "Something needs mending.\n" };
        context.print(end)?;
    }
    Ok(if report.ok { Exit::Done } else { Exit::Failure }.into())
}

/// Several lines, the later ones below the first.
fn below(detail: &str) -> String {
    let lines: Vec<String> = detail.lines().map(|line| Visible(line).to_string()).collect();
    lines.join(&format!("\n{:19}", ""))
}

fn folder_checks(args: &Args, context: &Context) -> anyhow::Result<Vec<Check>> {
    let data = &context.globals.data;
    let shared = args.database.shared()?;
    let folder = match Folder::open(data) {
        Ok(folder) => folder,
        Err(_) if shared.is_some() && data.is_dir() => Folder::at(data),
        Err(error) if exit_of(&error) != Exit::NotFound => {
            return Ok(vec![Check::bad("data folder", error.to_string(), "or name another with --data")]);
        }
        Err(_) => {
            return Ok(vec![Check::bad(
                "data folder",
                format!("there is none at {}", data.display()),
                "start `banksman serve`, or name the folder with --data",
            )]);
        }
    };
    let mut checks = vec![Check::good("data folder", data.display().to_string())];
    for (name, path) in [("privacy", folder.path().to_owned()), ("signing key", folder.key())] {
        checks.push(match folder::is_shared(&path) {
            Ok(false) => Check::good(name, format!("only you can read {}", path.display())),
            Ok(true) => Check::bad(
                name,
                format!("others can read {}", path.display()),
                format!("chmod go-rwx {}", path.display()),
            ),
            Err(error) => {
                Check::bad(name, format!("{}: {error}", path.display()), "restore it from a backup")
            }
        });
    }
    checks.push(database_check(&folder, shared)?);
    let policy = args.policy.clone().unwrap_or_else(|| folder.policy());
    if args.policy.is_none() && !policy.exists() {
        let other = "none in the data folder: the server was given another, or will write one";
        checks.push(Check::good("policy", other.to_owned()));
        return Ok(checks);
    }
    match folder::read_policy(&policy) {
        Ok(read) => {
            checks.push(Check::good("policy", format!("{} can be read", policy.display())));
            checks.extend(read.house().warnings().into_iter().map(|warning| Check::warn("policy", warning)));
        }
        Err(error) => checks.push(Check::bad(
            "policy",
            format!("{error:#}"),
            "mend the file; the server does not start with it",
        )),
    }
    Ok(checks)
}

fn database_check(folder: &Folder, shared: Option<&str>) -> anyhow::Result<Check> {
    let (found, mend) = match shared {
        None => (
            banksman_store::sqlite::examine(&folder.database()),
            "restore it from a backup, and keep the broken file",
        ),
        Some(url) => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let found = runtime.block_on(banksman_store::postgres::examine(url));
            (found, "correct --database, start PostgreSQL, or start `banksman serve` on it once")
        }
    };
    Ok(match found {
        Ok(found) => Check::good(
            "database",
            format!(
                "sound, schema {}, {} actions, {} audit events",
                found.schema, found.actions, found.events
            ),
        ),
        Err(error) => Check::bad("database", error.to_string(), mend),
    })
}

fn server_checks(context: &Context) -> Vec<Check> {
    let url = &context.globals.url;
    let token = context.globals.token.as_ref().map_or("", |token| token.reveal());
    // Readiness needs no token; a placeholder serves where none was given.
    let client = match Client::new(url, if token.is_empty() { "none" } else { token }) {
        Ok(client) => client,
        Err(error) => return vec![Check::bad("server", error.to_string(), "correct --url or --token")],
    };
    let mut checks = vec![match client.ready() {
        Ok(()) => Check::good("server", format!("{url} is ready")),
        Err(error) => {
            return vec![Check::bad(
                "server",
                error.to_string(),
                "start `banksman serve`, or name it with --url",
            )];
        }
    }];
    if token.is_empty() {
        checks.push(Check::good("token", "none given, so not tried"));
        return checks;
    }
    checks.push(match client.mode() {
        Ok(mode) => Check::good("token", format!("accepted; the mode is {}", mode.mode)),
        Err(ClientError::Problem(problem)) if problem.status == 401 => Check::bad(
            "token",
            "the server does not accept it",
            "banksman token new --kind reviewer --name you",
        ),
        Err(error) => Check::bad("token", error.to_string(), "see the server's log"),
    });
    // Only people may see the policy; an agent's token is no fault of the installation.
    if let Ok(policy) = client.policy() {
        checks.push(policy_in_force(&policy));
    }
    checks.extend(failing_channels(&client));
    checks
}

/// Channels whose newest messages did not go out. Only people may ask.
fn failing_channels(client: &Client) -> Vec<Check> {
    let query = PostQuery { limit: Some(100), ..PostQuery::default() };
    let Ok(newest) = client.notifications(&query) else { return Vec::new() };
    let mut seen: BTreeMap<&str, &DeliveryView> = BTreeMap::new();
    for delivery in &newest.items {
        let telling = match delivery.status {
            DeliveryStatus::Sent
            | DeliveryStatus::Delivered
            | DeliveryStatus::Failed
            | DeliveryStatus::Retrying => true,
            DeliveryStatus::Queued | DeliveryStatus::Skipped => false,
        };
        if telling {
            seen.entry(&delivery.channel)
                .and_modify(|known| {
                    if delivery.updated_at > known.updated_at {
                        *known = delivery;
                    }
                })
                .or_insert(delivery);
        }
    }
    let checked = seen.into_iter().map(|(channel, newest)| match newest.status {
        DeliveryStatus::Failed | DeliveryStatus::Retrying => Check::bad(
            "channel",
            format!("{channel} fails: {}", newest.error.as_deref().unwrap_or("no reason is known")),
            format!("banksman notifications test {channel}; then banksman notifications retry --failed"),
        ),
        DeliveryStatus::Sent
        | DeliveryStatus::Delivered
        | DeliveryStatus::Queued
        | DeliveryStatus::Skipped => {
            Check::good("channel", format!("{channel} works, since {}", to_the_second(newest.updated_at)))
        }
    });
    checked.collect()
}

fn policy_in_force(policy: &PolicyView) -> Check {
    let since = to_the_second(policy.loaded_at);
    match &policy.refused {
        None => Check::good("in force", format!("{} since {since}", policy.source)),
        Some(refused) => Check::bad(
            "in force",
            format!(
                "the policy of {since}, because the change of {} could not be used: {}",
                to_the_second(refused.at),
                // The line with its caret is for the log: here it would be out of place.
                refused.problem.lines().take(2).collect::<Vec<_>>().join(" ")
            ),
            "mend the policy; the server takes it up within seconds",
        ),
    }
}
