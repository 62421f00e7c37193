//! What the shell does itself.

use super::run::{Invocation, Runner};
use super::scope::Variable;
use super::syntax::is_name;
use super::value::{Field, HOLE, Taint, Text};
use super::wrap::{cluster_value, option_value, options_end};
use crate::fact::Access;

/// Variables that are carried to the programs that run later.
const EXPORTED: usize = 32;

/// Whether a builtin gives variables their values and qualities.
pub(super) fn declares(name: &str) -> bool {
    matches!(name, "export" | "declare" | "local" | "readonly" | "typeset")
}

/// Runs a builtin; nothing if the name is none of them.
pub(super) fn run(runner: &mut Runner<'_, '_>, name: &str, invocation: &Invocation) -> Option<Text> {
    let arguments = invocation.arguments();
    let output = match name {
        ":" | "true" | "false" | "return" | "exit" | "break" | "continue" | "test" | "[" | "wait"
        | "jobs" | "fg" | "bg" | "hash" | "type" | "which" | "whence" | "where" | "getopts" | "shopt"
        | "let" | "times" | "umask" | "ulimit" | "help" | "complete" | "compgen" | "bind" | "disown"
        | "enable" => {
            runner.state_command(invocation);
            match name {
                "let" | "test" | "[" | "getopts" | "wait" => runner.names(arguments),
                "complete" | "compgen" | "bind" | "hash" | "enable" => runner.hooks(name, arguments),
                _ => {}
            }
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
            match runner.code_in(&file.text, invocation) {
                Some((content, how)) => {
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
            let skip = options_end(arguments, if name == "exec" { &["-a"] } else { &[] });
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
        name if declares(name) => {
            runner.declare(arguments, invocation);
            let prints = arguments.is_empty()
                || arguments.iter().any(|field| field.text == "-p" || field.text == "-x");
            let bare = arguments.iter().all(|field| field.text.starts_with('-'));
            Text::unknown(if prints && bare { Taint::ENVIRONMENT } else { Taint::NONE })
        }
        "unset" => {
            runner.state_command(invocation);
            runner.names(arguments);
            for field in arguments {
                if arguments.first().is_some_and(|first| first.text == "-n") {
                    runner.scope.unset_reference(&field.text);
                } else {
                    runner.scope.unset(&field.text);
                }
            }
            Text::default()
        }
        "read" => {
            runner.read(invocation);
            Text::default()
        }
        "mapfile" | "readarray" => {
            runner.read_array(invocation);
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
        let program = invocation.fields.first().map_or("", |field| field.text.as_str());
        let flagged = |letter: char| {
            let is_flag =
                |text: &str| text.starts_with('-') && !text.starts_with("--") && text.contains(letter);
            arguments.iter().any(|field| is_flag(&field.text))
        };
        let refers = program != "export" && flagged('n');
        let exports = program == "export" || flagged('x');
        for field in arguments {
            let (name, value) = match field.text.split_once('=') {
                Some((name, value)) => (name, Some(Text { text: value.to_owned(), taint: field.taint })),
                None => (field.text.as_str(), None),
            };
            let (name, adds) = name.strip_suffix('+').map_or((name, false), |name| (name, true));
            let computes =
                flagged('i') && value.as_ref().is_some_and(|value| value.text.parse::<i64>().is_err());
            self.arithmetic(name);
            let value = match value {
                Some(value) if adds || computes => {
                    self.arithmetic(&value.text);
                    Some(Text::unknown(value.taint))
                }
                value => value,
            };
            if refers && is_name(name) {
                let before = self.scope.variable(name).map(super::expand::join);
                self.scope.refer(name, &value.or(before).unwrap_or_default());
                continue;
            }
            if let Some(value) = value {
                if exports && self.scope.exported.len() < EXPORTED {
                    self.scope.exported.push((name.to_owned(), value.clone()));
                }
                if let Some((array, _)) = name.split_once('[') {
                    self.scope.set(array, Variable::One(Text::unknown(value.taint)), !self.uncertain);
                } else if is_name(name) {
                    let value = Variable::One(value);
                    self.prompt(name, &value);
                    self.scope.set(name, value, !self.uncertain);
                }
            } else if is_name(name) && program == "local" {
                self.scope.set(name, Variable::One(Text::default()), true);
            }
        }
        // Rules may have something to say about `export PATH=...`.
        self.state_command(invocation);
    }

    /// Names of variables, and what is computed with: what stands in the brackets of an array is expanded.
    fn names(&mut self, arguments: &[Field]) {
        for field in arguments {
            self.arithmetic(&field.text);
        }
    }

    /// What a shell runs before it asks for the next command.
    pub(super) fn prompt(&mut self, name: &str, value: &Variable) {
        match name {
            "PROMPT_COMMAND" => {
                let code = super::expand::join(value);
                let origin = self.origin;
                self.evaluate(&code, origin, &Text::default());
            }
            "PS0" | "PS1" | "PS2" | "PS4" => self.expand_again(&super::expand::join(value).text),
            _ => {}
        }
    }

    /// Builtins that keep something for later: it is read as if it ran now.
    fn hooks(&mut self, name: &str, arguments: &[Field]) {
        match name {
            "hash" => {
                let program = option_value(arguments, &["-p"]);
                if let (Some(program), Some(last)) = (program, arguments.last()) {
                    self.scope.set_alias(&last.text, program.as_text());
                }
            }
            "enable" => {
                if let Some(file) = option_value(arguments, &["-f"]) {
                    self.path(Access::Execute, &file, file.span());
                }
            }
            "bind" => {
                let after_keys = |text: &str| {
                    text.split_once(':').map(|(_, code)| code.trim().trim_matches('"').to_owned())
                };
                if let Some(field) = option_value(arguments, &["-x"])
                    && let Some(code) = after_keys(&field.text)
                {
                    self.suspect_text(&code, field.origin);
                }
            }
            _ => {
                if let Some(code) = option_value(arguments, &["-C"]) {
                    self.suspect_text(&code.text, code.origin);
                }
                if let Some(words) = option_value(arguments, &["-W"]) {
                    self.expand_again(&words.text);
                }
            }
        }
    }

    /// What `read` takes: its input, or what stands behind the descriptor that it is told to read.
    fn readable(&self, arguments: &[Field], invocation: &Invocation) -> Text {
        match letter_value(arguments, "-u") {
            Some(descriptor) => {
                let known = self.scope.file(&format!("/dev/fd/{}", descriptor.text));
                known.cloned().unwrap_or_else(|| Text::unknown(Taint::NONE))
            }
            None => invocation.stdin.clone(),
        }
    }

    fn read(&mut self, invocation: &Invocation) {
        let arguments = invocation.arguments();
        let skip = options_end(arguments, &["-a", "-d", "-i", "-n", "-N", "-p", "-t", "-u"]);
        let (options, names) = arguments.split_at(skip.min(arguments.len()));
        self.names(names);
        let input = self.readable(options, invocation);
        let takes_part = ["-d", "-n", "-N"].iter().any(|name| letter_value(options, name).is_some());
        let separators = match invocation.env.iter().rev().find(|(name, _)| name == "IFS") {
            Some((_, value)) if value.is_known() => value.text.clone(),
            Some(_) => HOLE.to_string(),
            None => self.separators().to_string(),
        };
        let raw = options.iter().any(|field| field.text.starts_with('-') && field.text.contains('r'));
        let escapes = !raw && input.text.contains('\\');
        let is_sure = !takes_part && !escapes && !separators.contains(HOLE);
        let line = if is_sure { line_of(&input.text) } else { None };
        if let Some(array) = letter_value(options, "-a") {
            let values = line.as_deref().map(|line| split(line, &separators, usize::MAX));
            let value = match values {
                Some(values) => Variable::Many(
                    values
                        .into_iter()
                        .map(|text| Text { text: text.to_owned(), taint: input.taint })
                        .collect(),
                ),
                None => Variable::One(Text::unknown(input.taint)),
            };
            self.scope.set(&array.text, value, true);
            return;
        }
        let names: Vec<&str> = match names {
            [] => vec!["REPLY"],
            names => names.iter().map(|field| field.text.as_str()).collect(),
        };
        let mut values = line.as_deref().map(|line| split(line, &separators, names.len()).into_iter());
        for name in names {
            let value = match &mut values {
                Some(values) => {
                    Text { text: values.next().unwrap_or_default().to_owned(), taint: input.taint }
                }
                None => Text::unknown(input.taint),
            };
            self.scope.set(name.split('[').next().unwrap_or(name), Variable::One(value), true);
        }
    }

    fn read_array(&mut self, invocation: &Invocation) {
        let arguments = invocation.arguments();
        let skip = options_end(arguments, &["-d", "-n", "-O", "-s", "-u", "-C", "-c"]);
        let (options, names) = arguments.split_at(skip.min(arguments.len()));
        self.names(names);
        let input = self.readable(options, invocation);
        if let Some(code) = letter_value(options, "-C") {
            // It is given the index and the line.
            self.suspect_text(&format!("{} 0 '{HOLE}'", code.text), code.origin);
        }
        let name = names.first().map_or("MAPFILE", |field| field.text.as_str());
        self.scope.set(name, Variable::One(Text::unknown(input.taint)), true);
    }
}

/// The value of an option of one letter, which may end a cluster: `read -ra`.
fn letter_value(options: &[Field], name: &str) -> Option<Field> {
    option_value(options, &[name]).or_else(|| cluster_value(options, name.chars().next_back()?))
}

/// The line that is read, if it is known which. Of several, what they have in common: `read` in a loop takes each.
fn line_of(input: &str) -> Option<String> {
    let mut lines = input.lines();
    let first = lines.next().filter(|line| !line.is_empty())?;
    let mut common = first.len();
    for line in lines {
        let same = first.bytes().zip(line.bytes()).take_while(|(one, other)| one == other).count();
        common = common.min(same);
    }
    if common == first.len() && input.lines().nth(1).is_none() {
        let known = !first.contains(HOLE) || is_path(first);
        return known.then(|| first.to_owned());
    }
    // The folder that all of them are in says something, a word that they begin with does not.
    let shared = first.get(..common).filter(|shared| is_path(shared))?;
    Some(format!("{}{HOLE}", shared.trim_end_matches(HOLE)))
}

fn is_path(text: &str) -> bool {
    text.starts_with(['/', '~', '.']) && !text.contains(char::is_whitespace)
}

/// Splits a line as `read` does, into so many pieces at most; the last takes what is left.
fn split<'l>(line: &'l str, separators: &str, most: usize) -> Vec<&'l str> {
    let is_blank = |letter: char| letter.is_whitespace() && separators.contains(letter);
    let mut rest = line.trim_matches(is_blank);
    let mut pieces = Vec::new();
    while !rest.is_empty() && pieces.len() + 1 < most {
        let end = rest.find(|letter| separators.contains(letter)).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        // One mark, with the blanks around it.
        let after = after.trim_start_matches(is_blank);
        let mark = after.chars().next().filter(|letter| separators.contains(*letter));
        rest = after.get(mark.map_or(0, char::len_utf8)..).unwrap_or_default().trim_start_matches(is_blank);
    }
    if !rest.is_empty() {
        pieces.push(rest);
    }
    pieces
}
