//! What is hidden, found again where it is said in other places.

use std::cmp::Reverse;

use super::trail::Paths;
use super::{REDACTED, blacken, object};
use crate::json::{CanonicalJson, Json};
use crate::{Action, Case};

/// What is shorter is in too many words by chance.
const SHORTEST: usize = 4;

/// If more is hidden, texts are left out whole: nobody looks for thousands of words in a long text each time that it is
/// shown.
const MOST: usize = 64;

/// The texts that people do not get to see, to find them where they are said again.
#[derive(Debug, Clone, Default)]
pub struct Hidden(Vec<String>);

impl Hidden {
    /// What the paths lead to in these arguments.
    #[must_use]
    pub fn of(args: &CanonicalJson, paths: &[String]) -> Self {
        Self::of_all([args], paths)
    }

    /// What they lead to in anything that the agent says of an action.
    pub(super) fn of_action(action: &Action, paths: &[String]) -> Self {
        Self::of_all(said(action), paths)
    }

    /// The same, and in what came of it.
    pub(crate) fn of_case(case: &Case, result: Option<&CanonicalJson>) -> Self {
        Self::of_all(said(&case.submission.action).chain(result), &case.submission.verdict.redact)
    }

    fn of_all<'a>(values: impl IntoIterator<Item = &'a CanonicalJson>, paths: &[String]) -> Self {
        let mut texts = Vec::new();
        if !paths.is_empty() {
            let paths = Paths::new(paths);
            for value in values.into_iter().filter_map(|value| value.to_json().ok()) {
                let trail = paths.from(&value);
                blacken(value, &trail, &mut texts);
            }
        }
        texts.retain(|text| !text.is_empty() && !REDACTED.contains(text.as_str()));
        // The longer first: one may be part of another.
        texts.sort_unstable_by(|a, b| Reverse(a.len()).cmp(&Reverse(b.len())).then_with(|| a.cmp(b)));
        texts.dedup();
        Self(texts)
    }

    /// Whether a text says any of it.
    #[must_use]
    pub fn is_told_by(&self, text: &str) -> bool {
        self.0.iter().any(|secret| text.contains(secret.as_str()))
    }

    /// A text without what is hidden.
    #[must_use]
    pub fn veiled(&self, text: &str) -> String {
        let long = || self.0.iter().filter(|secret| secret.chars().nth(SHORTEST - 1).is_some());
        if long().nth(MOST).is_some() {
            return REDACTED.to_owned();
        }
        long().fold(text.to_owned(), |text, secret| {
            if text.contains(secret.as_str()) { text.replace(secret.as_str(), REDACTED) } else { text }
        })
    }

    /// The same for every text in a value.
    pub(super) fn veiled_json(&self, value: &CanonicalJson) -> CanonicalJson {
        if self.0.is_empty() {
            return value.clone();
        }
        let black = || Json::String(REDACTED.into());
        CanonicalJson::of(&value.to_json().map_or_else(|_| black(), |json| self.veil(json)))
    }

    fn veil(&self, value: Json) -> Json {
        match value {
            Json::String(text) => Json::String(self.veiled(&text)),
            Json::Number(number) if self.0.contains(&number.to_string()) => Json::String(REDACTED.into()),
            Json::Array(items) => Json::Array(items.into_iter().map(|item| self.veil(item)).collect()),
            Json::Object(members) => {
                let members =
                    members.into_members().map(|(key, value)| (self.veiled(&key), self.veil(value)));
                Json::Object(object(members.collect()))
            }
            plain @ (Json::Null | Json::Bool(_) | Json::Number(_)) => plain,
        }
    }
}

/// The values in which paths are followed.
fn said(action: &Action) -> impl Iterator<Item = &CanonicalJson> {
    let others = [&action.evidence, &action.state_before, &action.preconditions];
    std::iter::once(&action.args).chain(others.into_iter().flatten())
}

/// Every text in a value, and every number that is long enough to be known by.
pub(super) fn collect(value: &Json, texts: &mut Vec<String>) {
    match value {
        Json::String(text) => texts.push(text.clone()),
        Json::Array(items) => items.iter().for_each(|item| collect(item, texts)),
        Json::Object(members) => members.iter().for_each(|(_, value)| collect(value, texts)),
        Json::Number(number) => texts.extend(Some(number.to_string()).filter(|text| text.len() >= SHORTEST)),
        Json::Null | Json::Bool(_) => {}
    }
}
