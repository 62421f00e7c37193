//! A house with people, agents and a clock.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use banksman_core::audit::Event;
use banksman_core::json::{CanonicalJson, parse};
use banksman_core::wire::DecisionRequest;
use banksman_core::{
    ActionId, Actor, Case, ClaimRequest, Decision, PersonId, Principal, PrincipalKind, Refusal, Timestamp,
};
use banksman_engine::{
    Claimed, Clock, Engine, EngineConfig, EngineError, IssuedToken, Judge, NewToken, ProposeRequest,
    Proposed, QueueLimits, Signer,
};
use banksman_policy::Policy;
use banksman_store::sqlite::SqliteStore;
use banksman_store::{CaseQuery, Commit, ControlChange, EventQuery, Order, PendingLimits, Person, Store};
use tempfile::TempDir;

use crate::faulty::FaultyStore;

/// One tool for each thing that policy can demand.
const POLICY: &str = "
version: 1
defaults: {timeout: 1h, claim_within: 15m, lease: 10m}
tools:
  read:    {risk: low, tier: auto}
  mail:    {risk: medium, tier: notify}
  refund:  {risk: high, tier: approve}
  deploy:  {risk: high, tier: approve, allow_remember: {scopes: [exact, args, tool, all_sessions]}}
  explain: {risk: high, tier: approve, require_reason: true}
  drop:    {risk: critical, tier: escalate}
  payout:  {risk: critical, tier: escalate, roles: [finance, support]}
  wipe:    {risk: critical, tier: block}
";

pub(crate) const HOUR: Duration = Duration::from_secs(3600);
pub(crate) const QUARTER: Duration = Duration::from_secs(900);
pub(crate) const LEASE: Duration = Duration::from_secs(600);
pub(crate) const INSTANT: Duration = Duration::from_micros(1);

/// A clock that stands still until it is moved.
pub(crate) struct FakeClock(AtomicI64);

impl FakeClock {
    pub(crate) fn pass(&self, time: Duration) {
        self.0.fetch_add(i64::try_from(time.as_micros()).unwrap(), Ordering::SeqCst);
    }

    /// Someone sets it back.
    pub(crate) fn set_back(&self, time: Duration) {
        self.0.fetch_sub(i64::try_from(time.as_micros()).unwrap(), Ordering::SeqCst);
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

/// The engine, those who use it, and what is behind it.
pub(crate) struct World {
    pub(crate) engine: Arc<Engine>,
    pub(crate) store: Arc<FaultyStore>,
    pub(crate) clock: Arc<FakeClock>,
    /// An administrator.
    pub(crate) ada: Arc<Principal>,
    /// Reviewers: of finance, of support, of nothing, and the owner of Riley.
    pub(crate) ann: Arc<Principal>,
    pub(crate) bea: Arc<Principal>,
    pub(crate) cem: Arc<Principal>,
    pub(crate) olga: Arc<Principal>,
    /// Agents; Riley is Olga's.
    pub(crate) riley: Arc<Principal>,
    pub(crate) bo: Arc<Principal>,
    folder: TempDir,
    policy: String,
    closed: Closed,
}

/// Whether a test has ended as it should.
#[derive(Default)]
struct Closed(bool);

impl Drop for Closed {
    fn drop(&mut self) {
        assert!(self.0 || std::thread::panicking(), "end the test with close()");
    }
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with_policy("").await
    }

    /// A house whose policy says this too.
    pub(crate) async fn with_policy(more: &str) -> Self {
        let text = format!("{POLICY}{more}");
        let policy = Policy::parse("policy.yaml", &text).unwrap_or_else(|error| panic!("{error}"));
        Self { policy: text, ..Self::with(Arc::new(policy), EngineConfig::default()).await }
    }

    pub(crate) async fn with_judge(judge: impl Judge) -> Self {
        Self::with(Arc::new(judge), EngineConfig::default()).await
    }

    pub(crate) async fn with_limits(limits: PendingLimits) -> Self {
        // Nobody stands in line: what has no room is refused at once.
        let queue = QueueLimits { total: 0, ..QueueLimits::default() };
        Self::with_queue(limits, queue).await
    }

    pub(crate) async fn with_queue(limits: PendingLimits, queue: QueueLimits) -> Self {
        let config = EngineConfig { limits, queue };
        Self::with(Arc::new(Policy::parse("policy.yaml", POLICY).unwrap()), config).await
    }

    async fn with(judge: Arc<dyn Judge>, config: EngineConfig) -> Self {
        let folder = TempDir::new().unwrap();
        let clock = Arc::new(FakeClock(AtomicI64::new(1_700_000_000_000_000)));
        let store = Arc::new(FaultyStore::over(open(&folder, &clock)));
        let engine = start(&store, judge, &clock, config).await;
        let known = |kind, name, owner, roles| introduce(&engine, kind, name, owner, roles);
        Self {
            ada: known(PrincipalKind::Admin, "ada", None, &[]).await,
            ann: known(PrincipalKind::Reviewer, "ann", None, &["finance"]).await,
            bea: known(PrincipalKind::Reviewer, "bea", None, &["support"]).await,
            cem: known(PrincipalKind::Reviewer, "cem", None, &[]).await,
            olga: known(PrincipalKind::Reviewer, "olga", None, &["finance", "support"]).await,
            riley: known(PrincipalKind::Agent, "riley", Some("olga"), &[]).await,
            bo: known(PrincipalKind::Agent, "bo", None, &[]).await,
            engine,
            store,
            clock,
            folder,
            policy: POLICY.into(),
            closed: Closed::default(),
        }
    }

    /// Another engine over the same store, as after a restart: it remembers nothing.
    pub(crate) async fn restarted(&self) -> Arc<Engine> {
        let judge = Arc::new(Policy::parse("policy.yaml", &self.policy).unwrap());
        start(&self.store, judge, &self.clock, EngineConfig::default()).await
    }

    /// The engine dies, and another takes its place.
    pub(crate) async fn restart(&mut self) {
        self.engine = self.restarted().await;
    }

    /// Another process on the same database file, as the command line is beside the server.
    pub(crate) async fn neighbour(&self) -> Arc<Engine> {
        self.neighbour_with(Policy::parse("policy.yaml", POLICY).unwrap()).await
    }

    /// The same, by another policy.
    pub(crate) async fn neighbour_with(&self, judge: impl Judge) -> Arc<Engine> {
        let store = Arc::new(FaultyStore::over(open(&self.folder, &self.clock)));
        start(&store, Arc::new(judge), &self.clock, EngineConfig::default()).await
    }

    pub(crate) async fn issue(&self, kind: PrincipalKind, name: &str) -> IssuedToken {
        let new = NewToken { kind, name: name.into(), owner: None, roles: Vec::new(), lifetime: None };
        self.engine.issue_token(new, Actor::Operator).await.unwrap()
    }

    /// A proposal that is taken.
    /// Has someone come in by a link of another's, with nobody else to say that these are two people.
    pub(crate) async fn bring_in(&self, name: &str, roles: &[&str], sponsor: &str) {
        let (id, kind) = (PersonId::from_parts(1, 1), PrincipalKind::Reviewer);
        let roles = roles.iter().map(|role| (*role).to_owned()).collect();
        let person = Person::new(id, name.into(), kind, roles, self.clock.now());
        let person = Person { brought_by: Some(sponsor.into()), ..person };
        let control = vec![ControlChange::PutPerson(Box::new(person))];
        self.store.commit(Commit { control, ..Commit::default() }).await.unwrap();
    }

    pub(crate) async fn propose(&self, agent: &Principal, tool: &str, args: &str) -> Arc<Case> {
        self.engine.propose(agent, request(tool, args)).await.unwrap().case
    }

    /// A refund of Riley's that waits.
    pub(crate) async fn held(&self) -> Arc<Case> {
        self.propose(&self.riley, "refund", r#"{"amount":5}"#).await
    }

    /// Another one that waits.
    pub(crate) async fn held_other(&self) -> Arc<Case> {
        self.propose(&self.riley, "refund", r#"{"amount":6}"#).await
    }

    /// A refund of Riley's that Ann approved.
    pub(crate) async fn approved(&self) -> Arc<Case> {
        let case = self.held().await;
        self.approve(&self.ann, &case).await.unwrap()
    }

    pub(crate) async fn decide(
        &self,
        reviewer: &Principal,
        case: &Case,
        decision: Decision,
    ) -> Result<Arc<Case>, EngineError> {
        self.engine.decide(reviewer, case.id, ballot(case, decision)).await
    }

    pub(crate) async fn approve(&self, reviewer: &Principal, case: &Case) -> Result<Arc<Case>, EngineError> {
        self.decide(reviewer, case, Decision::Approve).await
    }

    pub(crate) async fn claim(&self, agent: &Principal, case: &Case) -> Result<Claimed, EngineError> {
        self.engine.claim(agent, case.id, claim_of(case)).await
    }

    /// The action as it is stored.
    pub(crate) async fn stored(&self, id: ActionId) -> Case {
        self.store.case(id).await.unwrap().unwrap()
    }

    pub(crate) async fn all_cases(&self) -> Vec<Case> {
        let query = CaseQuery { order: Order::Ascending, ..CaseQuery::newest(100_000) };
        self.store.cases(query).await.unwrap()
    }

    /// The types of the events about an action, in order.
    pub(crate) async fn story(&self, id: ActionId) -> Vec<String> {
        let query = EventQuery { action: Some(id), ..EventQuery::following(0, 100_000) };
        self.store.events(query).await.unwrap().into_iter().map(|event| event.kind).collect()
    }

    /// What is in the outbox, in order.
    pub(crate) async fn notices(&self) -> Vec<String> {
        self.store.notices(100_000).await.unwrap().into_iter().map(|notice| notice.notice).collect()
    }

    /// The end of every test: state and audit have not diverged, and the engine sees what is stored.
    pub(crate) async fn close(mut self) {
        self.closed.0 = true;
        assert!(self.store.is_spent(), "a fault did not happen");
        let events = self.store.events(EventQuery::following(0, 1_000_000)).await.unwrap();
        let places: Vec<u64> = events.iter().map(|event| event.seq).collect();
        assert_eq!(places, (1..=self.store.last_seq().await.unwrap()).collect::<Vec<_>>());
        let mut recorded: HashMap<ActionId, Vec<_>> = HashMap::new();
        for stored in &events {
            let event = Event::from_bytes(stored.body.as_bytes()).unwrap();
            if let Some(action) = event.action {
                recorded.entry(action.id).or_default().push(action);
            }
        }
        for case in self.all_cases().await {
            let story = recorded.remove(&case.id).unwrap_or_default();
            let revisions: Vec<u64> = story.iter().map(|action| action.revision).collect();
            assert_eq!(revisions, (1..=case.revision).collect::<Vec<_>>(), "{case:?}");
            let last = story.last().unwrap();
            assert_eq!(
                (last.status, last.version, last.digest),
                (case.status(), case.version, case.submission.digest)
            );
            assert_eq!(case.submission.digest, case.submission.action.digest());
            let seen = self.engine.action(&self.ada, case.id).await.unwrap();
            assert_eq!(*seen, case, "the engine remembers something else than is stored");
        }
        assert!(recorded.is_empty(), "events about actions that are not there: {recorded:?}");
    }
}

/// Engines over one store that nobody has used yet, and the folder that it is in.
pub(crate) async fn newcomers(count: usize) -> (Vec<Arc<Engine>>, Arc<FaultyStore>, TempDir) {
    let folder = TempDir::new().unwrap();
    let clock = Arc::new(FakeClock(AtomicI64::new(1_700_000_000_000_000)));
    let store = Arc::new(FaultyStore::over(open(&folder, &clock)));
    let mut engines = Vec::new();
    for _ in 0..count {
        let judge = Arc::new(Policy::parse("policy.yaml", POLICY).unwrap());
        engines.push(start(&store, judge, &clock, EngineConfig::default()).await);
    }
    (engines, store, folder)
}

async fn start(
    store: &Arc<FaultyStore>,
    judge: Arc<dyn Judge>,
    clock: &Arc<FakeClock>,
    config: EngineConfig,
) -> Arc<Engine> {
    let store: Arc<dyn Store> = Arc::clone(store) as _;
    Engine::new(store, judge, Arc::clone(clock) as _, Signer::new(&[7; 32]), config).await.unwrap()
}

async fn introduce(
    engine: &Engine,
    kind: PrincipalKind,
    name: &str,
    owner: Option<&str>,
    roles: &[&str],
) -> Arc<Principal> {
    let roles = roles.iter().map(ToString::to_string).collect();
    let new = NewToken { kind, name: name.into(), owner: owner.map(Into::into), roles, lifetime: None };
    let issued = engine.issue_token(new, Actor::Operator).await.unwrap();
    engine.authenticate(&issued.secret).await.unwrap()
}

pub(crate) fn json(text: &str) -> CanonicalJson {
    CanonicalJson::parse(text.as_bytes()).unwrap()
}

/// A proposal as it comes in.
pub(crate) fn request(tool: &str, args: &str) -> ProposeRequest {
    body(&format!(r#"{{"tool":"{tool}","args":{args}}}"#), None)
}

pub(crate) fn body(text: &str, key: Option<&str>) -> ProposeRequest {
    ProposeRequest::from_json(parse(text.as_bytes()).unwrap(), key.map(Into::into)).unwrap()
}

/// A decision about what the reviewer saw.
pub(crate) fn ballot(case: &Case, decision: Decision) -> DecisionRequest {
    DecisionRequest {
        decision,
        version: case.version,
        digest: case.submission.digest,
        reason: None,
        args: None,
        message: None,
        remember: None,
    }
}

pub(crate) fn edit(case: &Case, args: &str) -> DecisionRequest {
    DecisionRequest { args: Some(json(args)), ..ballot(case, Decision::Modify) }
}

pub(crate) fn claim_of(case: &Case) -> ClaimRequest {
    ClaimRequest { digest: case.submission.digest, preconditions: None }
}

/// The refusal that a verb met.
pub(crate) fn refusal<T>(result: Result<T, EngineError>) -> Refusal {
    match result {
        Err(EngineError::Refused { refusal, .. }) => refusal,
        Err(error) => panic!("expected a refusal, got {error:?}"),
        Ok(_) => panic!("expected a refusal, but it was done"),
    }
}

/// The error that a verb met.
pub(crate) fn error<T>(result: Result<T, EngineError>) -> EngineError {
    match result {
        Err(error) => error,
        Ok(_) => panic!("expected an error, but it was done"),
    }
}

/// Whether a proposal was joined, and with what.
pub(crate) fn joined(proposed: &Proposed) -> (bool, ActionId) {
    (proposed.joined, proposed.case.id)
}

/// The database in a folder, with the clock that the engine goes by.
fn open(folder: &TempDir, clock: &Arc<FakeClock>) -> Arc<SqliteStore> {
    let clock = Arc::clone(clock);
    Arc::new(SqliteStore::open_with_clock(&folder.path().join("banksman.db"), move || clock.now()).unwrap())
}
