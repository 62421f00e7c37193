//! What can be asked of a store.

use banksman_core::{ActionId, Decision, Risk, Status, Tier, Timestamp};

/// In which order a list comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Oldest first.
    Ascending,
    /// Newest first.
    Descending,
}

/// Which actions to list. Every filter that is given has to match.
#[derive(Debug, Clone)]
pub struct CaseQuery {
    /// Where they stand.
    pub status: Option<Status>,
    /// What policy demands of them.
    pub tier: Option<Tier>,
    /// Their tool.
    pub tool: Option<String>,
    /// Who asked.
    pub agent: Option<String>,
    /// Continue behind this one.
    pub after: Option<ActionId>,
    /// In which order, by age.
    pub order: Order,
    /// Whether what people should look at soonest comes before that, by its priority. Of what is pending only.
    pub urgent_first: bool,
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
            tool: None,
            agent: None,
            after: None,
            order: Order::Descending,
            urgent_first: false,
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
        Self { urgent_first: true, ..Self::pending(limit) }
    }
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
