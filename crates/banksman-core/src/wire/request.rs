//! What is asked of one action.

use serde::{Deserialize, Serialize};

use crate::json::CanonicalJson;
use crate::{ActionId, Decision, Digest, Remember, Timestamp};

/// `POST /v1/actions/{id}/decision`
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct DecisionRequest {
    /// What is decided.
    pub decision: Decision,
    /// The version that the reviewer saw.
    pub version: u32,
    /// The digest that the reviewer saw.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub digest: Digest,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// For `modify`: the arguments to run instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub args: Option<CanonicalJson>,
    /// Words for the agent; needed for `respond`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// For `approve`: remember it as a grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remember: Option<Remember>,
}

/// `POST /v1/actions/{id}/claim`
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ClaimBody {
    /// What the executor is about to run.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub digest: Digest,
    /// The facts that the action depends on, as they are now; needed if it declared preconditions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub preconditions: Option<CanonicalJson>,
}

/// The answer to a claim: run this, once, before the lease ends, and report.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ClaimView {
    /// The action.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: ActionId,
    /// A signed token that proves it, verifiable with `/.well-known/jwks.json`.
    pub authorization: String,
    /// The tool to run.
    pub tool: String,
    /// With exactly these arguments.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub args: CanonicalJson,
    /// If reviewers changed them: those that were proposed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub proposed_args: Option<CanonicalJson>,
    /// The digest of both.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub digest: Digest,
    /// To pass on to the service that is called, so that it too does it once.
    pub idempotency_key: String,
    /// Until when an outcome has to be recorded.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub lease_expires_at: Timestamp,
}

/// `POST /v1/actions/{id}/outcome`
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct OutcomeBody {
    /// How it ended.
    pub status: OutcomeStatus,
    /// What came out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub result: Option<CanonicalJson>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// How a claimed action ended, in the words of its executor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum OutcomeStatus {
    /// It ran.
    Succeeded,
    /// It failed, or could not run.
    Failed,
}

/// `POST /v1/actions/{id}/cancel`
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct CancelBody {
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
