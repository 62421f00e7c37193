//! Redirections: what is read, what is written, what is lost.

use banksman_core::Span;

use super::run::Runner;
use super::syntax::{Redirection, RedirectionKind};
use super::value::{Field, Taint, Text};
use crate::fact::{Access, Direction, Fact, PathUse, UrlUse};
use crate::path::{Place, Places};

/// A file that the output goes to.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) file: Field,
    pub(super) append: bool,
    /// Whether it is the standard output that goes there.
    pub(super) stdout: bool,
}

/// Where a command reads from and writes to.
#[derive(Debug, Default)]
pub(super) struct Redirected {
    pub(super) stdin: Option<Text>,
    pub(super) targets: Vec<Target>,
}

impl Runner<'_, '_> {
    /// States what redirections do.
    pub(super) fn redirections(&mut self, redirections: &[Redirection]) -> Redirected {
        let mut redirected = Redirected::default();
        for redirection in redirections {
            let span = self.origin.span(redirection.range.clone());
            let descriptor = redirection.descriptor;
            match &redirection.kind {
                RedirectionKind::Input(word) => {
                    let file = self.value(word);
                    let content = self.read_file(&file, span);
                    self.open(descriptor, content, &mut redirected);
                }
                RedirectionKind::Truncate(word) | RedirectionKind::Append(word) => {
                    let append = matches!(redirection.kind, RedirectionKind::Append(_));
                    let file = self.value(word);
                    self.write_target(&file, append, span);
                    let stdout = matches!(descriptor, None | Some(1));
                    redirected.targets.push(Target { file, append, stdout });
                }
                RedirectionKind::ReadWrite(word) => {
                    let file = self.value(word);
                    self.write_target(&file, true, span);
                    redirected.stdin = Some(Text::unknown(Taint::FILE));
                    redirected.targets.push(Target { file, append: true, stdout: false });
                }
                RedirectionKind::Duplicate(word) => {
                    let number = self.value(word);
                    let known =
                        self.scope.file(&format!("/dev/fd/{}", number.text.trim_end_matches('-'))).cloned();
                    if let Some(content) = known {
                        self.open(descriptor, content, &mut redirected);
                    }
                }
                RedirectionKind::Document(body) => {
                    if let Some(word) = body.get() {
                        let text = self.value(word).as_text();
                        self.open(descriptor, text, &mut redirected);
                    }
                }
                RedirectionKind::Text(word) => {
                    let mut text = self.value(word).as_text();
                    text.text.push('\n');
                    self.open(descriptor, text, &mut redirected);
                }
            }
        }
        redirected
    }

    /// What is read from a descriptor from now on; others than the standard input are files by another name.
    fn open(&mut self, descriptor: Option<u32>, content: Text, redirected: &mut Redirected) {
        match descriptor {
            None | Some(0) => redirected.stdin = Some(content),
            Some(number) => self.scope.write_file(&format!("/dev/fd/{number}"), content, false),
        }
    }

    fn write_target(&mut self, file: &Field, append: bool, span: Span) {
        if is_network(&file.text) {
            self.connect(file, span);
            return;
        }
        if is_stream(&file.text) {
            return;
        }
        let access = if append { Access::Write } else { Access::Truncate };
        self.path(access, file, span);
    }

    /// Reads a file by redirection: its content, as far as it is known.
    pub(super) fn read_file(&mut self, file: &Field, span: Span) -> Text {
        if is_network(&file.text) {
            self.connect(file, span);
            return Text::unknown(Taint::DOWNLOAD);
        }
        if let Some(content) = self.scope.file(&file.text) {
            return content.clone();
        }
        if is_stream(&file.text) {
            return Text::unknown(Taint::NONE);
        }
        let before = self.inspection.secrets_read();
        self.path(Access::Read, file, span);
        let secret = if self.inspection.secrets_read() > before { Taint::SECRET } else { Taint::NONE };
        let places = Places::of(&file.text, self.scope.directory.as_deref());
        let foreign =
            if places.has_any(&[Place::System, Place::InHome]) { Taint::FOREIGN } else { Taint::NONE };
        Text::unknown(Taint::FILE | secret | foreign)
    }

    /// States that a path is used.
    pub(super) fn path(&mut self, access: Access, file: &Field, span: Span) {
        // An unclosed quote makes one word of several: that is no path.
        let swallowed = self.broken && file.text.contains(char::is_whitespace) && !file.text.contains('/');
        if file.text.is_empty() || (swallowed && access == Access::Read) {
            return;
        }
        let base = self.scope.directory.clone();
        let fact = Fact::Path(PathUse { access, path: file.word(), base: base.map(Into::into) });
        self.inspection.state(&fact, span);
        if file.is_known() {
            let normal = crate::path::normalise(&file.text, self.scope.directory.as_deref());
            self.inspection.touch("file", &normal);
        }
    }

    fn connect(&mut self, file: &Field, span: Span) {
        let url = network_url(&file.text);
        let url = crate::fact::Word::known(url, span);
        let fact = Fact::Url(UrlUse { direction: Direction::Connect, method: None, url }, span);
        self.inspection.state(&fact, span);
    }

    /// Sends output where it was redirected to; what is left goes on through the pipe.
    pub(super) fn deliver(&mut self, output: Text, targets: &[Target]) -> Text {
        let mut left = output;
        for target in targets {
            if target.stdout {
                if !is_stream(&target.file.text) && target.file.is_known() {
                    self.scope.write_file(&target.file.text, left.clone(), target.append);
                }
                left = Text::default();
            }
        }
        left
    }

    /// A shell whose input or output is a network connection.
    pub(super) fn connects(&mut self, fields: &[Field], targets: &[Target], span: Span) {
        let to_network = targets.iter().any(|target| is_network(&target.file.text));
        let is_shell = fields
            .first()
            .is_some_and(|field| super::program::is_shell(&super::program::name_of(&field.text)));
        if to_network && (is_shell || fields.first().is_some_and(|field| field.text == "exec")) {
            self.inspection.signal("reverse_shell", span);
        }
    }
}

/// `/dev/tcp/host/port`, which bash opens as a connection.
pub(super) fn is_network(path: &str) -> bool {
    path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/")
}

fn network_url(path: &str) -> String {
    let mut parts = path.split('/').skip(2);
    let scheme = parts.next().unwrap_or("tcp");
    let host = parts.next().unwrap_or_default();
    let port = parts.next().unwrap_or_default();
    format!("{scheme}://{host}:{port}")
}

/// Sinks and sources without content.
pub(super) fn is_stream(path: &str) -> bool {
    matches!(
        path,
        "/dev/null"
            | "/dev/stdout"
            | "/dev/stderr"
            | "/dev/stdin"
            | "/dev/tty"
            | "/dev/zero"
            | "/dev/full"
            | "-"
            | "NUL"
            | "nul"
    ) || path.starts_with("/dev/fd/")
        || path.starts_with("/proc/self/fd/")
}
