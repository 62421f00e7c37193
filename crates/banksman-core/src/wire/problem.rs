//! Problem documents, pages and lists: the shapes that everything else comes in.

use serde::{Deserialize, Serialize};

use crate::{ActionId, Digest, Status};

/// A problem document (RFC 9457) with a stable code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Problem {
    /// Names the kind of problem: `urn:banksman:error:` and the code.
    #[serde(rename = "type")]
    pub kind: String,
    /// The code in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What went wrong this time.
    pub detail: String,
    /// The stable code; each is explained in docs/errors.md.
    pub code: String,
    /// The action that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub action: Option<ActionId>,
    /// Where that action stands now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_status: Option<Status>,
    /// Its version now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_version: Option<u32>,
    /// Its digest now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub current_digest: Option<Digest>,
    /// Who decided before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    /// A reviewer's words for the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A page of a longer list.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Page<T> {
    /// This page.
    pub items: Vec<T>,
    /// Pass this as `cursor` for the next one; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// An audit event and its place in the log.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EventView {
    /// Its place in the log.
    pub seq: u64,
    /// What happened.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub event: Box<serde_json::value::RawValue>,
}

/// A plain list.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct List<T> {
    /// All of them.
    pub items: Vec<T>,
}
