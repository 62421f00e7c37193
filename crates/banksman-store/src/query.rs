//! What can be asked of a store.

use std::collections::BTreeMap;

use banksman_core::{ActionId, Decision, Risk, Status, Tier, Timestamp};

/// In which order a list comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Oldest first.
    Ascending,
    /// Newest first.
    Descending,
}

/// What comes first in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SortBy {
    /// By age alone, in the order of the query.
    Age,
    /// What people should look at soonest, by its priority. Of what is pending only, as those below.
    Urgency,
    /// What expires first.
    Deadline,
    /// The worst.
    Risk,
}

/// Which actions to list. Every filter that is given has to match.
#[derive(Debug, Clone)]
pub struct CaseQuery {
    /// Where they stand.
    pub status: Option<Status>,
    /// What policy demands of them.
    pub tier: Option<Tier>,
    /// How much harm they could do.
    pub risk: Option<Risk>,
    /// Their tool.
    pub tool: Option<String>,
    /// Who asked.
    pub agent: Option<String>,
    /// What is written somewhere in each of them or names its agent, in small or large letters of ASCII. More is found than a person may
    /// be told of: redaction comes later, so whoever shows an answer looks at it again.
    pub words: Vec<String>,
    /// Continue behind this one.
    pub after: Option<ActionId>,
    /// What comes first.
    pub sort: SortBy,
    /// In which order, by age, are those that are equal in that.
    pub order: Order,
    /// Among how many it is looked for: words among what is pending, in the order of the list; anything among what is
    /// not, by age. History has no end.
    pub among: usize,
    /// How many at the most.
    pub limit: usize,
}

impl CaseQuery {
    /// The first page of everything, newest first.
    #[must_use]
    pub fn newest(limit: usize) -> Self {
        Self {
            status: None,
            tier: None,
            risk: None,
            tool: None,
            agent: None,
            words: Vec::new(),
            after: None,
            sort: SortBy::Age,
            order: Order::Descending,
            among: usize::MAX,
            limit,
        }
    }

    /// The first page of what waits for people, oldest first.
    #[must_use]
    pub fn pending(limit: usize) -> Self {
        Self { status: Some(Status::Pending), order: Order::Ascending, ..Self::newest(limit) }
    }

    /// The first page of what waits for people, the most urgent first.
    #[must_use]
    pub fn urgent(limit: usize) -> Self {
        Self { sort: SortBy::Urgency, ..Self::pending(limit) }
    }
}

/// How many actions wait for people, by what they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PendingCounts {
    /// By risk; what there is none of is left out.
    pub by_risk: BTreeMap<Risk, u64>,
    /// By tier.
    pub by_tier: BTreeMap<Tier, u64>,
    /// By tool, the most frequent first, and no more than a person reads.
    pub by_tool: Vec<(String, u64)>,
    /// By agent, likewise.
    pub by_agent: Vec<(String, u64)>,
}

impl PendingCounts {
    /// How many tools and agents are named.
    pub const NAMED: usize = 12;
}

/// Which audit events to read. Every filter that is given has to match.
#[derive(Debug, Clone)]
pub struct EventQuery {
    /// Only behind this place in the log (before it, when descending).
    pub after: Option<u64>,
    /// In which order.
    pub order: Order,
    /// How many at the most.
    pub limit: usize,
    /// Only of this type, such as `decided`.
    pub kind: Option<String>,
    /// Only about this action.
    pub action: Option<ActionId>,
    /// Only about actions of this agent.
    pub agent: Option<String>,
    /// Only about this tool.
    pub tool: Option<String>,
    /// Only about actions of this risk.
    pub risk: Option<Risk>,
    /// Only such decisions.
    pub decision: Option<Decision>,
    /// Only what this person, or agent, did.
    pub actor: Option<String>,
    /// Not before.
    pub since: Option<Timestamp>,
    /// Not at or after.
    pub until: Option<Timestamp>,
    /// Only what answers an agent's question.
    pub resolutions_only: bool,
    /// Only what people would have been asked about, had policy not only observed.
    pub observed_only: bool,
}

impl EventQuery {
    /// Everything behind a place in the log, oldest first.
    #[must_use]
    pub fn following(after: u64, limit: usize) -> Self {
        Self {
            after: Some(after),
            order: Order::Ascending,
            limit,
            kind: None,
            action: None,
            agent: None,
            tool: None,
            risk: None,
            decision: None,
            actor: None,
            since: None,
            until: None,
            resolutions_only: false,
            observed_only: false,
        }
    }
}

/// What a sound database holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Findings {
    /// The number of its schema.
    pub schema: u64,
    /// How many actions it knows.
    pub actions: u64,
    /// How many audit events.
    pub events: u64,
}
