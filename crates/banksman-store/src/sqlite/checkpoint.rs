//! Moves what the log holds into the main file, without the writer standing still meanwhile.
//!
//! A checkpoint copies hundreds of pages and syncs the main file: six milliseconds and more, in which nobody's commit is
//! answered if the writer does it. A thread of its own does the bulk. It can never finish under constant traffic, since
//! the log grows behind its back, and a log that was not copied to its end never starts again from its beginning. So the
//! writer commits nothing meanwhile if it can help it; what came in during the bulk is the next bulk, and so on, until it
//! is little enough for the writer to copy itself.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use rusqlite::Connection;

use super::writer::failed;
use crate::StoreError;

/// How many pages the log may hold before they are copied; few in tests, so that they see it happen.
const PAGES: i32 = if cfg!(test) { 100 } else { 12_000 };

/// As many pages the writer copies itself.
const FEW: i32 = if cfg!(test) { 20 } else { 100 };

/// After so many bulks in a row the writer copies the rest, however much it is.
const BULKS: u32 = 4;

pub(super) struct Checkpoints {
    /// As many pages as the log holds, as of the writer's last commit.
    pages: Arc<AtomicI32>,
    /// With so many the next bulk is due.
    due: i32,
    bulk: Option<Bulk>,
    stage: Stage,
}

#[derive(Debug, Clone, Copy)]
enum Stage {
    /// The log is not long enough.
    Waiting,
    /// The so-manieth bulk is being copied.
    Copying(u32),
    /// That is done, and left the log copied up to here.
    Copied { bulks: u32, pages: i32 },
}

/// The thread that does the bulk: a word to begin, a word when done.
struct Bulk {
    begin: Sender<()>,
    done: Receiver<i32>,
    thread: JoinHandle<()>,
}

impl Checkpoints {
    /// Takes over from SQLite, which would do it within the writer's commit.
    pub(super) fn take_over(writer: &mut Connection, path: &Path) -> Result<Self, StoreError> {
        let pages = Arc::new(AtomicI32::new(0));
        let seen = Arc::clone(&pages);
        writer
            .wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, pages| {
                seen.store(pages, Ordering::Relaxed);
                Ok(())
            }))
            .map_err(failed)?;
        Ok(Self { pages, due: PAGES, bulk: Some(Bulk::start(path)?), stage: Stage::Waiting })
    }

    /// Whether a bulk is being copied, so that nothing should be committed that can wait.
    pub(super) fn is_copying(&mut self) -> bool {
        if let Stage::Copying(bulks) = self.stage
            && let Some(bulk) = &self.bulk
            && let Ok(pages) = bulk.done.try_recv()
        {
            self.stage = Stage::Copied { bulks, pages };
        }
        matches!(self.stage, Stage::Copying(_))
    }

    /// To be called by the writer after its commits.
    pub(super) fn turn(&mut self, writer: &Connection) {
        let pages = self.pages.load(Ordering::Relaxed);
        if self.is_copying() {
            return;
        }
        match self.stage {
            Stage::Copying(_) => {}
            Stage::Waiting if pages < self.due => {}
            Stage::Waiting => self.copy_bulk(1),
            Stage::Copied { bulks, pages: copied } if pages.saturating_sub(copied) > FEW && bulks < BULKS => {
                self.copy_bulk(bulks + 1);
            }
            Stage::Copied { .. } => {
                self.stage = Stage::Waiting;
                // A reader may still need what is in the log. Then it grows on, and this is tried again later.
                self.due = match copy(writer) {
                    Ok(Progress { log, copied }) if log == copied => PAGES,
                    Ok(Progress { log, .. }) => log.saturating_add(PAGES),
                    Err(error) => {
                        tracing::warn!(%error, "the log could not be copied into the database file");
                        pages.saturating_add(PAGES)
                    }
                };
            }
        }
    }

    fn copy_bulk(&mut self, number: u32) {
        let begun = self.bulk.as_ref().is_some_and(|bulk| bulk.begin.send(()).is_ok());
        self.stage = if begun { Stage::Copying(number) } else { Stage::Waiting };
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        if let Some(Bulk { begin, done, thread }) = self.bulk.take() {
            drop((begin, done));
            let _ = thread.join();
        }
    }
}

impl Bulk {
    fn start(path: &Path) -> Result<Self, StoreError> {
        let connection = Connection::open(path).map_err(failed)?;
        super::configure(&connection).map_err(failed)?;
        // FULL: the main file is synced before the log that it was copied from is written over.
        connection.pragma_update(None, "synchronous", "FULL").map_err(failed)?;
        let (begin, inbox) = channel();
        let (outbox, done) = channel();
        let thread = std::thread::Builder::new()
            .name("sqlite-copier".into())
            .spawn(move || {
                while inbox.recv().is_ok() {
                    let copied = copy(&connection).map_or_else(
                        |error| {
                            tracing::warn!(%error, "the log could not be copied into the database file");
                            0
                        },
                        |progress| progress.copied,
                    );
                    if outbox.send(copied).is_err() {
                        break;
                    }
                }
            })
            .map_err(|error| StoreError::Failed(error.to_string()))?;
        Ok(Self { begin, done, thread })
    }
}

/// Pages in the log, and how many of them are in the main file.
struct Progress {
    log: i32,
    copied: i32,
}

/// Copies what no reader stands in the way of, and waits for nobody.
fn copy(connection: &Connection) -> rusqlite::Result<Progress> {
    connection
        .prepare_cached("PRAGMA wal_checkpoint(PASSIVE)")?
        .query_row([], |row| Ok(Progress { log: row.get(1)?, copied: row.get(2)? }))
}
