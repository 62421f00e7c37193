//! awk and sed: small languages that can run commands and write files.

use super::super::run::{Invocation, Runner};
use super::super::syntax::ansi_c;
use super::super::value::{Field, Text};
use super::super::wrap::{option_value, options_end};
use crate::fact::Access;

/// What an awk program runs, reads and writes beside its input.
pub(super) fn awk(runner: &mut Runner<'_, '_>, _name: &str, invocation: &Invocation) -> Option<Text> {
    let arguments = invocation.arguments();
    let values =
        ["-F", "-v", "--assign", "--field-separator", "-f", "--file", "-i", "-l", "-E", "-e", "--source"];
    let given = option_value(arguments, &["-e", "--source"]);
    let program = match (given, option_value(arguments, &["-f", "--file", "-E"])) {
        (Some(program), _) => program,
        (None, Some(file)) => script_in(runner, &file, invocation)?,
        (None, None) => arguments.get(options_end(arguments, &values))?.clone(),
    };
    if !runner.spend(1 + program.text.len() / 16) {
        return None;
    }
    let tokens = awk_tokens(&program.text);
    for (at, token) in tokens.iter().enumerate() {
        let AwkToken::Text(text) = token else { continue };
        let mark = |back: usize| at.checked_sub(back).and_then(|at| tokens.get(at)).and_then(AwkToken::mark);
        let next = tokens.get(at + 1).and_then(AwkToken::mark);
        let code = Text::known(text.as_str());
        match (mark(2), mark(1), next) {
            (Some("system"), Some("("), _) => {
                runner.evaluate(&code, program.origin, &Text::default());
            }
            (_, Some("|" | "|&"), _) => {
                runner.evaluate(&code, program.origin, &Text::default());
            }
            (_, _, Some("|" | "|&")) => {
                runner.evaluate(&code, program.origin, &Text::default());
            }
            (_, Some(">"), _) => {
                runner.path(Access::Truncate, &program.with_text(text.as_str()), program.span())
            }
            (_, Some(">>"), _) => {
                runner.path(Access::Write, &program.with_text(text.as_str()), program.span())
            }
            (Some("getline"), Some("<"), _) | (_, Some("<"), _) if text.len() > 1 => {
                runner.path(Access::Read, &program.with_text(text.as_str()), program.span());
            }
            _ => {}
        }
    }
    // `system(x)` with something that is put together.
    let computed = tokens
        .windows(3)
        .any(|window| matches!(window, [AwkToken::Mark("system"), AwkToken::Mark("("), AwkToken::Mark(_)]));
    if computed {
        runner.inspection.signal("pipe_run", program.span());
    }
    None
}

/// The script in a file, if it is known, with what is to be said of where it came from.
fn script_in(runner: &mut Runner<'_, '_>, file: &Field, invocation: &Invocation) -> Option<Field> {
    let (content, how) = runner.code_in(&file.text, invocation)?;
    runner.note_code(&content, file.origin, how).then(|| file.with_text(content.text))
}

#[derive(Debug)]
enum AwkToken<'t> {
    Text(String),
    Mark(&'t str),
}

impl AwkToken<'_> {
    fn mark(&self) -> Option<&str> {
        match self {
            Self::Mark(mark) => Some(mark),
            Self::Text(_) => None,
        }
    }
}

fn awk_tokens(code: &str) -> Vec<AwkToken<'_>> {
    const MOST: usize = 4096;
    let bytes = code.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if tokens.len() >= MOST {
            break;
        }
        let start = at;
        match byte {
            b'"' => {
                let mut text = String::new();
                let mut escaped = false;
                let mut length = 1;
                for letter in code.get(at + 1..).unwrap_or_default().chars() {
                    length += letter.len_utf8();
                    match (letter, escaped) {
                        ('"', false) => break,
                        (letter, _) => {
                            escaped = letter == '\\' && !escaped;
                            text.push(letter);
                        }
                    }
                }
                at += length;
                tokens.push(AwkToken::Text(ansi_c(&text)));
            }
            b'/' if may_be_regex(tokens.last()) => {
                let mut escaped = false;
                let end = bytes.iter().skip(at + 1).position(|b| {
                    let closes = *b == b'/' && !escaped;
                    escaped = *b == b'\\' && !escaped;
                    closes
                });
                at = end.map_or(bytes.len(), |end| at + end + 2);
                tokens.push(AwkToken::Mark("/"));
            }
            b'#' => at += code.get(at..).and_then(|rest| rest.find('\n')).unwrap_or(bytes.len() - at),
            _ if byte.is_ascii_whitespace() => at += 1,
            _ if byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' => {
                at += bytes
                    .iter()
                    .skip(at)
                    .take_while(|b| b.is_ascii_alphanumeric() || **b == b'_' || **b == b'$')
                    .count();
                tokens.push(AwkToken::Mark(code.get(start..at).unwrap_or_default()));
            }
            _ => {
                at += code.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
                let double = matches!(
                    code.get(start..start + 2),
                    Some(">>" | "||" | "|&" | "&&" | "==" | ">=" | "<=")
                );
                at = if double { start + 2 } else { at };
                tokens.push(AwkToken::Mark(code.get(start..at).unwrap_or_default()));
            }
        }
    }
    tokens
}

/// A slash after a value divides; anywhere else it opens a pattern.
fn may_be_regex(before: Option<&AwkToken<'_>>) -> bool {
    match before {
        None => true,
        Some(AwkToken::Text(_)) => false,
        Some(AwkToken::Mark(mark)) => {
            !mark.ends_with(')')
                && !mark.ends_with(']')
                && !mark.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_')
        }
    }
}

/// What a sed script runs, reads and writes beside its input.
pub(super) fn sed(runner: &mut Runner<'_, '_>, _name: &str, invocation: &Invocation) -> Option<Text> {
    let arguments = invocation.arguments();
    let values = ["-e", "--expression", "-f", "--file", "-l", "--line-length"];
    let given = option_value(arguments, &["-e", "--expression"]);
    let scripts: Vec<Field> = match (given, option_value(arguments, &["-f", "--file"])) {
        (Some(script), _) => vec![script],
        (None, Some(file)) => vec![script_in(runner, &file, invocation)?],
        (None, None) => arguments.get(options_end(arguments, &values)).cloned().into_iter().collect(),
    };
    for script in &scripts {
        sed_script(runner, script);
    }
    None
}

fn sed_script(runner: &mut Runner<'_, '_>, script: &Field) {
    const COMMANDS: usize = 256;
    let mut rest = script.text.as_str();
    for _ in 0..COMMANDS {
        rest = skip_address(rest.trim_start_matches([';', '\n', ' ', '\t', '{', '}']));
        let Some(command) = rest.chars().next() else { return };
        let after = rest.get(command.len_utf8()..).unwrap_or_default();
        let (line, next) = after.split_once('\n').unwrap_or((after, ""));
        match command {
            'e' => {
                runner.evaluate(&Text::known(line.trim()), script.origin, &Text::default());
                rest = next;
            }
            'w' | 'W' | 'r' | 'R' => {
                let file = script.with_text(line.trim());
                let access = if command.eq_ignore_ascii_case(&'w') { Access::Truncate } else { Access::Read };
                if !super::super::redirect::is_stream(&file.text) {
                    runner.path(access, &file, script.span());
                }
                rest = next;
            }
            'a' | 'i' | 'c' => rest = next,
            's' | 'y' => {
                let Some(delimiter) = after.chars().next() else { return };
                let body = after.get(delimiter.len_utf8()..).unwrap_or_default();
                let Some((_, body)) = until(body, delimiter) else { return };
                let Some((replacement, flags)) = until(body, delimiter) else { return };
                let (flags, next) = flags.split_at(flags.find([';', '\n', '}']).unwrap_or(flags.len()));
                if command == 's' && flags.split('w').next().is_some_and(|before| before.contains('e')) {
                    runner.evaluate(&Text::known(replacement), script.origin, &Text::default());
                }
                if command == 's'
                    && let Some((_, file)) = flags.split_once('w')
                {
                    runner.path(Access::Truncate, &script.with_text(file.trim()), script.span());
                }
                rest = next;
            }
            _ => rest = after.get(after.find([';', '\n', '}']).unwrap_or(after.len())..).unwrap_or_default(),
        }
    }
}

/// Passes over `1,5!`, `/x/`, `$`.
fn skip_address(text: &str) -> &str {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|letter: char| {
            letter.is_ascii_digit() || matches!(letter, '$' | ',' | '!' | ' ' | '~' | '+')
        });
        if let Some(pattern) = rest.strip_prefix('/') {
            match until(pattern, '/') {
                Some((_, after)) => rest = after.trim_start_matches(['I', 'M']),
                None => return "",
            }
        } else {
            return rest;
        }
    }
}

/// A text up to a delimiter that is not escaped.
fn until(text: &str, delimiter: char) -> Option<(&str, &str)> {
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        if letter == delimiter && !escaped {
            return Some((text.get(..at)?, text.get(at + letter.len_utf8()..)?));
        }
        escaped = letter == '\\' && !escaped;
    }
    None
}
