//! SQLite, for one machine: WAL, `synchronous=FULL`, one writer thread that groups commits, a redo log before it that makes
//! them durable, readers beside it.

mod apply;
mod checkpoint;
mod control;
mod examine;
mod leaves;
mod ledger;
mod lists;
mod meters;
mod pen;
mod post;
mod read;
mod recover;
mod redo;
mod rows;
mod schema;
mod stroke;
mod transactions;
mod turnstile;
mod writer;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use banksman_core::meter::{MeterQuery, Reading};
use banksman_core::{ActionId, BatchId, Case, Digest, Submission, Timestamp};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use tokio::sync::Semaphore;

pub use self::examine::{back_up, examine};

pub(crate) use self::writer::failed;

use self::redo::Missing;
use self::turnstile::Turnstile;
use self::writer::Writer;
use crate::encode::EncodedCommit;
use crate::health::written;
use crate::{
    BatchRecord, CaseQuery, Commit, CommitError, Committed, Control, Credential, Delivery, DeliveryQuery,
    EventQuery, Job, JobQuery, PendingCounts, Person, SignedCheckpoint, Store, StoreError, StoredEvent,
    StoredNotice,
};

/// How many read at a time, at the least; otherwise as many as there are cores. More would not be faster, and each costs
/// a thread, a connection and its cache: ten thousand who ask at once wait in line instead.
const READERS: usize = 4;

/// How long to wait for another process that writes, such as `banksman token new` beside the server.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// A store in one SQLite file.
pub struct SqliteStore {
    writer: Writer,
    readers: Arc<Readers>,
}

struct Readers {
    path: PathBuf,
    /// Permission to read.
    line: Arc<Semaphore>,
    idle: Mutex<Vec<Connection>>,
}

impl SqliteStore {
    /// Opens the file, makes it if there is none, and brings its schema up to date.
    ///
    /// # Errors
    /// If the file cannot be opened or written, or is of a newer version than this program.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_with_clock(path, || {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            Timestamp::from_micros(0).after(since)
        })
    }

    /// The same, with another clock than the machine's.
    ///
    /// # Errors
    /// As [`SqliteStore::open`].
    pub fn open_with_clock(
        path: &Path,
        clock: impl Fn() -> Timestamp + Send + 'static,
    ) -> Result<Self, StoreError> {
        let gathering = banksman_wal::vfs().map_err(failed)?;
        let mut connection =
            Connection::open_with_flags_and_vfs(path, OpenFlags::default(), gathering).map_err(failed)?;
        let turnstile = Turnstile::of(path);
        turnstile.enter();
        prepare(&mut connection)?;
        let redo = recover::take_over(&connection, path, Missing::Make)?;
        drop(turnstile);
        let readers = Arc::new(Readers::of(path));
        Ok(Self { writer: Writer::start(connection, path, Box::new(clock), redo)?, readers })
    }

    /// Runs a read on a thread where blocking is allowed.
    async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.writer.published().await?;
        let readers = Arc::clone(&self.readers);
        let turn = Arc::clone(&readers.line).acquire_owned().await.map_err(|_| StoreError::Closed)?;
        let read = move || {
            let answer = readers.with(query);
            // Here, not where the answer is awaited: whoever asked may have gone, and the thread still reads.
            drop(turn);
            answer
        };
        tokio::task::spawn_blocking(read).await.map_err(|_| StoreError::Closed)?
    }
}

/// The files of ours beside a database; SQLite clears its own away.
#[must_use]
pub fn beside(database: &Path) -> [PathBuf; 2] {
    [redo::path_of(database), turnstile::path_of(database)]
}

/// A file to read from while nobody can write to it, with its schema up to date.
pub(crate) fn open_for_copying(path: &Path) -> Result<Connection, StoreError> {
    let connection = up_to_date(path)?;
    connection.execute_batch("BEGIN IMMEDIATE").map_err(failed)?;
    Ok(connection)
}

/// A database file with everything in it that a server which has ended has left beside it.
fn up_to_date(path: &Path) -> Result<Connection, StoreError> {
    let mut connection =
        Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(failed)?;
    let turnstile = Turnstile::of(path);
    turnstile.enter();
    prepare(&mut connection)?;
    recover::take_over(&connection, path, Missing::Leave)?;
    Ok(connection)
}

fn prepare(connection: &mut Connection) -> Result<(), StoreError> {
    configure(connection).map_err(failed)?;
    // FULL: the log is on the disk before a commit is answered. Nothing that was acknowledged is lost.
    connection.pragma_update(None, "synchronous", "FULL").map_err(failed)?;
    schema::migrate(connection).map_err(|error| StoreError::Failed(error.to_string()))
}

fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    enter_wal(connection)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cache_size", -16_000)?;
    // Only then do the triggers that forbid removing a row also see INSERT OR REPLACE.
    connection.pragma_update(None, "recursive_triggers", true)?;
    Ok(())
}

/// Two processes that open a new file at once both want to change its mode, and SQLite tells the second that the file
/// is locked without waiting as it does elsewhere.
fn enter_wal(connection: &Connection) -> rusqlite::Result<()> {
    let begin = Instant::now();
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if is_busy(&error) && begin.elapsed() < BUSY_TIMEOUT => {
                std::thread::sleep(Duration::from_millis(5));
            }
            done => return done,
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

impl Readers {
    fn of(path: &Path) -> Self {
        let at_a_time = std::thread::available_parallelism().map_or(1, usize::from).max(READERS);
        let line = Arc::new(Semaphore::new(at_a_time));
        Self { path: path.to_owned(), line, idle: Mutex::new(Vec::new()) }
    }

    fn with<T>(&self, query: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.connect().map_err(failed)?,
        };
        let answer = query(&connection).map_err(|error| match error {
            rusqlite::Error::FromSqlConversionFailure(..) => StoreError::Corrupt(error.to_string()),
            other => failed(other),
        });
        // A connection that failed is not trusted again.
        if answer.is_ok() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        }
        answer
    }

    fn connect(&self) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.pragma_update(None, "query_only", true)?;
        Ok(connection)
    }
}

#[async_trait::async_trait]
impl Store for SqliteStore {
    async fn commit(&self, commit: Commit) -> Result<Committed, CommitError> {
        self.writer.commit(EncodedCommit::of(commit)?).await
    }

    async fn case(&self, id: ActionId) -> Result<Option<Case>, StoreError> {
        self.read(move |connection| read::case(connection, id)).await
    }

    async fn submission(&self, id: ActionId, version: u32) -> Result<Option<Submission>, StoreError> {
        self.read(move |connection| read::submission(connection, id, version)).await
    }

    async fn cases(&self, query: CaseQuery) -> Result<Vec<Case>, StoreError> {
        self.read(move |connection| lists::cases(connection, &query)).await
    }

    async fn place(&self, query: CaseQuery, steps: usize) -> Result<Option<ActionId>, StoreError> {
        self.read(move |connection| lists::place_of(connection, &query, steps)).await
    }

    async fn batch(&self, id: BatchId) -> Result<Option<BatchRecord>, StoreError> {
        self.read(move |connection| read::batch(connection, id)).await
    }

    async fn due(&self, by: Timestamp, limit: usize) -> Result<Vec<ActionId>, StoreError> {
        self.read(move |connection| read::due(connection, by, limit)).await
    }

    async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        self.read(read::next_due).await
    }

    async fn control(&self) -> Result<Control, StoreError> {
        self.read(read::control).await
    }

    async fn credential(&self, secret_hash: Digest) -> Result<Option<Credential>, StoreError> {
        self.read(move |connection| read::credential(connection, secret_hash)).await
    }

    async fn credentials(&self) -> Result<Vec<Credential>, StoreError> {
        self.read(read::credentials).await
    }

    async fn person(&self, name: &str) -> Result<Option<Person>, StoreError> {
        let name = name.to_owned();
        self.read(move |connection| read::person(connection, &name)).await
    }

    async fn people(&self) -> Result<Vec<Person>, StoreError> {
        self.read(read::people).await
    }

    async fn is_spent(&self, key: Digest) -> Result<bool, StoreError> {
        self.read(move |connection| read::is_spent(connection, key)).await
    }

    async fn events(&self, query: EventQuery) -> Result<Vec<StoredEvent>, StoreError> {
        self.read(move |connection| read::events(connection, &query)).await
    }

    async fn last_seq(&self) -> Result<u64, StoreError> {
        self.read(read::last_seq).await
    }

    fn leaves_at_hand(&self, after: u64) -> Vec<Digest> {
        self.writer.shown.leaves.behind(after)
    }

    async fn ledger_pages(&self, from: u64) -> Result<Vec<Digest>, StoreError> {
        self.read(move |connection| ledger::pages(connection, from)).await
    }

    async fn checkpoints(&self, beyond: u64, limit: usize) -> Result<Vec<SignedCheckpoint>, StoreError> {
        self.read(move |connection| ledger::checkpoints(connection, beyond, limit)).await
    }

    async fn last_checkpoint(&self) -> Result<Option<SignedCheckpoint>, StoreError> {
        self.read(ledger::last_checkpoint).await
    }

    async fn notices(&self, limit: usize) -> Result<Vec<StoredNotice>, StoreError> {
        self.read(move |connection| read::notices(connection, limit)).await
    }

    async fn deliveries(&self, query: DeliveryQuery) -> Result<Vec<Delivery>, StoreError> {
        self.read(move |connection| post::deliveries(connection, &query)).await
    }

    /// One process has the file, so nobody needs to be kept from anything.
    async fn take_deliveries(
        &self,
        channel: &str,
        by: Timestamp,
        limit: usize,
        _lease: Duration,
    ) -> Result<Vec<Delivery>, StoreError> {
        let channel = channel.to_owned();
        self.read(move |connection| post::due_deliveries(connection, &channel, by, limit)).await
    }

    async fn next_delivery(&self, channel: &str) -> Result<Option<Timestamp>, StoreError> {
        let channel = channel.to_owned();
        self.read(move |connection| post::next_delivery(connection, &channel)).await
    }

    async fn told(&self, channel: &str, recipient: &str, since: Timestamp) -> Result<u64, StoreError> {
        let (channel, recipient) = (channel.to_owned(), recipient.to_owned());
        self.read(move |connection| post::told(connection, &channel, &recipient, since)).await
    }

    async fn jobs(&self, query: JobQuery) -> Result<Vec<Job>, StoreError> {
        self.read(move |connection| post::jobs(connection, &query)).await
    }

    async fn take_jobs(&self, by: Timestamp, limit: usize, _lease: Duration) -> Result<Vec<Job>, StoreError> {
        self.read(move |connection| post::due_jobs(connection, by, limit)).await
    }

    async fn next_job(&self) -> Result<Option<Timestamp>, StoreError> {
        self.read(post::next_job).await
    }

    async fn log_place(&self, reader: &str) -> Result<u64, StoreError> {
        let reader = reader.to_owned();
        self.read(move |connection| post::place(connection, &reader)).await
    }

    async fn joinable(&self, agent: &str, digest: Digest) -> Result<Option<ActionId>, StoreError> {
        let agent = agent.to_owned();
        self.read(move |connection| apply::joinable(connection, &agent, digest)).await
    }

    async fn readings(&self, queries: Vec<MeterQuery>) -> Result<Vec<Reading>, StoreError> {
        self.read(move |connection| meters::readings(connection, queries)).await
    }

    async fn pending_count(&self) -> Result<u64, StoreError> {
        Ok(self.writer.shown.pending.load(Ordering::Acquire))
    }

    async fn pending_counts(&self) -> Result<PendingCounts, StoreError> {
        self.read(lists::pending_counts).await
    }

    async fn ready(&self) -> Result<(), StoreError> {
        if self.writer.shown.health.is_failing() {
            written(self.commit(Commit::default()).await)?;
        }
        self.last_seq().await.map(drop)
    }
}
