//! Reads tool calls: their names, their hints, and the code, paths and URLs among their arguments.

mod arguments;
pub(crate) mod patch;
mod surroundings;
mod texts;

use banksman_core::json::{self, Json, Object};
use banksman_core::{Action, Annotations, Kind, Severity, Span};

use crate::fact::{Fact, ToolUse, Word};
use crate::inspection::{Code, Inspection};
use crate::origin::Origin;
use crate::severity::action_type_severity;
use crate::tool::texts::Reader;
use crate::{address, path};

/// States what an action would do, whatever its kind.
pub(crate) fn inspect_action(inspection: &mut Inspection<'_>, action: &Action) {
    inspect_claims(inspection, action);
    let Ok(args) = action.args.to_json() else {
        inspection.signal("unreadable", NOWHERE);
        return;
    };
    let mut reader = Reader::new(inspection);
    let readable = match action.kind {
        Kind::Shell => reader.by_kind(Code::Shell, &args),
        Kind::Python => reader.by_kind(Code::Python, &args),
        Kind::Javascript => reader.by_kind(Code::Javascript, &args),
        Kind::Sql => reader.by_kind(Code::Sql, &args),
        Kind::Http => inspect_http(reader.inspection, &args),
        Kind::File => arguments::inspect_file(&mut reader, &action.tool, &args),
        Kind::Tool => true,
    };
    if !readable {
        reader.inspection.signal("unreadable", NOWHERE);
    }
    // The agent chooses the kind: it adds a way of reading, and takes none away.
    state_tool(reader.inspection, &action.tool, action.annotations.as_ref());
    arguments::inspect(&mut reader, &action.tool, &args);
}

/// States what a tool would do, given as its name, or as JSON with `tool` (or `name`) and `args`.
///
/// Nobody has said that this tool is known, as a policy would: so it is not.
pub(crate) fn inspect_text(inspection: &mut Inspection<'_>, text: &str) {
    let whole = Origin::whole(text).span(0..text.len());
    if !text.trim_start().starts_with('{') {
        let name = text.trim();
        inspection.signal(if name.is_empty() { "unreadable" } else { "unknown_tool" }, whole);
        state_tool(inspection, name, None);
        return;
    }
    match json::parse(text.as_bytes()).ok().and_then(action_of) {
        Some(action) => {
            if action.kind == Kind::Tool {
                inspection.signal("unknown_tool", whole);
            }
            inspect_action(inspection, &action);
        }
        None => inspection.signal("unreadable", whole),
    }
}

/// Reads a text that is a tool call in JSON where something else was expected. Whether it was one.
pub(crate) fn inspect_misplaced(inspection: &mut Inspection<'_>, text: &str) -> bool {
    let Ok(call @ Json::Object(_)) = json::parse(text.as_bytes()) else { return false };
    let name = ["tool", "name"].iter().find_map(|key| call.get(key)?.as_str());
    let name = name.or_else(|| call.get("route")?.get("kind")?.as_str()).unwrap_or_default();
    let args = ["args", "arguments", "input", "parameters", "params"].iter().find_map(|key| call.get(key));
    arguments::inspect(&mut Reader::new(inspection), name, args.unwrap_or(&call));
    true
}

/// A place in no text: what is about the action as a whole.
const NOWHERE: Span = Span { start: 0, end: 0 };

/// How deep objects in objects are looked into.
const DEPTH: usize = 8;

/// An action, from the ways in which tool calls are usually written down.
fn action_of(call: Json) -> Option<Action> {
    let Json::Object(members) = call else { return None };
    let renamed = members.into_members().map(|(key, value)| {
        let key = match key.as_str() {
            "name" => "tool".to_owned(),
            "arguments" | "input" | "parameters" | "params" => "args".to_owned(),
            _ => key,
        };
        // Some write the arguments as a text that is JSON itself.
        let value = match value {
            Json::String(text) if key == "args" => json::parse(text.as_bytes()).unwrap_or(Json::String(text)),
            other => other,
        };
        (key, value)
    });
    let mut members: Vec<(String, Json)> = renamed.collect();
    if !members.iter().any(|(key, _)| key == "args") {
        members.push(("args".to_owned(), Json::Object(Object::from_members(Vec::new()).ok()?)));
    }
    Action::from_json(Json::Object(Object::from_members(members).ok()?)).ok()
}

/// What others say of the action. It may raise what is thought of it, never lower it.
fn inspect_claims(inspection: &mut Inspection<'_>, action: &Action) {
    let of_type = action.action_type.as_deref().and_then(action_type_severity);
    if let Some(signal) = of_type.and_then(|severity| match severity {
        Severity::S0 => None,
        Severity::S1 => Some("type_s1"),
        Severity::S2 => Some("type_s2"),
        Severity::S3 | Severity::S4 => Some("type_s4"),
    }) {
        inspection.signal(signal, NOWHERE);
    }
    if let Some(signal) = action.predicted_severity.and_then(|severity| match severity {
        Severity::S0 => None,
        Severity::S1 => Some("predicted_s1"),
        Severity::S2 => Some("predicted_s2"),
        Severity::S3 => Some("predicted_s3"),
        Severity::S4 => Some("predicted_s4"),
    }) {
        inspection.signal(signal, NOWHERE);
    }
}

fn inspect_http(inspection: &mut Inspection<'_>, args: &Json) -> bool {
    inspection.enter_argument(Some("/url".to_owned()));
    let length = args.get("url").and_then(Json::as_str).map_or(0, str::len);
    let found = address::inspect_request(inspection, args, Origin::whole("").span(0..length));
    inspection.enter_argument(None);
    found
}

fn state_tool(inspection: &mut Inspection<'_>, name: &str, annotations: Option<&Annotations>) {
    let mut hints = Vec::new();
    if let Some(said) = annotations {
        for (hint, holds) in [
            ("destructive", said.destructive_hint == Some(true)),
            ("open_world", said.open_world_hint == Some(true)),
            ("not_idempotent", said.idempotent_hint == Some(false)),
        ] {
            if holds {
                hints.push(hint);
            }
        }
    }
    inspection.state(&Fact::Tool(ToolUse { name: name.into(), hints }), NOWHERE);
}

/// The words of a tool's name, in lower case: `delete`, `user` of `delete_user`, `deleteUser`, `user-delete`.
pub(crate) fn words(name: &str) -> impl Iterator<Item = String> {
    Words { rest: name }
}

struct Words<'n> {
    rest: &'n str,
}

impl Iterator for Words<'_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        self.rest = self.rest.trim_start_matches(|c: char| !c.is_alphanumeric());
        let mut chars = self.rest.char_indices().peekable();
        let (_, mut previous) = chars.next()?;
        let mut end = self.rest.len();
        while let Some((at, c)) = chars.next() {
            let next_is_lower = chars.peek().is_some_and(|(_, next)| next.is_lowercase());
            let boundary = !c.is_alphanumeric()
                || (c.is_uppercase() && previous.is_lowercase())
                // `HTTPServer` is `http` and `server`.
                || (c.is_uppercase() && previous.is_uppercase() && next_is_lower)
                || (c.is_numeric() != previous.is_numeric());
            if boundary {
                end = at;
                break;
            }
            previous = c;
        }
        let (word, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        Some(word.to_lowercase())
    }
}

/// A JSON pointer, one step further.
fn step_into(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// States that a path is used that stands in an argument.
fn state_path(inspection: &mut Inspection<'_>, accesses: &[crate::fact::Access], text: &str) {
    let span = Origin::whole(text).span(0..text.len());
    for access in accesses {
        path::state(inspection, *access, Word::known(text, span));
    }
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn names_are_taken_apart_however_they_are_written() {
        for (name, expected) in [
            ("delete_user", "delete user"),
            ("deleteUser", "delete user"),
            ("DeleteUser", "delete user"),
            ("user-delete", "user delete"),
            ("mcp__github__delete.repo", "mcp github delete repo"),
            ("HTTPServer2Drop", "http server 2 drop"),
            ("undelete", "undelete"),
            ("", ""),
            ("__", ""),
            ("löscheKunden", "lösche kunden"),
        ] {
            assert_eq!(words(name).collect::<Vec<_>>().join(" "), expected, "{name}");
        }
    }
}
