//! Tinman's matrix: what a severity demands in a mode.

use banksman_core::{Mode, Severity, Tier};
use banksman_risk::action_type_severity;

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

/// What an action type demands in a mode: "Destructive tool calls" and "Safety filter modifications" never happen, and a
/// person sees what changes the agent itself in production.
pub(crate) fn type_tier(action_type: &str, mode: Mode) -> Tier {
    match (action_type_severity(action_type), mode) {
        (Some(Severity::S3 | Severity::S4), _) => Tier::Block,
        (Some(Severity::S2), Mode::Production) => Tier::Approve,
        (Some(Severity::S2), Mode::Lab | Mode::Shadow) | (Some(Severity::S0 | Severity::S1) | None, _) => {
            Tier::Auto
        }
    }
}

/// The agent's own estimate beyond which a person sees it, in US dollars.
pub(crate) const COST_THRESHOLD_USD: f64 = 5.0;
