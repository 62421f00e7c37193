//! List queries: their text and their values, for both databases. What comes from outside is always a value, never text.

use std::fmt::Write as _;

use banksman_core::{ActionId, Decision, Risk, Status};

use crate::encode::rank;
use crate::post::{DeliveryQuery, JobQuery};
use crate::{CaseQuery, EventQuery, Order, SortBy};

/// What the databases say differently.
pub(crate) struct Dialect {
    /// What the number of a value stands behind.
    pub(crate) parameter: char,
    /// How a flag is asked for; a partial index applies only where a query says it in the words of the index.
    pub(crate) is_set: &'static str,
    /// The function that looks for a text in another.
    pub(crate) find: &'static str,
    /// The columns of an action `a`, in the order in which they are read.
    pub(crate) case_columns: &'static str,
    /// How to get at what `a` asks for, if that takes another table.
    pub(crate) with_submission: &'static str,
    /// What `a` asks for, to look for words in.
    pub(crate) submission: &'static str,
    /// Names the index that has all that is pending in brief, where the database would not find it.
    pub(crate) by_brief_index: &'static str,
    /// A join that is made in the order in which it is written, where the database would think of another.
    pub(crate) join: &'static str,
}

/// A value of a query.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Text(String),
    Number(i64),
    Id([u8; 16]),
}

impl From<ActionId> for Value {
    fn from(id: ActionId) -> Self {
        Self::Id(id.to_bytes())
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// A length, as databases count.
pub(crate) fn limit(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}

/// A statement that is being put together.
pub(crate) struct Listing {
    dialect: &'static Dialect,
    pub(crate) sql: String,
    pub(crate) values: Vec<Value>,
}

impl Listing {
    fn of(dialect: &'static Dialect, sql: String) -> Self {
        Self { dialect, sql, values: Vec::new() }
    }

    fn push(&mut self, sql: &str) {
        self.sql.push_str(sql);
    }

    /// Adds a value and answers how the text refers to it.
    fn value(&mut self, value: impl Into<Value>) -> String {
        self.values.push(value.into());
        format!("{}{}", self.dialect.parameter, self.values.len())
    }

    /// A condition that ends with a value, if there is one.
    fn filter(&mut self, condition: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            let place = self.value(value);
            let _ = write!(self.sql, " AND {condition} {place}");
        }
    }

    /// The filters of a query on `a`, but for words. The status stands in the text, because only then can a database see
    /// that a partial index applies.
    fn chosen(&mut self, query: &CaseQuery) {
        if let Some(status) = query.status {
            let _ = write!(self.sql, " AND a.status = '{}'", status.as_str());
        }
        self.filter("a.tool =", query.tool.as_deref());
        self.filter("a.agent =", query.agent.as_deref());
        self.filter("a.tier =", query.tier.map(|tier| tier.as_str()));
        self.filter("a.risk =", query.risk.map(|risk| i64::from(rank(risk))));
    }

    /// The words of a query, in what `a` asks for or in the name of its agent. Only the letters of ASCII are the same in both
    /// sizes.
    fn words(&mut self, query: &CaseQuery) {
        let Dialect { find, submission, .. } = self.dialect;
        for word in &query.words {
            let word = self.value(word.to_ascii_lowercase().as_str());
            let _ = write!(
                self.sql,
                " AND ({find}(lower({submission}), {word}) > 0 OR {find}(lower(a.agent), {word}) > 0)"
            );
        }
    }

    fn limit(mut self, rows: usize) -> Self {
        let rows = self.value(limit(rows));
        let _ = write!(self.sql, " LIMIT {rows}");
        self
    }
}

/// What is beyond a place in a list, and the way there.
fn direction(order: Order) -> (&'static str, &'static str) {
    match order {
        Order::Ascending => (">", "ASC"),
        Order::Descending => ("<", "DESC"),
    }
}

/// Actions, in full.
pub(crate) fn cases(dialect: &'static Dialect, query: &CaseQuery) -> Listing {
    let sorted = query.sort != SortBy::Age || query.risk.is_some() || !query.words.is_empty();
    if sorted && query.status == Some(Status::Pending) {
        in_brief(dialect, query)
    } else {
        by_age(dialect, query)
    }
}

/// A walk along the table, or an index that is in its order.
fn by_age(dialect: &'static Dialect, query: &CaseQuery) -> Listing {
    let (beyond, direction) = direction(query.order);
    let mut listing = Listing::of(dialect, format!("SELECT {} FROM ", dialect.case_columns));
    let bounded = query.among < usize::MAX;
    if bounded {
        listing.push("(SELECT * FROM actions WHERE true");
        listing.filter(&format!("id {beyond}"), query.after);
        let among = listing.value(limit(query.among));
        let _ = write!(listing.sql, " ORDER BY id {direction} LIMIT {among}) a");
    } else {
        listing.push("actions a");
    }
    listing.push(dialect.with_submission);
    listing.push(" WHERE true");
    listing.chosen(query);
    listing.words(query);
    if !bounded {
        listing.filter(&format!("a.id {beyond}"), query.after);
    }
    let _ = write!(listing.sql, " ORDER BY a.id {direction}");
    listing.limit(query.limit)
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

/// A walk along the index that has all that is pending in brief, in the order of the list.
fn walk(listing: &mut Listing, query: &CaseQuery) {
    let (beyond, _) = direction(query.order);
    let index = listing.dialect.by_brief_index;
    let _ = write!(
        listing.sql,
        "SELECT a.id, a.version, a.agent, a.priority, a.risk, a.deadline FROM actions a{index} WHERE true"
    );
    listing.chosen(query);
    if let Some(after) = query.after {
        let after = listing.value(after);
        let _ = match key(query.sort) {
            None => write!(listing.sql, " AND a.id {beyond} {after}"),
            Some((key, later, _)) => write!(
                listing.sql,
                " AND a.{key} {later}= (SELECT {key} FROM actions WHERE id = {after})
                  AND (a.{key} {later} (SELECT {key} FROM actions WHERE id = {after}) OR a.id {beyond} {after})"
            ),
        };
    }
    listing.push(&ordered(query, "a"));
}

/// Of what is pending: which ones, by the index alone; of those, which hold the words; and then those in full.
fn in_brief(dialect: &'static Dialect, query: &CaseQuery) -> Listing {
    let Dialect { case_columns, with_submission, join, .. } = dialect;
    let mut listing = Listing::of(dialect, format!("SELECT {case_columns} FROM ("));
    if query.words.is_empty() {
        walk(&mut listing, query);
    } else {
        listing.push("SELECT a.id, a.priority, a.risk, a.deadline FROM (");
        walk(&mut listing, query);
        let among = listing.value(limit(query.among));
        let _ = write!(listing.sql, " LIMIT {among}) a{with_submission} WHERE true");
        listing.words(query);
        listing.push(&ordered(query, "a"));
    }
    let mut listing = listing.limit(query.limit);
    let ordered = ordered(query, "b");
    let _ = write!(listing.sql, ") b {join} actions a ON a.id = b.id{with_submission}{ordered}");
    listing
}

/// The one so many places further in a list of pending actions, whatever words it holds.
pub(crate) fn place(dialect: &'static Dialect, query: &CaseQuery, steps: usize) -> Listing {
    let mut listing = Listing::of(dialect, String::new());
    walk(&mut listing, query);
    let skipped = listing.value(limit(steps.saturating_sub(1)));
    let _ = write!(listing.sql, " LIMIT 1 OFFSET {skipped}");
    listing
}

/// Events of the audit log: place, type, bytes.
pub(crate) fn events(dialect: &'static Dialect, query: &EventQuery) -> Listing {
    let mut listing = Listing::of(dialect, "SELECT seq, type, body FROM audit WHERE true".to_owned());
    for (wanted, flag) in [(query.resolutions_only, "resolution"), (query.observed_only, "observed")] {
        if wanted {
            let _ = write!(listing.sql, " AND {flag}{}", dialect.is_set);
        }
    }
    listing.filter("action =", query.action);
    listing.filter("agent =", query.agent.as_deref());
    listing.filter("type =", query.kind.as_deref());
    listing.filter("tool =", query.tool.as_deref());
    listing.filter("risk =", query.risk.map(Risk::as_str));
    listing.filter("decision =", query.decision.map(Decision::as_str));
    listing.filter("actor =", query.actor.as_deref());
    listing.filter("at >=", query.since.map(|since| since.as_micros()));
    listing.filter("at <", query.until.map(|until| until.as_micros()));
    let (beyond, direction) = direction(query.order);
    let after = query.after.map(|after| i64::try_from(after).unwrap_or(i64::MAX));
    listing.filter(&format!("seq {beyond}"), after);
    let _ = write!(listing.sql, " ORDER BY seq {direction}");
    listing.limit(query.limit)
}

/// Messages to people, the newest first.
pub(crate) fn deliveries(dialect: &'static Dialect, columns: &str, query: &DeliveryQuery) -> Listing {
    let mut listing = Listing::of(dialect, format!("SELECT {columns} FROM deliveries WHERE true"));
    listing.filter("action =", query.action);
    listing.filter("status =", query.status.map(|status| status.as_str()));
    listing.filter("channel =", query.channel.as_deref());
    listing.filter("message =", query.message);
    listing.filter("bundle =", query.bundle);
    newest_first(listing, query.before, query.limit)
}

/// Jobs, the newest first.
pub(crate) fn jobs(dialect: &'static Dialect, columns: &str, query: &JobQuery) -> Listing {
    let mut listing = Listing::of(dialect, format!("SELECT {columns} FROM jobs WHERE true"));
    listing.filter("action =", query.action);
    listing.filter("status =", query.status.map(|status| status.as_str()));
    newest_first(listing, query.before, query.limit)
}

fn newest_first(mut listing: Listing, before: Option<i64>, rows: usize) -> Listing {
    listing.filter("id <", before);
    listing.push(" ORDER BY id DESC");
    listing.limit(rows)
}
