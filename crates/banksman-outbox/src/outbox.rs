//! The outbox: what the workers share, and how they are started.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use banksman_core::{Case, Timestamp};
use banksman_engine::{Engine, EngineError, LogSink, NoticeSink};
use banksman_notify::{Card, Channel, Message, MessageId, Purpose, SendError, Sent, Showing};
use banksman_store::{NewDelivery, StoredNotice};
use tokio::sync::Notify;
use tokio::task::{JoinHandle, JoinSet};

use crate::attend::Allowance;
use crate::jobs::Errands;
use crate::plan::{Situation, plan};
use crate::{AgentCaller, Directory, JobLimits};

/// Who is told of what, and by which channels.
pub struct Outbox {
    pub(crate) engine: Arc<Engine>,
    pub(crate) directory: Directory,
    pub(crate) channels: BTreeMap<String, Arc<dyn Channel>>,
    pub(crate) errands: Option<Errands>,
    /// Rings when something was planned.
    pub(crate) planned: Notify,
    /// How far this node has read the log; the place in the store may be behind.
    pub(crate) read_to: AtomicU64,
    /// How much more of what is refused goes on record one by one.
    pub(crate) allowance: Allowance,
    /// When each channel last took something, as far as this node knows.
    worked: Mutex<HashMap<String, Timestamp>>,
}

/// Why a test message did not go out.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each says what it is")]
pub enum TestError {
    #[error("there is no channel {0:?}")]
    NoChannel(String),
    #[error("{0:?} has no address on this channel")]
    NoAddress(String),
    #[error(transparent)]
    NotSent(SendError),
}

impl Outbox {
    /// An outbox over an engine.
    #[must_use]
    pub fn new(
        engine: Arc<Engine>,
        directory: Directory,
        channels: BTreeMap<String, Arc<dyn Channel>>,
    ) -> Self {
        Self {
            engine,
            directory,
            channels,
            errands: None,
            planned: Notify::new(),
            read_to: AtomicU64::new(0),
            allowance: Allowance::default(),
            worked: Mutex::default(),
        }
    }

    /// The same, which also calls the agent's side.
    #[must_use]
    pub fn with_errands(mut self, caller: Arc<dyn AgentCaller>, limits: JobLimits) -> Self {
        self.errands = Some(Errands::new(caller, limits));
        self
    }

    /// Who can be reached where.
    #[must_use]
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Whether an action may be decided by a channel.
    #[must_use]
    pub fn may_decide(&self, channel: &str, case: &Case) -> bool {
        self.directory.may_decide(channel, case, self.engine.legs(case).as_deref())
    }

    /// How a channel shows an action as it stands.
    pub(crate) fn card(&self, channel: &str, case: &Case) -> Card {
        let may_decide = self.may_decide(channel, case);
        Card::of(case, Showing { console: &self.directory.console, may_decide })
    }

    /// Starts a worker for each channel, and those who read the log and call the agents' side. What they leave undone,
    /// the next start finds in the store.
    pub fn start_workers(self: &Arc<Self>) -> Vec<JoinHandle<()>> {
        let mut workers = Vec::new();
        for name in self.channels.keys() {
            let (outbox, name) = (Arc::clone(self), name.clone());
            workers.push(supervised(move || {
                let (outbox, name) = (Arc::clone(&outbox), name.clone());
                async move { outbox.keep_carrying(&name).await }
            }));
        }
        let outbox = Arc::clone(self);
        workers.push(supervised(move || {
            let outbox = Arc::clone(&outbox);
            async move { outbox.keep_reading().await }
        }));
        if self.errands.is_some() {
            let outbox = Arc::clone(self);
            workers.push(supervised(move || {
                let outbox = Arc::clone(&outbox);
                async move { outbox.keep_calling().await }
            }));
        }
        workers
    }

    /// Sends a message without a card, to see whether a channel works.
    ///
    /// # Errors
    /// If it does not.
    pub async fn test(&self, channel: &str, recipient: &str) -> Result<Sent, TestError> {
        let found = self.channels.get(channel).ok_or_else(|| TestError::NoChannel(channel.into()))?;
        let to = self.directory.recipient(recipient, channel);
        let to = to.ok_or_else(|| TestError::NoAddress(recipient.into()))?;
        let message = Message {
            // No two tests have the same.
            id: MessageId::new(format!("test-{}", self.engine.now().as_micros())),
            attempt: 1,
            purpose: Purpose::Test,
            to,
            cards: Vec::new(),
            earlier: None,
        };
        found.send(&message).await.map_err(TestError::NotSent)
    }

    /// There is something to send that the workers do not know of.
    pub fn nudge(&self) {
        self.planned.notify_waiters();
    }

    pub(crate) fn note_working(&self, channel: &str, at: Timestamp) {
        self.worked.lock().unwrap_or_else(PoisonError::into_inner).insert(channel.to_owned(), at);
    }

    /// When a channel last took anything, as far as this node knows.
    pub(crate) fn last_worked(&self, channel: &str) -> Option<Timestamp> {
        self.worked.lock().unwrap_or_else(PoisonError::into_inner).get(channel).copied()
    }
}

/// How long to wait before a worker that panicked is started again.
const AFTER_PANIC: Duration = Duration::from_secs(5);

/// Keeps a worker at work. A provider's answer that nobody thought of must not silence a channel until the next start:
/// what panicked is started again, and finds what it left undone in the store.
fn supervised<F: Future<Output = ()> + Send + 'static>(
    worker: impl Fn() -> F + Send + Sync + 'static,
) -> JoinHandle<()> {
    tokio::spawn(async move {
        loop {
            // Ends with this task: whoever aborts it aborts the worker.
            let mut at_work = JoinSet::new();
            at_work.spawn(worker());
            let Some(Err(error)) = at_work.join_next().await else { return };
            tracing::error!(%error, "a worker of the outbox broke down; it is started again");
            tokio::time::sleep(AFTER_PANIC).await;
        }
    })
}

/// Any number; for spreading out what would else come together.
pub(crate) fn chance() -> u32 {
    getrandom::u32().unwrap_or_default()
}

#[async_trait::async_trait]
impl NoticeSink for Outbox {
    async fn plan(&self, engine: &Engine, notices: &[StoredNotice]) -> Result<Vec<NewDelivery>, EngineError> {
        LogSink.plan(engine, notices).await?;
        let people = engine.deciders().await?;
        let now = engine.now();
        let mut deliveries = Vec::new();
        for notice in notices {
            let case = engine.case(notice.action).await?;
            let legs = engine.legs(&case);
            let situation =
                Situation { directory: &self.directory, people: &people, legs: legs.as_deref(), now };
            deliveries.extend(plan(notice, &case, &situation));
        }
        Ok(deliveries)
    }

    fn planned(&self) {
        self.nudge();
    }
}
