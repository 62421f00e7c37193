//! What is true around a proposal.

use banksman_core::{Mode, Timestamp};

use crate::window::Windows;

/// What is true around a proposal, as the engine knows it.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The time.
    pub now: Timestamp,
    /// The operating mode.
    pub mode: Mode,
    /// The agent's name.
    pub agent: &'a str,
    /// Whether a freeze covers the action.
    pub frozen: bool,
    /// How many grants this agent has.
    pub grants: usize,
    /// What windows show, with this action.
    pub windows: &'a Windows,
}

impl<'a> Facts<'a> {
    /// An agent at a moment, in production, with nothing else that would be known.
    #[must_use]
    pub fn plain(agent: &'a str, now: Timestamp) -> Self {
        Self { now, mode: Mode::Production, agent, frozen: false, grants: 0, windows: Windows::NONE }
    }
}
