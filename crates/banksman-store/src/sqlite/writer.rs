//! The one thread that writes, and groups what comes in at the same time into one fsync.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use banksman_core::Timestamp;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::apply::Totals;
use super::checkpoint::Checkpoints;
use super::leaves::Leaves;
use super::pen::Pen;
use super::redo::Redo;
use super::transactions::Transactions;
use crate::encode::{EncodedCommit, MOMENT};
use crate::health::Health;
use crate::{CommitError, Committed, StoreError};

/// How many commits share a transaction at the most; beyond that the first ones would wait for nothing.
const GROUP: usize = 256;

/// With fewer commits than this in a group, waiting for more takes longer than it saves.
const MANY: usize = 12;

/// How long a group waits for more at the most. The system makes it about twice as long; with more than that, processors
/// that have nothing else to do stand still.
const LINGER: Duration = Duration::from_micros(50);

/// Where the store gets the time from.
pub(super) type StoreClock = Box<dyn Fn() -> Timestamp + Send>;

pub(super) type Answer = Result<Committed, CommitError>;

enum Errand {
    Commit(Job),
    /// Someone wants to read what was committed.
    Publish(oneshot::Sender<Result<(), StoreError>>),
}

struct Job {
    commit: Box<EncodedCommit>,
    /// The commit goes back with its answer, so that it is freed by the thread that made it: allocators are slow, and
    /// wait for each other, where one thread frees what another allocated.
    answer: oneshot::Sender<(Answer, Box<EncodedCommit>)>,
}

/// What others see of the writer, as of the last commit that was answered.
#[derive(Default)]
pub(super) struct Shown {
    pub(super) health: Health,
    /// How many actions are pending.
    pub(super) pending: AtomicU64,
    /// What was committed lately, for the ledger.
    pub(super) leaves: Leaves,
    /// Whether something was committed that readers cannot see yet.
    ahead: AtomicBool,
}

/// The way to the writer thread. Dropping it lets the thread finish what it was given and end.
pub(super) struct Writer {
    pub(super) shown: Arc<Shown>,
    errands: Option<Sender<Errand>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread with a connection of its own, and a redo log if it has one.
    pub(super) fn start(
        mut connection: Connection,
        path: &Path,
        clock: StoreClock,
        redo: Option<Redo>,
    ) -> Result<Self, StoreError> {
        let checkpoints = Checkpoints::take_over(&mut connection, path)?;
        connection.set_prepared_statement_cache_capacity(96);
        let totals = Totals::load(&connection).map_err(failed)?;
        let (errands, inbox) = channel();
        let shown = Arc::<Shown>::default();
        shown.pending.store(totals.all_pending, Ordering::Release);
        let (shows, path) = (Arc::clone(&shown), path.to_owned());
        let run = move || {
            match Pen::prepare(&connection) {
                Ok(pen) => {
                    run(Transactions::new(pen, totals, &path, redo), checkpoints, &clock, &inbox, &shows);
                }
                // Whoever has asked or asks finds the store closed.
                Err(error) => return tracing::error!(%error, "the database cannot be written to"),
            }
            // A clean end leaves everything in the main file; if this fails, the log is read at the next start.
            let _ = connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
        };
        let thread = std::thread::Builder::new()
            .name("sqlite-writer".into())
            .spawn(run)
            .map_err(|error| StoreError::Failed(error.to_string()))?;
        Ok(Self { shown, errands: Some(errands), thread: Some(thread) })
    }

    /// Hands a commit over and waits until it is durable or refused.
    pub(super) async fn commit(&self, commit: EncodedCommit) -> Answer {
        let (answer, answered) = oneshot::channel();
        self.send(Errand::Commit(Job { commit: Box::new(commit), answer }))?;
        let (answer, _commit) = answered.await.map_err(|_| StoreError::Closed)?;
        answer
    }

    /// Waits until whatever was answered by now can be read.
    pub(super) async fn published(&self) -> Result<(), StoreError> {
        if !self.shown.ahead.load(Ordering::Acquire) {
            return Ok(());
        }
        let (answer, answered) = oneshot::channel();
        self.send(Errand::Publish(answer))?;
        answered.await.map_err(|_| StoreError::Closed)?
    }

    fn send(&self, errand: Errand) -> Result<(), StoreError> {
        let errands = self.errands.as_ref().ok_or(StoreError::Closed)?;
        errands.send(errand).map_err(|_| StoreError::Closed)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Closing the channel ends the loop after the last job; waiting makes sure that the file is closed.
        self.errands = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(
    mut transactions: Transactions<'_>,
    mut checkpoints: Checkpoints,
    clock: &StoreClock,
    inbox: &Receiver<Errand>,
    shown: &Shown,
) {
    let mut group = Group::default();
    let mut last = Last::default();
    while let Some(awaited) = group.gather(inbox, &last, transactions.patience()) {
        if !group.jobs.is_empty() {
            let begin = Instant::now();
            transactions.totals.now = clock();
            let answers = commit(&mut transactions, &group.jobs, &shown.leaves);
            last = Last { commits: group.jobs.len(), took: begin.elapsed() };
            shown.health.note(&answers);
            // Before the answers: whoever hears that something was committed finds it counted, and knows what to wait for.
            shown.pending.store(transactions.totals.all_pending, Ordering::Release);
            shown.ahead.store(transactions.is_ahead(), Ordering::Release);
            for (job, answer) in group.jobs.drain(..).zip(answers) {
                // Whoever asked may have gone away; what was committed stays committed.
                let Job { commit, answer: waiting } = job;
                let _ = waiting.send((answer, commit));
            }
        }
        let may_wait = checkpoints.is_copying() && !transactions.is_overdue();
        let is_time = awaited == Awaited::Nothing || transactions.is_due();
        if !group.readers.is_empty() || is_time && !may_wait {
            let published = transactions.publish();
            shown.ahead.store(transactions.is_ahead(), Ordering::Release);
            for reader in group.readers.drain(..) {
                let _ = reader.send(published.clone());
            }
        }
        if transactions.is_closed() {
            checkpoints.turn(transactions.connection());
            transactions.give_way();
        }
    }
    drop(checkpoints);
    transactions.finish();
}

/// Commits a group, or each by itself if that fails.
fn commit(transactions: &mut Transactions<'_>, group: &[Job], leaves: &Leaves) -> Vec<Answer> {
    match transactions.commit(group.iter().map(|job| &*job.commit), leaves) {
        Ok(answers) => answers,
        // One of them broke the transaction. Each gets one of its own, so that only the culprit fails.
        Err(error) if group.len() > 1 => {
            tracing::warn!(%error, commits = group.len(), "a grouped commit failed; trying them one by one");
            let alone = |job: &Job| {
                let mut answers = transactions.commit(std::iter::once(&*job.commit), leaves)?;
                answers.pop().unwrap_or(Err(StoreError::Closed.into()))
            };
            group.iter().map(alone).collect()
        }
        Err(error) => {
            tracing::error!(%error, "a commit failed");
            vec![Err(error.into())]
        }
    }
}

/// The group before.
#[derive(Default)]
struct Last {
    commits: usize,
    took: Duration,
}

/// What came in together.
#[derive(Default)]
struct Group {
    jobs: Vec<Job>,
    readers: Vec<oneshot::Sender<Result<(), StoreError>>>,
}

/// What waiting came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Awaited {
    Something,
    Nothing,
}

impl Group {
    fn push(&mut self, errand: Errand) {
        match errand {
            Errand::Commit(job) => self.jobs.push(job),
            Errand::Publish(reader) => self.readers.push(reader),
        }
    }

    /// Takes what is there.
    fn take(&mut self, inbox: &Receiver<Errand>) {
        while self.jobs.len() < GROUP
            && let Ok(errand) = inbox.try_recv()
        {
            self.push(errand);
        }
    }

    /// Fills a group with what comes in, for so long, or however long it takes. `None` if nothing ever will.
    ///
    /// Those who were just answered come back one by one. If the first of them had a transaction of its own, all others would
    /// wait for that; so, where there are many and fewer than half of them are back, it waits a little, once.
    fn gather(
        &mut self,
        inbox: &Receiver<Errand>,
        last: &Last,
        patience: Option<Duration>,
    ) -> Option<Awaited> {
        let first = match patience {
            None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(patience) => inbox.recv_timeout(patience),
        };
        match first {
            Ok(first) => self.push(first),
            Err(RecvTimeoutError::Timeout) => return Some(Awaited::Nothing),
            Err(RecvTimeoutError::Disconnected) => return None,
        }
        let until = Instant::now() + MOMENT;
        self.take(inbox);
        let here = self.jobs.len();
        if self.readers.is_empty() && last.commits >= MANY && here < (last.commits + here) / 2 {
            // Asleep, not waiting for the next one: whoever hands something over would have to wake the writer each time.
            std::thread::sleep((last.took / 2).min(LINGER));
            self.take(inbox);
        }
        while self.readers.is_empty()
            && self.jobs.len() < GROUP
            && self.jobs.iter().all(|job| job.commit.patient)
            && let Ok(more) = inbox.recv_timeout(until.saturating_duration_since(Instant::now()))
        {
            self.push(more);
            self.take(inbox);
        }
        Some(Awaited::Something)
    }
}

pub(crate) fn failed(error: rusqlite::Error) -> StoreError {
    StoreError::Failed(error.to_string())
}
