//! The one thread that writes, and groups what comes in at the same time into one fsync.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use banksman_core::Timestamp;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::apply::{ApplyError, Totals, apply};
use super::checkpoint::Checkpoints;
use super::leaves::Leaves;
use super::pen::Pen;
use super::schema;
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

type Answer = Result<Committed, CommitError>;

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
}

/// The way to the writer thread. Dropping it lets the thread finish what it was given and end.
pub(super) struct Writer {
    pub(super) shown: Arc<Shown>,
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread with a connection of its own.
    pub(super) fn start(
        mut connection: Connection,
        path: &Path,
        clock: StoreClock,
    ) -> Result<Self, StoreError> {
        let checkpoints = Checkpoints::take_over(&mut connection, path)?;
        connection.set_prepared_statement_cache_capacity(96);
        let totals = Totals::load(&connection).map_err(failed)?;
        let (jobs, inbox) = channel();
        let shown = Arc::<Shown>::default();
        shown.pending.store(totals.all_pending, Ordering::Release);
        let shows = Arc::clone(&shown);
        let thread = std::thread::Builder::new()
            .name("sqlite-writer".into())
            .spawn(move || run(&connection, totals, checkpoints, &clock, &inbox, &shows))
            .map_err(|error| StoreError::Failed(error.to_string()))?;
        Ok(Self { shown, jobs: Some(jobs), thread: Some(thread) })
    }

    /// Hands a commit over and waits until it is durable or refused.
    pub(super) async fn commit(&self, commit: EncodedCommit) -> Answer {
        let (answer, answered) = oneshot::channel();
        let jobs = self.jobs.as_ref().ok_or(StoreError::Closed)?;
        jobs.send(Job { commit: Box::new(commit), answer }).map_err(|_| StoreError::Closed)?;
        let (answer, _commit) = answered.await.map_err(|_| StoreError::Closed)?;
        answer
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Closing the channel ends the loop after the last job; waiting makes sure that the file is closed.
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(
    connection: &Connection,
    mut totals: Totals,
    mut checkpoints: Checkpoints,
    clock: &StoreClock,
    inbox: &Receiver<Job>,
    shown: &Shown,
) {
    let mut pen = match Pen::prepare(connection) {
        Ok(pen) => pen,
        // Whoever has asked or asks finds the store closed.
        Err(error) => return tracing::error!(%error, "the database cannot be written to"),
    };
    let mut group = Vec::with_capacity(GROUP);
    let mut last = Last::default();
    while gather(&mut group, inbox, &last) {
        let begin = Instant::now();
        totals.now = clock();
        let answers = match commit_group(&mut pen, &mut totals, &group, &shown.leaves) {
            Ok(answers) => answers,
            // One of them broke the transaction. Each gets one of its own, so that only the culprit fails.
            Err(error) if group.len() > 1 => {
                tracing::warn!(%error, commits = group.len(), "a grouped commit failed; trying them one by one");
                group
                    .iter()
                    .map(|job| {
                        let job = std::slice::from_ref(job);
                        let alone = commit_group(&mut pen, &mut totals, job, &shown.leaves);
                        alone.map_or_else(
                            |error| Err(failed(error).into()),
                            |mut answers| answers.pop().unwrap_or(Err(StoreError::Closed.into())),
                        )
                    })
                    .collect()
            }
            Err(error) => {
                tracing::error!(%error, "a commit failed");
                vec![Err(failed(error).into())]
            }
        };
        last = Last { commits: group.len(), took: begin.elapsed() };
        shown.health.note(&answers);
        // Before the answers: whoever hears that something was committed finds it counted.
        shown.pending.store(totals.all_pending, Ordering::Release);
        for (job, answer) in group.drain(..).zip(answers) {
            // Whoever asked may have gone away; what was committed stays committed.
            let Job { commit, answer: waiting } = job;
            let _ = waiting.send((answer, commit));
        }
        checkpoints.turn(connection);
    }
    drop((checkpoints, pen));
    // A clean end leaves everything in the main file; if this fails, the log is read at the next start.
    let _ = connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
}

/// The group before.
#[derive(Default)]
struct Last {
    commits: usize,
    took: Duration,
}

/// Fills a group with what has come in. Says whether there is anything, and ever will be.
///
/// Those who were just answered come back one by one. If the first of them had a transaction of its own, all others would
/// wait for that; so, where there are many and fewer than half of them are back, it waits a little, once.
fn gather(group: &mut Vec<Job>, inbox: &Receiver<Job>, last: &Last) -> bool {
    let Ok(first) = inbox.recv() else { return false };
    let until = Instant::now() + MOMENT;
    group.push(first);
    group.extend(inbox.try_iter().take(GROUP - 1));
    if last.commits >= MANY && group.len() < (last.commits + group.len()) / 2 {
        // Asleep, not waiting for the next one: whoever hands something over would have to wake the writer each time.
        std::thread::sleep((last.took / 2).min(LINGER));
        group.extend(inbox.try_iter().take(GROUP - group.len()));
    }
    while group.len() < GROUP
        && group.iter().all(|job| job.commit.patient)
        && let Ok(more) = inbox.recv_timeout(until.saturating_duration_since(Instant::now()))
    {
        group.push(more);
        group.extend(inbox.try_iter().take(GROUP - group.len()));
    }
    true
}

/// Commits a group in one transaction. `Err` means that none of them happened.
fn commit_group(
    pen: &mut Pen<'_>,
    totals: &mut Totals,
    group: &[Job],
    leaves: &Leaves,
) -> rusqlite::Result<Vec<Answer>> {
    totals.checkpoint();
    match try_commit_group(pen, totals, group, leaves) {
        Ok(answers) => Ok(answers),
        Err(error) => {
            // After some errors SQLite has rolled back by itself; then this one fails and that is fine.
            let _ = pen.connection.prepare_cached("ROLLBACK").and_then(|mut rollback| rollback.execute([]));
            totals.restore();
            Err(error)
        }
    }
}

fn try_commit_group(
    pen: &mut Pen<'_>,
    totals: &mut Totals,
    group: &[Job],
    leaves: &Leaves,
) -> rusqlite::Result<Vec<Answer>> {
    pen.begin.execute([])?;
    totals.refresh(pen)?;
    let before = totals.last_seq;
    let mut outcomes = Vec::with_capacity(group.len());
    for job in group {
        if job.commit.is_empty() {
            // The one write that dirties a page without changing it: a row that stays the same is not written.
            pen.connection.pragma_update(None, "user_version", schema::MIGRATIONS.len())?;
        }
        match apply(pen, totals, &job.commit) {
            Ok(()) => outcomes.push(Ok(())),
            Err(ApplyError::Conflict(conflict)) => outcomes.push(Err(CommitError::Conflict(conflict))),
            Err(ApplyError::Sqlite(error)) => return Err(error),
        }
    }
    pen.commit.execute([])?;
    let happened = group.iter().zip(&outcomes).filter(|(_, outcome)| outcome.is_ok());
    leaves.keep(before, happened.flat_map(|(job, _)| job.commit.events.iter().map(|row| row.leaf)));
    let committed = Committed { last_seq: totals.last_seq };
    Ok(outcomes.into_iter().map(|outcome| outcome.map(|()| committed)).collect())
}

pub(crate) fn failed(error: rusqlite::Error) -> StoreError {
    StoreError::Failed(error.to_string())
}
