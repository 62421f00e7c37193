//! `banksman mcp -- CMD`: a program before an MCP server's program. `mcp scan` and `mcp accept` look after tools.

use std::fmt::Write as _;
use std::fs::DirBuilder;
use std::io::{BufRead as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use banksman_client::{Client, ClientError, Proposal};
use banksman_core::json::CanonicalJson;
use banksman_core::wire::{ActionView, ClaimBody, ClaimView, OutcomeBody};
use banksman_core::{Action, ActionId, Digest, Kind, Risk};
use banksman_engine::Judge as _;
use banksman_mcp::{Gate, GateError, Proxy, ScannedTool, Standing, accept, scan};
use banksman_policy::{DEFAULT_POLICY, Policy};
use tokio::sync::mpsc;

use crate::context::Context;
use crate::exit::{Exit, stop};
use crate::folder::Folder;
use crate::span::parse_span;

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Option<What>,
    /// What the server is called in policies and for reviewers [default: the command's name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// How long a held call stays open before the client is told to come back [default: by what is known of the client]
    #[arg(long, value_name = "SPAN", value_parser = parse_span)]
    window: Option<Duration>,
    /// The server's program and its arguments, behind `--`
    #[arg(last = true, value_name = "CMD")]
    command: Vec<String>,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Write a policy to start from, by the tools that a server has; no tool is called
    Scan {
        /// The server's program and its arguments, behind `--`
        #[arg(last = true, value_name = "CMD", required = true)]
        command: Vec<String>,
    },
    /// Accept what a server says of its tools now, after it changed them
    Accept {
        /// The server's name, in mcp.yaml or as `banksman mcp --name` has it; without a name, its command
        server: String,
        /// One tool; all of the server's, if left out
        tool: Option<String>,
    },
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    match &args.what {
        Some(What::Scan { command }) => write_policy(command, context),
        Some(What::Accept { server, tool }) => accept_tools(server, tool.as_deref(), context),
        None if args.command.is_empty() => {
            Err(stop(Exit::Usage, "which server? For example: banksman mcp -- npx -y some-mcp-server"))
        }
        None => stand_before(args, context),
    }
}

/// Asks a server over its API; each question has a thread to wait in.
struct Remote(Arc<Client>);

impl Remote {
    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Client) -> Result<T, ClientError> + Send + 'static,
    ) -> Result<T, GateError> {
        let client = Arc::clone(&self.0);
        let answer = tokio::task::spawn_blocking(move || question(&client)).await;
        match answer {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(ClientError::Problem(problem))) => Err(gate_error(problem.status, problem.detail)),
            Ok(Err(ClientError::Unexpected { status, detail, .. })) => Err(gate_error(status, detail)),
            Ok(Err(error)) => Err(GateError::Unavailable(error.to_string())),
            Err(error) => Err(GateError::Unavailable(error.to_string())),
        }
    }
}

/// What a refusal means: some would be none a moment later.
fn gate_error(status: u16, words: String) -> GateError {
    match status {
        413 => GateError::TooLong(words),
        408 | 429 | 500.. => GateError::Unavailable(words),
        // Not an answer of a Banksman at all, or one that will be the same.
        _ => GateError::Refused(words),
    }
}

#[async_trait::async_trait]
impl Gate for Remote {
    async fn propose(&self, body: String) -> Result<ActionView, GateError> {
        self.ask(move |client| client.propose(&Proposal::new(&body))).await
    }

    async fn wait(&self, id: ActionId, seconds: u64) -> Result<ActionView, GateError> {
        self.ask(move |client| client.await_action(id, seconds)).await
    }

    async fn claim(&self, id: ActionId, digest: Digest) -> Result<ClaimView, GateError> {
        self.ask(move |client| client.claim(id, &ClaimBody { digest, preconditions: None })).await
    }

    async fn report(&self, id: ActionId, outcome: OutcomeBody) -> Result<(), GateError> {
        self.ask(move |client| client.outcome(id, &outcome).map(drop)).await
    }
}

fn stand_before(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let client = client_of_agent(context)?;
    let called = args.command.first().map(|word| word.rsplit('/').next().unwrap_or(word).to_owned());
    // Several servers may be started by one program: only a given name tells whose tools these are.
    let known_as = args.name.clone().unwrap_or_else(|| args.command.join(" "));
    let pins = users_pins(&known_as).ok_or_else(|| {
        stop(
            Exit::Usage,
            "neither XDG_STATE_HOME nor HOME is set: there is no place to remember the server's tools in",
        )
    })?;
    if let Some(folder) = pins.parent() {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let standing = Standing {
        name: args.name.clone().or(called).unwrap_or_default(),
        command: args.command.clone(),
        known_as,
        pins,
        window: args.window,
        review_url: client.url().to_owned(),
    };
    let gate = Remote(Arc::new(client));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let exit = runtime.block_on(async {
        let (to_client, mut messages) = mpsc::channel::<String>(64);
        let proxy =
            Proxy::start(gate, standing, to_client).map_err(|problem| stop(Exit::Failure, problem))?;
        let (lines, mut received) = mpsc::channel::<String>(64);
        // A thread that may stay behind in a read: nothing can wake it, and the end of the program ends it too.
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines() {
                let Ok(line) = line else { return };
                if lines.blocking_send(line).is_err() {
                    return;
                }
            }
        });
        let mut looks = tokio::time::interval(Duration::from_millis(500));
        let listened = loop {
            tokio::select! {
                line = received.recv() => match line {
                    Some(line) => proxy.take(line).await,
                    None => break Ok(()),
                },
                Some(message) = messages.recv() => if let Err(error) = print_line(&message) {
                    break Err(error);
                },
                _ = looks.tick() => {
                    if proxy.is_over() && messages.is_empty() {
                        break Err(stop(Exit::Failure, "the server's program has ended"));
                    }
                }
            }
        };
        // The client is gone, and so is the program's use; but what it was asked before, it may still answer. If it is the
        // program that is gone, what it did has yet to be reported.
        let end = proxy.end();
        tokio::pin!(end);
        loop {
            tokio::select! {
                () = &mut end => break,
                // Nobody may be there to read it.
                Some(message) = messages.recv() => drop(print_line(&message)),
            }
        }
        while let Ok(message) = messages.try_recv() {
            drop(print_line(&message));
        }
        listened.map(|()| Exit::Done.into())
    });
    // Questions that are still open have threads of their own, and some wait for people.
    runtime.shutdown_background();
    exit
}

fn print_line(message: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let written = writeln!(out, "{message}").and_then(|()| out.flush());
    written.context("the client does not listen any more")
}

/// A client with a token that is certainly an agent's, unless there is no server to ask yet: then nothing runs until there
/// is, and it says so itself.
fn client_of_agent(context: &Context) -> anyhow::Result<Client> {
    let advice = "an agent's is needed: set BANKSMAN_TOKEN to one, from\n\
                  \x20   banksman token new --kind agent --name NAME --data DIR";
    let given = context.globals.token.as_ref().is_some_and(|token| !token.reveal().is_empty());
    if !given {
        return Err(stop(Exit::NotAllowed, format!("no token, and {advice}")));
    }
    let client = context.client()?;
    match client.resolutions(u64::MAX >> 1) {
        Err(ClientError::Problem(problem)) if matches!(problem.status, 401 | 403) => {
            Err(stop(Exit::NotAllowed, format!("this token is not an agent's, and {advice}")))
        }
        Ok(_) | Err(_) => Ok(client),
    }
}

/// Where the tools of a server that clients start themselves are remembered: in the user's state folder, a file for each,
/// because a client starts all its servers at once.
fn users_pins(known_as: &str) -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    let readable: String =
        known_as.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(40).collect();
    let digest = Digest::of(known_as.as_bytes()).to_string();
    let digest: String = digest.trim_start_matches("sha256:").chars().take(16).collect();
    Some(state.join("banksman/mcp").join(format!("{readable}-{digest}.json")))
}

fn write_policy(command: &[String], context: &Context) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let tools = runtime
        .block_on(scan(command.to_vec()))
        .map_err(|problem| stop(Exit::Failure, format!("the server's tools cannot be listed: {problem}")))?;
    context.print(&starting_policy(&tools)?)?;
    Ok(Exit::Done.into())
}

/// A policy with a line for each tool. What its name and its server give away decides the proposal; a person decides.
fn starting_policy(tools: &[ScannedTool]) -> anyhow::Result<String> {
    let judge = Policy::parse("the default policy", DEFAULT_POLICY)?;
    let mut text = String::from(
        "# A policy to start from. Read each line: servers describe their tools as they like.\n\
         # What is not named here is held.\nversion: 1\ntools:\n",
    );
    for tool in tools {
        let mut action = Action::bare(tool.name.clone(), Kind::Tool, CanonicalJson::parse(b"{}")?);
        action.annotations = Some(tool.annotations);
        let level = judge.assess(&action).level;
        let hints = tool.annotations;
        let (risk, tier, why) = match (hints.destructive_hint, hints.read_only_hint) {
            (Some(true), _) => {
                (level.max(Risk::High), "approve", "its server says that it may destroy something")
            }
            (_, Some(true)) if level <= Risk::Low => {
                (Risk::Low, "auto", "its server says that it only reads")
            }
            (_, _) if level >= Risk::High => (level, "approve", "its name says that it is dangerous"),
            (_, _) => (level.max(Risk::Medium), "approve", "nothing says that it is harmless"),
        };
        writeln!(text, "  {}: {{risk: {risk}, tier: {tier}}}  # {why}", plain(&tool.name))?;
    }
    Ok(text)
}

/// A name in YAML in which nothing is left that a terminal, or an eye, could take for something else.
fn plain(name: &str) -> String {
    let mut text = String::from("\"");
    for c in name.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            ' '..='~' => text.push(c),
            c => {
                let _ = write!(text, "\\U{:08X}", u32::from(c));
            }
        }
    }
    text.push('"');
    text
}

fn accept_tools(server: &str, tool: Option<&str>, context: &Context) -> anyhow::Result<ExitCode> {
    let data = &context.globals.data;
    let mut places = vec![Folder::at(data).tool_pins()];
    places.extend(users_pins(server));
    // What may not be looked at may be there: then it is said what is wrong with it.
    places.retain(|path| !matches!(path.try_exists(), Ok(false)));
    if places.is_empty() {
        let problem = format!(
            "no tools are remembered in {}: name the data folder of `banksman serve` with --data",
            data.display()
        );
        return Err(stop(Exit::NotFound, problem));
    }
    let mut count = 0;
    for path in places {
        count += accept(&path, server, tool)
            .map_err(|problem| stop(Exit::Failure, format!("the tools cannot be accepted: {problem}")))?;
    }
    context.print(&format!("{count} forgotten; what the server says next is what counts\n"))?;
    Ok(Exit::Done.into())
}

#[cfg(test)]
mod tests {
    use banksman_core::Annotations;

    use super::*;

    #[test]
    fn a_scanned_policy_loads_whatever_tools_are_called() {
        let tool = |name: &str, read_only: Option<bool>| ScannedTool {
            name: name.into(),
            description: None,
            annotations: Annotations { read_only_hint: read_only, ..Annotations::default() },
        };
        let tools = [
            tool("list_files", Some(true)),
            tool("delete_everything", Some(true)),
            tool("x", None),
            tool("evil\": {tier: auto}\n\u{1b}[2J\u{202e}", None),
        ];
        let text = starting_policy(&tools).unwrap();
        assert!(text.is_ascii());
        Policy::parse("scanned.yaml", &text).unwrap();
        assert!(text.contains("\"list_files\": {risk: low, tier: auto}"), "{text}");
        assert!(text.contains("\"delete_everything\": {risk: medium, tier: approve}"), "{text}");
    }
}
