//! What is true around a proposal.

use banksman_core::{Mode, Timestamp};
use serde::Serialize;

/// What is true around a proposal, as the engine knows it.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Facts<'a> {
    /// The time.
    pub now: Timestamp,
    /// The operating mode.
    pub mode: Mode,
    /// The agent's name.
    pub agent: &'a str,
}
