//! Looking a database file over, without changing it.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::writer::failed;
use crate::{Findings, StoreError};

/// Checks a database file, beside a running server or without one.
///
/// # Errors
/// If it cannot be read, or is damaged.
pub fn examine(path: &Path) -> Result<Findings, StoreError> {
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
