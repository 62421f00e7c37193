//! What `${name op argument}` makes of a value.

use super::scope::Variable;
use super::syntax::{Parameter, Part};
use super::value::{CARRIED, HOLE, Taint, Text};

/// Variables whose value is known without looking, as the paths and rules here write it.
const USUAL: &[(&str, &str)] = &[
    ("HOME", "~"),
    ("PWD", "."),
    ("TMPDIR", "/tmp"),
    ("TMP", "/tmp"),
    ("TEMP", "/tmp"),
    ("IFS", " "),
    ("SHELL", "/bin/sh"),
    ("BASH", "/bin/bash"),
    // Chosen by the user for exactly this: to be run on a file.
    ("EDITOR", "editor"),
    ("VISUAL", "editor"),
    ("GIT_EDITOR", "editor"),
    ("PAGER", "pager"),
    ("BROWSER", "browser"),
    ("PYTHON", "python"),
    ("CC", "cc"),
    ("CXX", "c++"),
];

fn usual(name: &str) -> Option<&'static str> {
    USUAL.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

/// The value of a parameter after its operator. `at` is what stands in its brackets; `assign` sets a variable, for
/// `:=`.
pub(super) fn apply(
    parameter: &Parameter,
    value: Option<Variable>,
    at: Option<Text>,
    argument: Text,
    assign: &mut dyn FnMut(&str, Text),
) -> Variable {
    let set_here = value.is_some();
    let value = match value {
        Some(value) => value,
        None => match usual(&parameter.name) {
            Some(usual) if !parameter.indirect => Variable::One(Text::known(usual)),
            _ => Variable::One(Text::unknown(Taint::NONE)),
        },
    };
    let value = index(parameter, value, at);
    if parameter.length {
        return Variable::One(match &value {
            Variable::One(text) if text.is_known() => Text::known(text.text.chars().count().to_string()),
            Variable::Many(texts) => Text::known(texts.len().to_string()),
            Variable::Keyed(pairs) => Text::known(pairs.len().to_string()),
            Variable::One(_) => Text::unknown(Taint::NONE),
        });
    }
    let empty = matches!(&value, Variable::One(text) if text.is_empty());
    match parameter.operator.as_str() {
        "" | "?" | ":?" => value,
        ":" if is_list(parameter) => sliced(parameter, value, &argument),
        // The default is what runs unless someone set the variable: that is what is written, so that is read.
        "-" | ":-" if !set_here && usual(&parameter.name).is_none() => Variable::One(argument),
        ":-" if empty => Variable::One(argument),
        "=" | ":=" if !set_here && usual(&parameter.name).is_none() => {
            assign(&parameter.name, argument.clone());
            Variable::One(argument)
        }
        "-" | ":-" | "=" | ":=" => value,
        "+" | ":+" => {
            if set_here && empty {
                Variable::One(Text::default())
            } else {
                Variable::One(argument)
            }
        }
        operator => map(value, &|text| edit(operator, text, &argument)),
    }
}

/// Whether all of a list is meant: `$@`, `${a[@]}`.
fn is_list(parameter: &Parameter) -> bool {
    match &parameter.index {
        None => matches!(parameter.name.as_str(), "@" | "*"),
        Some(index) => matches!(index.as_slice(), [Part::Quoted(text, _)] if text == "@" || text == "*"),
    }
}

/// The one element that `[...]` picks, if it is known which.
fn index(parameter: &Parameter, value: Variable, at: Option<Text>) -> Variable {
    let list = match value {
        Variable::One(_) => return value,
        // Without an index an array is its first element.
        Variable::Many(values) if is_list(parameter) => return Variable::Many(values),
        Variable::Keyed(pairs) if is_list(parameter) => {
            return Variable::Many(pairs.into_iter().map(|(_, text)| text).collect());
        }
        list => list,
    };
    let taint = list.taint();
    let key = at.map_or_else(|| "0".to_owned(), |at| at.text.trim().to_owned());
    Variable::One(match list {
        Variable::Many(values) => match key.parse::<usize>() {
            Ok(at) => values.into_iter().nth(at).unwrap_or_default(),
            Err(_) => Text::unknown(taint),
        },
        Variable::Keyed(pairs) => {
            let found = pairs.into_iter().rev().find(|(known, _)| *known == key);
            found.map_or_else(|| Text::unknown(taint), |(_, text)| text)
        }
        Variable::One(text) => text,
    })
}

/// `${a[@]:offset:length}`, `${@:offset}`: some of the elements.
fn sliced(parameter: &Parameter, value: Variable, argument: &Text) -> Variable {
    let unknown = Variable::One(Text::unknown(value.taint() | argument.taint));
    let Variable::Many(mut values) = value else { return unknown };
    if parameter.index.is_none() {
        // What is at 0 is the name of the script.
        values.insert(0, Text::unknown(Taint::NONE));
    }
    match bounds(&argument.text, values.len()) {
        Some((start, length)) => Variable::Many(values.into_iter().skip(start).take(length).collect()),
        None => unknown,
    }
}

fn map(value: Variable, edit: &dyn Fn(&str) -> Option<String>) -> Variable {
    let one = |text: Text| match edit(&text.text).filter(|_| text.is_known()) {
        Some(edited) => Text { text: edited, taint: text.taint },
        None => Text::unknown(text.taint),
    };
    match value {
        Variable::One(text) => Variable::One(one(text)),
        Variable::Many(texts) => Variable::Many(texts.into_iter().map(one).collect()),
        Variable::Keyed(pairs) => {
            Variable::Keyed(pairs.into_iter().map(|(key, text)| (key, one(text))).collect())
        }
    }
}

/// Edits a known value by `#`, `%`, `/`, `:` and the like; nothing if that takes more than is known.
fn edit(operator: &str, text: &str, argument: &Text) -> Option<String> {
    if !argument.is_known() {
        return None;
    }
    let argument = argument.text.as_str();
    match operator {
        "@" => match argument {
            "U" => Some(text.to_uppercase()),
            "L" => Some(text.to_lowercase()),
            // As it is, in quotes if need be: then it is the same word again.
            "Q" => Some(super::program::quote(text)),
            _ => None,
        },
        ":" => slice(text, argument),
        "^^" => Some(text.to_uppercase()),
        ",," => Some(text.to_lowercase()),
        "^" | "," => {
            let mut letters = text.chars();
            let first = letters.next()?;
            let first = if operator == "^" { first.to_ascii_uppercase() } else { first.to_ascii_lowercase() };
            Some(std::iter::once(first).chain(letters).collect())
        }
        "#" | "##" => match argument.strip_prefix('*') {
            Some(mark) if is_literal(mark) => {
                let at = if operator == "#" { text.find(mark) } else { text.rfind(mark) };
                Some(at.and_then(|at| text.get(at + mark.len()..)).unwrap_or(text).to_owned())
            }
            None if is_literal(argument) => Some(text.strip_prefix(argument).unwrap_or(text).to_owned()),
            _ => None,
        },
        "%" | "%%" => match argument.strip_suffix('*') {
            Some(mark) if is_literal(mark) => {
                let at = if operator == "%" { text.rfind(mark) } else { text.find(mark) };
                Some(at.and_then(|at| text.get(..at)).unwrap_or(text).to_owned())
            }
            None if is_literal(argument) => Some(text.strip_suffix(argument).unwrap_or(text).to_owned()),
            _ => None,
        },
        "/" | "//" | "/#" | "/%" => {
            let (pattern, replacement) = argument.split_once('/').unwrap_or((argument, ""));
            let grown = text.len().saturating_mul(replacement.len().max(1));
            if !is_literal(pattern) || pattern.is_empty() || grown > CARRIED {
                return None;
            }
            Some(match operator {
                "//" => text.replace(pattern, replacement),
                "/" => text.replacen(pattern, replacement, 1),
                "/#" => match text.strip_prefix(pattern) {
                    Some(rest) => format!("{replacement}{rest}"),
                    None => text.to_owned(),
                },
                _ => match text.strip_suffix(pattern) {
                    Some(rest) => format!("{rest}{replacement}"),
                    None => text.to_owned(),
                },
            })
        }
        _ => None,
    }
}

fn is_literal(pattern: &str) -> bool {
    !pattern.contains(['*', '?', '[', HOLE])
}

/// `${x:offset:length}`.
fn slice(text: &str, argument: &str) -> Option<String> {
    let (start, length) = bounds(argument, text.chars().count())?;
    Some(text.chars().skip(start).take(length).collect())
}

/// Where `offset:length` starts in so many, and how many it takes.
fn bounds(argument: &str, count: usize) -> Option<(usize, usize)> {
    let (offset, length) = match argument.split_once(':') {
        Some((offset, length)) => (offset, length.trim().parse::<usize>().ok()?),
        None => (argument, usize::MAX),
    };
    let offset = offset.trim().parse::<i64>().ok()?;
    let start = match usize::try_from(offset) {
        Ok(start) => start,
        Err(_) => count.saturating_sub(usize::try_from(offset.unsigned_abs()).ok()?),
    };
    Some((start, length))
}
