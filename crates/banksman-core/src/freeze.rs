//! The kill switch: while a freeze covers an action, it is not let through, whatever anyone decided.

use serde::{Deserialize, Serialize};

use crate::{FreezeId, Timestamp};

/// What a freeze covers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "scope", content = "name", rename_all = "snake_case")]
pub enum FreezeScope {
    /// Every action.
    Everything,
    /// Every action of one agent.
    Agent(String),
    /// Every use of one tool.
    Tool(String),
}

/// A freeze in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Freeze {
    /// Its id, to lift it again.
    pub id: FreezeId,
    /// What it covers.
    #[serde(flatten)]
    pub scope: FreezeScope,
    /// Why.
    pub reason: String,
    /// Who froze.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

impl Freeze {
    /// Whether an action of this agent with this tool is frozen.
    #[must_use]
    pub fn covers(&self, agent: &str, tool: &str) -> bool {
        match &self.scope {
            FreezeScope::Everything => true,
            FreezeScope::Agent(name) => name == agent,
            FreezeScope::Tool(name) => name == tool,
        }
    }
}
