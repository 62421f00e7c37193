//! Tinman's severity.

use banksman_core::Severity::{self, *};
use banksman_risk::{FailureReport, action_type_severity, severity_of};

fn severity(class: &str, reproducibility: f64, scope: usize, safety: bool) -> Severity {
    severity_of(&FailureReport {
        failure_class: class,
        reproducibility,
        impact_scope: scope,
        safety_related: safety,
    })
}

#[test]
fn the_cuts_fall_where_the_formula_says() {
    for (class, reproducibility, scope, safety, expected) in [
        ("OTHER", 0.0, 0, false, S0),
        ("OTHER", 0.99, 1, false, S0),
        // 0.2 x 1.0 = 0.2
        ("OTHER", 1.0, 1, false, S1),
        // 0.2 for the scope alone, 0.1 for a smaller one
        ("OTHER", 0.0, 4, false, S1),
        ("OTHER", 0.0, 3, false, S0),
        ("OTHER", 0.5, 2, false, S1),
        ("OTHER", 0.499, 3, false, S0),
        // 0.2 + 0.2 = 0.4
        ("OTHER", 1.0, 4, false, S2),
        ("OTHER", 0.999, 4, false, S1),
        // 0.3 + 0.1 = 0.4, which is 0.4 exactly only when it is not added in binary
        ("GOAL_DRIFT", 0.0, 2, false, S2),
        ("GOAL_DRIFT", 0.0, 1, false, S1),
        ("GOAL_DRIFT", 0.8, 3, false, S2),
        // 0.5 + 0.1 = 0.6
        ("OTHER", 0.0, 2, true, S3),
        ("OTHER", 0.0, 1, true, S2),
        ("OTHER", 0.5, 1, true, S3),
        ("OTHER", 0.499, 1, true, S2),
        // 0.3 + 0.2 + 0.2 = 0.7
        ("GOAL_DRIFT", 1.0, 4, false, S3),
        // 0.5 + 0.3 = 0.8
        ("GOAL_DRIFT", 0.0, 0, true, S4),
        ("OTHER", 0.5, 4, true, S4),
        ("OTHER", 0.999, 2, true, S3),
        ("OTHER", 1.0, 2, true, S4),
        ("goal-drift", 0.0, 0, true, S4),
        // What is no number is the worst.
        ("OTHER", f64::NAN, 0, false, S1),
        ("OTHER", 7.0, 0, false, S1),
        ("OTHER", -7.0, 0, false, S0),
    ] {
        assert_eq!(
            severity(class, reproducibility, scope, safety),
            expected,
            "{class} {reproducibility} {scope} {safety}"
        );
    }
}

#[test]
fn action_types_have_severities() {
    for (name, expected) in [
        ("destructive_tool_call", Some(S4)),
        ("SAFETY_FILTER_CHANGE", Some(S4)),
        ("prompt_mutation", Some(S2)),
        ("tool-policy-change", Some(S2)),
        ("fine_tune", Some(S2)),
        (" Fine -Tune", Some(S2)),
        ("config_change", Some(S1)),
        ("memory_gating", Some(S1)),
        ("mail", None),
    ] {
        assert_eq!(action_type_severity(name), expected, "{name}");
    }
}
