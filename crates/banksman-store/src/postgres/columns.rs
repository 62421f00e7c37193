//! Rows, column by column: what `unnest` makes rows of again.

use tokio_postgres::types::ToSql;

use super::keys;
use super::rows::int;
use crate::encode::{CaseRow, EventRow};
use crate::{IdempotencyKey, NoticeRow, StoreError};

pub(super) type Column<'a> = Box<dyn ToSql + Sync + Send + 'a>;

/// A column: one value of each item.
pub(super) fn column<'a, I, T: ToSql + Sync + Send + 'a>(
    items: &[I],
    value: impl FnMut(&I) -> T,
) -> Column<'a> {
    Box::new(items.iter().map(value).collect::<Vec<T>>())
}

/// Where actions stand.
pub(super) fn standings<'a>(rows: &[&'a CaseRow]) -> Result<Vec<Column<'a>>, StoreError> {
    let revisions = rows.iter().map(|row| int(row.case.revision)).collect::<Result<Vec<_>, _>>()?;
    Ok(vec![
        column(rows, |row| row.case.id.to_bytes().to_vec()),
        column(rows, |row| row.case.submission.verdict.tier.as_str()),
        column(rows, |row| row.case.status().as_str()),
        column(rows, |row| row.case.submission.digest.as_bytes().as_slice()),
        column(rows, |row| i64::from(row.case.version)),
        Box::new(revisions),
        column(rows, |row| row.wake_at()),
        column(rows, |row| keys::join_of(row).map(|key| key.as_bytes().to_vec())),
        column(rows, |row| row.claimed_at()),
        column(rows, |row| i16::from(row.case.priority())),
        column(rows, |row| row.reviews.as_str()),
        column(rows, |row| row.state.as_str()),
        column(rows, |row| i16::from(row.risk())),
        column(rows, |row| row.deadline()),
    ])
}

/// What of an action never changes.
pub(super) fn origins<'a>(rows: &[&'a CaseRow]) -> [Column<'a>; 5] {
    [
        column(rows, |row| row.case.agent.as_str()),
        column(rows, |row| row.case.owner.as_deref()),
        column(rows, |row| row.case.submission.action.tool.as_str()),
        column(rows, |row| row.case.batch.map(|batch| batch.to_bytes().to_vec())),
        column(rows, |row| row.case.created_at.as_micros()),
    ]
}

pub(super) fn submissions<'a>(rows: &[(&'a CaseRow, &'a str)]) -> [Column<'a>; 3] {
    [
        column(rows, |(row, _)| row.case.id.to_bytes().to_vec()),
        column(rows, |(row, _)| i64::from(row.case.version)),
        column(rows, |(_, body)| *body),
    ]
}

pub(super) fn idempotency_keys<'a>(used: &[&'a IdempotencyKey]) -> [Column<'a>; 6] {
    [
        column(used, |key| keys::idempotency_of(key).as_bytes().to_vec()),
        column(used, |key| key.agent.as_str()),
        column(used, |key| key.key.as_str()),
        column(used, |key| key.request.as_bytes().as_slice()),
        column(used, |key| key.action.to_bytes().to_vec()),
        column(used, |key| key.at.as_micros()),
    ]
}

/// Notices, each with its place among the events of the group.
pub(super) fn notices<'a>(notices: &[(i64, &'a NoticeRow)]) -> [Column<'a>; 4] {
    [
        column(notices, |(place, _)| *place),
        column(notices, |(_, notice)| notice.action.to_bytes().to_vec()),
        column(notices, |(_, notice)| notice.notice.as_str()),
        column(notices, |(_, notice)| notice.at.as_micros()),
    ]
}

/// Events, each with its place in the group.
pub(super) fn events<'a>(events: &[(i64, &'a EventRow)]) -> [Column<'a>; 12] {
    let about = |row: &'a EventRow| row.event.action.as_ref();
    [
        column(events, |(place, _)| *place),
        column(events, |(_, row)| row.event.at.as_micros()),
        column(events, |(_, row)| row.event.fact.type_name()),
        column(events, |(_, row)| row.event.actor.name()),
        column(events, |(_, row)| about(row).map(|about| about.id.to_bytes().to_vec())),
        column(events, |(_, row)| about(row).map(|about| about.agent.as_str())),
        column(events, |(_, row)| about(row).map(|about| about.tool.as_str())),
        column(events, |(_, row)| about(row).map(|about| about.risk.as_str())),
        column(events, |(_, row)| row.event.fact.decision().map(banksman_core::Decision::as_str)),
        column(events, |(_, row)| row.event.is_resolution()),
        column(events, |(_, row)| row.event.is_observation()),
        column(events, |(_, row)| row.body.as_str()),
    ]
}
