//! Someone else decides in a person's place, for a while.

use serde::{Deserialize, Serialize};

use crate::{DelegationId, Timestamp};

/// A person lets another use their roles for a period.
///
/// What is lent are roles of the lender's own. Roles that someone has been lent, or takes by a hand-over, cannot be lent
/// on; and whoever may not approve an action cannot have another do it for them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegation {
    /// Its id, to revoke it.
    pub id: DelegationId,
    /// Whose roles.
    pub from: String,
    /// Who may use them.
    pub to: String,
    /// Which of them; all that the lender has at the time of use, if none is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// From when.
    pub starts_at: Timestamp,
    /// Until when; there is no delegation for ever.
    pub ends_at: Timestamp,
    /// Who set it up: the lender, or an administrator.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Delegation {
    /// Whether it holds at that moment.
    #[must_use]
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.starts_at <= now && now < self.ends_at
    }

    /// What it lends, given the lender's own roles at the moment: nothing that they no longer have.
    pub fn lends<'a>(&'a self, own: &'a [String]) -> impl Iterator<Item = &'a String> {
        own.iter().filter(|role| self.roles.is_empty() || self.roles.contains(role))
    }
}

/// A role that someone has for one decision, and that is not their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Acting {
    /// The role.
    pub role: String,
    /// Why they have it.
    #[serde(flatten)]
    pub source: ActingSource,
}

/// Why someone has a role that is not their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum ActingSource {
    /// Nobody of the role answered, and the action was handed to one of theirs.
    HandOver {
        /// The role of their own.
        as_role: String,
    },
    /// Another person's role, lent.
    Delegation {
        /// By this delegation.
        #[cfg_attr(feature = "openapi", schema(value_type = String))]
        delegation: DelegationId,
        /// On behalf of this person.
        on_behalf_of: String,
    },
}

impl Acting {
    /// On whose behalf, if on anyone's.
    #[must_use]
    pub fn on_behalf_of(&self) -> Option<&str> {
        match &self.source {
            ActingSource::HandOver { .. } => None,
            ActingSource::Delegation { on_behalf_of, .. } => Some(on_behalf_of),
        }
    }
}
