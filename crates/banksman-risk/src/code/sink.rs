//! Where values end up: paths, shells, the network, code.

use std::borrow::Cow;
use std::rc::Rc;

use banksman_core::Span;

use super::dialect::CallSite;
use super::effect::{Arg, Effect, Entry};
use super::machine::Machine;
use super::text;
use super::value::{Taint, Value, What};
use crate::fact::{Access, Direction, Fact, PathUse, UrlUse, Word};
use crate::inspection::Code;
use crate::path::{Place, Places};

/// Arguments that are sent along with every request and are no content: a token in a header is how services are used.
const NO_CONTENT: &[&str] =
    &["headers", "auth", "cookies", "cert", "timeout", "verify", "url", "proxies", "method"];

/// Modules that reach outside of the program: to replace or to compute something in them is remarkable.
pub(super) fn is_guarded(name: &str) -> bool {
    let module = name.split('.').next().unwrap_or_default();
    matches!(
        module,
        "os" | "subprocess"
            | "shutil"
            | "builtins"
            | "__builtins__"
            | "exec"
            | "eval"
            | "ssl"
            | "fs"
            | "child_process"
            | "process"
            | "Deno"
            | "globalThis"
    )
}

impl Machine<'_, '_> {
    /// What the library's tables say of a call. Where its result comes from.
    pub(super) fn apply_entry(&mut self, site: &CallSite) -> Taint {
        let Some(entry) = self.dialect.entry(&site.name) else { return Taint::NONE };
        let mut gives = entry.gives;
        self.note_deletion(entry, site);
        for effect in entry.effects {
            gives = gives.and(self.apply(*effect, site));
        }
        gives
    }

    /// A program that deletes files deserves a look, unless they were made to be thrown away; moving is not deleting.
    fn note_deletion(&mut self, entry: &Entry, site: &CallSite) {
        let is_write = |effect: &Effect| matches!(effect, Effect::Path(Access::Write, _));
        if entry.effects.iter().any(is_write) {
            return;
        }
        for effect in entry.effects {
            if let Effect::Path(Access::Delete, arg) = effect
                && let Some(path) = argument(site, *arg)
            {
                self.note_deleted(&path, site.span);
            }
        }
    }

    /// Says that a file is deleted, unless it was made to be thrown away.
    pub(crate) fn note_deleted(&mut self, path: &Value, span: Span) {
        let is_lasting = |one: &Value| {
            let places = Places::of(&one.to_text(), self.directory.as_deref());
            !places.has_any(&[Place::Scratch, Place::Temp, Place::Stream])
        };
        if path.alternatives().iter().any(is_lasting) {
            self.inspection.signal("file_deleted", span);
        }
    }

    /// Does what an effect says. Where the result of the call comes from because of it.
    pub(crate) fn apply(&mut self, effect: Effect, site: &CallSite) -> Taint {
        let span = site.span;
        match effect {
            Effect::Path(access, arg) => match argument(site, arg) {
                Some(path) => self.use_path(access, &path, span),
                None => Taint::NONE,
            },
            Effect::Shell(arg) => {
                if let Some(command) = argument(site, arg) {
                    self.run_shell(&command, span);
                }
                Taint::NONE
            }
            Effect::Program(arg) => {
                if let Some(program) = argument(site, arg) {
                    self.run_program(&program, span);
                }
                Taint::NONE
            }
            Effect::ProgramFrom(at) => {
                let words = site.args.get(at..).unwrap_or_default().to_vec();
                self.run_program(&Value::list(words), span);
                Taint::NONE
            }
            Effect::ProgramWith(program, rest) => {
                if let Some(program) = argument(site, program) {
                    let rest = argument(site, rest).and_then(|rest| rest.as_list().map(|list| list.to_vec()));
                    let words = std::iter::once(program).chain(rest.unwrap_or_default()).collect();
                    self.run_program(&Value::list(words), span);
                }
                Taint::NONE
            }
            Effect::Code(arg) => {
                if let Some(code) = argument(site, arg) {
                    self.run_code(&code, span);
                }
                Taint::NONE
            }
            Effect::Sql(arg) => {
                if let Some(sql) = argument(site, arg) {
                    self.run_sql(&sql, span);
                }
                Taint::NONE
            }
            Effect::Url(direction, method, arg) => {
                if let Some(url) = argument(site, arg) {
                    self.talk(direction, method, &url, span);
                }
                if direction == Direction::Send {
                    self.send(content_without(site, arg), span);
                }
                Taint::NETWORK
            }
            Effect::Sends => {
                self.send(content_of(site), span);
                Taint::NONE
            }
            Effect::Prints => {
                if content_of(site).has(Taint::ENVIRONMENT) {
                    self.inspection.signal("environment_printed", span);
                }
                Taint::NONE
            }
            Effect::Writes => {
                self.write(site.receiver.as_ref(), content_of(site), span);
                Taint::NONE
            }
            Effect::Signal(name) => {
                self.inspection.signal(name, span);
                Taint::NONE
            }
        }
    }

    /// Something is done with a path. Where what is read from it comes from.
    pub(crate) fn use_path(&mut self, access: Access, path: &Value, span: Span) -> Taint {
        let mut taint = Taint::NONE;
        for one in path.alternatives() {
            if one.what == What::Nothing || matches!(one.what, What::Number(_)) {
                continue;
            }
            let text = one.to_text();
            if !text.is_empty() && !text.contains(Word::HOLE) {
                self.inspection.touch("file", &text);
            }
            let base = self.directory.clone();
            let places = Places::of(&text, base.as_deref());
            let is_content = matches!(access, Access::Read | Access::Write | Access::Truncate);
            if is_content {
                taint = taint.and(Taint::FILE);
                if places.has(Place::Secret) {
                    taint = taint.and(Taint::SECRET);
                }
            }
            // To remove every file that a walk finds is to remove the folder.
            let everything = access == Access::Delete && one.taint.has(Taint::WALKED) && self.is_for_all();
            let text = match text.split_once(Word::HOLE) {
                Some((folder, _)) if everything => Rc::from(folder),
                _ => text,
            };
            let access = if everything { Access::DeleteTree } else { access };
            let glob = one.taint.has(Taint::LISTED);
            let text: Rc<str> = if text.is_empty() && everything { "\0".into() } else { text };
            let path = Word { text: Cow::Borrowed(&text), span, glob };
            let base = base.as_deref().map(Cow::Borrowed);
            self.inspection.state(&Fact::Path(PathUse { access, path, base }), span);
        }
        taint.and(path.taint)
    }

    /// A shell runs a text.
    pub(crate) fn run_shell(&mut self, command: &Value, span: Span) {
        if command.as_list().is_some() {
            return self.run_program(command, span);
        }
        self.note_run(command.taint, span);
        for one in command.alternatives() {
            if one.what == What::Nothing {
                continue;
            }
            let text = one.to_text();
            if text.len() > 1 && text.contains(Word::HOLE) {
                self.inspection.signal("shell_built", span);
            }
            self.run_command(text::shell_command(&text), span);
        }
    }

    /// A program runs: a list of its arguments, or its name alone.
    pub(crate) fn run_program(&mut self, program: &Value, span: Span) {
        self.run_program_with_input(program, None, span);
    }

    /// A program runs and reads this.
    pub(crate) fn run_program_with_input(&mut self, program: &Value, input: Option<&str>, span: Span) {
        self.note_run(program.taint, span);
        for one in program.alternatives() {
            let words = match one.as_list() {
                Some(words) => words.to_vec(),
                None if one.what == What::Nothing => continue,
                None => vec![one.clone()],
            };
            let mut line = Value::text("");
            for (at, word) in words.iter().enumerate() {
                if at > 0 {
                    line = line.concat(&Value::text(" "));
                }
                line = line.concat(&word.each(|word| Value::text(text::quote(&word.to_text()))));
            }
            for command in line.alternatives() {
                let mut command = text::without_holes(&command.to_text());
                if let Some(input) = input {
                    command = format!("printf %s {} | {command}", text::quote(input));
                }
                self.run_command(command, span);
            }
        }
    }

    fn run_command(&mut self, mut command: String, span: Span) {
        if command.trim().is_empty() {
            return;
        }
        if let Some(directory) = &self.directory {
            command = format!("cd {} && {command}", text::quote(directory));
        }
        if self.downloads.iter().any(|path| command.contains(&**path)) {
            self.inspection.signal("download_run", span);
        }
        self.hand(Code::Shell, command, span);
    }

    /// What runs came from somewhere.
    fn note_run(&mut self, taint: Taint, span: Span) {
        if taint.has(Taint::SOCKET) {
            self.inspection.signal("reverse_shell", span);
        } else if taint.has(Taint::NETWORK) {
            self.inspection.signal("download_run", span);
        }
        if taint.has(Taint::DECODED) {
            self.inspection.signal("decode_run", span);
        }
    }

    /// Code in the same language runs. What it gives.
    pub(crate) fn run_code(&mut self, code: &Value, span: Span) -> Value {
        self.note_run(code.taint, span);
        let mut result = Vec::new();
        for one in code.alternatives() {
            match one.known_text() {
                Some(text) => result.push(self.run(&text, span)),
                None if matches!(one.what, What::Function(_) | What::Partial(_) | What::Nothing) => {}
                None => {
                    self.inspection.signal("computed_code", span);
                    // The parts that are known may say enough.
                    let text = one.to_text();
                    if text.len() > 1 {
                        let name = text.replace(Word::HOLE, "_");
                        result.push(self.run(&name, span));
                    }
                }
            }
        }
        Value::any_of(result)
    }

    /// A database runs a text, if that is SQL.
    pub(crate) fn run_sql(&mut self, sql: &Value, span: Span) {
        for one in sql.alternatives() {
            if let Some(statement) = text::sql(&one.to_text()) {
                self.hand(Code::Sql, statement, span);
            }
        }
    }

    /// A URL or host is talked to.
    pub(crate) fn talk(
        &mut self,
        direction: Direction,
        method: Option<&'static str>,
        url: &Value,
        span: Span,
    ) {
        if url.taint.has(Taint::ENVIRONMENT) {
            self.inspection.signal("secret_env", span);
        }
        for one in url.alternatives() {
            if one.what == What::Nothing {
                continue;
            }
            let text = one.to_text();
            if !text.contains(Word::HOLE) && !text.is_empty() {
                self.inspection.touch("url", &text);
            }
            let url = Word { text: Cow::Borrowed(&text), span, glob: false };
            let fact = Fact::Url(UrlUse { direction, method: method.map(Cow::Borrowed), url }, span);
            self.inspection.state(&fact, span);
        }
    }

    /// What leaves this machine.
    pub(crate) fn send(&mut self, content: Taint, span: Span) {
        if content.has(Taint::SECRET) {
            self.inspection.signal("secret_sent", span);
        }
        if content.has(Taint::FILE) {
            self.inspection.signal("file_sent", span);
        }
        if content.has(Taint::ENVIRONMENT) {
            self.inspection.signal("secret_env", span);
        }
        if content.has(Taint::TOKEN) {
            self.inspection.signal("token_sent", span);
        }
    }

    /// Something is written to a file that is open, or to what a path object names.
    pub(crate) fn write(&mut self, file: Option<&Value>, content: Taint, span: Span) {
        let Some(file) = file else { return };
        if file.taint.has(Taint::SOCKET) || file.taint.has(Taint::NETWORK) {
            self.send(content, span);
        }
        if content.has(Taint::ENCRYPTED) && (file.taint.has(Taint::LISTED) || self.is_repeated()) {
            self.inspection.signal("files_encrypted", span);
        }
        for one in file.alternatives() {
            if let Some(path) = one.as_thing().and_then(|thing| thing.text.clone()) {
                self.note_written(&path, content);
            }
        }
    }
}

/// The value of an argument.
pub(crate) fn argument(site: &CallSite, arg: Arg) -> Option<Value> {
    match arg {
        Arg::At(at, name) => site.either(at, name).cloned(),
        Arg::Receiver => site.receiver.clone(),
    }
}

/// Where the content of a call comes from: all its arguments but those that only say where to and as whom.
pub(crate) fn content_of(site: &CallSite) -> Taint {
    content_without(site, Arg::Receiver)
}

/// The same without one argument: the URL of a request may well come from a file.
fn content_without(site: &CallSite, arg: Arg) -> Taint {
    let left_out = match arg {
        Arg::At(at, _) => at,
        Arg::Receiver => usize::MAX,
    };
    let named =
        site.keywords.iter().filter(|(name, _)| !NO_CONTENT.contains(&&**name)).map(|(_, value)| value);
    let content = |value: &Value| -> Taint {
        let inner = value.as_map().map(Rc::clone);
        match inner {
            // A JavaScript options object: the same arguments, one level down.
            Some(entries) => {
                let all = entries.iter().fold(Taint::NONE, |taint, (_, value)| taint.and(value.taint));
                let parts = entries.iter().filter(|(name, _)| !NO_CONTENT.contains(&&**name));
                parts.fold(value.taint.without(all), |taint, (_, value)| taint.and(value.taint))
            }
            None => value.taint,
        }
    };
    let plain = site.args.iter().enumerate().filter(|(at, _)| *at != left_out).map(|(_, value)| value);
    plain.chain(named).fold(Taint::NONE, |taint, value| taint.and(content(value)))
}
