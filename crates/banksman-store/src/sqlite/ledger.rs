//! The ledger's pages and checkpoints.

use banksman_core::Digest;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::rows;
use crate::{Seal, SignedCheckpoint};

pub(super) fn write(connection: &Connection, seal: &Seal) -> rusqlite::Result<()> {
    let mut page = connection
        .prepare_cached("INSERT INTO ledger_pages (page, hash) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?;
    for (number, hash) in (seal.first_page..).zip(&seal.pages) {
        page.execute(params![number, hash.as_bytes()])?;
    }
    let SignedCheckpoint { size, at, note } = &seal.checkpoint;
    connection
        .prepare_cached(
            "INSERT INTO checkpoints (size, at, note) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
        )?
        .execute(params![size, at.as_micros(), note])?;
    Ok(())
}

pub(super) fn pages(connection: &Connection, from: u64) -> rusqlite::Result<Vec<Digest>> {
    connection
        .prepare_cached("SELECT hash FROM ledger_pages WHERE page >= ?1 ORDER BY page")?
        .query_map([from], |row| rows::digest(row, 0))?
        .collect()
}

pub(super) fn checkpoints(
    connection: &Connection,
    beyond: u64,
    limit: usize,
) -> rusqlite::Result<Vec<SignedCheckpoint>> {
    connection
        .prepare_cached("SELECT size, at, note FROM checkpoints WHERE size > ?1 ORDER BY size LIMIT ?2")?
        .query_map(params![beyond, crate::listing::limit(limit)], checkpoint)?
        .collect()
}

pub(super) fn last_checkpoint(connection: &Connection) -> rusqlite::Result<Option<SignedCheckpoint>> {
    connection
        .prepare_cached("SELECT size, at, note FROM checkpoints ORDER BY size DESC LIMIT 1")?
        .query_row([], checkpoint)
        .optional()
}

fn checkpoint(row: &Row<'_>) -> rusqlite::Result<SignedCheckpoint> {
    Ok(SignedCheckpoint { size: row.get(0)?, at: rows::time(row, 1)?, note: row.get(2)? })
}
