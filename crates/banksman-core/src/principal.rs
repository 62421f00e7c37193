//! Who is asking. Identity comes from a credential, never from what is said in a request.

use serde::{Deserialize, Serialize};

use crate::TokenId;
use crate::level::named;

/// What kind of credential someone holds. The kinds are different things: none can act as another's equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum PrincipalKind {
    /// Proposes, claims, records outcomes. Never decides.
    Agent,
    /// Decides.
    Reviewer,
    /// Decides, and looks after the house.
    Admin,
}

named!(PrincipalKind, "kind of credential", "agent, reviewer, admin", {
    Agent => "agent", Reviewer => "reviewer", Admin => "admin",
});

impl PrincipalKind {
    /// Whether this kind may decide over actions.
    #[must_use]
    pub fn decides(self) -> bool {
        match self {
            Self::Agent => false,
            Self::Reviewer | Self::Admin => true,
        }
    }
}

/// Someone who showed a valid credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The credential that was shown.
    pub token: TokenId,
    /// Its kind.
    pub kind: PrincipalKind,
    /// Whose it is. Two credentials of one name are one person.
    pub name: String,
    /// For agents: the person whose agent it is, who therefore does not approve its actions.
    pub owner: Option<String>,
    /// For people: what they may approve.
    pub roles: Vec<String>,
}

/// Who caused an event, as the audit log names them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Actor {
    /// An agent.
    Agent {
        /// Its name.
        name: String,
    },
    /// A reviewer.
    Reviewer {
        /// Their name.
        name: String,
    },
    /// An administrator.
    Admin {
        /// Their name.
        name: String,
    },
    /// Banksman itself: a deadline passed, a lease ended.
    System,
    /// Someone at the machine, by the command line, with access to the data folder.
    Operator,
}

impl Actor {
    /// The name in the log; the machine's own doings have none.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Agent { name } | Self::Reviewer { name } | Self::Admin { name } => Some(name),
            Self::System | Self::Operator => None,
        }
    }

    /// The kind in the log.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Agent { .. } => "agent",
            Self::Reviewer { .. } => "reviewer",
            Self::Admin { .. } => "admin",
            Self::System => "system",
            Self::Operator => "operator",
        }
    }
}

impl From<&Principal> for Actor {
    fn from(principal: &Principal) -> Self {
        let name = principal.name.clone();
        match principal.kind {
            PrincipalKind::Agent => Self::Agent { name },
            PrincipalKind::Reviewer => Self::Reviewer { name },
            PrincipalKind::Admin => Self::Admin { name },
        }
    }
}
