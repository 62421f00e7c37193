//! A house with people who can be reached, channels that do as they are told, and a clock that stands still.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use banksman_core::json::parse;
use banksman_core::wire::DecisionRequest;
use banksman_core::{
    ActionId, Actor, Case, Decision, DeliveryStatus, Principal, PrincipalKind, Purpose, Timestamp,
};
use banksman_engine::{Clock, Engine, EngineConfig, NewToken, ProposeRequest, Signer};
use banksman_notify::{Channel, Message, MessageId, PostId, SendError, Sent};
use banksman_outbox::{AgentCaller, ChannelRules, Contact, Directory, JobLimits, Limits, Outbox};
use banksman_policy::Policy;
use banksman_store::sqlite::SqliteStore;
use banksman_store::{Delivery, DeliveryQuery, Store};
use tempfile::TempDir;

const POLICY: &str = "
version: 1
defaults: {timeout: 4h}
tools:
  mail:    {risk: medium, tier: notify}
  refund:  {risk: high, tier: approve}
  wire:    {risk: critical, tier: approve}
  pair:    {risk: high, tier: approve, quorum: 2}
  note:    {risk: none, tier: approve}
  payout:  {risk: high, tier: approve, roles: [finance]}
  chained:
    risk: high
    tier: approve
    roles: [finance]
    escalation: [{after: 10m, notify: again}, {after: 20m, hand_to: support}, {after: 30m, notify: again}]
";

pub(crate) const MINUTE: Duration = Duration::from_secs(60);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);

/// A clock that stands still until it is moved. It begins on a Tuesday, at 22:13:20 UTC.
pub(crate) struct FakeClock(AtomicI64);

impl Clock for FakeClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

/// A channel that does as it is told, and remembers what it was given.
#[derive(Default)]
pub(crate) struct FakeChannel {
    pub(crate) sent: Mutex<Vec<Message>>,
    pub(crate) tries: Mutex<Vec<Message>>,
    /// Whoever has this keeps messages on the way.
    pub(crate) way: tokio::sync::Mutex<()>,
    answers: Mutex<BTreeMap<String, VecDeque<SendError>>>,
    pub(crate) down: Mutex<Option<SendError>>,
    pub(crate) panics: AtomicBool,
    pub(crate) tells_repetition: AtomicBool,
    updates: bool,
}

impl FakeChannel {
    /// What the next attempts to reach an address meet; those after them succeed.
    pub(crate) fn fail_next(&self, address: &str, errors: impl IntoIterator<Item = SendError>) {
        self.answers.lock().unwrap().entry(address.to_owned()).or_default().extend(errors);
    }

    pub(crate) fn set_down(&self, error: Option<SendError>) {
        *self.down.lock().unwrap() = error;
    }

    pub(crate) fn tried(&self) -> usize {
        self.tries.lock().unwrap().len()
    }

    /// The messages that it was given, each by its name and what it is about.
    pub(crate) fn names(&self) -> Vec<(MessageId, Vec<ActionId>)> {
        let about = |message: &Message| message.cards.iter().map(|card| card.action).collect();
        let tries = self.tries.lock().unwrap();
        tries.iter().map(|message| (message.id.clone(), about(message))).collect()
    }

    /// Who was sent what, about how many actions, since this was last asked.
    pub(crate) fn take(&self) -> Vec<(String, banksman_notify::Purpose, usize)> {
        let sent = std::mem::take(&mut *self.sent.lock().unwrap());
        let told = |message: &Message| (message.to.address.clone(), message.purpose, message.cards.len());
        let mut told: Vec<_> = sent.iter().map(told).collect();
        // Several people are served at once, in whichever order.
        told.sort_by_key(|(to, purpose, cards)| (to.clone(), purpose.as_str(), *cards));
        told
    }
}

#[async_trait::async_trait]
impl Channel for FakeChannel {
    fn kind(&self) -> &'static str {
        "fake"
    }

    fn tells_of_settlement(&self) -> bool {
        self.updates
    }

    fn tells_repetition(&self, _message: &Message) -> bool {
        self.tells_repetition.load(Ordering::SeqCst)
    }

    async fn send(&self, message: &Message) -> Result<Sent, SendError> {
        self.tries.lock().unwrap().push(message.clone());
        drop(self.way.lock().await);
        assert!(!self.panics.swap(false, Ordering::SeqCst), "nobody thought of this");
        if let Some(error) = self.down.lock().unwrap().clone() {
            return Err(error);
        }
        let mut answers = self.answers.lock().unwrap();
        if let Some(error) = answers.get_mut(&message.to.address).and_then(VecDeque::pop_front) {
            return Err(error);
        }
        self.sent.lock().unwrap().push(message.clone());
        Ok(Sent { provider_id: Some(format!("m{}", message.id)), delivered: false })
    }
}

/// An agent's side that does as it is told.
#[derive(Default)]
pub(crate) struct FakeAgent {
    pub(crate) calls: Mutex<Vec<(String, String, serde_json::Value)>>,
    pub(crate) answers: Mutex<VecDeque<SendError>>,
}

#[async_trait::async_trait]
impl AgentCaller for FakeAgent {
    async fn call(&self, url: &str, id: &PostId, body: Vec<u8>) -> Result<(), SendError> {
        let body = serde_json::from_slice(&body).unwrap();
        self.calls.lock().unwrap().push((url.to_owned(), id.as_str().to_owned(), body));
        self.answers.lock().unwrap().pop_front().map_or(Ok(()), Err)
    }
}

pub(crate) struct World {
    pub(crate) engine: Arc<Engine>,
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) chat: Arc<FakeChannel>,
    pub(crate) push: Arc<FakeChannel>,
    pub(crate) agent_side: Arc<FakeAgent>,
    pub(crate) ann: Arc<Principal>,
    pub(crate) bea: Arc<Principal>,
    pub(crate) riley: Arc<Principal>,
    store: Arc<SqliteStore>,
    clock: Arc<FakeClock>,
    directory: Directory,
    _folder: TempDir,
}

pub(crate) fn contact(addresses: &[(&str, &str)]) -> Contact {
    let addresses =
        addresses.iter().map(|(channel, address)| ((*channel).into(), (*address).into())).collect();
    Contact { addresses, time_zone: "UTC".into(), ..Contact::default() }
}

/// Ann of finance has chat and push, Bea of support has chat, and there is a room in chat.
pub(crate) fn directory() -> Directory {
    let people =
        [("ann", contact(&[("chat", "@ann"), ("push", "+ann")])), ("bea", contact(&[("chat", "@bea")]))];
    Directory {
        console: "https://gate.example".into(),
        people: people.map(|(name, contact)| (name.to_owned(), contact)).into(),
        places: BTreeMap::new(),
        channels: ["chat", "push"].map(|name| (name.to_owned(), ChannelRules::default())).into(),
        limits: Limits::default(),
    }
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(directory(), "").await
    }

    pub(crate) async fn with(directory: Directory, more: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let clock = Arc::new(FakeClock(AtomicI64::new(1_700_000_000_000_000)));
        let of_store = Arc::clone(&clock);
        let path = folder.path().join("banksman.db");
        let store = Arc::new(SqliteStore::open_with_clock(&path, move || of_store.now()).unwrap());
        let policy = Policy::parse("policy.yaml", &format!("{POLICY}{more}"))
            .unwrap_or_else(|error| panic!("{error}"));
        let engine = Engine::new(
            Arc::clone(&store) as _,
            Arc::new(policy),
            Arc::clone(&clock) as _,
            Signer::new(&[7; 32]),
            EngineConfig::default(),
        )
        .await
        .unwrap();
        let ann = introduce(&engine, PrincipalKind::Reviewer, "ann", &["finance"]).await;
        let bea = introduce(&engine, PrincipalKind::Reviewer, "bea", &["support"]).await;
        let riley = introduce(&engine, PrincipalKind::Agent, "riley", &[]).await;
        let chat = Arc::new(FakeChannel { updates: true, ..FakeChannel::default() });
        let (push, agent_side) = (Arc::<FakeChannel>::default(), Arc::<FakeAgent>::default());
        let outbox = office(&engine, &directory, &chat, &push, &agent_side);
        // What happened before anyone was told of anything is no news.
        outbox.read_once().await.unwrap();
        Self {
            engine,
            outbox,
            chat,
            push,
            agent_side,
            ann,
            bea,
            riley,
            store,
            clock,
            directory,
            _folder: folder,
        }
    }

    /// Everything in memory is gone, and another node goes on with what is stored.
    pub(crate) fn restart(&mut self) {
        self.outbox = office(&self.engine, &self.directory, &self.chat, &self.push, &self.agent_side);
    }

    /// The same house after a restart with another `channels.yaml`.
    pub(crate) fn with_other_recipients(mut self, directory: Directory) -> Self {
        self.directory = directory;
        self.restart();
        self
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn pass(&self, time: Duration) {
        self.clock.0.fetch_add(i64::try_from(time.as_micros()).unwrap(), Ordering::SeqCst);
    }

    pub(crate) async fn propose(&self, body: &str) -> Arc<Case> {
        let request = ProposeRequest::from_json(parse(body.as_bytes()).unwrap(), None).unwrap();
        self.engine.propose(&self.riley, request).await.unwrap().case
    }

    pub(crate) async fn hold(&self, tool: &str, number: u32) -> Arc<Case> {
        self.propose(&format!(r#"{{"tool":"{tool}","args":{{"number":{number}}}}}"#)).await
    }

    pub(crate) async fn decide(&self, case: &Case, decision: Decision) -> Arc<Case> {
        let request = DecisionRequest {
            decision,
            version: case.version,
            digest: case.submission.digest,
            reason: Some("because".into()),
            args: None,
            message: None,
            remember: None,
        };
        self.engine.decide(&self.ann, case.id, request).await.unwrap()
    }

    /// Plans and sends all that there is to plan and send at this moment.
    pub(crate) async fn work(&self) {
        self.engine.move_overdue().await.unwrap();
        while self.engine.dispatch_once(&*self.outbox).await.unwrap() > 0 {}
        while self.outbox.read_once().await.unwrap() > 0 {}
        for channel in ["chat", "push"] {
            while self.outbox.carry_once(channel).await.unwrap() > 0 {}
        }
        while self.outbox.call_once().await.unwrap() > 0 {}
    }

    pub(crate) async fn deliveries(&self, action: ActionId) -> Vec<Delivery> {
        let query = DeliveryQuery { action: Some(action), limit: 100, ..DeliveryQuery::default() };
        let mut found = self.store.deliveries(query).await.unwrap();
        found.reverse();
        found
    }

    /// The purposes and standings of an action's messages, in order.
    pub(crate) async fn standings(&self, action: ActionId) -> Vec<(Purpose, DeliveryStatus)> {
        self.deliveries(action).await.iter().map(|delivery| (delivery.purpose, delivery.status)).collect()
    }

    /// How often the audit log says that someone was told, or never will be.
    pub(crate) async fn recorded(&self) -> usize {
        self.events("notified").await.len()
    }

    /// What the audit log says of a kind, in order.
    pub(crate) async fn events(&self, kind: &str) -> Vec<serde_json::Value> {
        let query = banksman_store::EventQuery::following(0, 10_000);
        let events = self.engine.events(query).await.unwrap();
        let of_kind = events.iter().filter(|event| event.kind == kind);
        of_kind.map(|event| serde_json::from_str(&event.body).unwrap()).collect()
    }
}

fn office(
    engine: &Arc<Engine>,
    directory: &Directory,
    chat: &Arc<FakeChannel>,
    push: &Arc<FakeChannel>,
    agent_side: &Arc<FakeAgent>,
) -> Arc<Outbox> {
    let mut channels: BTreeMap<String, Arc<dyn Channel>> = BTreeMap::new();
    channels.insert("chat".into(), Arc::clone(chat) as _);
    channels.insert("push".into(), Arc::clone(push) as _);
    let outbox = Outbox::new(Arc::clone(engine), directory.clone(), channels);
    Arc::new(outbox.with_errands(Arc::clone(agent_side) as _, JobLimits::default()))
}

async fn introduce(engine: &Engine, kind: PrincipalKind, name: &str, roles: &[&str]) -> Arc<Principal> {
    let roles = roles.iter().map(ToString::to_string).collect();
    let new = NewToken { kind, name: name.into(), owner: None, roles, lifetime: None };
    let issued = engine.issue_token(new, Actor::Operator).await.unwrap();
    engine.authenticate(&issued.secret).await.unwrap()
}

pub(crate) fn later(why: &str) -> SendError {
    SendError::later(why)
}
