//! Moves what the log holds into the main file, without the writer standing still meanwhile.
//!
//! A checkpoint copies hundreds of pages and syncs the main file: six milliseconds and more, in which nobody's commit is
//! answered if the writer does it. A thread of its own does the bulk. It can never finish under constant traffic, since
//! the log grows behind its back, and a log that was not copied to its end never starts again from its beginning. So the
//! writer copies the rest, which is what came in during the bulk.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use rusqlite::Connection;

use super::writer::failed;
use crate::StoreError;

/// How many pages the log may hold before they are copied; few in tests, so that they see it happen.
const PAGES: i32 = if cfg!(test) { 100 } else { 4000 };

pub(super) struct Checkpoints {
    /// As many pages as the log holds, as of the writer's last commit.
    pages: Arc<AtomicI32>,
    /// With so many the next bulk is due.
    due: i32,
    bulk: Option<Bulk>,
    copying: bool,
}

/// The thread that does the bulk: a word to begin, a word when done.
struct Bulk {
    begin: Sender<()>,
    done: Receiver<()>,
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
        Ok(Self { pages, due: PAGES, bulk: Some(Bulk::start(path)?), copying: false })
    }

    /// To be called by the writer between its commits.
    pub(super) fn turn(&mut self, writer: &Connection) {
        let Some(bulk) = &self.bulk else { return };
        if self.copying {
            if bulk.done.try_recv().is_err() {
                return;
            }
            self.copying = false;
            // A reader may still need what is in the log. Then it grows on, and this is tried again later.
            self.due = match copy(writer) {
                Ok(Progress { log, copied }) if log == copied => PAGES,
                Ok(Progress { log, .. }) => log.saturating_add(PAGES),
                Err(error) => {
                    tracing::warn!(%error, "the log could not be copied into the database file");
                    self.pages.load(Ordering::Relaxed).saturating_add(PAGES)
                }
            };
        } else if self.pages.load(Ordering::Relaxed) >= self.due {
            self.copying = bulk.begin.send(()).is_ok();
        }
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
                    if let Err(error) = copy(&connection) {
                        tracing::warn!(%error, "the log could not be copied into the database file");
                    }
                    if outbox.send(()).is_err() {
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
