//! Tinman's matrix: what a severity demands in a mode.

use banksman_core::{Mode, Severity, Tier};

/// What a severity demands in a mode, by the matrix of Tinman's document.
///
/// The document also speaks of approving reviews in LAB by default (`auto_approve_in_lab`); where it disagrees with
/// itself, the stricter reading holds, and that is the matrix.
#[must_use]
pub const fn matrix_tier(severity: Severity, mode: Mode) -> Tier {
    match (severity, mode) {
        (Severity::S0 | Severity::S1, _) | (Severity::S2, Mode::Lab | Mode::Shadow) => Tier::Auto,
        (Severity::S2, Mode::Production) | (Severity::S3, _) | (Severity::S4, Mode::Lab) => Tier::Approve,
        (Severity::S4, Mode::Shadow | Mode::Production) => Tier::Block,
    }
}

/// Action types that are never allowed: "Destructive tool calls", "Safety filter modifications".
pub(crate) const BLOCKED_TYPES: &[&str] = &["destructive_tool_call", "safety_filter_change"];

/// Action types that a person always sees in production.
pub(crate) const REVIEWED_IN_PRODUCTION: &[&str] =
    &["prompt_mutation", "tool_policy_change", "safety_filter_change", "fine_tune"];

/// The agent's own estimate beyond which a person sees it, in US dollars.
pub(crate) const COST_THRESHOLD_USD: f64 = 5.0;
