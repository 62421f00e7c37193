//! Looking a database file over, or writing it out, without changing it.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::recover::{note, take_over};
use super::redo::{self, Missing};
use super::turnstile::Turnstile;
use super::writer::failed;
use crate::{Findings, StoreError};

/// Checks a database file, beside a running server or without one.
///
/// # Errors
/// If it cannot be read, or is damaged.
pub fn examine(path: &Path) -> Result<Findings, StoreError> {
    settle(path)?;
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(failed)?;
    let verdict: String =
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(failed)?;
    if verdict != "ok" {
        return Err(StoreError::Corrupt(verdict));
    }
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get(0)).map_err(failed);
    Ok(Findings {
        schema: number("PRAGMA user_version")?,
        actions: number("SELECT count(*) FROM actions")?,
        events: number("SELECT count(*) FROM audit")?,
    })
}

/// Writes what a database file holds at this moment into another, which does not exist or is empty, beside a running
/// server or without one.
///
/// # Errors
/// If either cannot be used.
pub fn back_up(path: &Path, into: &Path) -> Result<(), StoreError> {
    settle(path)?;
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(failed)?;
    connection.busy_timeout(super::BUSY_TIMEOUT).map_err(failed)?;
    let into = into.to_str().ok_or_else(|| StoreError::Failed("the file's name is not UTF-8".into()))?;
    connection.execute("VACUUM INTO ?1", [into]).map_err(failed)?;
    // Whatever lies beside it when it is put to use does not belong to it.
    let written = Connection::open_with_flags(into, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(failed)?;
    note(&written, 0, 0)
}

/// Waits until the file holds everything that was answered by now: a server that runs has it in the redo log for a moment,
/// and one that was killed has left it there.
fn settle(path: &Path) -> Result<(), StoreError> {
    let nothing_beside = std::fs::metadata(redo::path_of(path)).map_or(true, |redo| redo.len() == 0);
    if nothing_beside {
        return Ok(());
    }
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(failed)?;
    connection.busy_timeout(super::BUSY_TIMEOUT).map_err(failed)?;
    let turnstile = Turnstile::of(path);
    turnstile.enter();
    take_over(&connection, path, Missing::Leave).map(drop)
}
