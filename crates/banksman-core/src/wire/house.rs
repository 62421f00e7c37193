//! The house rules: grants, freezes, mode, credentials.

use std::collections::BTreeMap;

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
    /// The arguments of the calls that it covers: texts with `*` and `?`, by name. A call with any other argument is not
    /// covered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<BTreeMap<String, String>>,
    /// The session that it holds in; all of the agent's if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// For how long.
    pub expires_in_seconds: u64,
    /// How many times; without end until it expires if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses: Option<u32>,
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
    /// What the arguments have to fit. With an approval, those that are not named stay as they were reviewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<BTreeMap<String, String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    pub by: String,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub expires_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses_left: Option<u32>,
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
            matches: grant.matches(),
            digest: grant.digest,
            args: grant.args.as_ref().map(|args| args.like.clone()),
            session,
            by: grant.by.clone(),
            at: grant.at,
            expires_at: grant.expires_at,
            uses_left: grant.uses_left,
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

/// `POST /v1/delegations`: exactly one of `ends_at` and `for_seconds` says when it ends.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct DelegationBody {
    /// Whose roles; the caller's own if left out. Only administrators name another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Who may use them.
    pub to: String,
    /// Which; all that the lender has if left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// From when; at once if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub starts_at: Option<Timestamp>,
    /// Until when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub ends_at: Option<Timestamp>,
    /// For how long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_seconds: Option<u64>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A delegation.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[expect(missing_docs, reason = "the fields are those of Delegation")]
pub struct DelegationView {
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: crate::DelegationId,
    pub from: String,
    pub to: String,
    /// All that the lender has, if empty.
    #[serde(default)]
    pub roles: Vec<String>,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub starts_at: Timestamp,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub ends_at: Timestamp,
    pub by: String,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl From<&crate::Delegation> for DelegationView {
    fn from(delegation: &crate::Delegation) -> Self {
        Self {
            id: delegation.id,
            from: delegation.from.clone(),
            to: delegation.to.clone(),
            roles: delegation.roles.clone(),
            starts_at: delegation.starts_at,
            ends_at: delegation.ends_at,
            by: delegation.by.clone(),
            at: delegation.at,
            reason: delegation.reason.clone(),
        }
    }
}

/// `POST /v1/mode`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ModeBody {
    /// The operating mode.
    pub mode: Mode,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// `POST /v1/mode/fallback`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct FallbackBody {
    /// What went wrong.
    pub reason: String,
}

/// How strict the house is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModeView {
    /// The operating mode.
    pub mode: Mode,
    /// After a fallback: the mode whose demands hold as well, until a person changes the mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fell_back_from: Option<Mode>,
    /// Whether policy only observes: what it would hold runs at once, on the record.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub observes: bool,
    /// The one person who may approve what they or their own agent proposed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub solo_operator: Option<String>,
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
