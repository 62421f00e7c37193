//! Remembered approvals ("always allow"), and how far they reach.

use serde::{Deserialize, Serialize};

use crate::{Digest, GrantId, Submission, Tier, Timestamp};

/// Which calls of the tool a grant covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum GrantMatch {
    /// Exactly the reviewed call.
    Exact,
    /// Any call of the tool.
    Tool,
}

/// For whom a grant holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "reach", rename_all = "snake_case")]
pub enum GrantReach {
    /// The agent, within one of its sessions.
    Session {
        /// That session.
        session: String,
    },
    /// The agent, in all its sessions.
    Agent,
}

/// What a reviewer asks to be remembered with an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Remember {
    /// Which calls.
    #[serde(rename = "match", default = "exact")]
    pub matches: GrantMatch,
    /// In all the agent's sessions, instead of only in the one that the action belongs to.
    #[serde(default)]
    pub all_sessions: bool,
    /// For how long.
    #[serde(default = "eight_hours")]
    pub expires_in_seconds: u64,
}

fn exact() -> GrantMatch {
    GrantMatch::Exact
}

fn eight_hours() -> u64 {
    8 * 3600
}

/// A remembered approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Its id, to revoke it.
    pub id: GrantId,
    /// The agent that it holds for.
    pub agent: String,
    /// The tool that it covers.
    pub tool: String,
    /// The one call that it covers; any call of the tool if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// In which sessions.
    #[serde(flatten)]
    pub reach: GrantReach,
    /// Who granted it.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// When it ends.
    pub expires_at: Timestamp,
}

impl Grant {
    /// Whether this grant stands in for an approval of the action.
    ///
    /// Only where policy asks for one approval and allows remembering: a grant never replaces several people
    /// and never a block.
    #[must_use]
    pub fn covers(&self, agent: &str, submission: &Submission, now: Timestamp) -> bool {
        let verdict = &submission.verdict;
        verdict.tier == Tier::Approve
            && verdict.allow_remember
            && verdict.quorum.count() == 1
            && now < self.expires_at
            && self.agent == agent
            && self.tool == submission.action.tool
            && self.digest.is_none_or(|digest| digest == submission.digest)
            && match &self.reach {
                GrantReach::Session { session } => submission.action.session.as_deref() == Some(session),
                GrantReach::Agent => true,
            }
    }
}
