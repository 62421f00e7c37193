//! What a caller can ask for beyond an id.

use banksman_core::{ActionId, Decision, Risk, Status, Tier, Timestamp};

/// A proposal as it is sent: the body is passed on byte for byte, because only the server may say what it means.
#[derive(Debug, Clone, Copy)]
pub struct Proposal<'a> {
    /// The JSON text.
    pub body: &'a str,
    /// Makes a repeated request the same request.
    pub idempotency_key: Option<&'a str>,
    /// How many seconds to wait for a decision before the server answers `pending`.
    pub wait_seconds: Option<u64>,
}

impl<'a> Proposal<'a> {
    /// A proposal without a key, whose answer is not waited for.
    #[must_use]
    pub fn new(body: &'a str) -> Self {
        Self { body, idempotency_key: None, wait_seconds: None }
    }
}

/// Which actions to list; what is left out does not restrict.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "each field restricts the list to what it names")]
pub struct ActionsQuery {
    pub status: Option<Status>,
    pub tier: Option<Tier>,
    pub tool: Option<String>,
    pub agent: Option<String>,
    /// The oldest first, instead of the order that the server finds useful.
    pub oldest_first: bool,
    /// Of what is pending: what people should look at soonest first.
    pub most_urgent_first: bool,
    /// Where the page before ended.
    pub cursor: Option<String>,
    /// How many at most.
    pub limit: Option<u32>,
}

/// Which messages or jobs to list; what is left out does not restrict.
#[derive(Debug, Clone, Default)]
pub struct PostQuery {
    /// Where they stand.
    pub status: Option<String>,
    /// By which channel; of messages only.
    pub channel: Option<String>,
    /// Only older than this one.
    pub before: Option<i64>,
    /// How many at most.
    pub limit: Option<u32>,
}

impl PostQuery {
    pub(crate) fn pairs(&self) -> Pairs {
        let mut pairs = Pairs::new();
        add(&mut pairs, "status", self.status.as_ref());
        add(&mut pairs, "channel", self.channel.as_ref());
        add(&mut pairs, "before", self.before);
        add(&mut pairs, "limit", self.limit);
        pairs
    }
}

/// Which audit events to list; what is left out does not restrict.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "each field restricts the list to what it names")]
pub struct AuditQuery {
    /// The type of event, as [`banksman_core::audit::Fact::type_name`] spells it.
    pub event_type: Option<String>,
    pub decision: Option<Decision>,
    pub risk: Option<Risk>,
    pub tool: Option<String>,
    pub agent: Option<String>,
    pub reviewer: Option<String>,
    pub action: Option<ActionId>,
    /// Only what people would have been asked about, had policy not only observed.
    pub observed_only: bool,
    /// Not before this.
    pub since: Option<Timestamp>,
    /// Before this.
    pub until: Option<Timestamp>,
    /// From the beginning of the log, instead of from its end.
    pub oldest_first: bool,
    /// Where the page before ended.
    pub cursor: Option<String>,
    /// How many at most.
    pub limit: Option<u32>,
}

/// Names and values for the query part of an address; empty if nothing restricts.
pub(crate) type Pairs = Vec<(&'static str, String)>;

impl ActionsQuery {
    pub(crate) fn pairs(&self) -> Pairs {
        let mut pairs = Pairs::new();
        add(&mut pairs, "status", self.status);
        add(&mut pairs, "tier", self.tier);
        add(&mut pairs, "tool", self.tool.as_ref());
        add(&mut pairs, "agent", self.agent.as_ref());
        let order = if self.most_urgent_first { Some("urgency") } else { self.oldest_first.then_some("asc") };
        add(&mut pairs, "order", order);
        add(&mut pairs, "cursor", self.cursor.as_ref());
        add(&mut pairs, "limit", self.limit);
        pairs
    }
}

impl AuditQuery {
    pub(crate) fn pairs(&self) -> Pairs {
        let mut pairs = Pairs::new();
        add(&mut pairs, "type", self.event_type.as_ref());
        add(&mut pairs, "decision", self.decision);
        add(&mut pairs, "risk", self.risk);
        add(&mut pairs, "tool", self.tool.as_ref());
        add(&mut pairs, "agent", self.agent.as_ref());
        add(&mut pairs, "reviewer", self.reviewer.as_ref());
        add(&mut pairs, "action", self.action);
        add(&mut pairs, "observed", self.observed_only.then_some(true));
        add(&mut pairs, "since", self.since);
        add(&mut pairs, "until", self.until);
        add(&mut pairs, "order", self.oldest_first.then_some("asc"));
        add(&mut pairs, "cursor", self.cursor.as_ref());
        add(&mut pairs, "limit", self.limit);
        pairs
    }
}

fn add(pairs: &mut Pairs, name: &'static str, value: Option<impl ToString>) {
    if let Some(value) = value {
        pairs.push((name, value.to_string()));
    }
}
