//! Tinman's severity: how bad a failure is, from what is known of it.

use banksman_core::Severity;

/// What is known of a failure.
#[derive(Debug, Clone, Copy)]
pub struct FailureReport<'a> {
    /// Its class, such as `GOAL_DRIFT`.
    pub failure_class: &'a str,
    /// How often it can be reproduced, 0 to 1.
    pub reproducibility: f64,
    /// How many surfaces it reaches.
    pub impact_scope: usize,
    /// Whether it is about safety.
    pub safety_related: bool,
}

/// How bad a failure is.
#[must_use]
pub fn severity_of(_report: &FailureReport<'_>) -> Severity {
    Severity::S0
}

/// How bad an action of one of Tinman's types is by itself; `None` is a type that Tinman does not know.
#[must_use]
pub fn action_type_severity(_action_type: &str) -> Option<Severity> {
    None
}
