//! What is done with texts: both languages do much of it, and whoever hides a command does all of it.

use std::borrow::Cow;
use std::rc::Rc;

use super::value::{TEXT, Taint, Value, What};
use crate::fact::Word;

/// Places in a format that are filled; what comes after them is not known.
const PLACES: usize = 256;
/// What stands for a hole in a shell command: a variable of which nothing is known.
const SHELL_HOLE: &str = "$__unknown__";

/// `value[start:end:step]` of a text or a list.
pub(crate) fn slice(value: &Value, bounds: &[Option<i64>]) -> Value {
    let bound = |at: usize| bounds.get(at).copied().flatten();
    let step = bound(2).unwrap_or(1);
    let pick = |length: usize| -> Vec<usize> {
        let length = i64::try_from(length).unwrap_or(i64::MAX);
        let clamp = |at: i64, low: i64, high: i64| {
            if at < 0 { at.saturating_add(length) } else { at }.clamp(low, high)
        };
        let mut picked = Vec::new();
        if step == 0 {
            return picked;
        }
        let (mut at, end) = if step > 0 {
            (clamp(bound(0).unwrap_or(0), 0, length), clamp(bound(1).unwrap_or(length), 0, length))
        } else {
            let end = bound(1).map_or(-1, |end| clamp(end, -1, length - 1));
            (clamp(bound(0).unwrap_or(length - 1), -1, length - 1), end)
        };
        while (step > 0 && at < end) || (step < 0 && at > end) {
            picked.extend(usize::try_from(at));
            at = at.saturating_add(step);
        }
        picked
    };
    match &value.what {
        What::Text(text) if !text.contains(Word::HOLE) => {
            let chars: Vec<char> = text.chars().collect();
            let text: String = pick(chars.len()).into_iter().filter_map(|at| chars.get(at)).collect();
            Value::text(text).with(value.taint)
        }
        What::List(items) => {
            let picked = pick(items.len()).into_iter().filter_map(|at| items.get(at).cloned()).collect();
            Value::list(picked).with(value.taint)
        }
        _ => Value::unknown(value.taint),
    }
}

/// One character of a text.
pub(crate) fn character(text: &str, at: i64) -> Option<Value> {
    if text.contains(Word::HOLE) {
        return None;
    }
    let found = match usize::try_from(at) {
        Ok(at) => text.chars().nth(at),
        Err(_) => text.chars().rev().nth(usize::try_from(-(at + 1)).ok()?),
    };
    Some(Value::text(found?.to_string()))
}

/// `"%s and %d" % values`.
pub(super) fn percent(format: &Value, values: &Value) -> Value {
    let What::Text(text) = &format.what else { return Value::unknown(format.taint) };
    let given: Vec<Value> = match values.as_list() {
        Some(list) => list.to_vec(),
        None => vec![values.clone()],
    };
    let mut given = given.into_iter();
    let mut whole = Value::text("");
    let mut rest: &str = text;
    let mut places = 0;
    while let Some((before, after)) = rest.split_once('%') {
        places += 1;
        if places > PLACES {
            return whole.concat(&Value::text("\0"));
        }
        whole = whole.concat(&Value::text(before));
        if let Some(after) = after.strip_prefix('%') {
            whole = whole.concat(&Value::text("%"));
            rest = after;
            continue;
        }
        let (key, after) = match after.strip_prefix('(').and_then(|after| after.split_once(')')) {
            Some((key, after)) => (Some(key), after),
            None => (None, after),
        };
        let end = after.find(|c: char| c.is_ascii_alphabetic()).map_or(after.len(), |at| at + 1);
        let value = match key {
            Some(key) => values.get(key).cloned(),
            None => given.next(),
        };
        whole = whole.concat(&part(value));
        rest = after.get(end..).unwrap_or_default();
    }
    whole.concat(&Value::text(rest))
}

/// `"{} {name}".format(values)`.
pub(crate) fn format(text: &str, args: &[Value], keywords: &[(Rc<str>, Value)]) -> Value {
    let mut whole = Value::text("");
    let mut next = 0;
    let mut rest = text;
    let mut places = 0;
    while let Some(at) = rest.find(['{', '}']) {
        places += 1;
        if places > PLACES {
            return whole.concat(&Value::text("\0"));
        }
        let (before, after) = rest.split_at_checked(at).unwrap_or((rest, ""));
        whole = whole.concat(&Value::text(before));
        let doubled = after.starts_with("{{") || after.starts_with("}}");
        let Some(inner) = after.strip_prefix('{').filter(|_| !doubled) else {
            whole = whole.concat(&Value::text(after.get(..1).unwrap_or_default()));
            rest = after.get(if doubled { 2 } else { 1 }..).unwrap_or_default();
            continue;
        };
        let (field, after) = inner.split_once('}').unwrap_or((inner, ""));
        let name = field.split([':', '!', '.', '[']).next().unwrap_or_default();
        let value = match name.parse::<usize>() {
            Ok(at) => args.get(at).cloned(),
            Err(_) if name.is_empty() => {
                next += 1;
                args.get(next - 1).cloned()
            }
            Err(_) => keywords.iter().find(|(given, _)| &**given == name).map(|(_, value)| value.clone()),
        };
        whole = whole.concat(&part(value));
        rest = after;
    }
    whole.concat(&Value::text(rest))
}

fn part(value: Option<Value>) -> Value {
    value.map_or_else(
        || Value::text("\0"),
        |value| value.each(|one| Value::text(one.to_text()).with(one.taint)),
    )
}

/// Texts with another between them.
pub(crate) fn join(between: &str, items: &[Value]) -> Value {
    // Almost always each item is one text.
    if items.iter().all(|item| !matches!(item.what, What::Either(_))) {
        let texts: Vec<Rc<str>> = items.iter().map(Value::to_text).collect();
        let taint = items.iter().fold(Taint::NONE, |taint, item| taint.and(item.taint));
        return Value::text(texts.join(between)).with(taint);
    }
    let mut whole = Value::text("");
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            whole = whole.concat(&Value::text(between));
        }
        whole = whole.concat(&part(Some(item.clone())));
    }
    whole
}

/// One path below another; an absolute one stands alone.
pub(crate) fn join_paths(folder: &str, path: &str) -> String {
    if path.starts_with('/') || folder.is_empty() {
        return path.to_owned();
    }
    let slash = if folder.ends_with('/') { "" } else { "/" };
    format!("{folder}{slash}{path}")
}

/// Paths below each other.
pub(crate) fn join_all_paths(parts: &[Value]) -> Value {
    let mut whole: Option<Value> = None;
    for next in parts {
        whole = Some(match whole {
            None => part(Some(next.clone())),
            Some(before) => {
                let taint = before.taint.and(next.taint);
                before
                    .each(|before| {
                        next.each(|next| Value::text(join_paths(&before.to_text(), &next.to_text())))
                    })
                    .with(taint)
            }
        });
    }
    whole.unwrap_or(Value::UNKNOWN)
}

/// Replaces in a text of which all is known.
pub(crate) fn replace(text: &str, from: &str, to: &str) -> Option<Value> {
    if from.is_empty() || text.len() / from.len().max(1) * to.len() > TEXT {
        return None;
    }
    Some(Value::text(text.replace(from, to)))
}

/// A shell command in which every hole is an unknown variable.
pub(super) fn shell_command(command: &str) -> String {
    if !command.contains(Word::HOLE) {
        return command.to_owned();
    }
    let mut written = String::with_capacity(command.len() + 16);
    let mut quote = None;
    let mut escaped = false;
    for character in command.chars() {
        match character {
            // A hole in single quotes has to leave them: nothing is expanded there.
            Word::HOLE if quote == Some('\'') => {
                written.push_str("'\"");
                written.push_str(SHELL_HOLE);
                written.push_str("\"'");
            }
            Word::HOLE => written.push_str("${__unknown__}"),
            _ => written.push(character),
        }
        match (quote, character) {
            _ if escaped => escaped = false,
            (None | Some('"'), '\\') => escaped = true,
            (None, '\'' | '"') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            _ => {}
        }
    }
    written
}

/// One word of a command, quoted so that a shell takes it as it is. Holes stay holes, outside of the quotes.
pub(super) fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-=:,+@%~".contains(c);
    if !word.is_empty() && word.chars().all(|c| plain(c) || c == Word::HOLE) {
        return word.to_owned();
    }
    let pieces: Vec<Cow<'_, str>> = word
        .split(Word::HOLE)
        .map(|piece| match piece {
            "" => Cow::Borrowed(""),
            _ => Cow::Owned(format!("'{}'", piece.replace('\'', "'\\''"))),
        })
        .collect();
    if word.is_empty() { "''".to_owned() } else { pieces.join("\0") }
}

/// A command of quoted words in which every hole is an unknown variable.
pub(super) fn without_holes(command: &str) -> String {
    command.replace(Word::HOLE, "\"$__unknown__\"")
}

/// Whether a text starts like a URL.
pub(crate) fn is_address(text: &str) -> bool {
    ["http://", "https://", "ws://", "wss://", "ftp://"].iter().any(|scheme| text.starts_with(scheme))
}

/// A text as SQL, if it reads like a statement; holes are made into names.
pub(super) fn sql(text: &str) -> Option<String> {
    const VERBS: &[&str] = &[
        "select", "insert", "update", "delete", "drop", "create", "alter", "truncate", "grant", "revoke",
        "with", "replace", "merge", "exec", "execute", "call", "copy", "vacuum", "attach", "pragma", "begin",
        "load", "set", "explain", "do", "rename", "lock", "kill", "shutdown", "declare", "show", "use",
        "analyze", "reindex",
    ];
    let start = text.trim_start_matches(|c: char| c.is_whitespace() || c == '(' || c == ';');
    let is_comment = start.starts_with("--") || start.starts_with("/*");
    let end = start.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(start.len());
    let verb = start.get(..end).unwrap_or_default().to_ascii_lowercase();
    let is_sql = is_comment || VERBS.contains(&verb.as_str());
    is_sql.then(|| text.replace(Word::HOLE, "unknown__"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_python_s() {
        let all =
            |text: &str, bounds: &[Option<i64>]| slice(&Value::text(text), bounds).to_text().to_string();
        assert_eq!(all("metsys", &[None, None, Some(-1)]), "system");
        assert_eq!(all("abcdef", &[Some(1), Some(-1)]), "bcde");
        assert_eq!(all("abcdef", &[None, None, Some(2)]), "ace");
        assert_eq!(all("abc", &[Some(9), None]), "");
        assert_eq!(all("", &[None, None, Some(-1)]), "");
    }

    #[test]
    fn texts_are_put_together() {
        let percent = |text: &str, values: Value| percent(&Value::text(text), &values).to_text().to_string();
        assert_eq!(
            percent("rm %s %d%%", Value::list(vec![Value::text("-rf"), What::Number(1).into()])),
            "rm -rf 1%"
        );
        assert_eq!(percent("%(a)s", Value::map(vec![("a".into(), Value::text("x"))])), "x");
        assert_eq!(percent("%s %s", Value::text("x")), "x \0");
        let made = format(
            "{} {1} {b:>3} {{}} {c",
            &[Value::text("x"), Value::text("y")],
            &[("b".into(), Value::text("z"))],
        );
        assert_eq!(&*made.to_text(), "x y z {} \0");
    }

    #[test]
    fn holes_become_variables() {
        assert_eq!(shell_command("rm -rf \0/x"), "rm -rf ${__unknown__}/x");
        assert_eq!(shell_command("rm 'a\0b'"), "rm 'a'\"$__unknown__\"'b'");
        assert_eq!(without_holes(&quote("a b\0")), "'a b'\"$__unknown__\"");
        assert_eq!(quote("it's"), "'it'\\''s'");
    }

    #[test]
    fn only_statements_are_sql() {
        assert!(sql(" DELETE FROM t").is_some());
        assert!(sql("-- x\nDELETE FROM t").is_some());
        assert!(sql("ls -l").is_none());
        assert!(sql("").is_none());
    }
}
