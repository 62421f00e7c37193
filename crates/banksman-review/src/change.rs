//! What a change changes, line by line.

use banksman_core::json::{CanonicalJson, Json};
use banksman_core::visible::pretty;
use banksman_core::wire::ActionView;
use similar::{ChangeTag, TextDiff};

/// A difference that a person can use: from what, to what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What it is about, in our words.
    pub title: &'static str,
    before: String,
    after: String,
}

/// Larger texts are compared by size only: the cost grows with the square of what differs.
const MOST_BYTES: usize = 200_000;

/// How many unchanged lines are shown around a change.
const AROUND: usize = 3;

/// Arguments that hold what a file is to be.
const NEW_TEXT: &[&str] =
    &["content", "new_content", "contents", "text", "file_text", "body", "new_string", "new_str"];

/// Arguments that hold what an edit replaces.
const OLD_TEXT: &[&str] = &["old_string", "old_str", "old_content"];

/// What came of comparing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Comparison {
    /// Too long to compare.
    TooLong {
        /// Bytes before.
        before: usize,
        /// Bytes after.
        after: usize,
    },
    /// Places where something differs, each with a few lines around it. None: nothing differs.
    Places(Vec<Vec<ChangedLine>>),
}

/// A line near a difference, without its line end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangedLine {
    /// On both sides.
    Same(String),
    /// Only before.
    Gone(String),
    /// Only after.
    New(String),
}

impl Change {
    /// What the action would change, if its words say so: the state before and after, or the two sides of an edit.
    #[must_use]
    pub fn of_action(action: &ActionView) -> Option<Self> {
        let args = action.args.to_json().ok()?;
        let text = |names: &[&str]| names.iter().find_map(|name| args.get(name)?.as_str().map(str::to_owned));
        if let (Some(before), Some(after)) = (text(OLD_TEXT), text(NEW_TEXT)) {
            return Some(Self { title: "What the edit replaces", before, after });
        }
        let before = action.context.state_before.as_ref()?;
        let title = "Before, as the agent says, and after";
        match (before.to_json().ok()?, text(NEW_TEXT)) {
            (Json::String(before), Some(after)) => Some(Self { title, before, after }),
            (Json::Object(members), after) => {
                let inner = NEW_TEXT.iter().find_map(|name| members.get(name)?.as_str().map(str::to_owned));
                match (inner, after) {
                    (Some(before), Some(after)) => Some(Self { title, before, after }),
                    (None, _) | (_, None) => {
                        Some(Self { title, before: pretty(before), after: pretty(&action.args) })
                    }
                }
            }
            (Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_), _) => None,
        }
    }

    /// What an earlier version of the arguments, or another action, had instead.
    #[must_use]
    pub fn of_versions(title: &'static str, before: &CanonicalJson, after: &CanonicalJson) -> Self {
        Self { title, before: pretty(before), after: pretty(after) }
    }

    /// What an edit does to the arguments.
    #[must_use]
    pub fn of_edit(before: &CanonicalJson, after: &CanonicalJson) -> Self {
        Self::of_versions("What you change", before, after)
    }

    /// Compares both sides.
    #[must_use]
    pub fn compare(&self) -> Comparison {
        if self.before.len().max(self.after.len()) > MOST_BYTES {
            return Comparison::TooLong { before: self.before.len(), after: self.after.len() };
        }
        let diff = TextDiff::from_lines(&self.before, &self.after);
        let places = diff.grouped_ops(AROUND).into_iter().map(|group| {
            let changes = group.into_iter().flat_map(|op| diff.iter_changes(&op).collect::<Vec<_>>());
            let lines = changes.map(|change| {
                let line = change.value().trim_end_matches('\n').to_owned();
                match change.tag() {
                    ChangeTag::Delete => ChangedLine::Gone(line),
                    ChangeTag::Insert => ChangedLine::New(line),
                    ChangeTag::Equal => ChangedLine::Same(line),
                }
            });
            lines.collect()
        });
        Comparison::Places(places.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> CanonicalJson {
        CanonicalJson::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn an_edit_shows_what_goes_and_what_comes() {
        let change =
            Change::of_edit(&json(r#"{"amount":899,"to":"ann"}"#), &json(r#"{"amount":89,"to":"ann"}"#));
        let Comparison::Places(places) = change.compare() else { panic!("too long") };
        assert_eq!(
            places,
            [[
                ChangedLine::Same("{".into()),
                ChangedLine::Gone("  \"amount\": 899,".into()),
                ChangedLine::New("  \"amount\": 89,".into()),
                ChangedLine::Same("  \"to\": \"ann\"".into()),
                ChangedLine::Same("}".into()),
            ]]
        );
    }

    #[test]
    fn the_same_has_no_places_and_much_is_not_compared() {
        let same = json(r#"{"a":1}"#);
        assert_eq!(Change::of_edit(&same, &same).compare(), Comparison::Places(Vec::new()));
        let long = json(&format!(r#"{{"a":"{}"}}"#, "x".repeat(MOST_BYTES)));
        assert!(matches!(Change::of_edit(&same, &long).compare(), Comparison::TooLong { .. }));
    }
}
