//! A whole Banksman with a gateway, on a real socket over a real store.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use banksman_core::wire::DecisionRequest;
use banksman_core::{ActionId, Actor, Case, Decision, Principal, PrincipalKind, Status};
use banksman_engine::{Engine, EngineConfig, LogSink, NewToken, Signer, SystemClock};
use banksman_http::{App, AppConfig, Hosts, PublicAddress};
use banksman_mcp::{Config, Gateway};
use banksman_policy::Policy;
use banksman_store::CaseQuery;
use banksman_store::sqlite::SqliteStore;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use crate::client::Client;

/// `send` and what else it names is held; `wipe` never runs; the rest is free.
const POLICY: &str = "
version: 1
defaults: {timeout: 1h, claim_within: 15m, lease: 10m}
tools:
  '*': {risk: low, tier: auto}
  'send*': {risk: high, tier: approve}
  wipe: {risk: critical, tier: block}
";

const PINS: &str = "mcp-tools.json";

pub(crate) struct World {
    pub(crate) engine: Arc<Engine>,
    pub(crate) address: SocketAddr,
    pub(crate) agent: String,
    pub(crate) other_agent: String,
    pub(crate) reviewer: String,
    /// Everything of it runs here, so that all of it can be ended at once.
    runtime: Option<Runtime>,
    _stop: watch::Sender<bool>,
    folder: Arc<TempDir>,
    config: String,
}

impl World {
    pub(crate) async fn start(config: &str) -> Self {
        Self::over(Arc::new(tempfile::tempdir().unwrap()), config, None, None).await
    }

    async fn over(
        folder: Arc<TempDir>,
        config: &str,
        tokens: Option<(String, String, String)>,
        port: Option<u16>,
    ) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let entered = runtime.handle().clone();
        let (folder, config) = (folder, config.to_owned());
        let mut world = entered.spawn(Self::inside(folder, config, tokens, port)).await.unwrap();
        world.runtime = Some(runtime);
        world
    }

    async fn inside(
        folder: Arc<TempDir>,
        config: String,
        tokens: Option<(String, String, String)>,
        port: Option<u16>,
    ) -> Self {
        let store = Arc::new(SqliteStore::open(&folder.path().join("banksman.db")).unwrap());
        let policy = Arc::new(Policy::parse("policy.yaml", POLICY).unwrap());
        let signer = Signer::new(&[7; 32]);
        let engine =
            Engine::new(store, policy, Arc::new(SystemClock), signer, EngineConfig::default()).await.unwrap();
        engine.start_workers(Arc::new(LogSink));
        let listener = TcpListener::bind(("127.0.0.1", port.unwrap_or(0))).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopping) = watch::channel(false);
        let parsed = Config::parse("mcp.yaml", &config).unwrap().reviewed_at(&format!("http://{address}"));
        let pins: PathBuf = folder.path().join(PINS);
        let gateway = Gateway::new(Arc::clone(&engine), parsed, Some(pins)).unwrap();
        gateway.start_workers();
        let hosts = Hosts::of(address, &[]);
        let app_config = AppConfig { gateway: Some(gateway), ..AppConfig::at(PublicAddress::local(address)) };
        let app = App::new(Arc::clone(&engine), hosts, stopping.clone(), app_config);
        tokio::spawn(banksman_http::serve(listener, app, stopping));
        let (agent, other_agent, reviewer) = match tokens {
            Some(tokens) => tokens,
            None => {
                let issue = async |kind, name: &str| {
                    let new =
                        NewToken { kind, name: name.into(), owner: None, roles: Vec::new(), lifetime: None };
                    engine.issue_token(new, Actor::Operator).await.unwrap().secret
                };
                (
                    issue(PrincipalKind::Agent, "riley").await,
                    issue(PrincipalKind::Agent, "sam").await,
                    issue(PrincipalKind::Reviewer, "ann").await,
                )
            }
        };
        Self { engine, address, agent, other_agent, reviewer, runtime: None, _stop: stop, folder, config }
    }

    /// Ends everything at once, as a kill would, and starts again over what is stored.
    pub(crate) async fn restart(mut self) -> Self {
        self.end();
        tokio::time::sleep(Duration::from_millis(100)).await;
        let tokens = (self.agent.clone(), self.other_agent.clone(), self.reviewer.clone());
        let (folder, port) = (Arc::clone(&self.folder), self.address.port());
        Self::over(folder, &self.config.clone(), Some(tokens), Some(port)).await
    }

    /// Another node over the same store.
    pub(crate) async fn neighbour(&self) -> Self {
        let tokens = (self.agent.clone(), self.other_agent.clone(), self.reviewer.clone());
        Self::over(Arc::clone(&self.folder), &self.config, Some(tokens), None).await
    }

    /// Ends all that runs, at once; what is stored stays.
    pub(crate) fn end(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }

    /// Where the definitions of tools are remembered.
    pub(crate) fn pins(&self) -> PathBuf {
        self.folder.path().join(PINS)
    }

    pub(crate) fn client(&self, path: &str) -> Client {
        Client::new(format!("http://{}{path}", self.address), &self.agent)
    }

    pub(crate) fn other_client(&self, path: &str) -> Client {
        Client::new(format!("http://{}{path}", self.address), &self.other_agent)
    }

    pub(crate) async fn ann(&self) -> Arc<Principal> {
        self.engine.authenticate(&self.reviewer).await.unwrap()
    }

    /// The one action that waits, as soon as it does.
    pub(crate) async fn pending(&self) -> Case {
        self.all_pending(1).await.remove(0)
    }

    /// The actions that wait, as soon as so many do. Clients that are programs take their time to start.
    pub(crate) async fn all_pending(&self, count: usize) -> Vec<Case> {
        for _ in 0..3000 {
            let found = self.engine.actions(CaseQuery::pending(10)).await.unwrap();
            if found.len() >= count {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("there are not {count} that wait");
    }

    pub(crate) async fn decide(&self, case: &Case, decision: Decision, request: Said<'_>) {
        let request = DecisionRequest {
            decision,
            version: case.version,
            digest: case.submission.digest,
            reason: request.reason.map(str::to_owned),
            args: request.args.map(|args| serde_json::from_str(args).unwrap()),
            message: request.message.map(str::to_owned),
            remember: None,
        };
        self.engine.decide(&*self.ann().await, case.id, request).await.unwrap();
    }

    pub(crate) async fn approve(&self) -> ActionId {
        let case = self.pending().await;
        self.decide(&case, Decision::Approve, Said::default()).await;
        case.id
    }

    /// The action once it has this status.
    pub(crate) async fn becomes(&self, id: ActionId, status: Status) -> Arc<Case> {
        let ann = self.ann().await;
        for _ in 0..500 {
            let case = self.engine.action(&ann, id).await.unwrap();
            if case.status() == status {
                return case;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("it is {:?}", self.engine.action(&ann, id).await.unwrap().state);
    }

    pub(crate) async fn count(&self, status: Status) -> usize {
        let query = CaseQuery { status: Some(status), ..CaseQuery::newest(1000) };
        self.engine.actions(query).await.unwrap().len()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.end();
    }
}

/// What goes with a decision.
#[derive(Default)]
pub(crate) struct Said<'a> {
    pub(crate) reason: Option<&'a str>,
    pub(crate) message: Option<&'a str>,
    pub(crate) args: Option<&'a str>,
}
