//! The engine: what its verbs share.

use std::sync::Arc;

use arc_swap::ArcSwap;
use banksman_core::audit::Event;
use banksman_core::{Case, Timestamp};
use banksman_store::{Commit, Control, PendingLimits, Store};
use tokio::sync::watch;

use crate::abandoned_commits::AbandonedCommits;
use crate::admission::{Admission, QueueLimits};
use crate::credentials::KnownCredentials;
use crate::dispatcher::Dispatcher;
use crate::flight::SharedRead;
use crate::in_force::PolicyInForce;
use crate::ledger::Ledger;
use crate::live::Live;
use crate::memory::Memory;
use crate::people::IdentityDesk;
use crate::regression::Failures;
use crate::resume::ResumeTarget;
use crate::statistics::Counting;
use crate::tally::Tally;
use crate::timekeeper::Timekeeper;
use crate::triage::TriageDesk;
use crate::{Clock, EngineError, Evaluator, Judge, Signer};

/// What an installation may set.
#[derive(Debug, Clone, Copy)]
pub struct EngineConfig {
    /// How many actions may wait for people.
    pub limits: PendingLimits,
    /// How many proposals may wait for room, once so many actions do.
    pub queue: QueueLimits,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self { limits: PendingLimits { per_agent: 10_000, total: 2_000_000 }, queue: QueueLimits::default() }
    }
}

/// Everything that Banksman does, over one store.
pub struct Engine {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) judge: ArcSwap<Arc<dyn Judge>>,
    pub(crate) in_force: ArcSwap<PolicyInForce>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) identity: IdentityDesk,
    pub(crate) signer: Signer,
    pub(crate) config: EngineConfig,
    pub(crate) control: ArcSwap<Control>,
    reading_control: SharedRead,
    pub(crate) admission: Arc<Admission>,
    pub(crate) memory: Memory,
    pub(crate) live: Arc<Live>,
    pub(crate) credentials: KnownCredentials,
    pub(crate) timekeeper: Timekeeper,
    pub(crate) dispatcher: Dispatcher,
    pub(crate) triage: TriageDesk,
    pub(crate) failures: Failures,
    pub(crate) resume_targets: ArcSwap<Vec<ResumeTarget>>,
    pub(crate) tally: Tally,
    pub(crate) counting: Counting,
    pub(crate) abandoned_commits: AbandonedCommits,
    pub(crate) ledger: Ledger,
}

impl Engine {
    /// An engine over a store. Its workers run once [`Engine::start_workers`] is called.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn new(
        store: Arc<dyn Store>,
        judge: Arc<dyn Judge>,
        clock: Arc<dyn Clock>,
        signer: Signer,
        config: EngineConfig,
    ) -> Result<Arc<Self>, EngineError> {
        let control = store.control().await?;
        let newest = store.last_seq().await?;
        Ok(Arc::new(Self {
            store,
            in_force: ArcSwap::from_pointee(PolicyInForce::first(judge.digest(), clock.now())),
            judge: ArcSwap::from_pointee(judge),
            clock,
            identity: IdentityDesk::new(&signer),
            signer,
            config,
            control: ArcSwap::from_pointee(control),
            reading_control: SharedRead::default(),
            admission: Admission::new(config.queue),
            memory: Memory::new(),
            live: Arc::new(Live::new(newest)),
            credentials: KnownCredentials::default(),
            timekeeper: Timekeeper::default(),
            dispatcher: Dispatcher::default(),
            triage: TriageDesk::default(),
            failures: Failures::default(),
            resume_targets: ArcSwap::default(),
            tally: Tally::default(),
            counting: Counting::default(),
            abandoned_commits: AbandonedCommits::default(),
            ledger: Ledger::default(),
        }))
    }

    /// Who answers when policy wants triage. Until this is called nobody does, and such actions wait for people.
    pub fn staff_triage(&self, evaluator: Arc<dyn Evaluator>) {
        self.triage.staff(evaluator);
    }

    /// The public key that authorisations can be verified with, as a JSON Web Key Set.
    #[must_use]
    pub fn jwks(&self) -> serde_json::Value {
        self.signer.jwks()
    }

    /// A key for one purpose, the same on every node that has the same signing key.
    #[must_use]
    pub fn derived_key(&self, purpose: &str) -> [u8; 32] {
        self.signer.derived_key(purpose)
    }

    /// The time by this engine's clock, which is the one that deadlines are held against.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Grows whenever the audit log does: the place of its newest event.
    #[must_use]
    pub fn newest_event(&self) -> watch::Receiver<u64> {
        self.live.subscribe()
    }

    /// Sends away those who wait for room, so that a server that stops need not wait for them.
    pub fn stop_queueing(&self) {
        self.admission.close();
    }

    /// Whether the store answers, and takes what there is to write.
    ///
    /// # Errors
    /// If it does not.
    pub async fn ping(&self) -> Result<(), EngineError> {
        Ok(self.store.ready().await?)
    }

    /// Reads the house rules again, after someone changed them: once for all who ask at the same time, and one after the
    /// other, so that no older answer can win.
    pub(crate) async fn reload_control(&self) -> Result<(), EngineError> {
        let read = async || {
            self.control.store(Arc::new(self.store.control().await?));
            Ok(())
        };
        self.reading_control.after_now(read).await
    }

    /// Reads the house rules again after a commit of our own changed them. If that fails, the next guarded commit
    /// will notice the new epoch and read again.
    pub(crate) async fn notice_new_rules(&self) {
        if let Err(error) = self.reload_control().await {
            tracing::warn!(%error, "could not read the house rules again");
        }
    }

    /// Writes what is true whatever else is, and lets streams know.
    pub(crate) async fn commit_unguarded(&self, commit: Commit) -> Result<(), EngineError> {
        let committed = self.commit(commit).await.map_err(EngineError::unexpected_conflict)?;
        self.live.advance(committed.last_seq);
        Ok(())
    }

    /// Writes events about the house, which change no action.
    ///
    /// # Errors
    /// If they cannot be recorded.
    pub async fn record_events(&self, events: Vec<Event>) -> Result<(), EngineError> {
        self.commit_unguarded(Commit { events, ..Commit::default() }).await
    }

    /// Makes a commit known: to memory, to those who wait, and to the workers.
    pub(crate) fn publish(&self, cases: &[Arc<Case>], last_seq: u64) {
        // The sequence first: whoever reads between the commit and here must not keep what it read (see recall).
        self.live.advance(last_seq);
        for case in cases {
            self.memory.keep(case);
            self.live.wake(case.id);
            if let Some(due) = case.state.wakes_at() {
                self.timekeeper.expect(due);
            }
        }
    }
}
