//! `banksman serve`: the server, with nothing to configure.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use banksman_engine::EngineConfig;
use banksman_http::PublicAddress;
use banksman_store::PendingLimits;
use clap::value_parser;

use crate::context::Context;
use crate::database::DatabaseArgs;
use crate::exit::Exit;
use crate::folder::Folder;
use crate::server::{Configured, Ended, Round, told_to_stop};

/// How long a round that ended sooner is not followed by another, so that a database whose hosts disagree does not keep this
/// server busy; and how often it is looked meanwhile whether to stop.
const BETWEEN_ROUNDS: Duration = Duration::from_secs(2);
const A_MOMENT: Duration = Duration::from_millis(50);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where to listen: an address and a port, or a port of this machine alone
    #[arg(long, value_name = "ADDR", env = "BANKSMAN_LISTEN", default_value = "127.0.0.1:7447", value_parser = parse_listen)]
    pub(crate) listen: SocketAddr,
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
    /// The policy file [default: DATA/policy.yaml]
    #[arg(long, value_name = "PATH", env = "BANKSMAN_POLICY")]
    pub(crate) policy: Option<PathBuf>,
    /// The MCP servers to stand before [default: DATA/mcp.yaml, if there is one]
    #[arg(long, value_name = "FILE", env = "BANKSMAN_MCP")]
    pub(crate) mcp: Option<PathBuf>,
    /// The channels by which people are told [default: DATA/channels.yaml, if there is one]
    #[arg(long, value_name = "FILE", env = "BANKSMAN_CHANNELS")]
    pub(crate) channels: Option<PathBuf>,
    /// Which identity provider vouches for people [default: DATA/identity.yaml, if there is one]
    #[arg(long, value_name = "FILE", env = "BANKSMAN_IDENTITY")]
    pub(crate) identity: Option<PathBuf>,
    /// Another name that this server is reached by; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_host: Vec<String>,
    /// The address that people reach this server by, such as https://banksman.example
    #[arg(long, value_name = "URL", env = "BANKSMAN_PUBLIC_URL", value_parser = PublicAddress::parse)]
    pub(crate) public_url: Option<PublicAddress>,
    /// How many actions of one agent may wait for people [default: 10000]
    #[arg(long, value_name = "COUNT", env = "BANKSMAN_MAX_PENDING_PER_AGENT", value_parser = value_parser!(u64).range(1..))]
    max_pending_per_agent: Option<u64>,
    /// How many actions may wait for people altogether [default: 2000000]
    #[arg(long, value_name = "COUNT", env = "BANKSMAN_MAX_PENDING", value_parser = value_parser!(u64).range(1..))]
    max_pending: Option<u64>,
    /// Requests come through a proxy of yours: believe the last entry of its X-Forwarded-For
    #[arg(long)]
    pub(crate) behind_proxy: bool,
}

impl Args {
    pub(crate) fn engine_config(&self) -> EngineConfig {
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
    let told_to_stop = told_to_stop()?;
    let folder = Folder::open_or_create(&context.globals.data)?;
    let _lock = folder.lock()?;
    let configured = Configured::read(args, &folder)?;
    // Before anything is stored: a start that ends here must not pass for the first one. And for all rounds: nobody else gets it.
    let listener = listen(args.listen)?;
    let lineage = folder.lineage()?;
    let mut has_served = false;
    while !*told_to_stop.borrow() {
        let began = Instant::now();
        // A round has a runtime of its own, with which everything ends that it left behind: keepers of held calls, streams,
        // programs. After a failover all of them remember what may never have happened.
        let runtime = runtime()?;
        let round = Round {
            args,
            context,
            folder: &folder,
            configured: &configured,
            lineage: &lineage,
            listener: &listener,
        };
        let ended = runtime.block_on(round.serve(told_to_stop.clone(), has_served));
        runtime.shutdown_timeout(Duration::from_secs(1));
        match ended {
            Ok(Ended::Told) => break,
            Ok(Ended::Overtaken(error)) => {
                tracing::error!(%error, "beginning anew");
                // Whoever is started in its place knows what this one did.
                if let Err(error) = folder.note_lineage(&lineage) {
                    tracing::error!(
                        error = format!("{error:#}"),
                        "what is known of the database cannot be noted"
                    );
                }
                has_served = true;
            }
            Err(error) if !has_served => return Err(error),
            Err(error) => tracing::error!(error = format!("{error:#}"), "cannot begin anew; trying again"),
        }
        while began.elapsed() < BETWEEN_ROUNDS && !*told_to_stop.borrow() {
            std::thread::sleep(A_MOMENT);
        }
    }
    Ok(Exit::Done.into())
}

fn listen(address: SocketAddr) -> anyhow::Result<std::net::TcpListener> {
    let runtime = runtime()?;
    let _inside = runtime.enter();
    let listener = banksman_http::listen(address).with_context(|| {
        format!(
            "cannot listen on {address}: is another server running there? `--listen` takes another address"
        )
    })?;
    Ok(listener.into_std()?)
}

/// One core is for the thread that writes to the database; on two cores, more workers would only fight it.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = cores.saturating_sub(1).max(1);
    tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build()
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
