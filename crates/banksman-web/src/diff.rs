//! What a change changes, line by line.

use banksman_core::json::{CanonicalJson, Json};
use banksman_core::visible::pretty;
use banksman_core::wire::ActionView;
use maud::{Markup, html};
use similar::{ChangeTag, TextDiff};

use crate::text::ForeignLines;

/// A difference that a person can use: from what, to what.
pub(crate) struct Change {
    pub(crate) title: &'static str,
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

/// What the action would change, if its words say so: the state before and after, or the two sides of an edit.
pub(crate) fn of_action(action: &ActionView) -> Option<Change> {
    let args = action.args.to_json().ok()?;
    let text = |names: &[&str]| names.iter().find_map(|name| args.get(name)?.as_str().map(str::to_owned));
    if let (Some(before), Some(after)) = (text(OLD_TEXT), text(NEW_TEXT)) {
        return Some(Change { title: "What the edit replaces", before, after });
    }
    let before = action.context.state_before.as_ref()?;
    let title = "Before, as the agent says, and after";
    match (before.to_json().ok()?, text(NEW_TEXT)) {
        (Json::String(before), Some(after)) => Some(Change { title, before, after }),
        (Json::Object(members), after) => {
            let inner = NEW_TEXT.iter().find_map(|name| members.get(name)?.as_str().map(str::to_owned));
            match (inner, after) {
                (Some(before), Some(after)) => Some(Change { title, before, after }),
                (None, _) | (_, None) => {
                    Some(Change { title, before: pretty(before), after: pretty(&action.args) })
                }
            }
        }
        (Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_), _) => None,
    }
}

/// What an earlier version of the arguments, or another action, had instead.
pub(crate) fn of_versions(title: &'static str, before: &CanonicalJson, after: &CanonicalJson) -> Change {
    Change { title, before: pretty(before), after: pretty(after) }
}

/// What an edit does to the arguments.
pub(crate) fn of_edit(before: &CanonicalJson, after: &CanonicalJson) -> Change {
    Change { title: "What you change", before: pretty(before), after: pretty(after) }
}

impl Change {
    /// The change, added and removed lines marked by sign, word and colour.
    pub(crate) fn show(&self) -> Markup {
        if self.before.len().max(self.after.len()) > MOST_BYTES {
            return html! {
                p.caution { "Too long to compare here: " (self.before.len()) " bytes before, " (self.after.len()) " after." }
            };
        }
        let diff = TextDiff::from_lines(&self.before, &self.after);
        let groups = diff.grouped_ops(AROUND);
        html! {
            div.diff role="region" aria-label=(self.title) tabindex="0" {
                @if groups.is_empty() { p.quiet { "Nothing differs." } }
                @for (position, group) in groups.iter().enumerate() {
                    @if position > 0 { div.gap { "⋯" } }
                    @for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
                        @let (class, sign, word) = match change.tag() {
                            ChangeTag::Delete => ("gone", "−", "removed: "),
                            ChangeTag::Insert => ("new", "+", "added: "),
                            ChangeTag::Equal => ("same", " ", ""),
                        };
                        div class=(format!("line {class}")) {
                            span.sign aria-hidden="true" { (sign) }
                            span.away { (word) }
                            span.code { (ForeignLines(change.value().trim_end_matches('\n'))) }
                        }
                    }
                }
            }
        }
    }
}
