//! Lists of actions: the text and the values of their queries.

use std::fmt::Write as _;

use banksman_core::{ActionId, Case, Status};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};

use super::read::limit;
use super::rows::{self, CASE_COLUMNS};
use crate::encode::{of_rank, rank};
use crate::{CaseQuery, Order, PendingCounts, SortBy};

/// A statement that is being put together. What comes from outside is always a value, never text.
#[derive(Default)]
pub(super) struct Listing {
    pub(super) sql: String,
    pub(super) values: Vec<Value>,
}

impl Listing {
    /// Adds a value and answers how the text refers to it.
    fn value(&mut self, value: Value) -> String {
        self.values.push(value);
        format!("?{}", self.values.len())
    }

    /// A condition that ends with a value.
    fn filter(&mut self, condition: &str, value: Value) {
        let place = self.value(value);
        let _ = write!(self.sql, " AND {condition} {place}");
    }

    /// The filters of a query on `a`, but for words. The status stands in the text, because only then can SQLite see
    /// that a partial index applies.
    fn chosen(&mut self, query: &CaseQuery) {
        if let Some(status) = query.status {
            let _ = write!(self.sql, " AND a.status = '{}'", status.as_str());
        }
        if let Some(tool) = &query.tool {
            self.filter("a.tool =", Value::Text(tool.clone()));
        }
        if let Some(agent) = &query.agent {
            self.filter("a.agent =", Value::Text(agent.clone()));
        }
        if let Some(tier) = query.tier {
            self.filter("a.tier =", Value::Text(tier.as_str().into()));
        }
        if let Some(risk) = query.risk {
            self.filter("a.risk =", Value::Integer(rank(risk).into()));
        }
    }

    /// The words of a query, in the submission `s` or the agent of `a`.
    fn words(&mut self, query: &CaseQuery) {
        for word in &query.words {
            let place = self.value(Value::Text(word.to_ascii_lowercase()));
            let _ = write!(
                self.sql,
                " AND (instr(lower(s.body), {place}) > 0 OR instr(lower(a.agent), {place}) > 0)"
            );
        }
    }
}

pub(super) fn cases(connection: &Connection, query: &CaseQuery) -> rusqlite::Result<Vec<Case>> {
    let Listing { sql, values } = listing(query);
    let mut statement = connection.prepare_cached(&sql)?;
    statement.query_map(params_from_iter(values), rows::case)?.collect()
}

pub(super) fn place_of(
    connection: &Connection,
    query: &CaseQuery,
    steps: usize,
) -> rusqlite::Result<Option<ActionId>> {
    let Listing { sql, values } = place(query, steps);
    let mut statement = connection.prepare_cached(&sql)?;
    statement.query_row(params_from_iter(values), |row| rows::action_id(row, 0)).optional()
}

/// The statement for a list.
pub(super) fn listing(query: &CaseQuery) -> Listing {
    let sorted = query.sort != SortBy::Age || query.risk.is_some() || !query.words.is_empty();
    if sorted && query.status == Some(Status::Pending) { in_brief(query) } else { by_age(query) }
}

fn direction(order: Order) -> (&'static str, &'static str) {
    match order {
        Order::Ascending => (">", "ASC"),
        Order::Descending => ("<", "DESC"),
    }
}

/// A walk along the table, or an index that is in its order.
fn by_age(query: &CaseQuery) -> Listing {
    let (beyond, direction) = direction(query.order);
    let mut listing = Listing::default();
    let after = query.after.map(|after| Value::Blob(after.to_bytes().into()));
    let bounded = query.among < usize::MAX;
    if bounded {
        let _ = write!(listing.sql, "SELECT {CASE_COLUMNS} FROM (SELECT * FROM actions WHERE 1");
        if let Some(after) = after.clone() {
            listing.filter(&format!("id {beyond}"), after);
        }
        let among = listing.value(limit(query.among));
        let _ = write!(listing.sql, " ORDER BY id {direction} LIMIT {among}) a");
    } else {
        let _ = write!(listing.sql, "SELECT {CASE_COLUMNS} FROM actions a");
    }
    listing.sql.push_str(" JOIN submissions s ON s.action = a.id AND s.version = a.version WHERE 1");
    listing.chosen(query);
    listing.words(query);
    if let Some(after) = after.filter(|_| !bounded) {
        listing.filter(&format!("a.id {beyond}"), after);
    }
    let rows = listing.value(limit(query.limit));
    let _ = write!(listing.sql, " ORDER BY a.id {direction} LIMIT {rows}");
    listing
}

/// By what a list of pending actions is ordered: the column, which of its values come later, and its direction.
fn key(sort: SortBy) -> Option<(&'static str, &'static str, &'static str)> {
    match sort {
        SortBy::Age => None,
        SortBy::Urgency => Some(("priority", "<", "DESC")),
        SortBy::Risk => Some(("risk", "<", "DESC")),
        SortBy::Deadline => Some(("deadline", ">", "ASC")),
    }
}

/// The order of a list of pending actions.
fn ordered(query: &CaseQuery, table: &str) -> String {
    let (_, direction) = direction(query.order);
    let key = key(query.sort).map(|(key, _, way)| format!("{table}.{key} {way}, ")).unwrap_or_default();
    format!(" ORDER BY {key}{table}.id {direction}")
}

/// A walk along the index that has all that is pending in brief, in the order of the list. The index is named,
/// because SQLite would rather read the rows themselves.
fn walk(listing: &mut Listing, query: &CaseQuery) {
    let (beyond, _) = direction(query.order);
    listing.sql.push_str(
        "SELECT a.id, a.version, a.agent, a.priority, a.risk, a.deadline FROM actions a INDEXED BY pending_in_brief WHERE 1",
    );
    listing.chosen(query);
    if let Some(after) = query.after {
        let after = listing.value(Value::Blob(after.to_bytes().into()));
        let _ = match key(query.sort) {
            None => write!(listing.sql, " AND a.id {beyond} {after}"),
            Some((key, later, _)) => write!(
                listing.sql,
                " AND a.{key} {later}= (SELECT {key} FROM actions WHERE id = {after})
                  AND (a.{key} {later} (SELECT {key} FROM actions WHERE id = {after}) OR a.id {beyond} {after})"
            ),
        };
    }
    listing.sql.push_str(&ordered(query, "a"));
}

/// Of what is pending: which ones, by the index alone; of those, which hold the words; and then those in full.
fn in_brief(query: &CaseQuery) -> Listing {
    let mut listing = Listing::default();
    let _ = write!(listing.sql, "SELECT {CASE_COLUMNS} FROM (");
    if query.words.is_empty() {
        walk(&mut listing, query);
    } else {
        listing.sql.push_str("SELECT a.id, a.priority, a.risk, a.deadline FROM (");
        walk(&mut listing, query);
        let among = listing.value(limit(query.among));
        let _ = write!(
            listing.sql,
            " LIMIT {among}) a CROSS JOIN submissions s ON s.action = a.id AND s.version = a.version WHERE 1"
        );
        listing.words(query);
        listing.sql.push_str(&ordered(query, "a"));
    }
    let rows = listing.value(limit(query.limit));
    let _ = write!(
        listing.sql,
        " LIMIT {rows}) b CROSS JOIN actions a ON a.id = b.id
         JOIN submissions s ON s.action = a.id AND s.version = a.version{}",
        ordered(query, "b")
    );
    listing
}

/// The one so many places further in a list of pending actions, whatever words it holds.
pub(super) fn place(query: &CaseQuery, steps: usize) -> Listing {
    let mut listing = Listing::default();
    walk(&mut listing, query);
    let skipped = listing.value(limit(steps.saturating_sub(1)));
    let _ = write!(listing.sql, " LIMIT 1 OFFSET {skipped}");
    listing
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
