//! Actions for the tests.

use std::sync::Arc;
use std::time::Duration;

use banksman_core::wire::ActionView;
use banksman_core::{Risk, Timestamp, action_digest};
pub(crate) use banksman_review::sample::{NOW, action, json};

pub(crate) fn later(seconds: u64) -> Timestamp {
    NOW.after(Duration::from_secs(seconds))
}

/// One of several, of which later ones expire sooner.
pub(crate) fn numbered(number: usize, risk: Risk) -> ActionView {
    let mut action = action();
    action.id = format!("act_01J9ZKQ7V8Y3F5T2M6N4P0R1{number:02}").parse().unwrap();
    action.expires_at = Some(later(1_000 - 10 * u64::try_from(number).unwrap()));
    Arc::make_mut(&mut action.verdict).risk = risk;
    action.args = json(&format!(r#"{{"number":{number}}}"#));
    action.digest = action_digest(&action.tool, action.kind, &action.args);
    action
}

pub(crate) fn number_of(action: &ActionView) -> usize {
    let text = action.id.to_string();
    text[text.len() - 2..].parse().unwrap()
}
