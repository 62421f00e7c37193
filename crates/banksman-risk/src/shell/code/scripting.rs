//! Perl, Ruby, PHP and their like: read by the calls that matter, not parsed.

use super::super::run::Runner;
use super::super::value::{Field, Taint, Text};
use crate::fact::{Access, Fact, Word};
use crate::origin::Origin;

/// Functions whose text is run by a shell.
const RUNS: &[&str] = &[
    "system",
    "exec",
    "shell_exec",
    "passthru",
    "popen",
    "proc_open",
    "spawn",
    "qx",
    "execute",
    "script",
    "run",
    "capture",
    "pipe",
    "shell",
    "start",
    "shell-command",
    "async-shell-command",
    "shell-command-to-string",
    "call-process",
    "call-process-shell-command",
    "start-process",
    "process-lines",
];

/// Functions that remove a file, and those that remove everything below.
const DELETES: &[&str] = &["unlink", "remove", "delete", "rm", "rm_f", "safe_unlink", "delete-file"];
const DELETES_TREE: &[&str] = &[
    "rmtree",
    "remove_tree",
    "rm_r",
    "rm_rf",
    "remove_dir",
    "remove_entry_secure",
    "remove_entry",
    "deltree",
    "delete-directory",
];

/// Functions that read or write a file.
const OPENS: &[&str] = &[
    "open",
    "read",
    "readlines",
    "file_get_contents",
    "readfile",
    "slurp",
    "readlines",
    "foreach",
    "binread",
    "fopen",
    "file",
    "require",
    "load_file",
];
const WRITES: &[&str] = &["write", "file_put_contents", "binwrite"];

#[derive(Debug, PartialEq, Eq)]
enum Token<'t> {
    Name(&'t str),
    Text(String),
    /// A text that the language itself runs: backticks, `qx{}`, `%x{}`.
    Command(String),
    Mark,
}

/// States what code seems to do.
pub(super) fn read(runner: &mut Runner<'_, '_>, code: &str, origin: Origin) {
    if !runner.spend(1 + code.len() / 16) {
        return;
    }
    let tokens = tokens(code);
    let mut last: Option<&str> = None;
    let mut since = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Command(text) => {
                runner.evaluate(&Text::known(text.as_str()), origin, &Text::default());
            }
            Token::Name(name) => {
                last = Some(name);
                since = 0;
                // `unlink glob "*"`, `do shell script`: the nearest name that says something counts.
                if !is_telling(name)
                    && at > 0
                    && matches!(tokens.get(at - 1), Some(Token::Name(before)) if is_telling(before))
                {
                    last = match tokens.get(at - 1) {
                        Some(Token::Name(before)) => Some(before),
                        _ => last,
                    };
                }
            }
            Token::Text(text) => {
                since += 1;
                if let Some(name) = last {
                    called(runner, name, text, since, &tokens, at, origin);
                }
            }
            Token::Mark => {}
        }
    }
    if !code.contains(['(', '"', '\'', '=', '$', ';']) {
        // Not the language that it says it is: perhaps meant for a shell.
        runner.suspect_text(code, origin);
    }
}

fn is_telling(name: &str) -> bool {
    [RUNS, DELETES, DELETES_TREE, OPENS, WRITES].iter().any(|names| names.contains(&name))
}

fn called(
    runner: &mut Runner<'_, '_>,
    name: &str,
    text: &str,
    nth: usize,
    tokens: &[Token<'_>],
    at: usize,
    origin: Origin,
) {
    let span = origin.span(0..0);
    let field = |text: &str| Field {
        text: text.to_owned(),
        taint: Taint::NONE,
        glob: text.contains(['*', '?']),
        origin: Origin::of_span(span),
    };
    if RUNS.contains(&name) {
        if nth == 1 {
            // `system("rm", "-rf", "/")`: the texts that follow are its arguments.
            let mut command = vec![text.to_owned()];
            for token in tokens.iter().skip(at + 1) {
                match token {
                    Token::Text(text) => command.push(text.clone()),
                    Token::Mark | Token::Name("nil" | "t") => {}
                    Token::Name(_) | Token::Command(_) => break,
                }
            }
            let line = match command.as_slice() {
                [only] => only.clone(),
                several => several
                    .iter()
                    .map(|word| super::super::program::quote(word))
                    .collect::<Vec<_>>()
                    .join(" "),
            };
            runner.evaluate(&Text::known(line), origin, &Text::default());
        }
    } else if DELETES_TREE.contains(&name) {
        delete(runner, &["rm", "-rf", text], span);
        runner.path(Access::DeleteTree, &field(text), span);
    } else if DELETES.contains(&name) {
        delete(runner, &["rm", text], span);
        runner.path(Access::Delete, &field(text), span);
    } else if WRITES.contains(&name) && nth == 1 {
        runner.path(Access::Truncate, &field(text), span);
    } else if OPENS.contains(&name) {
        let trimmed = text.trim();
        if let Some(command) = trimmed.strip_prefix('|').or_else(|| trimmed.strip_suffix('|')) {
            runner.evaluate(&Text::known(command), origin, &Text::default());
        } else if let Some(path) = trimmed.strip_prefix(">>") {
            runner.path(Access::Write, &field(path.trim()), span);
        } else if let Some(path) = trimmed.strip_prefix('>') {
            runner.path(Access::Truncate, &field(path.trim()), span);
        } else if super::super::program::looks_like_path(trimmed) || nth == 1 {
            let path = trimmed.trim_start_matches('<').trim();
            if !path.is_empty() && !path.contains(' ') && path.len() > 1 {
                runner.path(Access::Read, &field(path), span);
            }
        }
    }
}

fn delete(runner: &mut Runner<'_, '_>, words: &[&str], span: banksman_core::Span) {
    let Some((program, arguments)) = words.split_first() else { return };
    let command = crate::fact::Command {
        program: Word::known(*program, span),
        args: arguments
            .iter()
            .map(|word| Word { text: (*word).into(), span, glob: word.contains('*') })
            .collect(),
        env: Vec::new(),
        base: None,
        span,
    };
    runner.inspection.state(&Fact::Command(command), span);
}

/// Names, texts and commands, comments left out.
fn tokens(code: &str) -> Vec<Token<'_>> {
    const MOST: usize = 4096;
    let mut tokens = Vec::new();
    let bytes = code.as_bytes();
    let lisp = code.trim_start().starts_with('(');
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if tokens.len() >= MOST {
            break;
        }
        match byte {
            b'\'' | b'`' if lisp => at += 1,
            b'"' | b'\'' | b'`' => {
                let (text, end) = quoted(code, at + 1, byte);
                at = end;
                tokens.push(if byte == b'`' { Token::Command(text) } else { Token::Text(text) });
            }
            b'#' if at == 0 || bytes.get(at - 1).is_some_and(|before| before.is_ascii_whitespace()) => {
                at += code.get(at..).and_then(|rest| rest.find('\n')).unwrap_or(code.len() - at);
            }
            b'%' if bytes.get(at + 1) == Some(&b'x')
                && bytes.get(at + 2).is_some_and(|b| b"{([<|!/".contains(b)) =>
            {
                let (text, end) = bracketed(code, at + 2);
                at = end;
                tokens.push(Token::Command(text));
            }
            b'%' if bytes.get(at + 1).is_some_and(|b| b"qQwW".contains(b))
                && bytes.get(at + 2).is_some_and(|b| b"{([<|!/".contains(b)) =>
            {
                let (text, end) = bracketed(code, at + 2);
                at = end;
                tokens.push(Token::Text(text));
            }
            _ if byte.is_ascii_alphabetic() || byte == b'_' => {
                let in_name = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_' || (lisp && *b == b'-');
                let length = bytes.iter().skip(at).take_while(|b| in_name(b)).count();
                let name = code.get(at..at + length).unwrap_or_default();
                at += length;
                let delimiter = bytes.get(at);
                let quotes = delimiter.is_some_and(|b| b"{([<|!/~".contains(b));
                match name {
                    "qx" if quotes => {
                        let (text, end) = bracketed(code, at);
                        at = end;
                        tokens.push(Token::Command(text));
                    }
                    "q" | "qq" if quotes => {
                        let (text, end) = bracketed(code, at);
                        at = end;
                        tokens.push(Token::Text(text));
                    }
                    _ => tokens.push(Token::Name(name)),
                }
            }
            b',' | b'.' | b'(' | b')' | b'[' | b']' | b' ' | b'\t' => at += 1,
            _ => {
                tokens.push(Token::Mark);
                at += code.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
            }
        }
    }
    tokens
}

/// A quoted text, with its escapes undone, and where it ends.
fn quoted(code: &str, start: usize, quote: u8) -> (String, usize) {
    let mut text = String::new();
    let mut letters = code.get(start..).unwrap_or_default().char_indices();
    while let Some((at, letter)) = letters.next() {
        if letter == char::from(quote) {
            return (text, start + at + 1);
        }
        if letter == '\\' {
            match letters.next() {
                Some((_, 'n')) => text.push('\n'),
                Some((_, 't')) => text.push('\t'),
                Some((_, other)) => text.push(other),
                None => {}
            }
        } else {
            text.push(letter);
        }
    }
    (text, code.len())
}

/// A text between delimiters of choice.
fn bracketed(code: &str, open: usize) -> (String, usize) {
    let opening = code.as_bytes().get(open).copied().unwrap_or(b'{');
    let closing = match opening {
        b'{' => b'}',
        b'(' => b')',
        b'[' => b']',
        b'<' => b'>',
        other => other,
    };
    let rest = code.get(open + 1..).unwrap_or_default();
    let mut depth = 0_usize;
    for (at, byte) in rest.bytes().enumerate() {
        if byte == closing {
            if depth == 0 {
                return (rest.get(..at).unwrap_or_default().to_owned(), open + at + 2);
            }
            depth -= 1;
        } else if byte == opening {
            depth += 1;
        }
    }
    (rest.to_owned(), code.len())
}
