//! Reading, beside the writer: each read sees the newest committed state.

use banksman_core::{
    ActionId, BatchId, Case, Delegation, Digest, Freeze, Grant, Mode, Submission, Timestamp,
};
use rusqlite::{Connection, OptionalExtension, params};

use super::lists::{DIALECT, listed};
use super::rows::{self, CASE_COLUMNS, CREDENTIAL_COLUMNS};
use crate::listing;
use crate::{BatchRecord, Control, Credential, EventQuery, Person, StoredEvent, StoredNotice};

pub(super) fn case(connection: &Connection, id: ActionId) -> rusqlite::Result<Option<Case>> {
    connection
        .prepare_cached(&format!(
            "SELECT {CASE_COLUMNS} FROM actions a JOIN submissions s ON s.action = a.id AND s.version = a.version
             WHERE a.id = ?1"
        ))?
        .query_row([id.to_bytes()], rows::case)
        .optional()
}

/// What would have run by a version of an action.
pub(super) fn submission(
    connection: &Connection,
    id: ActionId,
    version: u32,
) -> rusqlite::Result<Option<Submission>> {
    connection
        .prepare_cached("SELECT body FROM submissions WHERE action = ?1 AND version = ?2")?
        .query_row(params![id.to_bytes(), version], |row| rows::json(row, 0))
        .optional()
}

pub(super) fn batch(connection: &Connection, id: BatchId) -> rusqlite::Result<Option<BatchRecord>> {
    connection
        .prepare_cached("SELECT agent, created_at, items FROM batches WHERE id = ?1")?
        .query_row([id.to_bytes()], |row| {
            let items: Vec<u8> = row.get(2)?;
            let items = items
                .chunks_exact(16)
                .filter_map(|bytes| <[u8; 16]>::try_from(bytes).ok())
                .map(ActionId::from_bytes)
                .collect();
            Ok(BatchRecord { id, agent: row.get(0)?, created_at: rows::time(row, 1)?, items })
        })
        .optional()
}

pub(super) const DUE: &str =
    "SELECT id FROM actions WHERE wake_at IS NOT NULL AND wake_at <= ?1 ORDER BY wake_at LIMIT ?2";

pub(super) fn due(connection: &Connection, by: Timestamp, limit: usize) -> rusqlite::Result<Vec<ActionId>> {
    let mut statement = connection.prepare_cached(DUE)?;
    statement
        .query_map(params![by.as_micros(), listing::limit(limit)], |row| rows::action_id(row, 0))?
        .collect()
}

pub(super) const NEXT_DUE: &str = "SELECT min(wake_at) FROM actions WHERE wake_at IS NOT NULL";

pub(super) fn next_due(connection: &Connection) -> rusqlite::Result<Option<Timestamp>> {
    let next: Option<i64> = connection.prepare_cached(NEXT_DUE)?.query_row([], |row| row.get(0))?;
    Ok(next.map(Timestamp::from_micros))
}

pub(super) fn control(connection: &Connection) -> rusqlite::Result<Control> {
    // One transaction, so that the epoch belongs to the lists.
    let view = connection.unchecked_transaction()?;
    let (epoch, people_epoch, mode, fell_back_from) = view
        .prepare_cached("SELECT epoch, people_epoch, mode, fell_back_from FROM control")?
        .query_row([], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?, row.get::<_, Option<String>>(3)?))
        })?;
    let freezes = view
        .prepare_cached("SELECT body FROM freezes ORDER BY id")?
        .query_map([], |row| rows::json::<Freeze>(row, 0))?
        .collect::<rusqlite::Result<_>>()?;
    let grants = view
        .prepare_cached("SELECT body FROM grants ORDER BY id")?
        .query_map([], |row| rows::json::<Grant>(row, 0))?
        .collect::<rusqlite::Result<_>>()?;
    let delegations = view
        .prepare_cached("SELECT body FROM delegations ORDER BY id")?
        .query_map([], |row| rows::json::<Delegation>(row, 0))?
        .collect::<rusqlite::Result<_>>()?;
    // The CHECK allows only known modes; if it is none all the same, be strict.
    let mode = mode.parse().unwrap_or(Mode::Production);
    let fell_back_from = fell_back_from.map(|mode| mode.parse().unwrap_or(Mode::Production));
    Ok(Control { epoch, people_epoch, mode, fell_back_from, freezes, grants, delegations })
}

pub(super) fn credential(connection: &Connection, hash: Digest) -> rusqlite::Result<Option<Credential>> {
    connection
        .prepare_cached(&format!("SELECT {CREDENTIAL_COLUMNS} FROM credentials WHERE secret_hash = ?1"))?
        .query_row([hash.as_bytes()], rows::credential)
        .optional()
}

pub(super) fn credentials(connection: &Connection) -> rusqlite::Result<Vec<Credential>> {
    connection
        .prepare_cached(&format!("SELECT {CREDENTIAL_COLUMNS} FROM credentials ORDER BY id"))?
        .query_map([], rows::credential)?
        .collect()
}

pub(super) fn person(connection: &Connection, name: &str) -> rusqlite::Result<Option<Person>> {
    connection
        .prepare_cached("SELECT body FROM people WHERE name = ?1")?
        .query_row([name], |row| rows::json(row, 0))
        .optional()
}

pub(super) fn people(connection: &Connection) -> rusqlite::Result<Vec<Person>> {
    connection
        .prepare_cached("SELECT body FROM people ORDER BY id")?
        .query_map([], |row| rows::json(row, 0))?
        .collect()
}

pub(super) fn is_spent(connection: &Connection, key: Digest) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM spent WHERE key = ?1)")?
        .query_row([key.as_bytes()], |row| row.get(0))
}

pub(super) fn events(connection: &Connection, query: &EventQuery) -> rusqlite::Result<Vec<StoredEvent>> {
    listed(connection, listing::events(&DIALECT, query), |row| {
        Ok(StoredEvent { seq: row.get(0)?, kind: row.get(1)?, body: row.get(2)? })
    })
}

pub(super) fn last_seq(connection: &Connection) -> rusqlite::Result<u64> {
    connection.prepare_cached("SELECT coalesce(max(seq), 0) FROM audit")?.query_row([], |row| row.get(0))
}

pub(super) fn notices(connection: &Connection, limit: usize) -> rusqlite::Result<Vec<StoredNotice>> {
    let mut statement =
        connection.prepare_cached("SELECT id, action, notice, at FROM outbox ORDER BY id LIMIT ?1")?;
    statement
        .query_map([listing::limit(limit)], |row| {
            Ok(StoredNotice {
                id: row.get(0)?,
                action: rows::action_id(row, 1)?,
                notice: row.get(2)?,
                at: rows::time(row, 3)?,
            })
        })?
        .collect()
}
