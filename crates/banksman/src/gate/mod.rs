//! The gate on the agent's side: may this run now? Hooks, `exec` and the shell guard all ask here.
//!
//! A server answers if one is configured; otherwise the policy at hand does. A server that is configured and does
//! not answer is never replaced by the policy at hand: that would let whoever can cut the line choose who decides.

mod embedded;
mod installed;
mod server;
mod vigil;

use std::path::{Path, PathBuf};
use std::time::Instant;

use banksman_client::Client;
use banksman_core::json::CanonicalJson;
use banksman_core::wire::ActionView;
use banksman_core::{Action, ActionId, Assessment, Verdict};

use crate::cli::{DEFAULT_DATA, DEFAULT_URL};
use crate::context::Context;
use crate::exit::{Exit, stop};

pub(crate) use embedded::{Embedded, refusal};
pub(crate) use installed::{Installed, Settings};
pub(crate) use server::ServerGate;
pub(crate) use vigil::{Leave, code_of_signal};

/// Who says whether something may run.
pub(crate) enum Gate {
    /// A running Banksman.
    Server(ServerGate),
    /// The policy at hand. Nothing is recorded, and nobody but the person at the terminal can be asked.
    Embedded(Box<Embedded>),
}

/// Hears of a hold, and where it can be decided.
type OnHold<'a> = &'a dyn Fn(&ActionView, &str);

/// An action, and how long to wait for whoever decides.
pub(crate) struct Question<'a> {
    pub(crate) action: &'a Action,
    /// Who asks, where no credential says so.
    pub(crate) agent: &'a str,
    /// Makes a repeated question the same question.
    pub(crate) key: Option<&'a str>,
    /// When to stop waiting; a person may take as long as policy allows if there is no such moment.
    pub(crate) until: Option<Instant>,
    /// Whether whoever asks can run other arguments than it asked for.
    pub(crate) takes_edits: bool,
    /// Told when it is held, with the server's address, for whoever waits at a terminal.
    pub(crate) on_hold: Option<OnHold<'a>>,
    /// How to end when a signal comes while a server is waited for.
    pub(crate) leave: Option<Leave>,
}

/// What came of the question.
#[derive(Debug)]
pub(crate) enum Ruling {
    /// It may run, once, with exactly these arguments.
    Allowed(Clearance),
    /// A person has to see it, and there is no server that would ask one.
    NeedsPerson(Box<Unseen>),
    /// A reviewer changed the arguments, and whoever asks cannot run others than its own. Nothing is claimed.
    Edited { args: CanonicalJson, words: String },
    /// It may not run.
    Denied(Denial),
    /// The server that should say does not.
    Unreachable(String),
}

/// Leave to run.
#[derive(Debug)]
pub(crate) struct Clearance {
    /// What may run: not always what was asked.
    pub(crate) args: CanonicalJson,
    /// Whether a reviewer changed the arguments.
    pub(crate) modified: bool,
    /// The claimed action, to report the outcome of.
    pub(crate) claimed: Option<ActionId>,
    /// Why, for whoever reads along.
    pub(crate) words: String,
    /// Whether someone who decided has words for the agent among them.
    pub(crate) said: bool,
}

/// What a person has to see before it may run.
#[derive(Debug)]
pub(crate) struct Unseen {
    pub(crate) assessment: Assessment,
    pub(crate) verdict: Verdict,
    /// Whether policy wanted an evaluator asked that only a server asks.
    unasked: bool,
}

/// A refusal.
#[derive(Debug)]
pub(crate) struct Denial {
    /// For the agent: why, and what to do instead.
    pub(crate) words: String,
    /// For scripts.
    pub(crate) exit: Exit,
}

impl Denial {
    pub(crate) fn new(exit: Exit, words: impl Into<String>) -> Self {
        Self { words: words.into(), exit }
    }
}

/// Where a command looks for whoever decides.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Where {
    /// Without a server: judge by this policy
    #[arg(long, value_name = "PATH", env = "BANKSMAN_POLICY")]
    pub(crate) policy: Option<PathBuf>,
    /// What `banksman setup` has written; it comes before the environment
    #[arg(long, value_name = "FILE", hide = true)]
    pub(crate) installed: Option<PathBuf>,
}

impl Gate {
    /// The gate that is configured.
    pub(crate) fn open(place: &Where, context: &Context) -> anyhow::Result<Self> {
        if let Some(path) = &place.installed {
            let installed = Installed::read(path)?;
            return match installed.server()? {
                Some((url, token)) => Self::server(url, token),
                None => Self::embedded(installed.policy.as_deref()),
            };
        }
        let globals = &context.globals;
        let url = context.names_server().then(|| globals.url.trim());
        let token = globals.token.as_ref().map(crate::cli::Secret::reveal).filter(|token| !token.is_empty());
        match (url, token) {
            (url, Some(token)) => Self::server(url.unwrap_or(DEFAULT_URL), token),
            (Some(_), None) => Err(stop(
                Exit::NotAllowed,
                "BANKSMAN_URL names a server, but there is no BANKSMAN_TOKEN to show it: get an agent's with\n\
                 \x20   banksman token new --kind agent --name NAME --data DIR",
            )),
            (None, None) => Self::embedded(chosen_policy(place.policy.as_deref(), context).as_deref()),
        }
    }

    fn server(url: &str, token: &str) -> anyhow::Result<Self> {
        let client = Client::new(url, token).map_err(|error| stop(Exit::Usage, error.to_string()))?;
        Ok(Self::Server(ServerGate::new(client)))
    }

    fn embedded(policy: Option<&Path>) -> anyhow::Result<Self> {
        Ok(Self::Embedded(Box::new(Embedded::load(policy)?)))
    }

    /// May this run now? If it may, and there is a server, it is claimed.
    pub(crate) fn ask(&self, question: &Question<'_>, context: &Context) -> Ruling {
        match self {
            Self::Server(server) => server.ask(question),
            Self::Embedded(embedded) => embedded.ask(question, context.now),
        }
    }
}

/// The policy that was named, or that of a data folder that was named.
///
/// The usual data folder does not count: it lies in the current folder, which is often a repository, and whoever
/// wrote the repository would be choosing the policy.
pub(crate) fn chosen_policy(named: Option<&Path>, context: &Context) -> Option<PathBuf> {
    let named = named.filter(|path| !path.as_os_str().is_empty());
    named.map(Path::to_owned).or_else(|| {
        let data = &context.globals.data;
        let policy = data.join("policy.yaml");
        (data != Path::new(DEFAULT_DATA) && policy.exists()).then_some(policy)
    })
}
