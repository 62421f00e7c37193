//! Finds the program that really runs, and states it.

use std::rc::Rc;

use super::run::{Call, Invocation, PROGRAM, Runner};
use super::value::{CARRIED_PER_STEP, Field, HOLE, Taint, Text};
use super::{builtin, code, network, stream, wrap};
use crate::fact::{Command, Fact, Word};
use crate::path::{Place, Places};

/// The name of a program without its folder, its ending and its case.
pub(super) fn name_of(text: &str) -> String {
    let name = text.rsplit(['/', '\\']).next().unwrap_or(text);
    let mut name = name.to_ascii_lowercase();
    if name.ends_with(".exe") {
        name.truncate(name.len() - 4);
    }
    name
}

/// Whether a program is a shell.
pub(super) fn is_shell(name: &str) -> bool {
    matches!(
        name,
        "sh" | "bash"
            | "zsh"
            | "dash"
            | "ksh"
            | "ksh93"
            | "ash"
            | "fish"
            | "mksh"
            | "rbash"
            | "csh"
            | "tcsh"
            | "oksh"
    )
}

/// Programs whose operands are words or names, never a command, however much they look like one.
const TAKES_WORDS: &[&str] = &[
    "echo",
    "print",
    "printf",
    "man",
    "info",
    "tldr",
    "cheat",
    "whatis",
    "apropos",
    "help",
    "yes",
    "seq",
    "expr",
    "say",
    "figlet",
    "toilet",
    "cowsay",
    "logger",
    "notify-send",
    "wall",
    "write",
    "look",
    "dict",
    "units",
    "bc",
    "dc",
    "cal",
    "history",
    "fc",
    "alias",
    "pgrep",
    "pidof",
    "dpkg-query",
    "rpm",
    "locate",
    "mlocate",
    "plocate",
    "updatedb",
    "apt-file",
    "command-not-found",
    "shellcheck",
    "bashate",
    "shfmt",
    "explainshell",
    "wtf",
    "calc",
    "getent",
    "numfmt",
    "tr",
    "dialog",
    "whiptail",
    "zenity",
    "pandoc",
    "asciinema",
];

impl Invocation {
    /// The program's arguments.
    pub(super) fn arguments(&self) -> &[Field] {
        self.fields.get(1..).unwrap_or_default()
    }

    /// The same circumstances for another program.
    pub(super) fn instead(&self, fields: Vec<Field>) -> Self {
        Self { fields, env: self.env.clone(), stdin: self.stdin.clone(), span: self.span }
    }
}

impl Runner<'_, '_> {
    /// Runs a command: a function, an alias or a program. Its output, as far as it is known.
    pub(super) fn invoke(&mut self, invocation: Invocation) -> Text {
        let Some(program) = invocation.fields.first() else { return Text::default() };
        if let Some(function) = self.scope.function(&program.text).cloned() {
            let certain = function.certain;
            let output = self.call_function(function, &invocation);
            if certain {
                return output;
            }
        }
        if let Some(alias) = self.scope.alias(&program.text).cloned() {
            let mut text = alias.text.clone();
            for argument in invocation.arguments() {
                text.push(' ');
                text.push_str(&quote(&argument.text));
            }
            let call = Call::Alias(program.text.clone());
            if !self.calls.contains(&call) {
                self.calls.push(call);
                let output =
                    self.evaluate(&Text { text, taint: alias.taint }, program.origin, &invocation.stdin);
                self.calls.pop();
                return output;
            }
        }
        self.program(invocation)
    }

    fn call_function(&mut self, function: super::scope::Function, invocation: &Invocation) -> Text {
        const CALLS: usize = 12;
        // By what it does, not by its name: a function may define another of the same name and call that.
        let call = Call::Function(Rc::clone(&function.body));
        if self.calls.contains(&call) {
            if self.beside {
                self.inspection.signal("fork_bomb", invocation.span);
            }
            return Text::unknown(Taint::OUTPUT);
        }
        if self.calls.len() >= CALLS {
            self.inspection.signal("too_deep", invocation.span);
            return Text::unknown(Taint::OUTPUT);
        }
        self.calls.push(call);
        let mut arguments: Vec<Text> = invocation.arguments().iter().map(Field::as_text).collect();
        for argument in &mut arguments {
            argument.taint |= Taint::PARAMETER;
        }
        let outer_arguments = self.scope.positional.replace(arguments);
        let outer_origin = std::mem::replace(&mut self.origin, function.origin);
        let output = self.command(&function.body, &invocation.stdin);
        self.origin = outer_origin;
        self.scope.positional = outer_arguments;
        self.calls.pop();
        output
    }

    /// Runs a program that is no function and no alias.
    pub(super) fn program(&mut self, invocation: Invocation) -> Text {
        // A wrapper in a wrapper is a step deeper, and what it reads is carried along.
        if !self.descend(invocation.span) {
            return Text::unknown(Taint::OUTPUT);
        }
        let output = if self
            .spend(PROGRAM + 4 * invocation.fields.len() + invocation.stdin.text.len() / CARRIED_PER_STEP)
        {
            self.unwrapped(invocation)
        } else {
            Text::unknown(Taint::OUTPUT)
        };
        self.ascend();
        output
    }

    fn unwrapped(&mut self, mut invocation: Invocation) -> Text {
        let Some(program) = invocation.fields.first() else { return Text::default() };
        if program.text.contains(HOLE) {
            return self.unknown_program(invocation);
        }
        if program.glob && is_pattern(&program.text) {
            // Whatever fits it runs.
            let text = program.text.replace(['*', '?', '[', ']'], "\0");
            let fields =
                std::iter::once(program.with_text(text)).chain(invocation.arguments().iter().cloned());
            let pattern = invocation.instead(fields.collect());
            return self.unknown_program(pattern);
        }
        if program.taint.has(Taint::INPUT) {
            self.inspection.signal("pipe_run", program.span());
        }
        if program.text.contains(char::is_whitespace) && !program.text.contains(['/', '\\']) {
            // No program is called so: a whole command was put in quotes by mistake, or to be split later.
            let mut code = program.as_text();
            code.taint = Taint::NONE;
            let origin = program.origin;
            self.evaluate(&code, origin, &invocation.stdin);
        }
        let name = name_of(&program.text);
        if let Some(output) = self.written_before(&invocation) {
            return output;
        }
        self.environment(&name, &mut invocation);
        if let Some(output) = builtin::run(self, &name, &invocation) {
            return output;
        }
        if let Some(output) = wrap::run(self, &name, &invocation) {
            return output;
        }
        if let Some(output) = code::run(self, &name, &invocation) {
            return output;
        }
        self.state_command(&invocation);
        let read = self.paths(&name, &invocation);
        if let Some(output) = network::run(self, &name, &invocation, &read) {
            return output;
        }
        // What is done with its operands is not known: they may be a command.
        let spec = self.inspection.catalogue().program(&name);
        let understood = spec.is_some_and(|spec| spec.operands.is_some() || spec.subcommands > 0);
        if !understood && !TAKES_WORDS.contains(&name.as_str()) {
            self.suspect_wrapper(&invocation);
            if spec.is_none() {
                self.suspect_files(&invocation);
            }
        }
        stream::output(self, &name, &invocation, read)
    }

    /// A program whose name is not known: what it is given may still tell.
    fn unknown_program(&mut self, invocation: Invocation) -> Text {
        let Some(program) = invocation.fields.first() else { return Text::default() };
        let taint = program.taint;
        let span = program.span();
        if taint.has(Taint::DOWNLOAD) {
            self.inspection.signal("download_run", span);
        } else if taint.has(Taint::DECODED) {
            self.inspection.signal("decode_run", span);
        } else if program.text.starts_with(HOLE) && !program.text.contains('/') {
            // `$DIR/tool` is a program of a known name, `$X` is any program.
            self.inspection.signal("computed_program", span);
        }
        let name = name_of(&program.text);
        if !name.contains(HOLE) {
            let mut known = invocation.clone();
            if let Some(first) = known.fields.first_mut() {
                *first = first.with_text(name);
                first.taint = Taint::NONE;
            }
            return self.program(known);
        }
        self.suspect_deletion(&invocation);
        self.suspect_wrapper(&invocation);
        for argument in invocation.arguments() {
            if looks_like_path(&argument.text) {
                self.path(crate::fact::Access::Read, argument, argument.span());
            }
        }
        Text::unknown(Taint::OUTPUT | invocation.stdin.taint)
    }

    /// A program that is not known, given what would be grave for `rm`, may well be `rm`.
    fn suspect_deletion(&mut self, invocation: &Invocation) {
        let is_recursive = |text: &str| match text.strip_prefix("--") {
            Some(long) => long.starts_with("rec"),
            None => text.starts_with('-') && text.contains(['r', 'R']),
        };
        if !invocation.arguments().iter().any(|field| is_recursive(&field.text)) {
            return;
        }
        let Some(program) = invocation.fields.first() else { return };
        let fields = std::iter::once(program.with_text("rm")).chain(invocation.arguments().iter().cloned());
        let deletion = invocation.instead(fields.collect());
        if let Some(command) = as_fact(&deletion.fields, &deletion) {
            self.inspection.suspect(&Fact::Command(command), invocation.span);
        }
    }

    /// A file that this script wrote, run as a program.
    fn written_before(&mut self, invocation: &Invocation) -> Option<Text> {
        let program = invocation.fields.first()?;
        if !program.text.contains('/') {
            return None;
        }
        let content = self.scope.file(&program.text)?.clone();
        let positional = invocation.arguments().iter().map(Field::as_text).collect();
        Some(self.shell(&content, program.origin, positional, &invocation.stdin, How::File))
    }

    /// States that a program runs.
    pub(super) fn state_command(&mut self, invocation: &Invocation) {
        let count = invocation.fields.len();
        self.state_part(invocation, count);
    }

    /// States that a program runs, with only as many of its words.
    pub(super) fn state_part(&mut self, invocation: &Invocation, count: usize) {
        let fields = invocation.fields.get(..count).unwrap_or(&invocation.fields);
        if let Some(mut command) = as_fact(fields, invocation) {
            command.base = self.scope.directory.clone().map(Into::into);
            let span = invocation.span;
            self.inspection.state(&Fact::Command(command), span);
        }
    }

    /// A program that nothing is known of may be a wrapper: if what follows would be grave as a command, it counts.
    pub(super) fn suspect_wrapper(&mut self, invocation: &Invocation) {
        const LOOKED_AT: usize = 6;
        for at in 1..invocation.fields.len().min(LOOKED_AT) {
            let Some(fields) = invocation.fields.get(at..) else { return };
            let Some(first) = fields.first() else { return };
            if first.text.starts_with('-') || first.text.contains(HOLE) || first.text.contains('=') {
                continue;
            }
            if let Some(command) = as_fact(fields, invocation)
                && self.inspection.catalogue().program(&command.program.text).is_some()
            {
                self.inspection.suspect(&Fact::Command(command), invocation.span);
                return;
            }
            let name = name_of(&first.text);
            if is_shell(&name) || wrap::is_prefix(&name) {
                let inner = invocation.instead(fields.to_vec());
                self.program(inner);
                return;
            }
        }
    }

    /// A program that nothing is known of, given a file that holds secrets, probably reads it.
    fn suspect_files(&mut self, invocation: &Invocation) {
        let is_name = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.+/~@".contains(&b));
        if !invocation.fields.first().is_some_and(|program| is_name(&program.text)) {
            return;
        }
        for field in invocation.arguments() {
            let path = match field.text.split_once('=') {
                Some((option, value)) if option.starts_with('-') => field.with_text(value),
                _ => field.clone(),
            };
            if !path.text.contains(char::is_whitespace) && Places::of(&path.text, None).has(Place::Secret) {
                self.path(crate::fact::Access::Read, &path, field.span());
            }
        }
    }

    /// A text that is run in a way of its own: read as shell.
    pub(super) fn suspect_text(&mut self, text: &str, origin: crate::origin::Origin) {
        self.evaluate(&Text::known(text), origin, &Text::unknown(Taint::NONE));
    }
}

fn as_fact<'f>(fields: &'f [Field], invocation: &'f Invocation) -> Option<Command<'f>> {
    let (program, arguments) = fields.split_first()?;
    let mut name = program.word();
    name.text = name_of(&program.text).into();
    let env = &invocation.env;
    Some(Command {
        program: name,
        args: arguments.iter().map(Field::word).collect(),
        env: env
            .iter()
            .map(|(name, value)| (name.as_str().into(), Word::known(value.text.as_str(), invocation.span)))
            .collect(),
        base: None,
        span: invocation.span,
    })
}

/// Whether file names can fit a text: `r?`, `[r]m`, but not the program that is called `[`.
fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?']) || text.split_once('[').is_some_and(|(_, rest)| rest.contains(']'))
}

/// A text in quotes, so that the shell reads it as one word.
pub(super) fn quote(text: &str) -> String {
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-./=:,+@%\0".contains(&b)) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// Whether a text looks like a path rather than like a word.
pub(super) fn looks_like_path(text: &str) -> bool {
    text.contains('/') || text.starts_with('~') || Places::of(text, None).has(Place::Secret)
}

/// How code came to be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// Written in the command: `bash -c`, `eval`.
    Argument,
    /// Through a pipe or a redirection.
    Input,
    /// From a file.
    File,
}

impl Runner<'_, '_> {
    /// Runs a text as shell in a shell of its own.
    pub(super) fn shell(
        &mut self,
        code: &Text,
        origin: crate::origin::Origin,
        positional: Vec<Text>,
        stdin: &Text,
        how: How,
    ) -> Text {
        if !self.note_code(code, origin, how) {
            return Text::unknown(Taint::OUTPUT | code.taint);
        }
        let inner = self.scope.for_child(positional);
        let outer = std::mem::replace(&mut self.scope, inner);
        let output = self.evaluate_text(&code.text, origin, stdin);
        self.scope.restore_keeping_files(outer);
        output
    }

    /// Runs a text as shell, here and now.
    pub(super) fn evaluate(&mut self, code: &Text, origin: crate::origin::Origin, stdin: &Text) -> Text {
        if !self.note_code(code, origin, How::Argument) {
            return Text::unknown(Taint::OUTPUT | code.taint);
        }
        self.evaluate_text(&code.text, origin, stdin)
    }

    fn evaluate_text(&mut self, text: &str, origin: crate::origin::Origin, stdin: &Text) -> Text {
        if !self.inspection.enter(text, origin) {
            return Text::unknown(Taint::OUTPUT);
        }
        let outer = std::mem::replace(&mut self.origin, origin);
        let output = self.text(text, stdin);
        self.origin = outer;
        self.inspection.leave();
        output
    }

    /// Says what is to be said of code by where it came from. Whether there is anything in it to read.
    pub(super) fn note_code(&mut self, code: &Text, origin: crate::origin::Origin, how: How) -> bool {
        let known = code.text.replace(HOLE, "");
        let unknown = known.len() < code.text.len();
        let span = origin.span(0..code.text.len());
        if code.taint.has(Taint::DOWNLOAD) {
            self.inspection.signal("download_run", span);
        } else if unknown && code.taint.has(Taint::DECODED) {
            self.inspection.signal("decode_run", span);
        } else if code.taint.has(Taint::INPUT) {
            self.inspection.signal("pipe_run", span);
        } else if how == How::Argument && code.taint.has(Taint::PARAMETER) {
            // A function that runs what it is given runs anything.
            self.inspection.signal("computed_code", span);
        } else if known.trim().is_empty() && unknown {
            match how {
                How::File => {}
                // A script in a file is what `sh file` runs as well.
                How::Input if code.taint.has(Taint::FILE) => {}
                How::Input if code.taint.has(Taint::OUTPUT) => self.inspection.signal("pipe_run", span),
                How::Input => {}
                How::Argument => self.inspection.signal("computed_code", span),
            }
        }
        !known.trim().is_empty()
    }
}
