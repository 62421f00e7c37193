//! `banksman setup`: writes a coding agent's settings so that its calls are judged, and undoes exactly that.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use banksman_client::{Client, ClientError};
use banksman_core::Digest;

use crate::cli::DEFAULT_URL;
use crate::context::Context;
use crate::display::Visible;
use crate::exit::{Exit, stop};
use crate::folder::read_policy;
use crate::gate::{Installed, Settings};
use crate::hook::Host;
use crate::settings::{HookLine, backup_of, replace, resolve, with_hooks, without_hooks, write_private};

/// What hosts are told to wait. The hook answers before.
const HOST_WAITS_SECONDS: u64 = 600;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Whose settings to write
    host: Host,
    /// Take out what an earlier setup has put in
    #[arg(long)]
    undo: bool,
    /// For this project only (Claude Code: .claude/settings.local.json; Codex: .codex/hooks.json)
    #[arg(long, value_name = "DIR", conflicts_with = "user")]
    project: Option<PathBuf>,
    /// For everything that this user does with it (the default)
    #[arg(long)]
    user: bool,
    /// Without a server: judge by this policy
    #[arg(long, value_name = "PATH", env = "BANKSMAN_POLICY", conflicts_with = "undo")]
    policy: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let places = Places::of(args)?;
    let report = if args.undo { undo(args.host, &places)? } else { set_up(args, context, &places)? };
    context.remark(&report)?;
    Ok(Exit::Done.into())
}

/// Which files it is about.
struct Places {
    /// The host's.
    settings: PathBuf,
    /// Ours, in the user's own folder whatever the scope: a project's folder may be shared.
    installed: PathBuf,
}

impl Places {
    fn of(args: &Args) -> anyhow::Result<Self> {
        let home = || folder_of("HOME").context("HOME is not set: whose settings?");
        let ours = match folder_of("XDG_CONFIG_HOME") {
            Some(config) => config,
            None => home()?.join(".config"),
        }
        .join("banksman");
        let name = args.host.as_str();
        let (settings, ours_name) = match &args.project {
            Some(project) => {
                let project = fs::canonicalize(project).map_err(|error| {
                    stop(Exit::NotFound, format!("there is no project {}: {error}", project.display()))
                })?;
                let settings = match args.host {
                    Host::ClaudeCode => ".claude/settings.local.json",
                    Host::Codex => ".codex/hooks.json",
                };
                let digest = Digest::of(project.as_os_str().as_encoded_bytes()).to_string();
                let short: String = digest.trim_start_matches("sha256:").chars().take(16).collect();
                (project.join(settings), format!("{name}-{short}.json"))
            }
            None => {
                let (variable, usual, file) = match args.host {
                    Host::ClaudeCode => ("CLAUDE_CONFIG_DIR", ".claude", "settings.json"),
                    Host::Codex => ("CODEX_HOME", ".codex", "hooks.json"),
                };
                let folder = match folder_of(variable) {
                    Some(folder) => folder,
                    None => home()?.join(usual),
                };
                (folder.join(file), format!("{name}.json"))
            }
        };
        Ok(Self { settings: resolve(&settings), installed: ours.join(ours_name) })
    }
}

fn folder_of(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

fn set_up(args: &Args, context: &Context, places: &Places) -> anyhow::Result<String> {
    let server = server_of(context)?;
    let policy = match args.policy.as_ref().filter(|path| !path.as_os_str().is_empty() && server.is_none()) {
        Some(path) => {
            // A policy that cannot be read would make the hook deny everything later; better to hear of it now.
            read_policy(path)?;
            Some(fs::canonicalize(path)?)
        }
        None => None,
    };
    let current = read(&places.settings)?;
    let earlier = Installed::read(&places.installed).ok();
    let wrong = |problem: String| {
        stop(Exit::Usage, format!("{} is left as it is: {problem}", places.settings.display()))
    };
    let text = current.clone().unwrap_or_default();
    let bare = without_hooks(&text, |command| is_ours(command, args.host)).map_err(wrong)?;
    let program = std::env::current_exe().context("where this program is cannot be told")?;
    let written = with_hooks(&bare, &hook_lines(args.host, &program, &places.installed)?).map_err(wrong)?;
    // What was there before the first setup is what undo goes back to, if nothing else has changed since.
    let untouched = |settings: &Settings| {
        current.as_ref().is_some_and(|now| Digest::of(now.as_bytes()) == settings.after)
    };
    let before = match &earlier {
        Some(earlier) if untouched(&earlier.settings) => earlier.settings.before.clone(),
        _ => current.as_ref().map(|_| bare.clone()),
    };
    let after = Digest::of(written.as_bytes());
    let mut installed = Installed::new(Settings { path: places.settings.clone(), before, after });
    installed.policy.clone_from(&policy);
    if let Some((url, token)) = &server {
        installed.url = Some(url.clone());
        installed.token = Some(token.clone());
    }
    // Ours first: a hook that finds nothing here denies everything.
    write_private(&places.installed, &(serde_json::to_string_pretty(&installed)? + "\n"))
        .with_context(|| format!("cannot write {}", places.installed.display()))?;
    let changed = current.as_deref() != Some(written.as_str());
    if changed {
        if let Some(current) = current.as_ref().filter(|current| **current == bare) {
            replace(&backup_of(&places.settings), current).context("cannot make a backup")?;
        }
        replace(&places.settings, &written)
            .with_context(|| format!("cannot write {}", places.settings.display()))?;
    }
    Ok(told(args.host, places, changed, server.as_ref().map(|(url, _)| url.as_str()), policy.as_deref()))
}

/// The server that the hook is to ask, with a token that is certainly an agent's.
fn server_of(context: &Context) -> anyhow::Result<Option<(String, String)>> {
    let globals = &context.globals;
    let Some(token) = globals.token.as_ref().map(|token| token.reveal()).filter(|token| !token.is_empty())
    else {
        if !matches!(globals.url.trim(), "" | DEFAULT_URL) {
            return Err(stop(
                Exit::NotAllowed,
                "a server, but no token: set BANKSMAN_TOKEN to an agent's, from\n\
                 \x20   banksman token new --kind agent --name NAME --data DIR",
            ));
        }
        return Ok(None);
    };
    let url = Some(globals.url.trim()).filter(|url| !url.is_empty()).unwrap_or(DEFAULT_URL);
    let client = Client::new(url, token).map_err(|error| stop(Exit::Usage, error.to_string()))?;
    // The agent can read whatever its hook can. A reviewer's token there would let it approve its own actions.
    match client.resolutions(u64::MAX >> 1) {
        Ok(_) => Ok(Some((url.to_owned(), token.to_owned()))),
        Err(ClientError::Problem(problem)) if problem.status == 403 => Err(stop(
            Exit::NotAllowed,
            "this is not an agent's token, and an agent could decide with it: get one with\n\
             \x20   banksman token new --kind agent --name NAME --data DIR",
        )),
        Err(error) => Err(error.into()),
    }
}

fn hook_lines(host: Host, program: &Path, installed: &Path) -> anyhow::Result<Vec<HookLine>> {
    let quoted = |path: &Path| -> anyhow::Result<String> {
        let text = path.to_str().filter(|text| !text.contains('\n'));
        let text =
            text.ok_or_else(|| stop(Exit::Usage, "a path here is not a text that a shell could be given"))?;
        Ok(format!("'{}'", text.replace('\'', r"'\''")))
    };
    let asks = format!("{} hook {} --installed {}", quoted(program)?, host.as_str(), quoted(installed)?);
    // A hook that is not there, or dies, counts as a yes with hosts, unless it ends with 2 and says why.
    let or_blocks =
        format!("{asks} || {{ echo 'Banksman did not answer, so this may not run' >&2; exit 2; }}");
    let decides = ["PreToolUse", "PermissionRequest"].map(|event| (event, &or_blocks));
    let reports: &[&'static str] = match host {
        Host::ClaudeCode => &["PostToolUse", "PostToolUseFailure"],
        Host::Codex => &["PostToolUse"],
    };
    let all = decides.into_iter().chain(reports.iter().map(|event| (*event, &asks)));
    Ok(all
        .map(|(event, command)| HookLine { event, command: command.clone(), timeout: HOST_WAITS_SECONDS })
        .collect())
}

fn is_ours(command: &str, host: Host) -> bool {
    command.contains("banksman") && command.contains(&format!(" hook {} --installed ", host.as_str()))
}

fn undo(host: Host, places: &Places) -> anyhow::Result<String> {
    let installed = Installed::read(&places.installed).ok();
    let Some(current) = read(&places.settings)? else {
        forget(&places.installed)?;
        return Ok("Nothing was set up here.\n".into());
    };
    let untouched = installed.filter(|installed| {
        installed.settings.path == places.settings
            && installed.settings.after == Digest::of(current.as_bytes())
    });
    let done = match untouched {
        Some(Installed { settings: Settings { before: None, .. }, .. }) => {
            fs::remove_file(&places.settings)
                .with_context(|| format!("cannot remove {}", places.settings.display()))?;
            format!("Removed {}, which setup had made.\n", places.settings.display())
        }
        Some(Installed { settings: Settings { before: Some(before), .. }, .. }) => {
            replace(&places.settings, &before)?;
            format!("{} is as it was before setup.\n", places.settings.display())
        }
        None => {
            let without = without_hooks(&current, |command| is_ours(command, host)).map_err(|problem| {
                stop(Exit::Usage, format!("{} is left as it is: {problem}", places.settings.display()))
            })?;
            if without == current {
                "Nothing was set up here.\n".to_owned()
            } else {
                replace(&places.settings, &without)?;
                format!("Took Banksman's hooks out of {}.\n", places.settings.display())
            }
        }
    };
    forget(&places.installed)?;
    forget(&backup_of(&places.settings))?;
    Ok(done)
}

fn forget(path: &Path) -> anyhow::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

fn read(path: &Path) -> anyhow::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(stop(Exit::Usage, format!("cannot read {}: {error}", path.display()))),
    }
}

/// What was done, and what to do next.
fn told(host: Host, places: &Places, changed: bool, server: Option<&str>, policy: Option<&Path>) -> String {
    let mut out = String::new();
    let settings = places.settings.display();
    let _ = if changed {
        writeln!(out, "Wrote Banksman's hooks into {settings}.")
    } else {
        writeln!(out, "{settings} has Banksman's hooks already.")
    };
    if backup_of(&places.settings).exists() {
        let _ = writeln!(out, "What was there before is in {}.", backup_of(&places.settings).display());
    }
    let _ = writeln!(out, "Where the hook asks is in {}.", places.installed.display());
    let asks = match (server, policy) {
        (Some(url), _) => {
            format!("Every call is proposed to {} and runs once it is authorised.", Visible(url))
        }
        (None, Some(policy)) => format!(
            "There is no server: calls are judged by {}, and what needs a person is asked by the host or denied.",
            policy.display()
        ),
        (None, None) => {
            "There is no server and no policy, so every call needs a person. To start from a policy:\n\
             \x20   banksman policy init --template coding-agent    and setup again with --policy"
                .to_owned()
        }
    };
    let _ = writeln!(out, "{asks}\n\nNext:");
    let _ = match host {
        Host::ClaudeCode => writeln!(out, "  restart Claude Code; /hooks shows what is installed"),
        Host::Codex => {
            writeln!(out, "  restart Codex, open /hooks and trust Banksman's: until then Codex skips them")
        }
    };
    let _ = writeln!(out, "  banksman setup {} --undo    takes it out again", host.as_str());
    out
}
