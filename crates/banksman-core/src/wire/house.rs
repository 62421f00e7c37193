//! The house rules: grants, freezes, mode, credentials.

use serde::{Deserialize, Serialize};

use crate::{Digest, GrantMatch, Mode, PrincipalKind, Timestamp, TokenId};

/// `POST /v1/grants`
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct GrantBody {
    /// The agent that it holds for.
    pub agent: String,
    /// The tool that it covers.
    pub tool: String,
    /// The one call that it covers; any call of the tool if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub digest: Option<Digest>,
    /// The session that it holds in; all of the agent's if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// For how long.
    pub expires_in_seconds: u64,
}

/// A remembered approval.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[expect(missing_docs, reason = "the fields are those of Grant")]
pub struct GrantView {
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: crate::GrantId,
    pub agent: String,
    pub tool: String,
    #[serde(rename = "match")]
    pub matches: GrantMatch,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub digest: Option<Digest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    pub by: String,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub expires_at: Timestamp,
}

impl From<&crate::Grant> for GrantView {
    fn from(grant: &crate::Grant) -> Self {
        let session = match &grant.reach {
            crate::GrantReach::Session { session } => Some(session.clone()),
            crate::GrantReach::Agent => None,
        };
        Self {
            id: grant.id,
            agent: grant.agent.clone(),
            tool: grant.tool.clone(),
            matches: if grant.digest.is_some() { GrantMatch::Exact } else { GrantMatch::Tool },
            digest: grant.digest,
            session,
            by: grant.by.clone(),
            at: grant.at,
            expires_at: grant.expires_at,
        }
    }
}

/// `POST /v1/freezes`: exactly one of the three says what is frozen.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct FreezeBody {
    /// Freeze everything.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub everything: bool,
    /// Freeze one agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Freeze one tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A freeze in force.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[expect(missing_docs, reason = "the fields are those of Freeze")]
pub struct FreezeView {
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: crate::FreezeId,
    /// `everything`, `agent` or `tool`.
    pub scope: String,
    /// The agent or tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub reason: String,
    pub by: String,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
}

impl From<&crate::Freeze> for FreezeView {
    fn from(freeze: &crate::Freeze) -> Self {
        let (scope, name) = match &freeze.scope {
            crate::FreezeScope::Everything => ("everything", None),
            crate::FreezeScope::Agent(name) => ("agent", Some(name.clone())),
            crate::FreezeScope::Tool(name) => ("tool", Some(name.clone())),
        };
        Self {
            id: freeze.id,
            scope: scope.into(),
            name,
            reason: freeze.reason.clone(),
            by: freeze.by.clone(),
            at: freeze.at,
        }
    }
}

/// `GET` and `POST /v1/mode`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ModeBody {
    /// The operating mode.
    pub mode: Mode,
}

/// `GET /v1/policy`: which policy is in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PolicyView {
    /// The digest of its text, as the audit log has it.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub digest: Digest,
    /// Where it was read from.
    pub source: String,
    /// Since when it is in force.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub loaded_at: Timestamp,
    /// The newest text, if it could not be used: then this policy is in force although another was wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<RefusedPolicyView>,
}

/// A changed policy that could not be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RefusedPolicyView {
    /// When it was tried.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    /// What is wrong with it, and where.
    pub problem: String,
}

/// A credential, without its secret.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[expect(missing_docs, reason = "the fields are those of a credential")]
pub struct TokenView {
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: TokenId,
    pub kind: PrincipalKind,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub revoked_at: Option<Timestamp>,
}
