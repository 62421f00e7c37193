//! Turning rows back into values.

use std::sync::Arc;

use banksman_core::{
    ActionId, BatchId, Case, Digest, PrincipalKind, Review, State, Submission, Timestamp, TokenId,
};
use rusqlite::Row;
use rusqlite::types::Type;

use crate::Credential;

/// A column that holds something no version of this program writes.
fn corrupt(column: usize, kind: Type, what: impl std::fmt::Display) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, kind, what.to_string().into())
}

pub(super) fn action_id(row: &Row<'_>, column: usize) -> rusqlite::Result<ActionId> {
    row.get(column).map(ActionId::from_bytes)
}

pub(super) fn digest(row: &Row<'_>, column: usize) -> rusqlite::Result<Digest> {
    row.get(column).map(Digest::from_bytes)
}

pub(super) fn time(row: &Row<'_>, column: usize) -> rusqlite::Result<Timestamp> {
    row.get(column).map(Timestamp::from_micros)
}

pub(super) fn json<T: serde::de::DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let text = row.get_ref(column)?.as_str()?;
    serde_json::from_str(text).map_err(|error| corrupt(column, Type::Text, error))
}

pub(super) fn moment(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Timestamp>> {
    row.get::<_, Option<i64>>(column).map(|micros| micros.map(Timestamp::from_micros))
}

/// One of the names of an enumeration.
pub(super) fn name<T: std::str::FromStr<Err: std::fmt::Display>>(
    row: &Row<'_>,
    column: usize,
) -> rusqlite::Result<T> {
    row.get_ref(column)?.as_str()?.parse().map_err(|error| corrupt(column, Type::Text, error))
}

/// The columns that [`case`] reads, from `actions a` joined with `submissions s`.
pub(super) const CASE_COLUMNS: &str =
    "a.id, a.agent, a.owner, a.batch, a.created_at, a.revision, a.version, a.reviews, a.state, s.body";

pub(super) fn case(row: &Row<'_>) -> rusqlite::Result<Case> {
    let batch: Option<[u8; 16]> = row.get(3)?;
    let submission: Submission = json(row, 9)?;
    let reviews: Vec<Review> = json(row, 7)?;
    let state: State = json(row, 8)?;
    Ok(Case {
        id: action_id(row, 0)?,
        agent: row.get(1)?,
        owner: row.get(2)?,
        batch: batch.map(BatchId::from_bytes),
        created_at: time(row, 4)?,
        revision: row.get(5)?,
        version: row.get(6)?,
        submission: Arc::new(submission),
        reviews,
        state,
    })
}

pub(super) const CREDENTIAL_COLUMNS: &str =
    "id, secret_hash, kind, name, owner, roles, created_at, expires_at, revoked_at, session";

pub(super) fn credential(row: &Row<'_>) -> rusqlite::Result<Credential> {
    let kind: PrincipalKind = name(row, 2)?;
    Ok(Credential {
        id: TokenId::from_bytes(row.get(0)?),
        secret_hash: digest(row, 1)?,
        kind,
        name: row.get(3)?,
        owner: row.get(4)?,
        roles: json(row, 5)?,
        created_at: time(row, 6)?,
        expires_at: moment(row, 7)?,
        revoked_at: moment(row, 8)?,
        session: if row.get_ref(9)?.as_str_or_null()?.is_some() { Some(json(row, 9)?) } else { None },
    })
}
