//! A store that fails when told to, in the two ways in which a store can fail.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use banksman_core::meter::{MeterQuery, Reading};
use banksman_core::{ActionId, BatchId, Case, Digest, Submission, Timestamp};
use banksman_store::{
    BatchRecord, CaseQuery, Commit, CommitError, Committed, Control, Credential, Delivery, DeliveryQuery,
    EventQuery, Job, JobQuery, News, PendingCounts, Person, SignedCheckpoint, Store, StoreError, StoredEvent,
    StoredNotice,
};
use tokio::sync::mpsc;

/// How a commit fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It failed, and nothing was stored.
    NotStored,
    /// It was stored, and the answer was lost.
    Stored,
}

impl Fault {
    pub(crate) const PAIR: [Self; 2] = [Self::NotStored, Self::Stored];
}

/// A real store with faults between it and the engine.
pub(crate) struct FaultyStore {
    real: Arc<dyn Store>,
    next: Mutex<VecDeque<Option<Fault>>>,
    news: Mutex<Option<mpsc::Receiver<News>>>,
    /// Commits wait while someone has this for writing.
    pub(crate) gate: tokio::sync::RwLock<()>,
    waiting: AtomicUsize,
    clock_is_off: AtomicBool,
}

impl FaultyStore {
    pub(crate) fn over(real: Arc<dyn Store>) -> Self {
        Self {
            real,
            next: Mutex::default(),
            news: Mutex::default(),
            gate: tokio::sync::RwLock::default(),
            waiting: AtomicUsize::default(),
            clock_is_off: AtomicBool::default(),
        }
    }

    /// What happens to the next commits; those after them are left alone.
    pub(crate) fn next(&self, faults: impl IntoIterator<Item = Option<Fault>>) {
        self.next.lock().unwrap().extend(faults);
    }

    /// This machine's clock turns out to be wrong.
    pub(crate) fn take_the_clock_for_wrong(&self) {
        self.clock_is_off.store(true, Ordering::SeqCst);
    }

    /// What whoever follows from now on hears is what this sends.
    pub(crate) fn broadcast(&self) -> mpsc::Sender<News> {
        let (sender, receiver) = mpsc::channel(1);
        *self.news.lock().unwrap() = Some(receiver);
        sender
    }

    /// How many commits wait at the gate.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::SeqCst)
    }

    /// Whether every fault has happened.
    pub(crate) fn is_spent(&self) -> bool {
        self.next.lock().unwrap().is_empty()
    }
}

fn lost() -> CommitError {
    CommitError::Unavailable(StoreError::Failed("the connection was lost".into()))
}

#[async_trait::async_trait]
impl Store for FaultyStore {
    async fn commit(&self, commit: Commit) -> Result<Committed, CommitError> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let _open = self.gate.read().await;
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        let fault = self.next.lock().unwrap().pop_front().flatten();
        match fault {
            None => self.real.commit(commit).await,
            Some(Fault::NotStored) => Err(lost()),
            Some(Fault::Stored) => {
                self.real.commit(commit).await?;
                Err(lost())
            }
        }
    }

    async fn check_clock(&self) -> Result<(), StoreError> {
        if self.clock_is_off.load(Ordering::SeqCst) {
            return Err(StoreError::Failed("this machine's clock is off".into()));
        }
        Ok(())
    }

    fn leaves_at_hand(&self, after: u64) -> Vec<Digest> {
        self.real.leaves_at_hand(after)
    }

    async fn ledger_pages(&self, from: u64) -> Result<Vec<Digest>, StoreError> {
        self.real.ledger_pages(from).await
    }

    async fn checkpoints(&self, beyond: u64, limit: usize) -> Result<Vec<SignedCheckpoint>, StoreError> {
        self.real.checkpoints(beyond, limit).await
    }

    async fn last_checkpoint(&self) -> Result<Option<SignedCheckpoint>, StoreError> {
        self.real.last_checkpoint().await
    }

    async fn case(&self, id: ActionId) -> Result<Option<Case>, StoreError> {
        self.real.case(id).await
    }

    async fn submission(&self, id: ActionId, version: u32) -> Result<Option<Submission>, StoreError> {
        self.real.submission(id, version).await
    }

    async fn cases(&self, query: CaseQuery) -> Result<Vec<Case>, StoreError> {
        self.real.cases(query).await
    }

    async fn place(&self, query: CaseQuery, steps: usize) -> Result<Option<ActionId>, StoreError> {
        self.real.place(query, steps).await
    }

    async fn batch(&self, id: BatchId) -> Result<Option<BatchRecord>, StoreError> {
        self.real.batch(id).await
    }

    async fn due(&self, by: Timestamp, limit: usize) -> Result<Vec<ActionId>, StoreError> {
        self.real.due(by, limit).await
    }

    async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        self.real.next_due().await
    }

    async fn control(&self) -> Result<Control, StoreError> {
        self.real.control().await
    }

    async fn credential(&self, secret_hash: Digest) -> Result<Option<Credential>, StoreError> {
        self.real.credential(secret_hash).await
    }

    async fn credentials(&self) -> Result<Vec<Credential>, StoreError> {
        self.real.credentials().await
    }

    async fn person(&self, name: &str) -> Result<Option<Person>, StoreError> {
        self.real.person(name).await
    }

    async fn people(&self) -> Result<Vec<Person>, StoreError> {
        self.real.people().await
    }

    async fn is_spent(&self, secret: Digest) -> Result<bool, StoreError> {
        self.real.is_spent(secret).await
    }

    async fn events(&self, query: EventQuery) -> Result<Vec<StoredEvent>, StoreError> {
        self.real.events(query).await
    }

    async fn last_seq(&self) -> Result<u64, StoreError> {
        self.real.last_seq().await
    }

    async fn notices(&self, limit: usize) -> Result<Vec<StoredNotice>, StoreError> {
        self.real.notices(limit).await
    }

    async fn deliveries(&self, query: DeliveryQuery) -> Result<Vec<Delivery>, StoreError> {
        self.real.deliveries(query).await
    }

    async fn take_deliveries(
        &self,
        channel: &str,
        by: Timestamp,
        limit: usize,
        lease: Duration,
    ) -> Result<Vec<Delivery>, StoreError> {
        self.real.take_deliveries(channel, by, limit, lease).await
    }

    async fn next_delivery(&self, channel: &str) -> Result<Option<Timestamp>, StoreError> {
        self.real.next_delivery(channel).await
    }

    async fn told(&self, channel: &str, recipient: &str, since: Timestamp) -> Result<u64, StoreError> {
        self.real.told(channel, recipient, since).await
    }

    async fn jobs(&self, query: JobQuery) -> Result<Vec<Job>, StoreError> {
        self.real.jobs(query).await
    }

    async fn take_jobs(&self, by: Timestamp, limit: usize, lease: Duration) -> Result<Vec<Job>, StoreError> {
        self.real.take_jobs(by, limit, lease).await
    }

    async fn next_job(&self) -> Result<Option<Timestamp>, StoreError> {
        self.real.next_job().await
    }

    async fn log_place(&self, reader: &str) -> Result<u64, StoreError> {
        self.real.log_place(reader).await
    }

    async fn joinable(&self, agent: &str, digest: Digest) -> Result<Option<ActionId>, StoreError> {
        self.real.joinable(agent, digest).await
    }

    async fn readings(&self, queries: Vec<MeterQuery>) -> Result<Vec<Reading>, StoreError> {
        self.real.readings(queries).await
    }

    async fn pending_count(&self) -> Result<u64, StoreError> {
        self.real.pending_count().await
    }

    async fn pending_counts(&self) -> Result<PendingCounts, StoreError> {
        self.real.pending_counts().await
    }

    async fn ready(&self) -> Result<(), StoreError> {
        self.real.ready().await
    }

    fn follow(&self, _: u64) -> Option<mpsc::Receiver<News>> {
        self.news.lock().unwrap().take()
    }
}
