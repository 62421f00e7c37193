//! Batches.

use serde::{Deserialize, Serialize};

use super::ActionView;
use crate::{ActionId, BatchId, Decision, Digest, Status, Timestamp};

/// `POST /v1/batches`: the items are proposals.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BatchView {
    /// Its id.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: BatchId,
    /// The digest of the exact ordered items as they are now.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub digest: Digest,
    /// Who proposed it.
    pub agent: String,
    /// When.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    /// The items, in order, each with its own state.
    pub items: Vec<ActionView>,
}

/// `POST /v1/batches/{id}/decision`
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct BatchDecisionRequest {
    /// The digest of the items that the reviewer saw.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub digest: Digest,
    /// One for each item that is decided; items left out stay as they are.
    pub decisions: Vec<ItemDecision>,
}

/// A decision about one item of a batch.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ItemDecision {
    /// The item.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: ActionId,
    /// `approve`, `deny` or `respond`.
    pub decision: Decision,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Words for the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// The answer to a batch decision: each item has its own result.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BatchDecisionView {
    /// What became of each decided item, in the order of the request.
    pub results: Vec<ItemResult>,
}

/// What became of one decision in a batch.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ItemResult {
    /// The item.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: ActionId,
    /// Where it stands now.
    pub status: Status,
    /// Why the decision was refused, if it was: a stable code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The same in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}
