//! The text and the values of list queries.

use std::fmt::Write as _;

use banksman_core::Status;
use tokio_postgres::types::ToSql;

use super::rows::CASE_COLUMNS;
use crate::{CaseQuery, EventQuery, Order};

/// A statement that is being put together. What comes from outside is always a value, never text.
pub(super) struct Listing {
    pub(super) sql: String,
    values: Vec<Box<dyn ToSql + Sync + Send>>,
}

impl Listing {
    fn new(sql: String) -> Self {
        Self { sql, values: Vec::new() }
    }

    /// Adds a value and answers how the text refers to it.
    fn value(&mut self, value: impl ToSql + Sync + Send + 'static) -> String {
        self.values.push(Box::new(value));
        format!("${}", self.values.len())
    }

    /// A condition that ends with a value.
    fn filter(&mut self, condition: &str, value: impl ToSql + Sync + Send + 'static) {
        let place = self.value(value);
        let _ = write!(self.sql, " AND {condition} {place}");
    }

    pub(super) fn params(&self) -> Vec<&(dyn ToSql + Sync)> {
        self.values.iter().map(|value| -> &(dyn ToSql + Sync) { &**value }).collect()
    }
}

/// A length, as the database counts.
pub(super) fn limit(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}

fn beyond(order: Order) -> (&'static str, &'static str) {
    match order {
        Order::Ascending => (">", "ASC"),
        Order::Descending => ("<", "DESC"),
    }
}

/// What [`cases`] selects by, besides place and priority. The status stands in the text, because only then does a
/// prepared statement use an index for that status.
fn selected(listing: &mut Listing, query: &CaseQuery) {
    let _ = write!(listing.sql, "SELECT {CASE_COLUMNS}, a.priority FROM actions a WHERE true");
    if let Some(status) = query.status {
        let _ = write!(listing.sql, " AND a.status = '{}'", status.as_str());
    }
    if let Some(tool) = &query.tool {
        listing.filter("a.tool =", tool.clone());
    }
    if let Some(agent) = &query.agent {
        listing.filter("a.agent =", agent.clone());
    }
    if let Some(tier) = query.tier {
        listing.filter("a.tier =", tier.as_str());
    }
}

pub(super) fn cases(query: &CaseQuery) -> Listing {
    if query.urgent_first && query.status == Some(Status::Pending) {
        return urgent_cases(query);
    }
    let (beyond, direction) = beyond(query.order);
    let mut listing = Listing::new(String::new());
    selected(&mut listing, query);
    if let Some(after) = query.after {
        listing.filter(&format!("a.id {beyond}"), after.to_bytes().to_vec());
    }
    let rows = listing.value(limit(query.limit));
    let _ = write!(listing.sql, " ORDER BY a.id {direction} LIMIT {rows}");
    listing
}

/// What has a priority, and behind it what has none: two short walks along two indexes. One statement, so that nothing
/// moves from one part to the other in between.
fn urgent_cases(query: &CaseQuery) -> Listing {
    let (beyond, direction) = beyond(query.order);
    let mut listing = Listing::new(String::new());
    let rows = listing.value(limit(query.limit));
    let after = query.after.map(|after| listing.value(after.to_bytes().to_vec()));
    if let Some(after) = &after {
        let _ = write!(listing.sql, "WITH last AS (SELECT priority FROM actions WHERE id = {after}) ");
    }
    let last = "(SELECT priority FROM last)";
    listing.sql.push_str("SELECT * FROM ((");
    selected(&mut listing, query);
    listing.sql.push_str(" AND a.priority > 0");
    if let Some(after) = &after {
        let _ = write!(
            listing.sql,
            " AND a.priority <= coalesce({last}, 100)
              AND (a.priority < coalesce({last}, 0) OR a.id {beyond} {after})"
        );
    }
    let _ = write!(listing.sql, " ORDER BY a.priority DESC, a.id {direction} LIMIT {rows}) UNION ALL (");
    selected(&mut listing, query);
    listing.sql.push_str(" AND a.priority = 0");
    if let Some(after) = &after {
        let _ = write!(listing.sql, " AND ({last} IS DISTINCT FROM 0 OR a.id {beyond} {after})");
    }
    let _ = write!(
        listing.sql,
        " ORDER BY a.id {direction} LIMIT {rows})) listed ORDER BY priority DESC, id {direction} LIMIT {rows}"
    );
    listing
}

pub(super) fn events(query: &EventQuery) -> Listing {
    let mut listing = Listing::new(String::from("SELECT seq, type, body FROM audit WHERE true"));
    if query.resolutions_only {
        listing.sql.push_str(" AND resolution");
    }
    if query.observed_only {
        listing.sql.push_str(" AND observed");
    }
    if let Some(action) = query.action {
        listing.filter("action =", action.to_bytes().to_vec());
    }
    for (condition, value) in [
        ("agent =", query.agent.as_deref()),
        ("type =", query.kind.as_deref()),
        ("tool =", query.tool.as_deref()),
        ("risk =", query.risk.map(banksman_core::Risk::as_str)),
        ("decision =", query.decision.map(banksman_core::Decision::as_str)),
        ("actor =", query.actor.as_deref()),
    ] {
        if let Some(value) = value {
            listing.filter(condition, value.to_owned());
        }
    }
    if let Some(since) = query.since {
        listing.filter("at >=", since.as_micros());
    }
    if let Some(until) = query.until {
        listing.filter("at <", until.as_micros());
    }
    let (beyond, direction) = beyond(query.order);
    if let Some(after) = query.after {
        listing.filter(&format!("seq {beyond}"), i64::try_from(after).unwrap_or(i64::MAX));
    }
    let rows = listing.value(limit(query.limit));
    let _ = write!(listing.sql, " ORDER BY seq {direction} LIMIT {rows}");
    listing
}
