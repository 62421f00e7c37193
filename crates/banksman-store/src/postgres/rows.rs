//! Turning rows back into values, and values into what the driver takes.

use std::sync::Arc;

use banksman_core::{
    ActionId, BatchId, Case, Digest, PrincipalKind, Review, State, Submission, Timestamp, TokenId,
};
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use crate::{Credential, SignedCheckpoint, StoreError, StoredNotice};

/// A column that holds something no version of this program writes.
fn corrupt(column: usize, what: impl std::fmt::Display) -> StoreError {
    StoreError::Corrupt(format!("column {column}: {what}"))
}

pub(super) fn get<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T, StoreError> {
    row.try_get(column).map_err(|error| corrupt(column, error))
}

/// One of the names of an enumeration.
pub(super) fn name<T: std::str::FromStr<Err: std::fmt::Display>>(
    row: &Row,
    column: usize,
) -> Result<T, StoreError> {
    get::<&str>(row, column)?.parse().map_err(|error| corrupt(column, error))
}

/// A moment that may not be there.
pub(super) fn moment(row: &Row, column: usize) -> Result<Option<Timestamp>, StoreError> {
    Ok(get::<Option<i64>>(row, column)?.map(Timestamp::from_micros))
}

/// A number that is small and never negative.
pub(super) fn small(row: &Row, column: usize) -> Result<u32, StoreError> {
    u32::try_from(count(row, column)?).map_err(|error| corrupt(column, error))
}

fn bytes<const N: usize>(row: &Row, column: usize) -> Result<[u8; N], StoreError> {
    get::<&[u8]>(row, column)?.try_into().map_err(|_| corrupt(column, format!("not {N} bytes")))
}

pub(super) fn action_id(row: &Row, column: usize) -> Result<ActionId, StoreError> {
    bytes(row, column).map(ActionId::from_bytes)
}

pub(super) fn digest(row: &Row, column: usize) -> Result<Digest, StoreError> {
    bytes(row, column).map(Digest::from_bytes)
}

pub(super) fn time(row: &Row, column: usize) -> Result<Timestamp, StoreError> {
    get(row, column).map(Timestamp::from_micros)
}

/// A number that is never negative.
pub(super) fn count(row: &Row, column: usize) -> Result<u64, StoreError> {
    u64::try_from(get::<i64>(row, column)?).map_err(|error| corrupt(column, error))
}

pub(super) fn from_json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::Corrupt(error.to_string()))
}

fn json<T: serde::de::DeserializeOwned>(row: &Row, column: usize) -> Result<T, StoreError> {
    serde_json::from_str(get(row, column)?).map_err(|error| corrupt(column, error))
}

/// A list of documents that one column holds together.
pub(super) fn documents<T: serde::de::DeserializeOwned>(
    row: &Row,
    column: usize,
) -> Result<Vec<T>, StoreError> {
    get::<Vec<&str>>(row, column)?.into_iter().map(from_json).collect()
}

/// What an action of `actions a` asks for.
///
/// It is looked up for each row. A join would leave the database the choice to walk along all that was ever asked for until
/// it comes to the page that is wanted.
macro_rules! body {
    () => {
        "(SELECT s.body FROM submissions s WHERE s.action = a.id AND s.version = a.version)"
    };
}

/// The same, to look for words in: by bytes.
pub(super) const BODY_AS_BYTES: &str = concat!(body!(), " COLLATE \"C\"");

/// The columns that [`case`] reads, from `actions a`.
pub(super) const CASE_COLUMNS: &str = concat!(
    "a.id, a.agent, a.owner, a.batch, a.created_at, a.revision, a.version, a.reviews, a.state, ",
    body!()
);

pub(super) fn case(row: &Row) -> Result<Case, StoreError> {
    let batch = match get::<Option<&[u8]>>(row, 3)? {
        Some(_) => Some(BatchId::from_bytes(bytes(row, 3)?)),
        None => None,
    };
    let submission: Submission = json(row, 9)?;
    let reviews: Vec<Review> = json(row, 7)?;
    let state: State = json(row, 8)?;
    Ok(Case {
        id: action_id(row, 0)?,
        agent: get(row, 1)?,
        owner: get(row, 2)?,
        batch,
        created_at: time(row, 4)?,
        revision: count(row, 5)?,
        version: small(row, 6)?,
        submission: Arc::new(submission),
        reviews,
        state,
    })
}

pub(super) const CREDENTIAL_COLUMNS: &str =
    "id, secret_hash, kind, name, owner, roles, created_at, expires_at, revoked_at, session";

pub(super) fn credential(row: &Row) -> Result<Credential, StoreError> {
    let kind: PrincipalKind = name(row, 2)?;
    Ok(Credential {
        id: TokenId::from_bytes(bytes(row, 0)?),
        secret_hash: digest(row, 1)?,
        kind,
        name: get(row, 3)?,
        owner: get(row, 4)?,
        roles: json(row, 5)?,
        created_at: time(row, 6)?,
        expires_at: moment(row, 7)?,
        revoked_at: moment(row, 8)?,
        session: get::<Option<&str>>(row, 9)?.map(from_json).transpose()?,
    })
}

pub(super) fn notice(row: &Row) -> Result<StoredNotice, StoreError> {
    Ok(StoredNotice { id: get(row, 0)?, action: action_id(row, 1)?, notice: get(row, 2)?, at: time(row, 3)? })
}

pub(super) fn checkpoint(row: &Row) -> Result<SignedCheckpoint, StoreError> {
    Ok(SignedCheckpoint { size: count(row, 0)?, at: time(row, 1)?, note: get(row, 2)? })
}

/// A number as the database counts; what does not fit is an error and not another number.
pub(super) fn int(value: u64) -> Result<i64, StoreError> {
    i64::try_from(value).map_err(|_| StoreError::Failed(format!("{value} is too large a number to store")))
}
