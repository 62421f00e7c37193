//! What the store keeps for the ledger: hashes of the audit log, and what was signed about it.

use banksman_core::{Digest, Timestamp};

/// What a look at the audit log has added to what was known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seal {
    /// Which page the first of `pages` is, from zero.
    pub first_page: u64,
    /// The hashes of pages that were filled since. Two who look at once find the same, so the second may write them again.
    pub pages: Vec<Digest>,
    /// What was signed.
    pub checkpoint: SignedCheckpoint,
}

/// A checkpoint as it was given out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedCheckpoint {
    /// How many events it covers.
    pub size: u64,
    /// When it was signed.
    pub at: Timestamp,
    /// The signed note.
    pub note: String,
}
