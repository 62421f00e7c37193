//! The code in an action's arguments.

use std::fmt::Write as _;

use banksman_core::json::Json;

use super::step_into;
use crate::inspection::{Code, Inspection};
use crate::origin::Origin;

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

/// Reads all the code among the arguments. `false`: there is none.
pub(super) fn read_code(inspection: &mut Inspection<'_>, code: Code, args: &Json) -> bool {
    let mut found = false;
    for name in names_of(code) {
        if let Some(value) = args.get(name) {
            found |= read_value(inspection, code, args, &step_into("", name), value);
        }
    }
    if !found && let Some(members) = args.as_object() {
        // A single text under another name: what else could be meant?
        let mut strings = members.iter().filter(|(_, value)| value.as_str().is_some());
        if let (Some((name, value)), None) = (strings.next(), strings.next()) {
            found = read_value(inspection, code, args, &step_into("", name), value);
        }
    }
    inspection.enter_argument(None);
    found
}

/// Reads one argument as code: a text, the words of a command, or several texts.
pub(super) fn read_value(
    inspection: &mut Inspection<'_>,
    code: Code,
    args: &Json,
    pointer: &str,
    value: &Json,
) -> bool {
    match value {
        Json::String(text) => {
            inspection.enter_argument(Some(pointer.to_owned()));
            inspection.read(code, text, Origin::whole(text));
            if code == Code::Shell {
                read_in_surroundings(inspection, args, text);
            }
            true
        }
        Json::Array(items) => {
            let texts: Option<Vec<&str>> = items.iter().map(Json::as_str).collect();
            let Some(texts) = texts.filter(|texts| !texts.is_empty()) else { return false };
            let is_list = code != Code::Shell
                || pointer.ends_with('s')
                || texts.first().is_some_and(|first| first.contains(char::is_whitespace));
            if is_list {
                for (at, text) in texts.iter().enumerate() {
                    inspection.enter_argument(Some(format!("{pointer}/{at}")));
                    inspection.read(code, text, Origin::whole(text));
                }
            }
            if code == Code::Shell {
                // The words of one command, as `execve` takes them.
                let line = quoted_line(texts.iter().copied());
                inspection.enter_argument(Some(pointer.to_owned()));
                inspection.read(code, &line, Origin::whole(&line));
                read_in_surroundings(inspection, args, &line);
            }
            true
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_) => false,
    }
}

/// Reads a command again as it runs: with its further words, in its folder, with its variables and its input.
fn read_in_surroundings(inspection: &mut Inspection<'_>, args: &Json, command: &str) {
    let mut line = String::new();
    if let Some(variables) = ["env", "environment"].iter().find_map(|name| args.get(name)?.as_object()) {
        for (name, value) in variables.iter() {
            let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
            if let (true, Some(value)) = (is_name && !name.is_empty(), value.as_str()) {
                let _ = writeln!(line, "export {name}={}", quoted(value));
            }
        }
    }
    let folder = ["cwd", "workdir", "working_directory", "working_dir", "directory"];
    if let Some(folder) = folder.iter().find_map(|name| args.get(name)?.as_str()) {
        let _ = writeln!(line, "cd {}", quoted(folder));
    }
    if let Some(input) = ["stdin", "standard_input"].iter().find_map(|name| args.get(name)?.as_str()) {
        let _ = write!(line, "printf %s {} | ", quoted(input));
    }
    let before = line.len();
    line.push_str(command);
    if let Some(Json::Array(items)) = ["args", "arguments", "argv"].iter().find_map(|name| args.get(name)) {
        for word in items.iter().filter_map(Json::as_str) {
            line.push(' ');
            line.push_str(&quoted(word));
        }
    }
    if before > 0 || line.len() > command.len() {
        let whole = Origin::whole(command);
        inspection.read(Code::Shell, &line, whole.derived(0..command.len()));
    }
}

fn quoted_line<'w>(words: impl Iterator<Item = &'w str>) -> String {
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
