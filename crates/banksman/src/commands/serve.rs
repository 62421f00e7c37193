//! `banksman serve`: the server, with nothing to configure.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use banksman_core::{Actor, PrincipalKind};
use banksman_engine::{By, Engine, EngineConfig, LogSink, NewPerson, NewToken};
use banksman_http::{App, AppConfig, Hosts, PublicAddress};
use banksman_mcp::{Config, Gateway};
use banksman_oidc::Provider;
use banksman_store::PendingLimits;
use clap::value_parser;
use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::channels;
use crate::context::Context;
use crate::database::DatabaseArgs;
use crate::exit::{Exit, stop};
use crate::folder::{Folder, read_policy};
use crate::reload;
use crate::triage::Outside;

/// How long requests that are under way may take once the server is told to stop. Answering takes milliseconds, and
/// whoever waits for people is answered at once; this is about those who stopped in the middle of asking.
const GRACE: Duration = Duration::from_secs(1);

/// How long there is next to nothing to do before memory that nobody needs is given back to the system.
const LULL: Duration = Duration::from_secs(1);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where to listen: an address and a port, or a port of this machine alone
    #[arg(long, value_name = "ADDR", env = "BANKSMAN_LISTEN", default_value = "127.0.0.1:7447", value_parser = parse_listen)]
    listen: SocketAddr,
    #[command(flatten)]
    database: DatabaseArgs,
    /// The policy file [default: DATA/policy.yaml]
    #[arg(long, value_name = "PATH", env = "BANKSMAN_POLICY")]
    policy: Option<PathBuf>,
    /// The MCP servers to stand before [default: DATA/mcp.yaml, if there is one]
    #[arg(long, value_name = "FILE", env = "BANKSMAN_MCP")]
    mcp: Option<PathBuf>,
    /// The channels by which people are told [default: DATA/channels.yaml, if there is one]
    #[arg(long, value_name = "FILE", env = "BANKSMAN_CHANNELS")]
    channels: Option<PathBuf>,
    /// Which identity provider vouches for people [default: DATA/identity.yaml, if there is one]
    #[arg(long, value_name = "FILE", env = "BANKSMAN_IDENTITY")]
    identity: Option<PathBuf>,
    /// Another name that this server is reached by; may be given several times
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,
    /// The address that people reach this server by, such as https://banksman.example
    #[arg(long, value_name = "URL", env = "BANKSMAN_PUBLIC_URL", value_parser = PublicAddress::parse)]
    public_url: Option<PublicAddress>,
    /// How many actions of one agent may wait for people [default: 10000]
    #[arg(long, value_name = "COUNT", env = "BANKSMAN_MAX_PENDING_PER_AGENT", value_parser = value_parser!(u64).range(1..))]
    max_pending_per_agent: Option<u64>,
    /// How many actions may wait for people altogether [default: 2000000]
    #[arg(long, value_name = "COUNT", env = "BANKSMAN_MAX_PENDING", value_parser = value_parser!(u64).range(1..))]
    max_pending: Option<u64>,
    /// Requests come through a proxy of yours: believe the last entry of its X-Forwarded-For
    #[arg(long)]
    behind_proxy: bool,
}

impl Args {
    fn engine_config(&self) -> EngineConfig {
        let usual = EngineConfig::default();
        let limits = PendingLimits {
            per_agent: self.max_pending_per_agent.unwrap_or(usual.limits.per_agent),
            total: self.max_pending.unwrap_or(usual.limits.total),
        };
        EngineConfig { limits, ..usual }
    }
}

/// A port without an address is for this machine alone: more has to be asked for.
fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix("localhost").unwrap_or(text);
    let port = port.strip_prefix(':').unwrap_or(port);
    text.parse().or_else(|_| port.parse().map(|port| SocketAddr::from(([127, 0, 0, 1], port)))).map_err(
        |_| {
            "expected an address and a port, such as 127.0.0.1:7447, 0.0.0.0:7447 or [::1]:7447, or a port"
                .to_owned()
        },
    )
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    // A mistake in the address is told before anything is made.
    args.database.shared()?;
    start_log();
    // One core is for the thread that writes to the database; on two cores, more workers would only fight it.
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = cores.saturating_sub(1).max(1);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build()?;
    runtime.block_on(serve(args, context))?;
    // Reads that still run on other threads do not hold up the end.
    runtime.shutdown_timeout(Duration::from_secs(1));
    Ok(Exit::Done.into())
}

fn start_log() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("BANKSMAN_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .init();
}

/// What a new installation gets, shown once.
#[derive(Serialize)]
struct Welcome {
    url: String,
    data: PathBuf,
    policy: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<FirstStart>,
}

#[derive(Serialize)]
struct FirstStart {
    reviewer_token: String,
    agent_token: String,
    sign_in_link: String,
}

async fn serve(args: &Args, context: &Context) -> anyhow::Result<()> {
    let folder = Folder::open_or_create(&context.globals.data)?;
    let _lock = folder.lock()?;
    let told_to_stop = told_to_stop();
    let policy_path = match &args.policy {
        Some(path) => path.clone(),
        None => folder.ensure_policy()?,
    };
    let policy = Arc::new(read_policy(&policy_path)?);
    let mcp = read_mcp(args.mcp.as_deref(), &folder)?;
    let channels = channels::read(args.channels.as_deref(), &folder, args.listen)?;
    let identity = read_identity(args.identity.as_deref(), &folder)?;
    // Before anything is stored: a start that ends here must not pass for the first one.
    let listener = banksman_http::listen(args.listen).with_context(|| {
        format!(
            "cannot listen on {}: is another server running there? `--listen` takes another address",
            args.listen
        )
    })?;
    let address = listener.local_addr()?;
    // The key before the database: where there is a database, `banksman token` may come by and wants the same key.
    let signer = folder.signer()?;
    let (store, clock) = args.database.open_to_serve(&folder, &signer).await?;
    let judge = Arc::clone(&policy);
    let engine = Engine::new(store, judge, clock, signer, args.engine_config()).await?;
    engine.staff_triage(Arc::new(Outside::new()));
    let (followed, digest) = (policy_path.clone(), policy.digest());
    engine.load_policy(Arc::clone(&policy) as _, &policy_path.display().to_string()).await?;
    let (stop, stopping) = watch::channel(false);
    let url = format!("http://{address}");
    let gateway = match mcp {
        Some(config) => {
            Some(Gateway::new(Arc::clone(&engine), config.reviewed_at(&url), Some(folder.tool_pins()))?)
        }
        None => None,
    };
    let public = args.public_url.clone().unwrap_or_else(|| PublicAddress::local(address));
    let names: Vec<String> = args.allow_host.iter().cloned().chain([public.host().to_owned()]).collect();
    let hosts = Hosts::of(address, &names);
    let reached_at = public.origin().to_owned();
    let provider = identity.map(|config| Provider::new(config, public.origin()));
    let config =
        AppConfig { gateway: gateway.clone(), address: public, behind_proxy: args.behind_proxy, provider };
    let app = App::new(Arc::clone(&engine), hosts, stopping.clone(), config);
    if let Err(error) = folder.note_address(&reached_at) {
        tracing::warn!(%error, "links that are made on this machine will not know this address");
    }
    // Not by whether there was a database: an earlier start may have been killed before it had shown anything.
    let first = first_start(&engine, &reached_at).await?;
    welcome(context, &Welcome { url, data: folder.path().to_owned(), policy: policy_path, first })?;

    let mut workers = match channels {
        Some(config) => channels::open(config, &engine, &policy, &app)?,
        None => engine.start_workers(Arc::new(LogSink)),
    };
    workers.push(tokio::spawn(reload::follow(Arc::clone(&engine), followed, digest)));
    workers.extend(gateway.as_ref().map(Gateway::start_workers));
    workers.push(tokio::spawn(give_back_memory()));
    // What starting took, on the thread that did it.
    banksman_memory::give_back();
    let mut server = tokio::spawn(banksman_http::serve(listener, app, stopping));
    let ended = tokio::select! {
        ended = &mut server => Some(ended),
        () = told_to_stop => None,
    };
    let _ = stop.send(true);
    match ended {
        Some(ended) => ended?,
        None => match tokio::time::timeout(GRACE, server).await {
            Ok(ended) => ended?,
            Err(_) => tracing::warn!("some requests did not finish in time"),
        },
    }
    for worker in workers {
        worker.abort();
        let _ = worker.await;
    }
    tracing::info!("stopped");
    Ok(())
}

/// Once a rush is over, the system has back what it took. Not before: what is given back has to be asked for again.
async fn give_back_memory() {
    let mut worked = true;
    let mut before = processor_time();
    loop {
        tokio::time::sleep(LULL).await;
        let now = processor_time();
        let quiet = now.saturating_sub(before) < LULL / 20;
        if quiet && worked {
            banksman_memory::give_back();
        }
        worked = !quiet;
        before = now;
    }
}

/// How long all threads together have been at work.
fn processor_time() -> Duration {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(spent).unwrap_or_default()
}

/// Who vouches for people: the provider of the file that was named, or of the one in the data folder.
fn read_identity(named: Option<&Path>, folder: &Folder) -> anyhow::Result<Option<banksman_oidc::Config>> {
    let Some((shown, text)) = read_beside(named, &folder.identity())? else { return Ok(None) };
    banksman_oidc::Config::parse(&shown, &text).map(Some).map_err(|error| {
        stop(Exit::Usage, format!("the identity provider of {shown} cannot be used:\n{error}"))
    })
}

/// A file that was named, or the usual one, if it is there: its name and its text.
fn read_beside(named: Option<&Path>, usual: &Path) -> anyhow::Result<Option<(String, String)>> {
    let path = match named {
        Some(path) => path,
        None if usual.exists() => usual,
        None => return Ok(None),
    };
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|error| stop(Exit::Usage, format!("cannot read {shown}: {error}")))?;
    Ok(Some((shown, text)))
}

/// The MCP servers behind this one: those of the file that was named, or of the one in the data folder.
fn read_mcp(named: Option<&Path>, folder: &Folder) -> anyhow::Result<Option<Config>> {
    let Some((shown, text)) = read_beside(named, &folder.mcp())? else { return Ok(None) };
    Config::parse(&shown, &text)
        .map(Some)
        .map_err(|error| stop(Exit::Usage, format!("the MCP servers of {shown} cannot be used:\n{error}")))
}

/// Ends when a signal says so. From the call on, not from the first poll: a signal that comes while the server
/// starts would else kill it.
fn told_to_stop() -> impl Future<Output = ()> {
    let signals = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
    async move {
        let (Ok(mut interrupt), Ok(mut terminate)) = signals else {
            // Without signals the server can only be killed, which it survives.
            return std::future::pending().await;
        };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    }
}

/// The person who installs it. All their credentials carry one name, so that they never count as two people.
fn operator() -> String {
    let user = std::env::var("USER").unwrap_or_default();
    let plain = !user.is_empty() && user.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    if plain && user != "agent" { user } else { "operator".into() }
}

/// What there is to begin with, if nobody has begun before.
async fn first_start(engine: &Engine, url: &str) -> anyhow::Result<Option<FirstStart>> {
    let token = |kind, name: String| NewToken { kind, name, owner: None, roles: Vec::new(), lifetime: None };
    let new = [token(PrincipalKind::Reviewer, operator()), token(PrincipalKind::Agent, "agent".into())];
    let issued = engine.issue_first_tokens(&new, &Actor::Operator).await?;
    let Some([reviewer, agent]) = issued.as_deref() else { return Ok(None) };
    let new =
        NewPerson { name: operator(), display_name: None, kind: PrincipalKind::Admin, roles: Vec::new() };
    let person = engine.add_person(By::Operator, new).await?;
    let link = engine.sign_in_link(person.id).await?;
    Ok(Some(FirstStart {
        reviewer_token: reviewer.secret.clone(),
        agent_token: agent.secret.clone(),
        sign_in_link: link.address(url),
    }))
}

fn welcome(context: &Context, welcome: &Welcome) -> anyhow::Result<()> {
    if context.globals.json {
        return context.print_json(welcome);
    }
    let Welcome { url, data, policy, first } = welcome;
    let mut text =
        format!("Banksman listens on {url}\n  data    {}\n  policy  {}\n", data.display(), policy.display());
    if let Some(FirstStart { reviewer_token, agent_token, sign_in_link }) = first {
        let banksman = program();
        text.push_str(&format!(
            "\nNew here. These are shown only this once:\n\
             \x20 reviewer token  {reviewer_token}\n\
             \x20 agent token     {agent_token}\n\
             \x20 sign-in link    {sign_in_link}\n\
             \x20                 (works once, within 15 minutes)\n\
             \n\
             Try it. As the agent, ask for something; it will be held:\n\
             \n\
             \x20 curl -s {url}/v1/actions -H 'Authorization: Bearer {agent_token}' \\\n\
             \x20   -d '{{\"tool\": \"send_email\", \"args\": {{\"to\": \"ada@example.com\", \"subject\": \"Hello\"}}}}'\n\
             \n\
             As the reviewer, in another terminal, look and decide:\n\
             \n\
             \x20 export BANKSMAN_TOKEN={reviewer_token} BANKSMAN_URL={url}\n\
             \x20 {banksman} pending\n\
             \x20 {banksman} approve ID\n"
        ));
    }
    context.print(&text)
}

/// How the user called this program, so that the commands shown can be pasted.
fn program() -> String {
    let called = std::env::args().next().unwrap_or_default();
    let plain = Path::new(&called).file_name().is_some() && !called.contains(char::is_whitespace);
    if plain { called } else { "banksman".into() }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn how_many_may_wait_can_be_said() {
        let limits = |line: &[&str]| Line::parse_from(line).args.engine_config().limits;
        let usual = limits(&["serve"]);
        assert_eq!(usual, PendingLimits { per_agent: 10_000, total: 2_000_000 });
        assert_eq!(limits(&["serve", "--max-pending", "5"]), PendingLimits { total: 5, ..usual });
        let of_agent = limits(&["serve", "--max-pending-per-agent", "3"]);
        assert_eq!(of_agent, PendingLimits { per_agent: 3, ..usual });
        assert!(Line::try_parse_from(["serve", "--max-pending", "0"]).is_err());
    }

    #[test]
    fn a_port_alone_is_one_of_this_machine() {
        for text in ["127.0.0.1:17862", "localhost:17862", ":17862", "17862"] {
            assert_eq!(parse_listen(text).unwrap().to_string(), "127.0.0.1:17862", "{text}");
        }
        assert_eq!(parse_listen("[::1]:1").unwrap().to_string(), "[::1]:1");
        for wrong in ["", "localhost", "example.com:80", "127.0.0.1", "99999", "localhost17862x"] {
            assert!(parse_listen(wrong).unwrap_err().contains("127.0.0.1:7447"), "{wrong}");
        }
    }
}
