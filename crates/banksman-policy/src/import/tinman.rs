//! Tinman's `approval`: how long to wait, by severity, and how approvals are handled.

use banksman_core::Severity;
use serde_json::Value;

use super::draft::{Draft, comment, seconds};

/// Reads the member `approval`.
pub(super) fn read(approval: &Value) -> Draft {
    let mut draft = Draft::default();
    draft.warn_of_others(
        "approval",
        approval,
        &[
            "timeout_seconds",
            "timeouts",
            "mode",
            "approval_mode",
            "auto_approve_in_lab",
            "cost_threshold_usd",
        ],
    );
    draft.warn(
        "Tinman's matrix of severities and modes, its blocked types and its cost threshold are built in",
    );
    if approval.get("auto_approve_in_lab").is_some_and(|value| *value != Value::Bool(false)) {
        draft.warn(
            "auto_approve_in_lab is not taken over: the same document's matrix reviews S3 and S4 in the lab",
        );
    }
    read_mode(&mut draft, approval);
    match approval.get("timeout_seconds").map(seconds) {
        None => {}
        Some(Some(seconds)) => draft.line("defaults", format!("timeout: {seconds}s")),
        Some(None) => draft.warn("timeout_seconds is no number of seconds and was left out"),
    }
    for (name, value) in approval.get("timeouts").and_then(Value::as_object).into_iter().flatten() {
        match (name.parse::<Severity>(), seconds(value)) {
            (Ok(severity), Some(seconds)) => {
                draft.line("severities", format!("{severity}: {{timeout: {seconds}s}}"));
            }
            _ => draft.warn(format!("timeouts.{} is no time for a severity and was left out", comment(name))),
        }
    }
    if let Some(threshold) = approval.get("cost_threshold_usd") {
        match threshold.as_f64().filter(|dollars| *dollars >= 0.0) {
            Some(dollars) => draft.line("costs", format!("review_above_usd: {dollars}")),
            None => draft.warn("cost_threshold_usd is no amount and was left out: 5 holds"),
        }
    }
    draft
}

fn read_mode(draft: &mut Draft, approval: &Value) {
    let Some(mode) = approval.get("mode").or_else(|| approval.get("approval_mode")) else { return };
    match mode.as_str().map(str::to_ascii_lowercase).as_deref() {
        Some("auto_reject") => draft.warn("mode auto_reject: add `preset: auto_reject` yourself, above `defaults`"),
        Some("auto_approve") => draft.warn(
            "mode auto_approve is not taken over: add `preset: auto_approve` yourself if no person is to be asked",
        ),
        Some("interactive" | "async") => {}
        _ => draft.warn("mode is none of Tinman's four and was left out"),
    }
}
