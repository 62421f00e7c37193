//! Groups of commits, each durable and in order, in as few transactions of SQLite as possible.
//!
//! A transaction of SQLite writes every page that it changed, and what a group of commits changes is on the same few dozen
//! pages as what the next one does. So a transaction stays open for many groups. Each is made durable by a record in the
//! redo log ([`super::redo`]); SQLite commits when somebody wants to read, when there is nothing else to do, or after a
//! while.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::apply::{ApplyError, Totals, apply};
use super::leaves::Leaves;
use super::pen::Pen;
use super::recover::{begin_with_all, new_lap, note, unreadable, write_again};
use super::redo::{Missing, Redo};
use super::schema;
use super::turnstile::Turnstile;
use super::writer::{Answer, failed};
use crate::encode::EncodedCommit;
use crate::{CommitError, Committed, StoreError};

/// How long what is durable may stay unseen by those who do not ask for it: other processes that read the file.
const UNSEEN: Duration = Duration::from_millis(60);

/// The same where committing is a nuisance.
const UNSEEN_AT_MOST: Duration = Duration::from_millis(200);

/// How many bytes must be free on the disk for something to be taken on that SQLite has not written yet: more than it could
/// come to. Not looked at in tests, which see what happens if that is wrong.
const ROOM: Option<u64> = if cfg!(test) { None } else { Some(64 << 20) };

/// After a failure, how long until SQLite is asked again to commit what is durable.
const AFTER_FAILURE: Duration = Duration::from_millis(250);

/// With nothing to do for so long, SQLite may as well commit.
const IDLE: Duration = Duration::from_millis(3);

pub(super) struct Transactions<'c> {
    pen: Pen<'c>,
    pub(super) totals: Totals,
    path: PathBuf,
    turnstile: Turnstile,
    /// Without one, SQLite commits every group.
    redo: Option<Redo>,
    /// The one of a server that has ended, and whose last words are part of the open transaction.
    orphan: Option<Redo>,
    /// Whether there was room on the disk when the transaction began.
    room: bool,
    /// Since when a transaction is open.
    open_since: Option<Instant>,
    /// Whether the redo log has records that SQLite has not committed.
    ahead: bool,
    /// Whether a commit of SQLite or a record failed. Either may be on the disk all the same, and must not be built on: until
    /// SQLite has committed, durably and with a new lap, nothing is taken on.
    stuck: bool,
}

impl<'c> Transactions<'c> {
    pub(super) fn new(pen: Pen<'c>, totals: Totals, path: &Path, redo: Option<Redo>) -> Self {
        Self {
            pen,
            totals,
            path: path.to_owned(),
            turnstile: Turnstile::of(path),
            redo,
            orphan: None,
            room: false,
            open_since: None,
            ahead: false,
            stuck: false,
        }
    }

    /// Commits a group, all of it or nothing.
    pub(super) fn commit<'g>(
        &mut self,
        group: impl Iterator<Item = &'g EncodedCommit> + Clone,
        leaves: &Leaves,
    ) -> Result<Vec<Answer>, StoreError> {
        self.totals.checkpoint();
        self.try_commit(group, leaves).inspect_err(|_| self.undo())
    }

    fn try_commit<'g>(
        &mut self,
        group: impl Iterator<Item = &'g EncodedCommit> + Clone,
        leaves: &Leaves,
    ) -> Result<Vec<Answer>, StoreError> {
        self.begin()?;
        let before = self.totals.last_seq;
        self.pen.record.clear();
        let mut outcomes = Vec::new();
        let mut plain = true;
        for commit in group.clone() {
            plain &= commit.is_plain();
            if commit.is_empty() {
                // The one write that dirties a page without changing it: a row that stays the same is not written.
                let touched =
                    self.pen.connection.pragma_update(None, "user_version", schema::MIGRATIONS.len());
                touched.map_err(failed)?;
            }
            match apply(&mut self.pen, &mut self.totals, commit) {
                Ok(()) => outcomes.push(Ok(())),
                Err(ApplyError::Conflict(conflict)) => outcomes.push(Err(CommitError::Conflict(conflict))),
                Err(ApplyError::Sqlite(error)) => return Err(failed(error)),
            }
        }
        let record = &mut self.pen.record;
        match &mut self.redo {
            Some(redo) if plain && self.room && !self.stuck && record.fits() => {
                if !record.is_empty() {
                    self.stuck = true;
                    redo.append(record).map_err(unreadable)?;
                    self.stuck = false;
                    self.ahead = true;
                }
            }
            Some(_) | None => self.conclude(Pace::Durable)?,
        }
        let happened = group.zip(&outcomes).filter(|(_, outcome)| outcome.is_ok());
        leaves.keep(before, happened.flat_map(|(commit, _)| commit.events.iter().map(|row| row.leaf)));
        let committed = Committed { last_seq: self.totals.last_seq };
        Ok(outcomes.into_iter().map(|outcome| outcome.map(|()| committed)).collect())
    }

    /// Lets everyone see what is durable.
    pub(super) fn publish(&mut self) -> Result<(), StoreError> {
        if self.open_since.is_none() && !self.is_behind_itself() {
            return Ok(());
        }
        let durable = self.stuck || self.redo.as_ref().is_none_or(Redo::is_full);
        let published =
            self.begin().and_then(|()| self.conclude(if durable { Pace::Durable } else { Pace::Lazy }));
        if let Err(error) = &published {
            tracing::error!(%error, "what is durable cannot be brought into the database; nothing is taken on until it can");
            self.totals.checkpoint();
            self.undo();
        }
        published
    }

    /// Whether something is durable that not everyone can see.
    pub(super) fn is_ahead(&self) -> bool {
        self.ahead
    }

    /// Whether no transaction is open.
    pub(super) fn is_closed(&self) -> bool {
        self.open_since.is_none()
    }

    pub(super) fn connection(&self) -> &'c rusqlite::Connection {
        self.pen.connection
    }

    /// Whether SQLite has something to catch up with after a failure.
    fn is_behind_itself(&self) -> bool {
        self.ahead || self.stuck && self.redo.is_some()
    }

    /// How long to wait for more before publishing; for ever, if there is nothing to publish.
    pub(super) fn patience(&self) -> Option<Duration> {
        match self.open_since {
            Some(_) => Some(IDLE),
            None => self.is_behind_itself().then_some(AFTER_FAILURE),
        }
    }

    /// Lets others write, if any wait for it.
    pub(super) fn give_way(&self) {
        if self.redo.is_some() && self.is_closed() {
            self.turnstile.give_way();
        }
    }

    /// Whether it is time to publish.
    pub(super) fn is_due(&self) -> bool {
        self.open_since.is_some_and(|since| since.elapsed() >= UNSEEN)
            || self.redo.as_ref().is_some_and(Redo::is_full)
    }

    /// Whether publishing can wait no longer.
    pub(super) fn is_overdue(&self) -> bool {
        self.open_since.is_some_and(|since| since.elapsed() >= UNSEEN_AT_MOST)
            || self.redo.as_ref().is_none_or(Redo::is_full)
    }

    /// Begins a transaction, unless one is open, with everything in it that is durable.
    fn begin(&mut self) -> Result<(), StoreError> {
        if self.open_since.is_some() {
            return Ok(());
        }
        match &self.redo {
            Some(redo) => {
                self.pen.begin.execute([]).map_err(failed)?;
                if self.ahead {
                    write_again(&mut self.pen, redo)?;
                }
            }
            None => {
                self.turnstile.enter();
                // A server that had the redo log when this was opened may have ended since.
                self.orphan = begin_with_all(&mut self.pen, &self.path, Missing::Leave)?;
                if self.orphan.is_some() {
                    note(self.pen.connection, new_lap()?, 0)?;
                }
            }
        }
        self.open_since = Some(Instant::now());
        self.room = has_room(&self.path);
        self.totals.refresh(&mut self.pen).map_err(failed)
    }

    /// Ends the transaction.
    fn conclude(&mut self, pace: Pace) -> Result<(), StoreError> {
        let mut next = None;
        if let Some(redo) = self.redo.as_ref().filter(|redo| redo.number() > 0 || self.stuck) {
            // What is on the disk with SQLite need not be in the redo log.
            let (lap, applied) = match pace {
                Pace::Durable => (*next.insert(new_lap()?), 0),
                Pace::Lazy => (redo.lap(), redo.number()),
            };
            note(self.pen.connection, lap, applied)?;
        }
        self.stuck = true;
        match pace {
            Pace::Durable => self.pen.commit.execute([]),
            Pace::Lazy => banksman_wal::lazily(|| self.pen.commit.execute([])),
        }
        .map_err(failed)?;
        if let (Some(redo), Some(lap)) = (&mut self.redo, next) {
            redo.begin_lap(lap);
        }
        self.open_since = None;
        self.ahead = false;
        self.stuck = false;
        self.orphan = None;
        if self.redo.is_none() {
            self.turnstile.leave();
        }
        Ok(())
    }

    /// Takes back what was not made durable.
    fn undo(&mut self) {
        // Before SQLite's lock: see `redo.rs`.
        self.orphan = None;
        // After some errors SQLite has rolled back by itself; then this one fails and that is fine.
        let _ = self.pen.connection.prepare_cached("ROLLBACK").and_then(|mut rollback| rollback.execute([]));
        self.open_since = None;
        self.totals.restore();
        if self.redo.is_none() {
            self.turnstile.leave();
        }
    }

    /// Leaves everything in the database.
    pub(super) fn finish(mut self) {
        if self.publish().is_ok()
            && self.begin().and_then(|()| self.conclude(Pace::Durable)).is_ok()
            && let Some(redo) = &mut self.redo
        {
            // What is left there is not read again anyway.
            let _ = redo.empty();
        }
    }
}

/// Whether SQLite will be able to write what it is to commit later.
fn has_room(database: &Path) -> bool {
    // Where nobody can say, SQLite writes at once.
    let free = || rustix::fs::statvfs(database).map_or(0, |disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    ROOM.is_none_or(|room| free() >= room)
}

/// Whether a commit of SQLite waits for the disk.
#[derive(Debug, Clone, Copy)]
enum Pace {
    /// It does.
    Durable,
    /// The redo log has everything.
    Lazy,
}
