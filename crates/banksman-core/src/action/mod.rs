//! What an agent wants to do.

mod read;

use serde::{Deserialize, Serialize};

use crate::json::CanonicalJson;
use crate::level::named;
use crate::{Digest, action_digest, forwarded_digest};

pub use read::ActionError;

/// How the arguments of an action are to be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A named tool with structured arguments.
    #[default]
    Tool,
    /// A shell command.
    Shell,
    /// Python source.
    Python,
    /// JavaScript source.
    Javascript,
    /// SQL statements.
    Sql,
    /// An HTTP request.
    Http,
    /// A file operation.
    File,
}

named!(Kind, "kind", "tool, shell, python, javascript, sql, http, file", {
    Tool => "tool", Shell => "shell", Python => "python", Javascript => "javascript",
    Sql => "sql", Http => "http", File => "file",
});

/// How bad the agent itself expects a failure to be (Tinman's scale). It may raise what policy demands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the scale is its own documentation")]
pub enum Severity {
    S0,
    S1,
    S2,
    S3,
    S4,
}

named!(Severity, "severity", "S0, S1, S2, S3, S4", {
    S0 => "S0", S1 => "S1", S2 => "S2", S3 => "S3", S4 => "S4",
});

/// What the agent expects an action to take.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// What the server of a tool says of it, by the names of the Model Context Protocol.
///
/// Hints of a stranger: they may raise what is thought of an action, never lower it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Annotations {
    /// It changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// It may destroy something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Calling it twice does no more than calling it once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// It deals with the world outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

/// Whom to call once an action is resolved. The call carries the resolution and the checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Resume {
    /// Where, among the addresses that the installation allows.
    pub url: String,
}

/// What an agent wants to do, and everything it says about it.
///
/// Only `tool`, `kind` and `args` execute, and only they are in the digest. The rest is the agent's word:
/// shown to people as such, and hostile until proven otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Action {
    /// The tool that would run.
    pub tool: String,
    /// How its arguments are to be understood.
    #[serde(default)]
    pub kind: Kind,
    /// Its arguments, an object.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub args: CanonicalJson,
    /// What it is about, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Why the agent wants it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rationale: Option<String>,
    /// What the agent bases that on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub evidence: Option<CanonicalJson>,
    /// The agent's session, the default reach of a remembered grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The conversation that the action belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// The task that the action belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// A class of actions, such as `prompt_mutation`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_type: Option<String>,
    /// How bad the agent expects a failure to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted_severity: Option<Severity>,
    /// What it is expected to cost.
    #[serde(default)]
    pub estimate: Estimate,
    /// Which systems it touches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub affected_systems: Vec<String>,
    /// Whether the agent believes that it can be undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reversible: Option<bool>,
    /// How it would be undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollback_plan: Option<String>,
    /// A JSON Schema that the arguments follow, also when a reviewer edits them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub args_schema: Option<CanonicalJson>,
    /// What the action would change, as it is now, for a diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub state_before: Option<CanonicalJson>,
    /// Facts that must still hold when the action is claimed: name to value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub preconditions: Option<CanonicalJson>,
    /// The agent's own state, handed back with the resolution and never looked into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub checkpoint: Option<CanonicalJson>,
    /// Whom to call once it is resolved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<Resume>,
    /// The MCP server that the tool belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// What the tool's server says of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// How long the agent is willing to wait; policy may allow less, never more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub timeout_seconds: Option<u64>,
    /// Whether Banksman itself runs it, by passing it on to `server`. No request can say so: only the gateway does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "openapi", schema(ignore))]
    pub forwarded: bool,
}

impl Action {
    /// An action with nothing but what executes.
    #[must_use]
    pub fn bare(tool: impl Into<String>, kind: Kind, args: CanonicalJson) -> Self {
        Self {
            tool: tool.into(),
            kind,
            args,
            description: None,
            rationale: None,
            evidence: None,
            session: None,
            thread: None,
            task: None,
            action_type: None,
            predicted_severity: None,
            estimate: Estimate::default(),
            affected_systems: Vec::new(),
            reversible: None,
            rollback_plan: None,
            args_schema: None,
            state_before: None,
            preconditions: None,
            checkpoint: None,
            resume: None,
            annotations: None,
            server: None,
            timeout_seconds: None,
            forwarded: false,
        }
    }

    /// The digest of what would execute.
    #[must_use]
    pub fn digest(&self) -> Digest {
        match &self.server {
            Some(server) if self.forwarded => forwarded_digest(server, &self.tool, self.kind, &self.args),
            Some(_) | None => action_digest(&self.tool, self.kind, &self.args),
        }
    }

    /// The same action with other arguments, as a reviewer edits it.
    #[must_use]
    pub fn with_args(&self, args: CanonicalJson) -> Self {
        Self { args, ..self.clone() }
    }
}
