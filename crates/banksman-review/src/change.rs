//! What a change changes, line by line.

use banksman_core::json::{CanonicalJson, Json, Object};
use banksman_core::visible::pretty;
use banksman_core::wire::ActionView;
use similar::{ChangeTag, TextDiff};

/// A difference that a person can use: from what, to what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What it is about, in our words.
    pub title: &'static str,
    /// Before and after, of each part that changes.
    sides: Vec<(String, String)>,
}

/// Larger texts are compared by size only: the cost grows with the square of what differs.
const MOST_BYTES: usize = 200_000;

/// How many unchanged lines are shown around a change.
const AROUND: usize = 3;

/// Arguments that hold what a text is to be; what says that it is new comes first.
const NEW_TEXT: &[&str] =
    &["new_string", "new_str", "new_content", "content", "contents", "text", "file_text", "body"];

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
        Self::of_args(&action.args, action.context.state_before.as_ref())
    }

    fn of_args(args: &CanonicalJson, state_before: Option<&CanonicalJson>) -> Option<Self> {
        let json = args.to_json().ok()?;
        let mut edits = Vec::new();
        collect_edits(&json, &mut edits);
        if !edits.is_empty() {
            return Some(Self { title: "What the edit replaces", sides: edits });
        }
        let before = state_before?;
        let sides = state_and_after((&before.to_json().ok()?, before), (&json, args));
        Some(Self { title: "Before, as the agent says, and after", sides: vec![sides] })
    }

    /// What an earlier version of the arguments, or another action, had instead.
    #[must_use]
    pub fn of_versions(title: &'static str, before: &CanonicalJson, after: &CanonicalJson) -> Self {
        Self { title, sides: vec![(pretty(before), pretty(after))] }
    }

    /// What an edit does to the arguments.
    #[must_use]
    pub fn of_edit(before: &CanonicalJson, after: &CanonicalJson) -> Self {
        Self::of_versions("What you change", before, after)
    }

    /// Compares both sides.
    #[must_use]
    pub fn compare(&self) -> Comparison {
        let (before, after) = self
            .sides
            .iter()
            .fold((0, 0), |(before, after), (old, new)| (before + old.len(), after + new.len()));
        if before.max(after) > MOST_BYTES {
            return Comparison::TooLong { before, after };
        }
        Comparison::Places(self.sides.iter().flat_map(|(before, after)| places(before, after)).collect())
    }
}

fn places(before: &str, after: &str) -> Vec<Vec<ChangedLine>> {
    let diff = TextDiff::from_lines(before, after);
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
    places.collect()
}

fn text_of<'a>(members: &'a Object, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| members.get(name)?.as_str())
}

/// The edits in a value, however deep: a tool may take many at once.
fn collect_edits(value: &Json, edits: &mut Vec<(String, String)>) {
    match value {
        Json::Object(members) => {
            if let (Some(old), Some(new)) = (text_of(members, OLD_TEXT), text_of(members, NEW_TEXT)) {
                edits.push((old.to_owned(), new.to_owned()));
            }
            members.iter().for_each(|(_, item)| collect_edits(item, edits));
        }
        Json::Array(items) => items.iter().for_each(|item| collect_edits(item, edits)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

/// The state before, and the part of the arguments that takes its place; all of them, if none is it for sure.
fn state_and_after(
    (state, state_text): (&Json, &CanonicalJson),
    (args, args_text): (&Json, &CanonicalJson),
) -> (String, String) {
    let new_text = args.as_object().and_then(|members| text_of(members, NEW_TEXT));
    let old_text = match state {
        Json::String(text) => Some(text.as_str()),
        Json::Object(members) => text_of(members, NEW_TEXT),
        // There was nothing.
        Json::Null => Some(""),
        Json::Bool(_) | Json::Number(_) | Json::Array(_) => None,
    };
    if let (Some(old), Some(new)) = (old_text, new_text) {
        return (old.to_owned(), new.to_owned());
    }
    let mut alike = args
        .as_object()
        .into_iter()
        .flat_map(Object::iter)
        .map(|(_, item)| item)
        .filter(|item| std::mem::discriminant(*item) == std::mem::discriminant(state));
    let after = match (state, alike.next(), alike.next()) {
        (Json::Object(_) | Json::Null, ..) | (_, None, _) | (_, _, Some(_)) => args_text.clone(),
        (_, Some(only), None) => CanonicalJson::of(only),
    };
    let before = if *state == Json::Null { String::new() } else { pretty(state_text) };
    (before, pretty(&after))
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
    fn every_edit_of_many_is_compared() {
        let many = json(
            r#"{"file_path":"/a","edits":[{"old_string":"one","new_string":"uno"},{"old_string":"two","new_string":"dos"}]}"#,
        );
        let change = Change::of_args(&many, None).unwrap();
        let gone_and_new =
            |old: &str, new: &str| vec![ChangedLine::Gone(old.into()), ChangedLine::New(new.into())];
        assert_eq!(
            change.compare(),
            Comparison::Places(vec![gone_and_new("one", "uno"), gone_and_new("two", "dos")])
        );
        let halves: Vec<String> = (0..2).map(|_| "x".repeat(MOST_BYTES / 2 + 1)).collect();
        let long = json(&format!(
            r#"{{"edits":[{{"old_str":"a","new_str":"{}"}},{{"old_str":"b","new_str":"{}"}}]}}"#,
            halves[0], halves[1]
        ));
        assert!(matches!(Change::of_args(&long, None).unwrap().compare(), Comparison::TooLong { .. }));
    }

    #[test]
    fn whatever_was_before_is_compared_with_what_takes_its_place() {
        for (state, args, before, after) in [
            ("5", r#"{"key":"limit","value":10}"#, "5", "10"),
            ("true", r#"{"key":"on","value":false}"#, "true", "false"),
            (r#""old""#, r#"{"content":"new"}"#, "old", "new"),
            (r#"{"content":"old"}"#, r#"{"content":"new"}"#, "old", "new"),
            ("null", r#"{"content":"new"}"#, "", "new"),
            ("5", r#"{"a":1,"b":2}"#, "5", "{\n  \"a\": 1,\n  \"b\": 2\n}"),
        ] {
            let change = Change::of_args(&json(args), Some(&json(state))).unwrap();
            assert_eq!(change.sides, [(before.to_owned(), after.to_owned())], "{state} {args}");
        }
    }

    #[test]
    fn the_same_has_no_places_and_much_is_not_compared() {
        let same = json(r#"{"a":1}"#);
        assert_eq!(Change::of_edit(&same, &same).compare(), Comparison::Places(Vec::new()));
        let long = json(&format!(r#"{{"a":"{}"}}"#, "x".repeat(MOST_BYTES)));
        assert!(matches!(Change::of_edit(&same, &long).compare(), Comparison::TooLong { .. }));
    }
}
