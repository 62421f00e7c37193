//! The dialogue that asks why, or for other arguments.

use banksman_core::Decision;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::blocks::plain;
use crate::SendError;

/// Slack takes no longer text in a field.
const LONGEST_FIELD: usize = 3000;

/// Nor in what a dialogue remembers.
const LONGEST_CONTEXT: usize = 3000;

pub(super) const CALLBACK: &str = "banksman_decide";
pub(super) const REASON: &str = "reason";
pub(super) const ARGUMENTS: &str = "arguments";

/// What a dialogue is about. Slack keeps it and gives it back, signed with the rest.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Context {
    pub(super) about: String,
    pub(super) decision: Decision,
    pub(super) answer_to: Option<String>,
}

/// The dialogue.
pub(super) fn view(context: &Context, tool: &str, arguments: Option<&str>) -> Result<Value, SendError> {
    let remembered =
        serde_json::to_string(context).map_err(|_| SendError::never("the dialogue cannot be written"))?;
    if remembered.len() > LONGEST_CONTEXT {
        return Err(SendError::never("the dialogue is about too much"));
    }
    let (title, submit, label) = match context.decision {
        Decision::Approve => ("Approve", "Approve", "Why you approve"),
        Decision::Deny => ("Deny", "Deny", "Why you deny"),
        Decision::Respond => ("Deny", "Deny", "What the agent should know"),
        Decision::Modify => ("Edit and approve", "Approve", "Why you change it"),
    };
    let mut blocks = vec![json!({ "type": "section", "text": plain(tool, LONGEST_FIELD) })];
    if let Some(arguments) = arguments {
        if arguments.chars().count() > LONGEST_FIELD {
            return Err(SendError::never("the arguments are too long to be edited in Slack"));
        }
        blocks.push(field(ARGUMENTS, "Arguments (JSON)", Some(arguments), true));
    }
    blocks.push(field(REASON, label, None, context.decision != Decision::Modify));
    Ok(json!({
        "type": "modal",
        "callback_id": CALLBACK,
        "private_metadata": remembered,
        "title": plain(title, 24),
        "submit": plain(submit, 24),
        "close": plain("Back", 24),
        "blocks": blocks,
    }))
}

fn field(name: &str, label: &str, value: Option<&str>, needed: bool) -> Value {
    let mut input = json!({
        "type": "plain_text_input",
        "action_id": name,
        "multiline": true,
        "max_length": LONGEST_FIELD,
    });
    if let (Some(value), Some(members)) = (value, input.as_object_mut()) {
        members.insert("initial_value".into(), json!(value));
    }
    json!({ "type": "input", "block_id": name, "optional": !needed, "label": plain(label, 150), "element": input })
}
