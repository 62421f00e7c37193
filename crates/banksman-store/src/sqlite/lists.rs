//! Lists of actions, and counts of what is pending.

use banksman_core::{ActionId, Case};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row, ToSql, params_from_iter};

use super::rows::{self, CASE_COLUMNS};
use crate::encode::of_rank;
use crate::listing::{self, Dialect, Listing, Value};
use crate::{CaseQuery, PendingCounts};

/// `CROSS JOIN`, and naming the index: SQLite would rather read the rows themselves.
pub(super) const DIALECT: Dialect = Dialect {
    parameter: '?',
    is_set: " = 1",
    find: "instr",
    case_columns: CASE_COLUMNS,
    with_submission: " CROSS JOIN submissions s ON s.action = a.id AND s.version = a.version",
    submission: "s.body",
    by_brief_index: " INDEXED BY pending_in_brief",
    join: "CROSS JOIN",
};

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Number(number) => ValueRef::Integer(*number),
            Self::Id(id) => ValueRef::Blob(id),
        }))
    }
}

/// Everything that a list query answers with.
pub(super) fn listed<T>(
    connection: &Connection,
    Listing { sql, values, .. }: Listing,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    connection.prepare_cached(&sql)?.query_map(params_from_iter(values), read)?.collect()
}

pub(super) fn cases(connection: &Connection, query: &CaseQuery) -> rusqlite::Result<Vec<Case>> {
    listed(connection, listing::cases(&DIALECT, query), rows::case)
}

pub(super) fn place_of(
    connection: &Connection,
    query: &CaseQuery,
    steps: usize,
) -> rusqlite::Result<Option<ActionId>> {
    let Listing { sql, values, .. } = listing::place(&DIALECT, query, steps);
    let mut statement = connection.prepare_cached(&sql)?;
    statement.query_row(params_from_iter(values), |row| rows::action_id(row, 0)).optional()
}

/// Each by the index that is in its order, where there is one.
pub(super) const PENDING_BY_RISK: &str =
    "SELECT risk, count(*) FROM actions INDEXED BY pending_in_brief WHERE status = 'pending' GROUP BY risk";
pub(super) const PENDING_BY_TIER: &str =
    "SELECT tier, count(*) FROM actions INDEXED BY pending_by_tier WHERE status = 'pending' GROUP BY tier";
const MOST_FREQUENT_TOOLS: &str = "\
    SELECT tool, count(*) FROM actions INDEXED BY pending_by_tool WHERE status = 'pending'
    GROUP BY tool ORDER BY 2 DESC, 1 LIMIT ?1";
const MOST_FREQUENT_AGENTS: &str = "\
    SELECT agent, count(*) FROM actions INDEXED BY pending_by_agent WHERE status = 'pending'
    GROUP BY agent ORDER BY 2 DESC, 1 LIMIT ?1";

pub(super) fn pending_counts(connection: &Connection) -> rusqlite::Result<PendingCounts> {
    // One transaction, so that the sums agree.
    let view = connection.unchecked_transaction()?;
    let mut counts = PendingCounts::default();
    for row in view.prepare_cached(PENDING_BY_RISK)?.query_map([], pair::<i64>)? {
        let (rank, count) = row?;
        counts.by_risk.insert(of_rank(rank), count);
    }
    for row in view.prepare_cached(PENDING_BY_TIER)?.query_map([], pair::<String>)? {
        let (tier, count) = row?;
        // The CHECK allows only known tiers.
        if let Ok(tier) = tier.parse() {
            counts.by_tier.insert(tier, count);
        }
    }
    for (sql, named) in
        [(MOST_FREQUENT_TOOLS, &mut counts.by_tool), (MOST_FREQUENT_AGENTS, &mut counts.by_agent)]
    {
        let mut statement = view.prepare_cached(sql)?;
        *named = statement.query_map([PendingCounts::NAMED], pair)?.collect::<rusqlite::Result<_>>()?;
    }
    Ok(counts)
}

fn pair<T: rusqlite::types::FromSql>(row: &Row<'_>) -> rusqlite::Result<(T, u64)> {
    Ok((row.get(0)?, row.get(1)?))
}
