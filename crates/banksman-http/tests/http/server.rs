//! A real server on a real socket over a real store, with credentials of every kind and a policy with every tier.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use banksman_core::{Action, Actor, Assessment, Digest, PersonId, PrincipalKind, Tier, Timestamp, Verdict};
use banksman_engine::{
    By, Clock, Engine, EngineConfig, Judge, LogSink, NewPerson, NewToken, Signer, SystemClock,
};
use banksman_http::{App, AppConfig, Hosts, PublicAddress};
use banksman_policy::{Facts, HousePolicy, Judgement, Policy};
use banksman_store::sqlite::SqliteStore;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::client::{Inbound, Request, Response, connect, exchange};
use crate::contract;

/// What each tool of these tests demands.
const POLICY: &str = "
version: 1
defaults: {timeout: 1h, claim_within: 15m, lease: 10m}
tools:
  read_file: {risk: low, tier: auto}
  post_note: {risk: medium, tier: notify}
  send_email: {risk: high, tier: approve}
  run_tests: {risk: medium, tier: approve, allow_remember: {scopes: [exact, args, tool, all_sessions]}}
  pay: {risk: high, tier: approve, roles: [finance]}
  fire: {risk: high, tier: approve, require_reason: true}
  launch: {risk: critical, tier: approve, require_passkey: true}
  land: {risk: critical, tier: escalate, quorum: 2, require_passkey: true}
  charge_card: {risk: high, tier: approve, redact: [card, '**.pin', url], message: Is it theirs?}
  delete_customer: {risk: critical, tier: escalate}
  drop_database: {risk: critical, tier: block}
";

/// The policy above; and whatever the tool, arguments that are `{\"forbidden\": …}` are blocked, so that an edit can
/// lead to a block.
struct Strict(Policy);

impl Judge for Strict {
    fn assess(&self, action: &Action) -> Assessment {
        Judge::assess(&self.0, action)
    }

    fn judge(&self, action: &Action, assessment: &Assessment, facts: &Facts<'_>) -> Verdict {
        let mut verdict = Judge::judge(&self.0, action, assessment, facts);
        if action.args.as_str().starts_with("{\"forbidden\"") {
            verdict.tier = Tier::Block;
            verdict.rule = "forbidden".into();
        }
        verdict
    }

    fn explain(&self, action: &Action, assessment: &Assessment, facts: &Facts<'_>) -> Judgement {
        Judge::explain(&self.0, action, assessment, facts)
    }

    fn policy(&self) -> Option<&Policy> {
        Some(&self.0)
    }

    fn house(&self) -> &HousePolicy {
        self.0.house()
    }

    fn digest(&self) -> Digest {
        self.0.digest()
    }
}

/// The machine's clock, which a test can set forward.
#[derive(Default)]
struct TestClock {
    ahead_micros: AtomicI64,
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        let ahead = self.ahead_micros.load(Ordering::SeqCst);
        Timestamp::from_micros(SystemClock.now().as_micros() + ahead)
    }
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) engine: Arc<Engine>,
    /// An agent whose owner is olga.
    pub(crate) riley: String,
    /// Another agent.
    pub(crate) sam: String,
    /// A reviewer.
    pub(crate) ann: String,
    /// A reviewer of the role finance.
    pub(crate) ben: String,
    /// A reviewer who is riley's owner.
    pub(crate) olga: String,
    /// An administrator.
    pub(crate) ada: String,
    pub(crate) app: App,
    clock: Arc<TestClock>,
    stop: watch::Sender<bool>,
    serving: std::sync::Mutex<Option<tokio::task::JoinHandle<()>>>,
    _folder: TempDir,
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::start_with(EngineConfig::default()).await
    }

    pub(crate) async fn start_with(config: EngineConfig) -> Self {
        Self::start_at(None, config).await
    }

    /// One that people reach by another address than its own.
    pub(crate) async fn start_at(public: Option<PublicAddress>, config: EngineConfig) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(SqliteStore::open(&folder.path().join("banksman.db")).unwrap());
        let clock = Arc::new(TestClock::default());
        let judge = Arc::new(Strict(Policy::parse("policy.yaml", POLICY).unwrap()));
        let engine =
            Engine::new(store, judge, Arc::<TestClock>::clone(&clock), Signer::new(&[7; 32]), config)
                .await
                .unwrap();
        engine.start_workers(Arc::new(LogSink));

        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopping) = watch::channel(false);
        let config = AppConfig::at(public.unwrap_or_else(|| PublicAddress::local(address)));
        let hosts = Hosts::of(address, &[config.address.host().to_owned()]);
        let app = App::new(Arc::clone(&engine), hosts, stopping.clone(), config);
        let serving = tokio::spawn(banksman_http::serve(listener, app.clone(), stopping));
        let serving = std::sync::Mutex::new(Some(serving));

        let issue = |kind, name, owner: Option<&str>, roles: &[&str]| {
            let new = NewToken {
                kind,
                name: String::from(name),
                owner: owner.map(String::from),
                roles: roles.iter().copied().map(String::from).collect(),
                lifetime: None,
            };
            token(&engine, new)
        };
        use PrincipalKind::{Admin, Agent, Reviewer};
        let riley = issue(Agent, "riley", Some("olga"), &[]).await;
        let sam = issue(Agent, "sam", None, &[]).await;
        let ann = issue(Reviewer, "ann", None, &[]).await;
        let ben = issue(Reviewer, "ben", None, &["finance"]).await;
        let olga = issue(Reviewer, "olga", None, &[]).await;
        let ada = issue(Admin, "ada", None, &[]).await;
        Self { address, engine, riley, sam, ann, ben, olga, ada, app, clock, stop, serving, _folder: folder }
    }

    /// Another credential.
    pub(crate) async fn issue(&self, kind: PrincipalKind, name: &str, lifetime: Option<Duration>) -> String {
        let new = NewToken { kind, name: name.into(), owner: None, roles: Vec::new(), lifetime };
        token(&self.engine, new).await
    }

    /// A person, added if they are new: their id.
    pub(crate) async fn person(&self, kind: PrincipalKind, name: &str, roles: &[&str]) -> PersonId {
        let known = self.engine.people(By::Operator).await.unwrap();
        if let Some(person) = known.iter().find(|person| person.name == name) {
            return person.id;
        }
        let roles = roles.iter().copied().map(String::from).collect();
        let new = NewPerson { name: name.into(), display_name: None, kind, roles };
        self.engine.add_person(By::Operator, new).await.unwrap().id
    }

    /// The code of a link that signs a person in.
    pub(crate) async fn sign_in_code(&self, name: &str) -> String {
        let id = self.person(PrincipalKind::Admin, name, &[]).await;
        self.engine.sign_in_link(id).await.unwrap().code
    }

    /// Sends a request, and holds the answer against the OpenAPI document.
    pub(crate) async fn send(&self, request: Request) -> Response {
        let response = self.send_unchecked(&request).await;
        contract::check(request.method, &request.path, &response);
        response
    }

    pub(crate) async fn send_unchecked(&self, request: &Request) -> Response {
        let bytes = request.to_bytes(&self.address.to_string());
        self.send_raw(bytes).await.expect("the server hung up")
    }

    /// Sends bytes that no client of good will would send.
    pub(crate) async fn send_raw(&self, bytes: impl Into<Vec<u8>>) -> Option<Response> {
        exchange(self.address, bytes.into()).await
    }

    /// Opens an endless answer.
    pub(crate) async fn open(&self, request: Request) -> (Response, Inbound) {
        let mut inbound = connect(self.address, request.to_bytes(&self.address.to_string())).await;
        let head = inbound.head().await.expect("the server hung up");
        contract::check(request.method, &request.path, &head);
        (head, inbound)
    }

    /// Proposes as riley, and gives what the answer says about the action.
    pub(crate) async fn propose(&self, tool: &str, args: Value) -> Value {
        self.propose_as(&self.riley, json!({"tool": tool, "args": args})).await
    }

    pub(crate) async fn propose_as(&self, agent: &str, body: Value) -> Value {
        let response = self.send(Request::post("/v1/actions", &body).by(agent)).await;
        assert!(matches!(response.status, 200 | 202), "{}", response.text());
        response.json()
    }

    /// Decides about the action as it was shown.
    pub(crate) async fn decide(&self, reviewer: &str, action: &Value, more: Value) -> Response {
        let mut body = json!({"version": action["version"], "digest": action["digest"]});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let path = format!("/v1/actions/{}/decision", id(action));
        self.send(Request::post(path, &body).by(reviewer)).await
    }

    pub(crate) async fn approve(&self, reviewer: &str, action: &Value) -> Value {
        self.decide(reviewer, action, json!({"decision": "approve"})).await.ok(200)
    }

    pub(crate) async fn claim(&self, agent: &str, action: &Value) -> Response {
        let body = json!({"digest": action["digest"]});
        self.send(Request::post(format!("/v1/actions/{}/claim", id(action)), &body).by(agent)).await
    }

    pub(crate) async fn outcome(&self, agent: &str, action: &Value, body: Value) -> Response {
        self.send(Request::post(format!("/v1/actions/{}/outcome", id(action)), &body).by(agent)).await
    }

    pub(crate) async fn cancel(&self, caller: &str, action: &Value, body: Value) -> Response {
        self.send(Request::post(format!("/v1/actions/{}/cancel", id(action)), &body).by(caller)).await
    }

    pub(crate) async fn show(&self, caller: &str, action: &Value) -> Value {
        self.send(Request::get(format!("/v1/actions/{}", id(action))).by(caller)).await.ok(200)
    }

    /// The place of the newest audit event: if it has not moved, nothing was stored.
    pub(crate) async fn newest_seq(&self) -> u64 {
        let page = self.send(Request::get("/v1/audit?limit=1").by(&self.ann)).await.ok(200);
        page["items"][0]["seq"].as_u64().unwrap()
    }

    /// Sets the clock forward; nobody has looked at deadlines yet.
    pub(crate) fn jump(&self, span: Duration) {
        let micros = i64::try_from(span.as_micros()).unwrap();
        self.clock.ahead_micros.fetch_add(micros, Ordering::SeqCst);
    }

    /// Sets the clock forward and lets the timekeeper do its round.
    pub(crate) async fn pass(&self, span: Duration) {
        self.jump(span);
        self.engine.move_overdue().await.unwrap();
    }

    /// Tells the server to end.
    pub(crate) fn stop(&self) {
        let _ = self.stop.send(true);
    }

    /// Tells it to end, and waits until it has.
    pub(crate) async fn end(&self) {
        self.stop();
        let serving = self.serving.lock().unwrap().take();
        serving.expect("it ends once").await.unwrap();
    }
}

async fn token(engine: &Engine, new: NewToken) -> String {
    engine.issue_token(new, Actor::Operator).await.unwrap().secret
}

/// The id of an action or a batch.
pub(crate) fn id(thing: &Value) -> &str {
    thing["id"].as_str().unwrap()
}
