//! Connections for reading. Requests share them: each is a pipeline, so nobody waits for a connection to be free.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Mutex, Semaphore};
use tokio_postgres::Row;

use super::address::Address;
use super::session::{Params, Session, failed, within};
use crate::StoreError;

/// How many connections read. One long answer does not hold up the others.
const CONNECTIONS: usize = 4;

/// How many read at a time on all of them. What is asked beyond that waits in line, where it costs no memory for answers.
const AT_A_TIME: usize = 64;

/// How long a read may take.
const READ: Duration = Duration::from_secs(12);

/// After a failure to connect, others are told so at once for this long, instead of each trying for itself.
const PAUSE: Duration = Duration::from_millis(500);

pub(super) struct Readers {
    address: Address,
    /// Permission to read.
    line: Semaphore,
    slots: Vec<Mutex<Slot>>,
    next: AtomicUsize,
    /// When the database was last found unreachable, if it has not been reached since. All connections share this: once
    /// one of them is there, nobody is told any more that it cannot be.
    failed: std::sync::Mutex<Option<(Instant, StoreError)>>,
}

/// One connection, if there is one.
type Slot = Option<Arc<Session>>;

impl Readers {
    pub(super) fn new(address: Address) -> Self {
        let slots = (0..CONNECTIONS).map(|_| Mutex::default()).collect();
        let line = Semaphore::new(AT_A_TIME);
        Self { address, line, slots, next: AtomicUsize::new(0), failed: std::sync::Mutex::default() }
    }

    /// Runs one statement, which sees one moment of the database.
    pub(super) async fn query(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
        // Behind a database that answers nobody, the line does not move either.
        let turn = async { self.line.acquire().await.map_err(|_| StoreError::Closed) };
        let _turn = within(READ, turn).await?;
        let place = self.next.fetch_add(1, Ordering::Relaxed) % CONNECTIONS;
        let slot = self.slots.get(place).ok_or(StoreError::Closed)?;
        let mut session = self.session(slot).await?;
        let mut answer = self.ask(&session, sql, params).await;
        // The database was restarted, or a firewall forgot the connection: reading again harms nobody.
        if answer.is_err() && session.client.is_closed() {
            session = self.session(slot).await?;
            answer = self.ask(&session, sql, params).await;
        }
        if answer.is_err() {
            // It may be stuck; nobody else is to wait for it.
            let mut slot = slot.lock().await;
            if slot.as_ref().is_some_and(|current| Arc::ptr_eq(current, &session)) {
                *slot = None;
            }
        }
        answer
    }

    async fn ask(&self, session: &Session, sql: &str, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
        let answer = within(READ, async { session.query(sql, params).await.map_err(failed) }).await;
        // The connection may be one to what was there before.
        self.address.presence.check_over()?;
        answer
    }

    async fn session(&self, slot: &Mutex<Slot>) -> Result<Arc<Session>, StoreError> {
        let mut slot = slot.lock().await;
        if let Some(session) = slot.as_ref().filter(|session| !session.client.is_closed()) {
            return Ok(Arc::clone(session));
        }
        if let Some((since, error)) = self.failed().as_ref().filter(|(since, _)| since.elapsed() < PAUSE) {
            tracing::debug!(?since, "the database was just found unreachable");
            return Err(error.clone());
        }
        *slot = None;
        match Session::connect(&self.address).await {
            Ok(session) => {
                *self.failed() = None;
                Ok(Arc::clone(slot.insert(Arc::new(session))))
            }
            Err(error) => {
                *self.failed() = Some((Instant::now(), error.clone()));
                Err(error)
            }
        }
    }

    fn failed(&self) -> MutexGuard<'_, Option<(Instant, StoreError)>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
