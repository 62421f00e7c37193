//! How far policy lets an approval be remembered.

use serde::{Deserialize, Serialize};

use super::GrantMatch;

/// How far policy lets an approval be remembered, where it lets it be remembered at all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RememberLimits {
    /// For how long at most, from the moment it was granted.
    pub max_seconds: u64,
    /// Which calls it may cover, and whether in all sessions.
    pub scopes: Vec<RememberScope>,
    /// How many times at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses: Option<u32>,
}

/// A way in which a grant may reach beyond the one call in the one session that was reviewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RememberScope {
    /// Exactly the reviewed call.
    Exact,
    /// Calls whose arguments fit a pattern.
    Args,
    /// Any call of the tool.
    Tool,
    /// In all sessions of the agent, not only in that of the reviewed call.
    AllSessions,
}

impl Default for RememberLimits {
    /// What `allow_remember: true` means. Letting any arguments through takes a policy that says so.
    fn default() -> Self {
        Self {
            max_seconds: 8 * 3600,
            scopes: vec![RememberScope::Exact, RememberScope::Args, RememberScope::AllSessions],
            uses: None,
        }
    }
}

impl RememberLimits {
    /// Whether these are the usual ones.
    #[must_use]
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a grant may be like that.
    #[must_use]
    pub fn allow(&self, scope: RememberScope) -> bool {
        self.scopes.contains(&scope)
    }

    /// What both allow.
    #[must_use]
    pub fn within(&self, other: &Self) -> Self {
        Self {
            max_seconds: self.max_seconds.min(other.max_seconds),
            scopes: self.scopes.iter().copied().filter(|scope| other.allow(*scope)).collect(),
            uses: [self.uses, other.uses].into_iter().flatten().min(),
        }
    }
}

impl From<GrantMatch> for RememberScope {
    fn from(matches: GrantMatch) -> Self {
        match matches {
            GrantMatch::Exact => Self::Exact,
            GrantMatch::Args => Self::Args,
            GrantMatch::Tool => Self::Tool,
        }
    }
}
