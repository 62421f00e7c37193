//! The ledger, as it is told to those who check it.

use serde::{Deserialize, Serialize};

use crate::{Digest, Timestamp};

/// What the audit log was at some moment, signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CheckpointView {
    /// How many events it covers: all up to this one.
    pub size: u64,
    /// When it was signed.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    /// The signed note (C2SP `tlog-checkpoint`): keep it, and whatever becomes of the log can be held against it.
    pub note: String,
    /// The key that it is signed with, as `NAME+HASH+KEY`. Whoever checks takes it from elsewhere.
    pub key: String,
}

/// That an event is in the log, in its place.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ProofView {
    /// Its place in the log.
    pub seq: u64,
    /// The event, byte for byte.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub event: Box<serde_json::value::RawValue>,
    /// The hashes beside its way to the root (RFC 6962), from the bottom up.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    pub path: Vec<Digest>,
    /// The log that it is in.
    pub checkpoint: CheckpointView,
}
