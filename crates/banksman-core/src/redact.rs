//! Redaction: what people do not need to see in order to decide is not shown to them.
//!
//! What would run stays what it is, and so does its digest: only its picture is blackened. Where a reviewer edits a
//! picture, what was blackened in it keeps its value.

use std::sync::Arc;

use crate::json::{CanonicalJson, Json, Object};
use crate::wire::ActionView;
use crate::{Case, Principal, Submission};

/// What is shown in place of a value.
pub const REDACTED: &str = "[redacted]";

/// Whether a path is one that redaction knows: members between dots, `*` for any one, `**` for any number of them.
#[must_use]
pub fn is_redaction_path(path: &str) -> bool {
    !path.is_empty() && path.split('.').all(|member| !member.is_empty())
}

/// The value with everything blackened that one of the paths leads to.
#[must_use]
pub fn redacted(value: &CanonicalJson, paths: &[String]) -> CanonicalJson {
    if paths.is_empty() {
        return value.clone();
    }
    let Ok(json) = value.to_json() else { return CanonicalJson::of(&Json::String(REDACTED.into())) };
    CanonicalJson::of(&blacken(json, &split(paths), &mut Vec::new()))
}

/// What a reviewer made of a redacted picture: where it is still black, the value is the one that was there.
#[must_use]
pub fn restored(edited: &CanonicalJson, original: &CanonicalJson, paths: &[String]) -> CanonicalJson {
    if paths.is_empty() {
        return edited.clone();
    }
    let (Ok(picture), Ok(before)) = (edited.to_json(), original.to_json()) else { return edited.clone() };
    CanonicalJson::of(&uncover(picture, &before, &split(paths)))
}

impl ActionView {
    /// The action as this caller gets to see it: agents whole, because they run it, and people redacted.
    #[must_use]
    pub fn seen_by(viewer: &Principal, case: &Case) -> Self {
        if viewer.kind.decides() { Self::for_people(case) } else { Self::from(case) }
    }

    /// The action as people get to see it.
    #[must_use]
    pub fn for_people(case: &Case) -> Self {
        Self::from(case).redacted()
    }

    fn redacted(mut self) -> Self {
        if self.verdict.redact.is_empty() {
            return self;
        }
        self.args = redacted(&self.args, &self.verdict.redact);
        let hide = |value: &CanonicalJson| redacted(value, &self.verdict.redact);
        self.context.state_before = self.context.state_before.as_ref().map(hide);
        self.context.preconditions = self.context.preconditions.as_ref().map(hide);
        self.context.evidence = self.context.evidence.as_ref().map(hide);
        // The agent's own state is for the agent.
        self.checkpoint = None;
        self
    }
}

impl Submission {
    /// The same without what reading found in values that people do not get to see: it is stored, shown and audited.
    #[must_use]
    pub fn discreet(mut self) -> Self {
        if self.verdict.redact.is_empty() {
            return self;
        }
        let hidden = Hidden::of(&self.action.args, &self.verdict.redact);
        let tells = |text: &str| hidden.is_told_by(text);
        let assessment = Arc::make_mut(&mut self.assessment);
        assessment.resources.retain(|resource| !tells(resource));
        assessment.recommendations.retain(|advice| !tells(advice));
        if let Some(triage) = &mut assessment.triage
            && triage.rationale.as_deref().is_some_and(tells)
        {
            triage.rationale = Some(REDACTED.into());
        }
        self
    }
}

/// The texts that people do not get to see, to find them where they are said again.
#[derive(Debug, Clone, Default)]
pub struct Hidden(Vec<String>);

impl Hidden {
    /// What the paths lead to in these arguments.
    #[must_use]
    pub fn of(args: &CanonicalJson, paths: &[String]) -> Self {
        let mut texts = Vec::new();
        if !paths.is_empty()
            && let Ok(args) = args.to_json()
        {
            blacken(args, &split(paths), &mut texts);
        }
        texts.retain(|text| !text.is_empty());
        Self(texts)
    }

    /// Whether a text says any of it.
    #[must_use]
    pub fn is_told_by(&self, text: &str) -> bool {
        self.0.iter().any(|secret| text.contains(secret.as_str()))
    }
}

fn split(paths: &[String]) -> Vec<Vec<&str>> {
    paths.iter().map(|path| path.split('.').collect()).collect()
}

/// The rest of each path after one member.
fn after<'p>(paths: &[Vec<&'p str>], member: &str) -> Vec<Vec<&'p str>> {
    let mut rest = Vec::new();
    for path in paths {
        match path.split_first() {
            Some((&"**", tail)) => {
                rest.push(path.clone());
                if let Some((first, beyond)) = tail.split_first()
                    && (*first == "*" || *first == member)
                {
                    rest.push(beyond.to_vec());
                }
            }
            Some((first, tail)) if *first == "*" || *first == member => rest.push(tail.to_vec()),
            Some(_) | None => {}
        }
    }
    rest
}

/// Whether a path ends here.
fn ends(paths: &[Vec<&str>]) -> bool {
    paths.iter().any(Vec::is_empty)
}

fn blacken(value: Json, paths: &[Vec<&str>], blackened: &mut Vec<String>) -> Json {
    if ends(paths) {
        collect(&value, blackened);
        return Json::String(REDACTED.into());
    }
    if paths.is_empty() {
        return value;
    }
    match value {
        Json::Object(members) => {
            let members = members.into_members().map(|(key, value)| {
                let rest = after(paths, &key);
                let value = blacken(value, &rest, blackened);
                (key, value)
            });
            Json::Object(object(members.collect()))
        }
        Json::Array(items) => {
            let items = items.into_iter().enumerate();
            Json::Array(
                items
                    .map(|(index, item)| blacken(item, &after(paths, &index.to_string()), blackened))
                    .collect(),
            )
        }
        plain => plain,
    }
}

/// Every text in a value.
fn collect(value: &Json, texts: &mut Vec<String>) {
    match value {
        Json::String(text) => texts.push(text.clone()),
        Json::Array(items) => items.iter().for_each(|item| collect(item, texts)),
        Json::Object(members) => members.iter().for_each(|(_, value)| collect(value, texts)),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

fn uncover(picture: Json, before: &Json, paths: &[Vec<&str>]) -> Json {
    if ends(paths) {
        let still_black = matches!(&picture, Json::String(text) if text == REDACTED);
        return if still_black { before.clone() } else { picture };
    }
    match (picture, before) {
        (Json::Object(members), Json::Object(were)) => {
            let members = members.into_members().map(|(key, value)| {
                let value = match were.get(&key) {
                    Some(was) => uncover(value, was, &after(paths, &key)),
                    None => value,
                };
                (key, value)
            });
            Json::Object(object(members.collect()))
        }
        (Json::Array(items), Json::Array(were)) => {
            let items = items.into_iter().enumerate().map(|(index, item)| match were.get(index) {
                Some(was) => uncover(item, was, &after(paths, &index.to_string())),
                None => item,
            });
            Json::Array(items.collect())
        }
        (picture, _) => picture,
    }
}

/// Members that were those of an object before, so that no two have the same name.
fn object(members: Vec<(String, Json)>) -> Object {
    Object::from_members(members).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> CanonicalJson {
        CanonicalJson::parse(text.as_bytes()).unwrap()
    }

    fn paths(paths: &[&str]) -> Vec<String> {
        paths.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_a_path_leads_to_is_black() {
        for (path, expected) in [
            ("card", r#"{"card":"[redacted]","to":{"name":"ann","pin":[1,{"pin":2}]}}"#),
            ("to.pin", r#"{"card":{"pin":7},"to":{"name":"ann","pin":"[redacted]"}}"#),
            ("to.*", r#"{"card":{"pin":7},"to":{"name":"[redacted]","pin":"[redacted]"}}"#),
            ("**.pin", r#"{"card":{"pin":"[redacted]"},"to":{"name":"ann","pin":"[redacted]"}}"#),
            ("to.pin.1.pin", r#"{"card":{"pin":7},"to":{"name":"ann","pin":[1,{"pin":"[redacted]"}]}}"#),
            ("nowhere.at.all", r#"{"card":{"pin":7},"to":{"name":"ann","pin":[1,{"pin":2}]}}"#),
        ] {
            let value = json(r#"{"card":{"pin":7},"to":{"name":"ann","pin":[1,{"pin":2}]}}"#);
            assert_eq!(redacted(&value, &paths(&[path])).as_str(), expected, "{path}");
        }
    }

    #[test]
    fn what_stays_black_in_an_edit_keeps_its_value() {
        let original = json(r#"{"amount":50,"card":"4111","to":[{"pin":1},{"pin":2}]}"#);
        let hidden = paths(&["card", "**.pin"]);
        let edited = json(r#"{"amount":40,"card":"[redacted]","to":[{"pin":"[redacted]"},{"pin":3}]}"#);
        let restored = restored(&edited, &original, &hidden);
        assert_eq!(restored.as_str(), r#"{"amount":40,"card":"4111","to":[{"pin":1},{"pin":3}]}"#);
    }

    #[test]
    fn nobody_uncovers_elsewhere_what_is_hidden_here() {
        let original = json(r#"{"card":"4111","note":"x"}"#);
        let edited = json(r#"{"card":"[redacted]","note":"[redacted]"}"#);
        let restored = restored(&edited, &original, &paths(&["card"]));
        assert_eq!(restored.as_str(), r#"{"card":"4111","note":"[redacted]"}"#);
    }
}
