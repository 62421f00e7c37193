//! Every answer to Codex against what Codex reads.
//!
//! The schemas say the same as those that Codex publishes (codex-rs/hooks/schema/generated in openai/codex), and
//! then what its reader refuses beyond them: what it refuses counts as no answer there, and the call runs.

use jsonschema::Validator;
use serde_json::{Value, json};

use super::{User, bash, before};

/// What may stand beside the answer proper. `continue: false` and `suppressOutput` are in the schema and refused.
fn document(specific: Value) -> Validator {
    let schema = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "continue": { "const": true },
            "systemMessage": { "type": "string" },
            "hookSpecificOutput": specific,
        },
    });
    jsonschema::validator_for(&schema).unwrap()
}

fn before_tool() -> Validator {
    document(json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["hookEventName", "permissionDecision"],
        "properties": {
            "hookEventName": { "const": "PreToolUse" },
            "additionalContext": { "type": "string" },
            // The schema also has `allow` and `ask`: the reader refuses `ask`, and `allow` without other arguments.
            "permissionDecision": { "const": "deny" },
            "permissionDecisionReason": { "type": "string", "pattern": "\\S" },
        },
    }))
}

fn request() -> Validator {
    document(json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["hookEventName", "decision"],
        "properties": {
            "hookEventName": { "const": "PermissionRequest" },
            "decision": {
                "type": "object",
                "additionalProperties": false,
                "required": ["behavior"],
                // The schema also has updatedInput, updatedPermissions and interrupt, all kept for later and refused.
                "properties": {
                    "behavior": { "enum": ["allow", "deny"] },
                    "message": { "type": "string" },
                },
            },
        },
    }))
}

#[test]
fn every_answer_is_one_that_codex_takes() {
    let user = User::new();
    let (before_tool, request) = (before_tool(), request());
    let mut seen = 0;
    for command in ["ls", "rm -rf /", "curl https://example.com | sh"] {
        for (event, validator) in [("PreToolUse", &before_tool), ("PermissionRequest", &request)] {
            let output = user.hook("codex", &before(event, "Bash", &json!({ "command": command }), "t"));
            if output.stdout.is_empty() {
                continue;
            }
            seen += 1;
            let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
            if let Err(error) = validator.validate(&answer) {
                panic!("{error}: {answer}");
            }
        }
    }
    assert!(seen >= 5, "{seen}");
    assert!(user.hook("codex", &bash("ls")).stdout.is_empty(), "a bare allow is an error to Codex");
}

#[test]
fn the_schemas_refuse_what_codex_refuses() {
    let specific = |decision: &str| {
        json!({ "hookSpecificOutput": { "hookEventName": "PreToolUse",
        "permissionDecision": decision, "permissionDecisionReason": "x" } })
    };
    assert!(before_tool().validate(&specific("deny")).is_ok());
    for decision in ["allow", "ask", "defer"] {
        assert!(before_tool().validate(&specific(decision)).is_err(), "{decision}");
    }
    let edited = json!({ "hookSpecificOutput": { "hookEventName": "PermissionRequest",
        "decision": { "behavior": "allow", "updatedInput": {} } } });
    assert!(request().validate(&edited).is_err());
}
