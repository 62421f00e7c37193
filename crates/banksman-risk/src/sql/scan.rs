//! Finds what changes something in a text that no dialect can parse.
//!
//! Strings, quoted names and comments are gone by now, so a `DELETE FROM` that is still there is one, or a column that
//! somebody chose to call `delete`.

use std::borrow::Cow;

use super::Reader;
use super::lexer::{Kind, Token};
use super::verb;
use super::words::KINDS;

/// What a statement can begin with, and whether a name that looks like it must be followed by something to count.
const VERBS: &[(&str, &[&str])] = &[
    ("delete", &["from"]),
    ("insert", &["into", "overwrite"]),
    ("replace", &["into"]),
    ("merge", &["into"]),
    ("update", &[]),
    ("truncate", &[]),
    ("drop", KINDS),
    ("create", KINDS),
    ("alter", KINDS),
    ("grant", &[]),
    ("revoke", &[]),
    ("exec", &[]),
    ("execute", &[]),
    ("call", &[]),
    ("perform", &[]),
    ("copy", &[]),
    ("shutdown", &[]),
    ("reconfigure", &[]),
    ("bulk", &["insert"]),
    ("kill", &[]),
];

/// How far behind a word its arguments are looked for.
const NEAR: usize = 64;

/// States everything in it that changes something, and every function that is called.
pub(super) fn state_everything(reader: &mut Reader<'_, '_, '_>, tokens: &[Token]) {
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let rest = tokens.get(at..).unwrap_or_default();
        let near = rest.get(..rest.len().min(NEAR)).unwrap_or_default();
        if token.kind == Kind::Word {
            if let Some(found) = begins_statement(reader, tokens, at) {
                // Each of them is looked through to its end.
                let steps = crate::inspection::steps(rest.len() / 8).saturating_add(8);
                if !reader.inspection.spend(steps, reader.span) {
                    return;
                }
                let has_where =
                    rest.iter().any(|token| reader.lexed.word(token).eq_ignore_ascii_case("where"));
                let rows = matches!(found, "delete" | "update");
                let traits = match (rows, has_where) {
                    (true, false) => vec!["unbounded"],
                    (true, true) => vec!["bounded"],
                    (false, _) => Vec::new(),
                };
                match verb::known(reader.lexed, found, rest) {
                    Some(known) => {
                        reader.state(known.verb, known.traits, known.objects);
                        if let Some(language) = known.runs {
                            reader.read_strings(language, near);
                        }
                    }
                    None => reader.state(Cow::Borrowed(found), traits, Vec::new()),
                }
            } else if tokens.get(at + 1).is_some_and(|next| next.kind == Kind::Sign(b'(')) {
                let name = reader.lexed.word(token).to_ascii_lowercase();
                if !is_joint(&name) {
                    reader.call(&name, near);
                }
            } else if reader.lexed.word(token).eq_ignore_ascii_case("into") && at > 0 {
                let before = tokens.get(at - 1).map(|token| reader.lexed.word(token)).unwrap_or_default();
                if !["insert", "replace", "merge"].iter().any(|verb| before.eq_ignore_ascii_case(verb)) {
                    reader.state(Cow::Borrowed("select"), vec!["into"], Vec::new());
                }
            }
        }
        at += 1;
    }
}

/// How many statements there seem to be.
pub(super) fn count(reader: &Reader<'_, '_, '_>, tokens: &[Token]) -> usize {
    (0..tokens.len()).filter(|at| begins_statement(reader, tokens, *at).is_some()).count()
}

/// Whether a text begins as a statement does.
pub(super) fn is_statement(text: &str) -> bool {
    let first =
        text.trim_start().split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
    text.trim_start().starts_with(['/', '-', '(', '\n'])
        || ["select", "with", "declare", "begin", "set"].iter().any(|word| first.eq_ignore_ascii_case(word))
        || VERBS.iter().any(|(verb, _)| first.eq_ignore_ascii_case(verb))
}

fn begins_statement(reader: &Reader<'_, '_, '_>, tokens: &[Token], at: usize) -> Option<&'static str> {
    let word = reader.lexed.word(tokens.get(at)?);
    if word.len() > 3
        && (word.get(..3)?.eq_ignore_ascii_case("xp_") || word.get(..3)?.eq_ignore_ascii_case("sp_"))
    {
        return Some("exec");
    }
    let (verb, after) = VERBS.iter().find(|(verb, _)| word.eq_ignore_ascii_case(verb))?;
    let previous = at.checked_sub(1).and_then(|before| tokens.get(before));
    let next = tokens.get(at + 1);
    // `t.delete`, `a, delete, b`, `AS delete`, `delete = 1`, `FOR UPDATE`, `ON DELETE CASCADE` are no statements.
    let before = previous.map(|token| reader.lexed.word(token).to_ascii_lowercase()).unwrap_or_default();
    if matches!(
        before.as_str(),
        "." | "," | "as" | "for" | "on" | "key" | "by" | "or" | "create" | "of" | "to" | "grant"
    ) {
        return None;
    }
    let follows = next.map(|token| reader.lexed.word(token).to_ascii_lowercase()).unwrap_or_default();
    if after.is_empty() {
        let is_part =
            matches!(follows.as_str(), "" | "," | "." | "=" | ")" | "<" | ">" | "from" | "is" | "as");
        let is_call = follows == "(" && !matches!(*verb, "exec" | "execute" | "truncate");
        return (!is_part && !is_call).then_some(verb);
    }
    let named = after.contains(&follows.as_str());
    // `DELETE t WHERE ...` and `INSERT t VALUES` (T-SQL) need no further word.
    let bare = matches!(*verb, "delete" | "insert")
        && next.is_some_and(|token| matches!(token.kind, Kind::Word | Kind::Name))
        && !matches!(follows.as_str(), "from" | "and" | "or" | "is" | "in" | "like" | "as" | "asc" | "desc");
    (named || bare).then_some(verb)
}

/// Words before a bracket that call nothing.
fn is_joint(word: &str) -> bool {
    matches!(
        word,
        "in" | "and"
            | "or"
            | "not"
            | "values"
            | "as"
            | "on"
            | "using"
            | "select"
            | "from"
            | "where"
            | "exists"
            | "over"
            | "by"
            | "with"
            | "any"
            | "all"
            | "some"
            | "when"
            | "then"
            | "else"
            | "table"
            | "into"
            | "join"
            | "union"
            | "key"
            | "references"
            | "check"
            | "unique"
            | "primary"
            | "set"
            | "if"
            | "case"
            | "returning"
            | "limit"
            | "explain"
            | "analyze"
    )
}
