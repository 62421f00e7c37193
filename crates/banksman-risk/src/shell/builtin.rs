//! What the shell does itself.

use super::program::How;
use super::run::{Invocation, Runner};
use super::scope::Variable;
use super::syntax::is_name;
use super::value::{Field, Taint, Text};
use crate::fact::Access;

/// Variables that are carried to the programs that run later.
const EXPORTED: usize = 32;

/// Runs a builtin; nothing if the name is none of them.
pub(super) fn run(runner: &mut Runner<'_, '_>, name: &str, invocation: &Invocation) -> Option<Text> {
    let arguments = invocation.arguments();
    let output = match name {
        ":" | "true" | "false" | "return" | "exit" | "break" | "continue" | "test" | "[" | "wait"
        | "jobs" | "fg" | "bg" | "hash" | "type" | "which" | "whence" | "where" | "getopts" | "shopt"
        | "let" | "times" | "umask" | "ulimit" | "help" | "complete" | "compgen" | "bind" | "disown" => {
            runner.state_command(invocation);
            match (name, arguments) {
                // `$(which rm)` runs rm.
                ("which" | "whence", [.., last]) => Text { text: last.text.clone(), taint: last.taint },
                ("type", [first, .., last]) if first.text.starts_with('-') => last.as_text(),
                _ => Text::default(),
            }
        }
        "cd" | "pushd" | "chdir" => {
            runner.change_directory(arguments);
            Text::default()
        }
        "popd" => {
            runner.scope.directory = None;
            Text::default()
        }
        "pwd" => Text::known(runner.scope.directory.clone().unwrap_or_else(|| ".".to_owned())),
        "eval" => {
            let (code, origin) = joined(arguments)?;
            runner.evaluate(&code, origin, &invocation.stdin)
        }
        "source" | "." => {
            let file = arguments.iter().find(|field| !field.text.starts_with('-'))?;
            if file.text == "/dev/stdin" || file.text == "-" {
                let stdin = invocation.stdin.clone();
                return Some(runner.shell(&stdin, file.origin, Vec::new(), &Text::default(), How::Input));
            }
            match runner.scope.file(&file.text).cloned() {
                Some(content) => {
                    let how = if file.text.starts_with("/dev/fd/") { How::Input } else { How::File };
                    if runner.note_code(&content, file.origin, how) {
                        runner.evaluate(&content, file.origin, &invocation.stdin)
                    } else {
                        Text::unknown(Taint::OUTPUT)
                    }
                }
                None => {
                    runner.state_command(invocation);
                    runner.path(Access::Execute, file, file.span());
                    Text::unknown(Taint::OUTPUT)
                }
            }
        }
        "exec" | "command" | "builtin" => {
            let skip = super::wrap::options_end(arguments, if name == "exec" { &["-a"] } else { &[] });
            let asks = arguments.iter().take(skip).any(|field| matches!(field.text.as_str(), "-v" | "-V"));
            let rest = arguments.get(skip..).unwrap_or_default();
            match (rest.is_empty(), name == "command" && asks) {
                (true, _) => Text::default(),
                (false, true) => rest.first().map(Field::as_text).unwrap_or_default(),
                (false, false) => runner.program(invocation.instead(rest.to_vec())),
            }
        }
        "trap" => {
            let handler = arguments.iter().find(|field| !field.text.starts_with("--"))?;
            if arguments.len() > 1 && handler.text != "-" && !handler.text.starts_with("-p") {
                runner.evaluate(&handler.as_text(), handler.origin, &Text::default());
            }
            Text::default()
        }
        "alias" => {
            runner.state_command(invocation);
            for field in arguments {
                if let Some((name, value)) = field.text.split_once('=') {
                    let value = Text { text: value.to_owned(), taint: field.taint };
                    runner.scope.set_alias(name, value);
                }
            }
            Text::default()
        }
        "set" => {
            runner.set(arguments, invocation);
            Text::unknown(if arguments.is_empty() { Taint::ENVIRONMENT } else { Taint::NONE })
        }
        "shift" => {
            let count = arguments.first().and_then(|field| field.text.parse().ok()).unwrap_or(1_usize);
            if let Some(values) = &mut runner.scope.positional {
                values.drain(..count.min(values.len()));
            }
            Text::default()
        }
        "export" | "declare" | "local" | "readonly" | "typeset" => {
            runner.declare(arguments, invocation);
            let prints = arguments.is_empty()
                || arguments.iter().any(|field| field.text == "-p" || field.text == "-x");
            let bare = arguments.iter().all(|field| field.text.starts_with('-'));
            Text::unknown(if prints && bare { Taint::ENVIRONMENT } else { Taint::NONE })
        }
        "unset" => {
            runner.state_command(invocation);
            for field in arguments {
                runner.scope.unset(&field.text);
            }
            Text::default()
        }
        "read" | "mapfile" | "readarray" => {
            runner.read(arguments, &invocation.stdin);
            Text::default()
        }
        _ => return None,
    };
    Some(output)
}

/// Arguments as one text, with where it stands.
pub(super) fn joined(arguments: &[Field]) -> Option<(Text, crate::origin::Origin)> {
    let first = arguments.first()?;
    if let [only] = arguments {
        return Some((only.as_text(), only.origin));
    }
    let mut text = Text::default();
    for (at, argument) in arguments.iter().enumerate() {
        if at > 0 {
            text.text.push(' ');
        }
        text.append(&argument.as_text());
    }
    let (start, end) =
        (first.span().start, arguments.last().map_or(first.span().end, |last| last.span().end));
    let span = banksman_core::Span { start, end: end.max(start) };
    Some((text, crate::origin::Origin::of_span(span)))
}

impl Runner<'_, '_> {
    fn change_directory(&mut self, arguments: &[Field]) {
        let target = arguments.iter().find(|field| field.text == "-" || !field.text.starts_with('-'));
        let target = target.map_or("~", |field| field.text.as_str());
        let path = match &self.scope.directory {
            _ if target == "-" => "\0".to_owned(),
            Some(base) if !target.starts_with(['/', '~', '\0']) => format!("{base}/{target}"),
            _ => target.to_owned(),
        };
        self.scope.directory = Some(crate::path::normalise(&path, None).into_owned());
    }

    fn set(&mut self, arguments: &[Field], invocation: &Invocation) {
        let from = match arguments.iter().position(|field| field.text == "--") {
            Some(at) => at + 1,
            None if arguments.first().is_some_and(|field| !field.text.starts_with(['-', '+'])) => 0,
            None => {
                self.state_command(invocation);
                return;
            }
        };
        let values = arguments.get(from..).unwrap_or_default();
        self.scope.positional = Some(values.iter().map(Field::as_text).collect());
    }

    fn declare(&mut self, arguments: &[Field], invocation: &Invocation) {
        for field in arguments {
            if let Some((name, value)) = field.text.split_once('=') {
                let value = Text { text: value.to_owned(), taint: field.taint };
                let exports = invocation.fields.first().is_some_and(|f| f.text == "export")
                    || arguments.iter().any(|f| f.text == "-x");
                if exports && self.scope.exported.len() < EXPORTED {
                    self.scope.exported.push((name.to_owned(), value.clone()));
                }
                if is_name(name) {
                    self.scope.set(name, Variable::One(value), !self.uncertain);
                }
            } else if is_name(&field.text) && invocation.fields.first().is_some_and(|f| f.text == "local") {
                self.scope.set(&field.text, Variable::One(Text::default()), true);
            }
        }
        // Rules may have something to say about `export PATH=...`.
        self.state_command(invocation);
    }

    fn read(&mut self, arguments: &[Field], stdin: &Text) {
        let skip = super::wrap::options_end(
            arguments,
            &["-a", "-d", "-i", "-n", "-N", "-p", "-t", "-u", "-c", "-C", "-O", "-s"],
        );
        let line = stdin.text.lines().next().unwrap_or_default();
        let names: Vec<&str> = arguments.iter().skip(skip).map(|field| field.text.as_str()).collect();
        let several_lines = stdin.text.lines().nth(1).is_some();
        let mut words = line.split_whitespace();
        for (at, name) in names.iter().enumerate() {
            let last = at + 1 == names.len();
            let text = if last {
                words.by_ref().collect::<Vec<_>>().join(" ")
            } else {
                words.next().unwrap_or_default().to_owned()
            };
            let value = if several_lines || line.contains('\0') || line.is_empty() {
                Text::unknown(stdin.taint)
            } else {
                Text { text, taint: stdin.taint }
            };
            self.scope.set(name, Variable::One(value), true);
        }
    }
}
