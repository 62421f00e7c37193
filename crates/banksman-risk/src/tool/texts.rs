//! The code in an action's arguments.

use std::borrow::Cow;

use banksman_core::json::{self, Json};

use super::surroundings::{self, quoted_line, surrounds, word};
use super::{DEPTH, NOWHERE, step_into};
use crate::inspection::{Code, Inspection, parsing, steps};
use crate::origin::Origin;

/// What agents write about a command beside it, for people.
const PROSE: &[&str] = &[
    "description",
    "justification",
    "explanation",
    "reason",
    "rationale",
    "goal",
    "purpose",
    "intent",
    "title",
    "summary",
    "comment",
    "note",
    "thought",
];

/// Where clients put code of a language, the likeliest first.
fn names_of(code: Code) -> &'static [&'static str] {
    match code {
        Code::Shell => &[
            "command",
            "cmd",
            "commands",
            "script",
            "shell_command",
            "command_line",
            "bash",
            "shell",
            "argv",
            "code",
            "input",
            "line",
            "text",
        ],
        Code::Python => &[
            "code",
            "source",
            "script",
            "python",
            "program",
            "cell",
            "expression",
            "input",
            "command",
            "text",
        ],
        Code::Javascript => &[
            "code",
            "source",
            "script",
            "javascript",
            "js",
            "function",
            "expression",
            "program",
            "input",
            "command",
            "text",
        ],
        Code::Sql => &[
            "sql",
            "query",
            "queries",
            "statement",
            "statements",
            "q",
            "code",
            "script",
            "command",
            "input",
            "text",
        ],
    }
}

/// How sure it is that a text is code.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// It is: its name says so, or there is nothing else that could be.
    Certain,
    /// It may be: only what would be grave counts.
    Suspected,
}

/// Reads code among arguments, each place once in a language: the kind of an action and the name of its tool mostly lead
/// to the same text.
pub(super) struct Reader<'i, 'c> {
    pub(super) inspection: &'i mut Inspection<'c>,
    read: Vec<(Code, String)>,
}

impl<'i, 'c> Reader<'i, 'c> {
    pub(super) fn new(inspection: &'i mut Inspection<'c>) -> Self {
        Self { inspection, read: Vec::new() }
    }

    /// Reads all the code of a kind among the arguments. `false`: there is none.
    pub(super) fn by_kind(&mut self, code: Code, args: &Json) -> bool {
        let mut found = false;
        for name in names_of(code) {
            if let Some(value) = args.get(name) {
                found |= self.value(code, Manner::Certain, args, &step_into("", name), value, DEPTH);
            }
        }
        if !found && let Some(members) = args.as_object() {
            // A single text under another name: what else could be meant?
            let mut strings = members.iter().filter(|(_, value)| value.as_str().is_some());
            if let (Some((name, value)), None) = (strings.next(), strings.next()) {
                found = self.value(code, Manner::Certain, args, &step_into("", name), value, DEPTH);
            }
        }
        self.everything(code, Manner::Suspected, args);
        self.inspection.enter_argument(None);
        found
    }

    /// Reads whatever text there is, under whatever name. `false`: there is none.
    pub(super) fn everything(&mut self, code: Code, manner: Manner, args: &Json) -> bool {
        let mut found = false;
        for (name, value) in args.as_object().into_iter().flat_map(|members| members.iter()) {
            let prose = manner == Manner::Suspected && PROSE.contains(&name);
            if !prose && !surrounds(name) {
                found |= self.value(code, manner, args, &step_into("", name), value, DEPTH);
            }
        }
        found
    }

    /// Reads one argument as code: a text, the words of a command, several texts, or whatever texts are in it. `false`:
    /// there is none.
    pub(super) fn value(
        &mut self,
        code: Code,
        manner: Manner,
        siblings: &Json,
        pointer: &str,
        value: &Json,
        depth: usize,
    ) -> bool {
        let Some(depth) = depth.checked_sub(1) else {
            self.inspection.signal("too_deep", NOWHERE);
            return true;
        };
        if !self.inspection.spend(1 + steps(self.read.len()), NOWHERE) || self.is_read(code, pointer) {
            return true;
        }
        let found = match value {
            Json::String(text) => {
                self.text(code, manner, siblings, pointer, text, depth);
                true
            }
            Json::Array(items) => self.items(code, manner, siblings, pointer, items, depth),
            Json::Object(members) => {
                // A statement comes with its values, which are no statements.
                let manner = if code == Code::Sql { Manner::Suspected } else { manner };
                members.iter().filter(|(name, _)| !PROSE.contains(name) && !surrounds(name)).fold(
                    false,
                    |found, (name, inner)| {
                        self.value(code, manner, value, &step_into(pointer, name), inner, depth) || found
                    },
                )
            }
            Json::Null | Json::Bool(_) | Json::Number(_) => false,
        };
        if found && manner == Manner::Certain {
            self.read.push((code, pointer.to_owned()));
        }
        found
    }

    fn is_read(&self, code: Code, pointer: &str) -> bool {
        self.read.iter().any(|(language, place)| {
            *language == code
                && pointer.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    fn text(&mut self, code: Code, manner: Manner, siblings: &Json, pointer: &str, text: &str, depth: usize) {
        self.inspection.enter_argument(Some(pointer.to_owned()));
        self.read_text(code, manner, text);
        if code == Code::Shell {
            surroundings::read(self.inspection, siblings, text, manner == Manner::Certain);
        }
        if let Some(inner) = object_in(self.inspection, text) {
            self.value(code, Manner::Suspected, siblings, pointer, &inner, depth);
        }
    }

    fn read_text(&mut self, code: Code, manner: Manner, text: &str) {
        if manner == Manner::Certain || (code == Code::Sql && begins_as_sql(text)) {
            self.inspection.read(code, text, Origin::whole(text));
        } else {
            self.inspection.read_suspected(code, text, Origin::whole(text));
        }
    }

    fn items(
        &mut self,
        code: Code,
        manner: Manner,
        siblings: &Json,
        pointer: &str,
        items: &[Json],
        depth: usize,
    ) -> bool {
        let mut found = false;
        for (at, item) in items.iter().enumerate() {
            if matches!(item, Json::Array(_) | Json::Object(_)) {
                found |= self.value(code, manner, siblings, &format!("{pointer}/{at}"), item, depth);
            }
        }
        let texts: Vec<(usize, &str)> =
            items.iter().enumerate().filter_map(|(at, item)| Some((at, item.as_str()?))).collect();
        let is_list = code != Code::Shell
            || pointer.ends_with('s')
            || texts.first().is_some_and(|(_, first)| first.contains(char::is_whitespace));
        if is_list {
            for (at, text) in &texts {
                self.inspection.enter_argument(Some(format!("{pointer}/{at}")));
                self.read_text(code, manner, text);
            }
        }
        let mut words: Vec<Cow<'_, str>> = Vec::new();
        gather(items, &mut words);
        if code == Code::Shell && (found || !texts.is_empty()) && !words.is_empty() {
            // The words of one command, as `execve` takes them.
            let line = quoted_line(words.iter().map(AsRef::as_ref));
            self.inspection.enter_argument(Some(pointer.to_owned()));
            self.read_text(code, manner, &line);
            surroundings::read(self.inspection, siblings, &line, manner == Manner::Certain);
        }
        found || !texts.is_empty()
    }
}

/// The words in lists and in lists in them.
fn gather<'j>(items: &'j [Json], words: &mut Vec<Cow<'j, str>>) {
    for item in items {
        match item {
            Json::Array(inner) => gather(inner, words),
            other => words.extend(word(other)),
        }
    }
}

/// Whether a text begins like a statement.
pub(super) fn begins_as_sql(text: &str) -> bool {
    const VERBS: &[&str] = &[
        "select", "insert", "update", "delete", "drop", "alter", "create", "truncate", "with", "grant",
        "merge", "call", "exec",
    ];
    let first = text.split_whitespace().next().unwrap_or_default();
    VERBS.iter().any(|verb| first.eq_ignore_ascii_case(verb))
}

/// The object that a text is, written as JSON: some clients hand on all arguments that way.
pub(super) fn object_in(inspection: &mut Inspection<'_>, text: &str) -> Option<Json> {
    let text = text.trim();
    let is_object = text.starts_with('{') && text.ends_with('}');
    if !is_object || !inspection.spend(parsing(text), NOWHERE) {
        return None;
    }
    json::parse(text.as_bytes()).ok().filter(|value| value.as_object().is_some())
}
