//! What a command runs with: its further words, its folder, its variables and its input.

use std::borrow::Cow;
use std::fmt::Write as _;

use banksman_core::json::Json;

use crate::inspection::{Code, Inspection};
use crate::origin::Origin;

/// The folder that a command runs in.
const FOLDER: &[&str] = &["cwd", "workdir", "working_directory", "working_dir", "directory"];

/// The variables that are set for it.
const VARIABLES: &[&str] =
    &["env", "envs", "environ", "environment", "env_vars", "envvars", "environment_variables", "variables"];

/// What it reads.
const INPUT: &[&str] = &["stdin", "standard_input", "input"];

/// Its further words.
const WORDS: &[&str] = &["args", "arguments", "argv", "parameters", "params", "arg", "argument"];

/// Whether an argument says where a command runs and with which variables: it is read with the command.
pub(super) fn surrounds(name: &str) -> bool {
    FOLDER.contains(&name) || VARIABLES.contains(&name)
}

/// Reads a command again as it runs, if there is more to it than its text.
pub(super) fn read(inspection: &mut Inspection<'_>, args: &Json, command: &str, certain: bool) {
    let mut before = String::new();
    for variables in VARIABLES.iter().filter_map(|name| args.get(name)) {
        export(&mut before, variables);
    }
    if let Some(folder) = FOLDER.iter().find_map(|name| args.get(name)?.as_str()) {
        let _ = writeln!(before, "cd {}", quoted(folder));
    }
    if let Some(input) = INPUT.iter().find_map(|name| args.get(name)?.as_str()) {
        let _ = write!(before, "printf %s {} | ", quoted(input));
    }
    let mut words: Vec<String> = WORDS.iter().filter_map(|name| further_words(args.get(name)?)).collect();
    if words.is_empty() && !before.is_empty() {
        words.push(String::new());
    }
    let place = Origin::whole(command).derived(0..command.len());
    for words in words {
        let line = format!("{before}{command}{words}");
        if certain {
            inspection.read(Code::Shell, &line, place);
        } else {
            inspection.read_suspected(Code::Shell, &line, place);
        }
    }
}

/// Further words as they stand behind a command; a text is taken as it would be typed.
fn further_words(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => (!text.trim().is_empty()).then(|| format!(" {text}")),
        Json::Array(items) => {
            let words = items.iter().filter_map(word);
            let line: String = words.flat_map(|word| [" ".to_owned(), quoted(&word)]).collect();
            (!line.is_empty()).then_some(line)
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_) => None,
    }
}

/// `{A: b}`, `["A=b"]`, `[{name: A, value: b}]` or `A=b`, as a shell sets them.
fn export(line: &mut String, variables: &Json) {
    match variables {
        Json::Object(members) => {
            for (name, value) in members.iter() {
                if let Some(value) = word(value) {
                    export_one(line, name, &value);
                }
            }
        }
        Json::Array(items) => {
            for item in items {
                let named = ["name", "key"].iter().find_map(|key| item.get(key)?.as_str());
                match (named, item.get("value").and_then(word)) {
                    (Some(name), Some(value)) => export_one(line, name, &value),
                    _ => export(line, item),
                }
            }
        }
        Json::String(text) => {
            for (name, value) in text.lines().filter_map(|set| set.split_once('=')) {
                export_one(line, name.trim(), value);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

fn export_one(line: &mut String, name: &str, value: &str) {
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if is_name {
        let _ = writeln!(line, "export {name}={}", quoted(value));
    }
}

/// A word of a command; some clients write numbers where a program gets texts.
pub(super) fn word(value: &Json) -> Option<Cow<'_, str>> {
    match value {
        Json::String(text) => Some(Cow::Borrowed(text)),
        Json::Number(number) => Some(Cow::Owned(number.to_string())),
        Json::Bool(value) => Some(Cow::Owned(value.to_string())),
        Json::Null | Json::Array(_) | Json::Object(_) => None,
    }
}

pub(super) fn quoted_line<'w>(words: impl Iterator<Item = &'w str>) -> String {
    words.map(quoted).collect::<Vec<_>>().join(" ")
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    let plain = !word.is_empty()
        && word.bytes().all(|b| {
            b.is_ascii_alphanumeric()
                || matches!(b, b'-' | b'_' | b'.' | b'/' | b':' | b'@' | b'+' | b'%' | b',')
        });
    if plain { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}
