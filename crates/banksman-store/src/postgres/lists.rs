//! The text and the values of list queries.

use std::fmt::Write as _;

use banksman_core::Status;
use tokio_postgres::types::ToSql;

use super::rows::{BODY, CASE_COLUMNS};
use crate::encode::rank;
use crate::{CaseQuery, EventQuery, Order, SortBy};

/// A statement that is being put together. What comes from outside is always a value, never text.
pub(super) struct Listing {
    pub(super) sql: String,
    values: Vec<Box<dyn ToSql + Sync + Send>>,
}

impl Listing {
    pub(super) fn new(sql: String) -> Self {
        Self { sql, values: Vec::new() }
    }

    /// Adds a value and answers how the text refers to it.
    pub(super) fn value(&mut self, value: impl ToSql + Sync + Send + 'static) -> String {
        self.values.push(Box::new(value));
        format!("${}", self.values.len())
    }

    /// A condition that ends with a value.
    pub(super) fn filter(&mut self, condition: &str, value: impl ToSql + Sync + Send + 'static) {
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

/// The filters of a query on `a`, but for words. The status stands in the text, because only then does a prepared
/// statement use an index for that status.
fn chosen(listing: &mut Listing, query: &CaseQuery) {
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
    if let Some(risk) = query.risk {
        listing.filter("a.risk =", i16::from(rank(risk)));
    }
}

/// The words of a query, in what `a` asks for or in the name of its agent.
fn words(listing: &mut Listing, query: &CaseQuery) {
    for word in &query.words {
        let place = listing.value(word.to_ascii_lowercase());
        // By bytes: only the letters of ASCII are the same in both sizes.
        let _ = write!(
            listing.sql,
            " AND (strpos(lower({BODY} COLLATE \"C\"), {place}) > 0 OR strpos(lower(a.agent), {place}) > 0)"
        );
    }
}

/// The statement for a list.
pub(super) fn cases(query: &CaseQuery) -> Listing {
    let sorted = query.sort != SortBy::Age || query.risk.is_some() || !query.words.is_empty();
    if sorted && query.status == Some(Status::Pending) { in_brief(query) } else { by_age(query) }
}

/// A walk along the table, or an index that is in its order.
fn by_age(query: &CaseQuery) -> Listing {
    let (beyond, direction) = beyond(query.order);
    let mut listing = Listing::new(format!("SELECT {CASE_COLUMNS} FROM "));
    let after = query.after.map(|after| after.to_bytes().to_vec());
    let bounded = query.among < usize::MAX;
    if bounded {
        listing.sql.push_str("(SELECT * FROM actions WHERE true");
        if let Some(after) = after.clone() {
            listing.filter(&format!("id {beyond}"), after);
        }
        let among = listing.value(limit(query.among));
        let _ = write!(listing.sql, " ORDER BY id {direction} LIMIT {among}) a");
    } else {
        listing.sql.push_str("actions a");
    }
    listing.sql.push_str(" WHERE true");
    chosen(&mut listing, query);
    words(&mut listing, query);
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
    let (_, direction) = beyond(query.order);
    let key = key(query.sort).map(|(key, _, way)| format!("{table}.{key} {way}, ")).unwrap_or_default();
    format!(" ORDER BY {key}{table}.id {direction}")
}

/// A walk along the index that has all that is pending in brief, in the order of the list.
fn walk(listing: &mut Listing, query: &CaseQuery) {
    let (beyond, _) = beyond(query.order);
    listing.sql.push_str(
        "SELECT a.id, a.version, a.agent, a.priority, a.risk, a.deadline FROM actions a WHERE true",
    );
    chosen(listing, query);
    if let Some(after) = query.after {
        let after = listing.value(after.to_bytes().to_vec());
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
    let mut listing = Listing::new(String::new());
    let _ = write!(listing.sql, "SELECT {CASE_COLUMNS} FROM (");
    if query.words.is_empty() {
        walk(&mut listing, query);
    } else {
        listing.sql.push_str("SELECT a.id, a.priority, a.risk, a.deadline FROM (");
        walk(&mut listing, query);
        let among = listing.value(limit(query.among));
        let _ = write!(listing.sql, " LIMIT {among}) a WHERE true");
        words(&mut listing, query);
        listing.sql.push_str(&ordered(query, "a"));
    }
    let rows = listing.value(limit(query.limit));
    let _ = write!(listing.sql, " LIMIT {rows}) b JOIN actions a ON a.id = b.id{}", ordered(query, "b"));
    listing
}

/// The one so many places further in a list of pending actions, whatever words it holds.
pub(super) fn place(query: &CaseQuery, steps: usize) -> Listing {
    let mut listing = Listing::new(String::new());
    walk(&mut listing, query);
    let skipped = listing.value(limit(steps.saturating_sub(1)));
    let _ = write!(listing.sql, " LIMIT 1 OFFSET {skipped}");
    listing
}

/// One statement, so that the sums agree: what is counted, its name, how many.
pub(super) const PENDING_COUNTS: &str = "\
    WITH waiting AS MATERIALIZED (SELECT risk, tier, tool, agent FROM actions WHERE status = 'pending')
    SELECT 'risk', risk::text, count(*) FROM waiting GROUP BY risk
    UNION ALL SELECT 'tier', tier, count(*) FROM waiting GROUP BY tier
    UNION ALL (SELECT 'tool', tool, count(*) FROM waiting GROUP BY tool ORDER BY 3 DESC, 2 LIMIT $1)
    UNION ALL (SELECT 'agent', agent, count(*) FROM waiting GROUP BY agent ORDER BY 3 DESC, 2 LIMIT $1)";

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
