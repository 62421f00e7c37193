//! Reading an action from a request, strictly: unknown members, wrong types and overlong texts are errors
//! that say where they are.

use crate::json::{CanonicalJson, Json, Object};
use crate::{Action, Annotations, Estimate, Kind, Resume};

/// Why a request is not an action, and which member is to blame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{pointer}: {problem}")]
pub struct ActionError {
    /// A JSON pointer to the member.
    pub pointer: String,
    /// What is wrong with it.
    pub problem: String,
}

const NAME_CHARS: usize = 256;
const URL_BYTES: usize = 2048;
const TEXT_BYTES: usize = 64 * 1024;
const MAX_SYSTEMS: usize = 256;
const MAX_TIMEOUT_SECONDS: u64 = 366 * 24 * 3600;

impl Action {
    /// Reads the body of a proposal.
    pub fn from_json(body: Json) -> Result<Self, ActionError> {
        let Json::Object(members) = body else {
            return Err(error("", format!("expected an object, got {}", body.kind_name())));
        };
        let tool = match members.get("tool") {
            Some(value) => name("tool", value)?,
            None => return Err(error("tool", "is required".into())),
        };
        let args = match members.get("args") {
            Some(value @ Json::Object(_)) => CanonicalJson::of(value),
            Some(other) => return Err(wrong_type("args", "an object", other)),
            None => return Err(error("args", "is required (an object; {} if there are none)".into())),
        };
        let mut action = Self::bare(tool, Kind::Tool, args);
        read_members(&mut action, members)?;
        Ok(action)
    }
}

fn read_members(action: &mut Action, members: Object) -> Result<(), ActionError> {
    for (key, value) in members.into_members() {
        // An explicit null says the same as leaving the member out.
        if value == Json::Null && !matches!(key.as_str(), "tool" | "args") {
            known(&key)?;
            continue;
        }
        match key.as_str() {
            "tool" | "args" => {}
            "kind" => action.kind = parsed(&key, &value)?,
            "description" => action.description = Some(text(&key, &value)?),
            "rationale" => action.rationale = Some(text(&key, &value)?),
            "rollback_plan" => action.rollback_plan = Some(text(&key, &value)?),
            "evidence" => action.evidence = Some(CanonicalJson::of(&value)),
            "checkpoint" => action.checkpoint = Some(CanonicalJson::of(&value)),
            "state_before" => action.state_before = Some(CanonicalJson::of(&value)),
            "args_schema" => action.args_schema = Some(object(&key, &value)?),
            "preconditions" => action.preconditions = Some(object(&key, &value)?),
            "session" => action.session = Some(name(&key, &value)?),
            "thread" => action.thread = Some(name(&key, &value)?),
            "task" => action.task = Some(name(&key, &value)?),
            "action_type" => action.action_type = Some(name(&key, &value)?),
            "predicted_severity" => action.predicted_severity = Some(parsed(&key, &value)?),
            "reversible" => match value {
                Json::Bool(flag) => action.reversible = Some(flag),
                other => return Err(wrong_type(&key, "true or false", &other)),
            },
            "server" => action.server = Some(name(&key, &value)?),
            "annotations" => action.annotations = Some(annotations(&value)?),
            "resume" => action.resume = Some(resume(&value)?),
            "estimate" => action.estimate = estimate(&value)?,
            "affected_systems" => action.affected_systems = systems(&key, &value)?,
            "timeout_seconds" => action.timeout_seconds = Some(timeout(&key, &value)?),
            _ => return Err(unknown(&key)),
        }
    }
    Ok(())
}

/// The members that may be null.
fn known(key: &str) -> Result<(), ActionError> {
    const OPTIONAL: &[&str] = &[
        "kind",
        "description",
        "rationale",
        "rollback_plan",
        "evidence",
        "checkpoint",
        "resume",
        "state_before",
        "args_schema",
        "preconditions",
        "session",
        "thread",
        "task",
        "action_type",
        "predicted_severity",
        "reversible",
        "server",
        "annotations",
        "estimate",
        "affected_systems",
        "timeout_seconds",
    ];
    if OPTIONAL.contains(&key) { Ok(()) } else { Err(unknown(key)) }
}

fn unknown(key: &str) -> ActionError {
    match key {
        "agent" | "identity" | "requester" | "requester_agent" => {
            error(key, "is not read from the body: who asks comes from the credential".into())
        }
        "tier" | "risk" | "reviewer" | "approved_by" | "status" => {
            error(key, "cannot be set by an agent: policy and people decide it".into())
        }
        // Policy believes what is said of `server` and its hints where this is set.
        "forwarded" => error(key, "cannot be said by an agent: only the gateway passes calls on".into()),
        _ => error(key, "unknown member".into()),
    }
}

fn resume(value: &Json) -> Result<Resume, ActionError> {
    let Json::Object(members) = value else { return Err(wrong_type("resume", "an object", value)) };
    let mut url = None;
    for (key, value) in members.iter() {
        match (key, value) {
            ("url", Json::String(text)) if text.len() <= URL_BYTES => url = Some(text.clone()),
            ("url", Json::String(_)) => {
                return Err(error("resume", format!("url is longer than {URL_BYTES} bytes")));
            }
            ("url", other) => return Err(wrong_type("resume", "a url that is a string", other)),
            (other, _) => return Err(error("resume", format!("unknown member {other:?}"))),
        }
    }
    url.map(|url| Resume { url }).ok_or_else(|| error("resume", "needs a url".into()))
}

fn error(member: &str, problem: String) -> ActionError {
    let shown: String = member.chars().take(64).collect();
    let pointer = if shown.is_empty() {
        "body".into()
    } else {
        format!("/{}", shown.replace('~', "~0").replace('/', "~1"))
    };
    ActionError { pointer, problem }
}

fn wrong_type(member: &str, expected: &str, got: &Json) -> ActionError {
    error(member, format!("expected {expected}, got {}", got.kind_name()))
}

fn text(member: &str, value: &Json) -> Result<String, ActionError> {
    match value {
        Json::String(text) if text.len() <= TEXT_BYTES => Ok(text.clone()),
        Json::String(_) => Err(error(member, format!("is longer than {TEXT_BYTES} bytes"))),
        other => Err(wrong_type(member, "a string", other)),
    }
}

/// A name: short, not empty, and nothing that could forge a line in a log or a terminal.
fn name(member: &str, value: &Json) -> Result<String, ActionError> {
    let text = text(member, value)?;
    if text.trim().is_empty() {
        return Err(error(member, "is empty".into()));
    }
    if text.chars().count() > NAME_CHARS {
        return Err(error(member, format!("is longer than {NAME_CHARS} characters")));
    }
    if text.chars().any(char::is_control) {
        return Err(error(member, "contains a control character".into()));
    }
    Ok(text)
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(
    member: &str,
    value: &Json,
) -> Result<T, ActionError> {
    match value {
        Json::String(text) => text.parse().map_err(|problem: T::Err| error(member, problem.to_string())),
        other => Err(wrong_type(member, "a string", other)),
    }
}

fn object(member: &str, value: &Json) -> Result<CanonicalJson, ActionError> {
    match value {
        Json::Object(_) => Ok(CanonicalJson::of(value)),
        other => Err(wrong_type(member, "an object", other)),
    }
}

fn estimate(value: &Json) -> Result<Estimate, ActionError> {
    let Json::Object(members) = value else { return Err(wrong_type("estimate", "an object", value)) };
    let mut estimate = Estimate::default();
    for (key, value) in members.iter() {
        let member = format!("estimate/{key}");
        match (key, value) {
            ("cost_usd" | "duration_ms", Json::Null) => {}
            ("cost_usd", Json::Number(number)) => {
                let cost = number.to_f64();
                if !cost.is_finite() || cost < 0.0 {
                    return Err(error_at(&member, "is not a sensible amount"));
                }
                estimate.cost_usd = Some(cost);
            }
            ("duration_ms", Json::Number(number)) => match number.as_u64() {
                Some(duration) => estimate.duration_ms = Some(duration),
                None => return Err(error_at(&member, "is not a whole number of milliseconds")),
            },
            ("cost_usd" | "duration_ms", _) => return Err(error_at(&member, "expected a number")),
            _ => return Err(error_at(&member, "unknown member")),
        }
    }
    Ok(estimate)
}

fn annotations(value: &Json) -> Result<Annotations, ActionError> {
    let Json::Object(members) = value else { return Err(wrong_type("annotations", "an object", value)) };
    let mut annotations = Annotations::default();
    for (key, value) in members.iter() {
        let hint = match key {
            "readOnlyHint" => &mut annotations.read_only_hint,
            "destructiveHint" => &mut annotations.destructive_hint,
            "idempotentHint" => &mut annotations.idempotent_hint,
            "openWorldHint" => &mut annotations.open_world_hint,
            // A name for people; the tool's own name is what counts.
            "title" if matches!(value, Json::String(_) | Json::Null) => continue,
            _ => return Err(error_at(&format!("annotations/{key}"), "unknown member")),
        };
        match value {
            Json::Bool(flag) => *hint = Some(*flag),
            Json::Null => {}
            _ => return Err(error_at(&format!("annotations/{key}"), "expected true or false")),
        }
    }
    Ok(annotations)
}

fn error_at(path: &str, problem: &str) -> ActionError {
    ActionError {
        pointer: format!("/{}", path.chars().take(96).collect::<String>()),
        problem: problem.into(),
    }
}

fn systems(member: &str, value: &Json) -> Result<Vec<String>, ActionError> {
    let Json::Array(items) = value else { return Err(wrong_type(member, "an array of strings", value)) };
    if items.len() > MAX_SYSTEMS {
        return Err(error(member, format!("has more than {MAX_SYSTEMS} items")));
    }
    items.iter().map(|item| name(member, item)).collect()
}

fn timeout(member: &str, value: &Json) -> Result<u64, ActionError> {
    let Json::Number(number) = value else { return Err(wrong_type(member, "a number", value)) };
    match number.as_u64() {
        Some(seconds @ 1..=MAX_TIMEOUT_SECONDS) => Ok(seconds),
        Some(_) | None => {
            Err(error(member, format!("is not a whole number from 1 to {MAX_TIMEOUT_SECONDS}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;

    fn read(text: &str) -> Result<Action, ActionError> {
        Action::from_json(parse(text.as_bytes()).unwrap())
    }

    #[test]
    fn only_tool_and_args_are_required() {
        let action = read(r#"{"tool":"send_email","args":{"to":"a@example.com"}}"#).unwrap();
        assert_eq!(
            action,
            Action::bare(
                "send_email",
                Kind::Tool,
                CanonicalJson::parse(br#"{"to":"a@example.com"}"#).unwrap()
            )
        );
    }

    #[test]
    fn every_member_is_kept_and_survives_storage() {
        let action = read(
            r#"{"tool":"sh","kind":"shell","args":{"command":"ls"},"description":"d","rationale":"r","evidence":[1],
                "session":"s","thread":"t","task":"k","action_type":"config_change","predicted_severity":"S3",
                "estimate":{"cost_usd":0.5,"duration_ms":100},"affected_systems":["chat"],"reversible":true,
                "annotations":{"title":"Shell","readOnlyHint":false,"destructiveHint":true,"idempotentHint":null,"openWorldHint":true},
                "rollback_plan":"undo","args_schema":{"type":"object"},"state_before":{"a":1},
                "preconditions":{"order.version":4},"checkpoint":{"n":9007199254740993},"timeout_seconds":60}"#,
        )
        .unwrap();
        assert_eq!(
            action.annotations,
            Some(Annotations {
                read_only_hint: Some(false),
                destructive_hint: Some(true),
                idempotent_hint: None,
                open_world_hint: Some(true)
            })
        );
        let stored = serde_json::to_string(&action).unwrap();
        assert!(stored.contains("9007199254740993"));
        assert_eq!(serde_json::from_str::<Action>(&stored).unwrap(), action);
    }

    #[test]
    fn an_agent_that_names_a_server_is_not_the_gateway() {
        let plain = r#"{"tool":"x","args":{}}"#;
        let claimed = r#"{"tool":"x","args":{},"server":"gitlab","annotations":{"readOnlyHint":true}}"#;
        let (plain, claimed) = (read(plain).unwrap(), read(claimed).unwrap());
        assert!(!claimed.forwarded);
        assert_eq!(claimed.digest(), plain.digest());
    }

    #[test]
    fn errors_say_where() {
        for (text, expected) in [
            ("[]", "body: expected an object, got an array"),
            (r#"{"args":{}}"#, "/tool: is required"),
            (r#"{"tool":"x"}"#, "/args: is required (an object; {} if there are none)"),
            (r#"{"tool":1,"args":{}}"#, "/tool: expected a string, got a number"),
            (r#"{"tool":" ","args":{}}"#, "/tool: is empty"),
            (r#"{"tool":"a\nb","args":{}}"#, "/tool: contains a control character"),
            (r#"{"tool":"x","args":[]}"#, "/args: expected an object, got an array"),
            (r#"{"tool":"x","args":null}"#, "/args: expected an object, got null"),
            (
                r#"{"tool":"x","args":{},"tier":"auto"}"#,
                "/tier: cannot be set by an agent: policy and people decide it",
            ),
            (
                r#"{"tool":"x","args":{},"agent":"me"}"#,
                "/agent: is not read from the body: who asks comes from the credential",
            ),
            (
                r#"{"tool":"x","args":{},"server":"gitlab","forwarded":true}"#,
                "/forwarded: cannot be said by an agent: only the gateway passes calls on",
            ),
            (
                r#"{"tool":"x","args":{},"forwarded":null}"#,
                "/forwarded: cannot be said by an agent: only the gateway passes calls on",
            ),
            (r#"{"tool":"x","args":{},"zzz":null}"#, "/zzz: unknown member"),
            (
                r#"{"tool":"x","args":{},"reversible":"true"}"#,
                "/reversible: expected true or false, got a string",
            ),
            (
                r#"{"tool":"x","args":{},"timeout_seconds":0}"#,
                "/timeout_seconds: is not a whole number from 1 to 31622400",
            ),
            (
                r#"{"tool":"x","args":{},"estimate":{"cost_usd":"5"}}"#,
                "/estimate/cost_usd: expected a number",
            ),
            (
                r#"{"tool":"x","args":{},"annotations":{"destructiveHint":"false"}}"#,
                "/annotations/destructiveHint: expected true or false",
            ),
            (r#"{"tool":"x","args":{},"annotations":{"safe":true}}"#, "/annotations/safe: unknown member"),
            (
                r#"{"tool":"x","args":{},"kind":"perl"}"#,
                "/kind: unknown kind \"perl\": expected one of tool, shell, python, javascript, sql, http, file",
            ),
        ] {
            assert_eq!(read(text).expect_err(text).to_string(), expected);
        }
    }
}
