//! Rows, column by column: what `unnest` makes rows of again. A single row is spared that.

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

/// How rows are handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    /// There is one, and its columns are its values: `unnest` takes a table in memory to make one row.
    One,
    /// There are as many as there are.
    Many,
}

impl Rows {
    fn column<'a, I, T: ToSql + Sync + Send + 'a>(
        self,
        items: &[I],
        mut value: impl FnMut(&I) -> T,
    ) -> Column<'a> {
        match (self, items) {
            (Self::One, [one]) => Box::new(value(one)),
            _ => column(items, value),
        }
    }
}

/// Where actions stand.
pub(super) fn standings<'a>(rows: Rows, cases: &[&'a CaseRow]) -> Result<Vec<Column<'a>>, StoreError> {
    let revisions = cases.iter().map(|row| int(row.case.revision)).collect::<Result<Vec<_>, _>>()?;
    Ok(vec![
        rows.column(cases, |row| row.case.id.to_bytes().to_vec()),
        rows.column(cases, |row| row.case.submission.verdict.tier.as_str()),
        rows.column(cases, |row| row.case.status().as_str()),
        rows.column(cases, |row| row.case.submission.digest.as_bytes().as_slice()),
        rows.column(cases, |row| i64::from(row.case.version)),
        rows.column(&revisions, |revision| *revision),
        rows.column(cases, |row| row.wake_at()),
        rows.column(cases, |row| keys::join_of(row).map(|key| key.as_bytes().to_vec())),
        rows.column(cases, |row| row.claimed_at()),
        rows.column(cases, |row| i16::from(row.case.priority())),
        rows.column(cases, |row| row.reviews.as_str()),
        rows.column(cases, |row| row.state.as_str()),
        rows.column(cases, |row| i16::from(row.risk())),
        rows.column(cases, |row| row.deadline()),
    ])
}

/// What of an action never changes.
pub(super) fn origins<'a>(rows: Rows, cases: &[&'a CaseRow]) -> [Column<'a>; 5] {
    [
        rows.column(cases, |row| row.case.agent.as_str()),
        rows.column(cases, |row| row.case.owner.as_deref()),
        rows.column(cases, |row| row.case.submission.action.tool.as_str()),
        rows.column(cases, |row| row.case.batch.map(|batch| batch.to_bytes().to_vec())),
        rows.column(cases, |row| row.case.created_at.as_micros()),
    ]
}

pub(super) fn submissions<'a>(rows: Rows, cases: &[(&'a CaseRow, &'a str)]) -> [Column<'a>; 3] {
    [
        rows.column(cases, |(row, _)| row.case.id.to_bytes().to_vec()),
        rows.column(cases, |(row, _)| i64::from(row.case.version)),
        rows.column(cases, |(_, body)| *body),
    ]
}

pub(super) fn idempotency_keys<'a>(rows: Rows, used: &[&'a IdempotencyKey]) -> [Column<'a>; 6] {
    [
        rows.column(used, |key| keys::idempotency_of(key).as_bytes().to_vec()),
        rows.column(used, |key| key.agent.as_str()),
        rows.column(used, |key| key.key.as_str()),
        rows.column(used, |key| key.request.as_bytes().as_slice()),
        rows.column(used, |key| key.action.to_bytes().to_vec()),
        rows.column(used, |key| key.at.as_micros()),
    ]
}

/// Notices, each with its place among the events of the group.
pub(super) fn notices<'a>(rows: Rows, notices: &[(i64, &'a NoticeRow)]) -> [Column<'a>; 4] {
    [
        rows.column(notices, |(place, _)| *place),
        rows.column(notices, |(_, notice)| notice.action.to_bytes().to_vec()),
        rows.column(notices, |(_, notice)| notice.notice.as_str()),
        rows.column(notices, |(_, notice)| notice.at.as_micros()),
    ]
}

/// Events, each with its place in the group.
pub(super) fn events<'a>(rows: Rows, events: &[(i64, &'a EventRow)]) -> [Column<'a>; 12] {
    let about = |row: &'a EventRow| row.event.action.as_ref();
    [
        rows.column(events, |(place, _)| *place),
        rows.column(events, |(_, row)| row.event.at.as_micros()),
        rows.column(events, |(_, row)| row.event.fact.type_name()),
        rows.column(events, |(_, row)| row.event.actor.name()),
        rows.column(events, |(_, row)| about(row).map(|about| about.id.to_bytes().to_vec())),
        rows.column(events, |(_, row)| about(row).map(|about| about.agent.as_str())),
        rows.column(events, |(_, row)| about(row).map(|about| about.tool.as_str())),
        rows.column(events, |(_, row)| about(row).map(|about| about.risk.as_str())),
        rows.column(events, |(_, row)| row.event.fact.decision().map(banksman_core::Decision::as_str)),
        rows.column(events, |(_, row)| row.event.is_resolution()),
        rows.column(events, |(_, row)| row.event.is_observation()),
        rows.column(events, |(_, row)| row.body.as_str()),
    ]
}

/// Names with a number each.
pub(super) fn numbers<'a>(rows: Rows, numbers: &[(&'a str, i64)]) -> [Column<'a>; 2] {
    [rows.column(numbers, |(name, _)| *name), rows.column(numbers, |(_, number)| *number)]
}

/// Until when each may be moved.
pub(super) fn ends<'a>(rows: Rows, ends: &[Option<i64>]) -> Column<'a> {
    rows.column(ends, |end| *end)
}
