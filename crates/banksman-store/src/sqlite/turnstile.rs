//! Who writes now and then gets a turn beside a server that writes all the time.
//!
//! SQLite's own lock is had by whoever happens to ask while it is free, and under load that is for a few microseconds many
//! times a second. So who writes now and then locks another file first, for as long as they write, and the server looks
//! after each of its transactions whether anybody has.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long the server gives way at the most. Whoever takes longer has to be lucky.
const PATIENCE: Duration = Duration::from_secs(1);

pub(super) struct Turnstile {
    /// Without it everybody is as lucky as SQLite makes them.
    file: Option<File>,
}

/// The file that belongs to a database.
pub(super) fn path_of(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push("-turn");
    name.into()
}

impl Turnstile {
    pub(super) fn of(database: &Path) -> Self {
        let file =
            OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path_of(database));
        Self { file: file.ok() }
    }

    /// Waits until nobody else has a turn, and takes it, until [`Turnstile::leave`] or the end of this.
    pub(super) fn enter(&self) {
        if let Some(file) = &self.file {
            let _ = file.lock();
        }
    }

    pub(super) fn leave(&self) {
        if let Some(file) = &self.file {
            let _ = file.unlock();
        }
    }

    /// Waits for those who have a turn.
    pub(super) fn give_way(&self) {
        let Some(file) = &self.file else { return };
        let begin = Instant::now();
        while matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)) && begin.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = file.unlock();
    }
}
