//! Lists, pipelines and simple commands.

use std::ops::Range;

use super::heredoc::Pending;
use super::{Assignment, Command, CommandKind, Item, Link, Part, Redirection, RedirectionKind, Script, Word};

/// Nesting that is followed; deeper is not what people or programs write.
const DEPTH: u8 = 48;

/// Reads a text.
pub(in crate::shell) fn parse(text: &str) -> Script {
    let mut parser = Parser::new(text, Place::Verbatim(0), 0);
    let mut script = parser.script(Stop::default());
    script.broken = parser.broken;
    script.too_deep = parser.too_deep;
    script
}

/// Where the text of a parser stands in the whole.
#[derive(Debug, Clone)]
pub(super) enum Place {
    /// It starts there, letter by letter.
    Verbatim(usize),
    /// It was made from what stands there.
    Derived(Range<usize>),
}

/// What ends the list that is being read.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stop {
    pub(super) paren: bool,
    pub(super) case_arm: bool,
    pub(super) words: &'static [&'static str],
}

impl Stop {
    pub(super) const fn words(words: &'static [&'static str]) -> Self {
        Self { paren: false, case_arm: false, words }
    }

    pub(super) const fn paren() -> Self {
        Self { paren: true, case_arm: false, words: &[] }
    }
}

/// Words that only mean something where a command could start.
const ENDINGS: &[&str] = &["then", "else", "elif", "fi", "do", "done", "esac", "}"];

pub(super) struct Parser<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    pub(super) place: Place,
    pub(super) depth: u8,
    pub(super) pending: Vec<Pending>,
    pub(super) broken: Option<usize>,
    pub(super) too_deep: bool,
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str, place: Place, depth: u8) -> Self {
        Self { text, at: 0, place, depth, pending: Vec::new(), broken: None, too_deep: false }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    pub(super) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn slice(&self, start: usize, end: usize) -> &'t str {
        self.text.get(start..end).unwrap_or_default()
    }

    /// Takes a text if it comes next.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let found = self.text.as_bytes().get(self.at..).is_some_and(|rest| rest.starts_with(text.as_bytes()));
        if found {
            self.at += text.len();
        }
        found
    }

    /// Moves over one whole character.
    pub(super) fn skip_char(&mut self) {
        self.at += self.rest().chars().next().map_or(1, char::len_utf8);
    }

    pub(super) fn range(&self, start: usize, end: usize) -> Range<usize> {
        match &self.place {
            Place::Verbatim(base) => base + start..base + end,
            Place::Derived(range) => range.clone(),
        }
    }

    /// Where a position stands in the whole, if the text stands there verbatim.
    pub(super) fn verbatim(&self, position: usize) -> Option<usize> {
        match &self.place {
            Place::Verbatim(base) => Some(base + position),
            Place::Derived(_) => None,
        }
    }

    pub(super) fn trouble(&mut self) {
        let at = self.range(self.at, self.at).start;
        self.broken.get_or_insert(at);
    }

    /// Goes one level deeper; beyond the bound what is there is not read, and the script says so.
    pub(super) fn deeper<T: Default>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        if self.depth >= DEPTH {
            self.too_deep = true;
            self.at = self.text.len();
            return T::default();
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Skips blanks, line continuations and comments; not line ends.
    pub(super) fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r') => self.at += 1,
                Some(b'\\') if self.peek_at(1) == Some(b'\n') => self.at += 2,
                Some(b'\\') if self.peek_at(1) == Some(b'\r') && self.peek_at(2) == Some(b'\n') => {
                    self.at += 3
                }
                Some(b'#') => {
                    let line = self.rest();
                    self.at += line.find('\n').unwrap_or(line.len());
                }
                _ => return,
            }
        }
    }

    /// Skips blanks and line ends, reading the bodies of here-documents on the way.
    pub(super) fn lines(&mut self) {
        loop {
            self.blanks();
            if self.peek() != Some(b'\n') {
                return;
            }
            self.at += 1;
            self.read_documents();
        }
    }

    /// A keyword that comes next, without taking it.
    pub(super) fn keyword(&self) -> &'t str {
        let rest = self.rest();
        let end = rest
            .bytes()
            .position(|b| {
                matches!(b, b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>')
            })
            .unwrap_or(rest.len());
        rest.get(..end).unwrap_or_default()
    }

    pub(super) fn take_keyword(&mut self, word: &str) -> bool {
        self.lines();
        let found = self.keyword() == word;
        if found {
            self.at += word.len();
        } else {
            self.trouble();
        }
        found
    }

    /// Commands up to what ends them; the ending is left to the caller.
    pub(super) fn script(&mut self, stop: Stop) -> Script {
        let mut script = Script::default();
        let mut link = Link::Always;
        loop {
            self.lines();
            let Some(next) = self.peek() else { break };
            match next {
                b')' if stop.paren => break,
                b';' if stop.case_arm && matches!(self.peek_at(1), Some(b';' | b'&')) => break,
                b';' => {
                    // `;;` outside of `case`, or `; ;`: not shell, but what follows is still read.
                    self.trouble();
                    self.at += 1;
                    link = Link::Always;
                    continue;
                }
                b')' | b'&' | b'|' => {
                    self.trouble();
                    self.at += 1;
                    continue;
                }
                _ => {}
            }
            let keyword = self.keyword();
            if stop.words.contains(&keyword) {
                break;
            }
            if ENDINGS.contains(&keyword) {
                self.trouble();
                self.at += keyword.len();
                continue;
            }
            let before = self.at;
            let commands = self.pipeline();
            let (next_link, background) = self.terminator();
            if !commands.is_empty() {
                script.items.push(Item { link, commands, background });
            }
            link = next_link;
            if self.at == before {
                self.trouble();
                self.skip_char();
            }
        }
        script
    }

    /// What stands between two pipelines.
    fn terminator(&mut self) -> (Link, bool) {
        self.blanks();
        if self.take("&&") {
            (Link::And, false)
        } else if self.take("||") {
            (Link::Or, false)
        } else if self.peek() == Some(b'&') {
            self.at += 1;
            (Link::Always, true)
        } else {
            // `;;` belongs to the `case` around; a line end is taken with its here-documents.
            if self.peek() == Some(b';') && !matches!(self.peek_at(1), Some(b';' | b'&')) {
                self.at += 1;
            }
            (Link::Always, false)
        }
    }

    fn pipeline(&mut self) -> Vec<Command> {
        let mut commands = Vec::with_capacity(1);
        loop {
            self.prefixes();
            let before = self.at;
            if let Some(command) = self.deeper(Self::command) {
                commands.push(command);
            }
            self.blanks();
            if self.peek() == Some(b'|') && self.peek_at(1) != Some(b'|') {
                self.at += 1;
                self.take("&");
                self.lines();
                if self.peek().is_none() {
                    self.trouble();
                }
            } else {
                return commands;
            }
            if self.at == before {
                return commands;
            }
        }
    }

    /// `!`, `time -p` and `coproc [NAME]` change nothing about what runs.
    fn prefixes(&mut self) {
        loop {
            self.blanks();
            match self.keyword() {
                "!" => self.at += 1,
                "time" => {
                    self.at += 4;
                    self.blanks();
                    while matches!(self.keyword(), "-p" | "--") {
                        self.at += 2;
                        self.blanks();
                    }
                }
                "coproc" => {
                    self.at += 6;
                    self.blanks();
                    let name = self.keyword();
                    let after =
                        self.rest().get(name.len()..).unwrap_or_default().trim_start_matches([' ', '\t']);
                    let is_name =
                        !name.is_empty() && name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric());
                    if is_name && (after.starts_with("{ ") || after.starts_with('(')) {
                        self.at += name.len();
                    }
                }
                _ => return,
            }
        }
    }

    pub(super) fn command(&mut self) -> Option<Command> {
        let start = self.at;
        let kind = match self.compound() {
            Some(kind) => kind,
            None => return self.simple(start),
        };
        let mut redirections = Vec::new();
        loop {
            self.blanks();
            match self.redirection() {
                Some(redirection) => redirections.push(redirection),
                None => break,
            }
        }
        Some(Command { kind, redirections, range: self.range(start, self.at) })
    }

    fn simple(&mut self, start: usize) -> Option<Command> {
        let mut assignments = Vec::new();
        let mut words: Vec<Word> = Vec::new();
        let mut redirections = Vec::new();
        let mut end = start;
        loop {
            self.blanks();
            if let Some(redirection) = self.redirection() {
                redirections.push(redirection);
                end = self.at;
                continue;
            }
            match self.peek() {
                None | Some(b'\n' | b';' | b'&' | b'|' | b')') => break,
                Some(b'(') => {
                    let name = words.first().and_then(Word::plain).filter(|_| words.len() == 1);
                    if let Some(name) = name
                        && assignments.is_empty()
                        && self.take_empty_parens()
                    {
                        let name = name.to_owned();
                        return Some(self.function(name, start));
                    }
                    // Not shell, but what is in the parentheses would have run in one that understands it.
                    self.trouble();
                    break;
                }
                _ => {}
            }
            let before = self.at;
            let word = self.word();
            if self.at == before {
                break;
            }
            end = self.at;
            match if words.is_empty() { self.assignment(word) } else { Err(word) } {
                Ok(assignment) => assignments.push(assignment),
                Err(word) => words.push(word),
            }
        }
        if assignments.is_empty() && words.is_empty() && redirections.is_empty() {
            return None;
        }
        let kind = CommandKind::Simple { assignments, words };
        Some(Command { kind, redirections, range: self.range(start, end) })
    }

    fn take_empty_parens(&mut self) -> bool {
        let before = self.at;
        self.at += 1;
        self.blanks();
        if self.take(")") {
            return true;
        }
        self.at = before;
        false
    }

    /// Takes a word apart as `NAME=value`, or gives it back.
    fn assignment(&self, mut word: Word) -> Result<Assignment, Word> {
        let Some(Part::Literal(text)) = word.parts.first_mut() else { return Err(word) };
        let Some(equals) = text.find('=') else { return Err(word) };
        let (left, append) = match text.get(..equals) {
            Some(left) => (left.strip_suffix('+').unwrap_or(left), left.ends_with('+')),
            None => return Err(word),
        };
        let (name, indexed) = match left.split_once('[') {
            Some((name, index)) if index.ends_with(']') => (name, true),
            Some(_) => return Err(word),
            None => (left, false),
        };
        if !is_name(name) {
            return Err(word);
        }
        let name = name.to_owned();
        text.drain(..=equals);
        let shift = equals + 1;
        if text.is_empty() {
            word.parts.remove(0);
        }
        word.range.start = (word.range.start + shift).min(word.range.end);
        Ok(Assignment { name, append, indexed, value: word })
    }

    pub(super) fn redirection(&mut self) -> Option<Redirection> {
        let start = self.at;
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        let descriptor = if digits > 0 && matches!(self.peek_at(digits), Some(b'<' | b'>')) {
            let number = self.slice(start, start + digits).parse().ok();
            self.at += digits;
            number
        } else {
            self.take_variable_descriptor();
            None
        };
        let operator = match (self.peek(), self.peek_at(1), self.peek_at(2)) {
            (Some(b'<' | b'>'), Some(b'('), _) => {
                self.at = start;
                return None;
            }
            (Some(b'<'), Some(b'<'), Some(b'<')) => "<<<",
            (Some(b'<'), Some(b'<'), Some(b'-')) => "<<-",
            (Some(b'<'), Some(b'<'), _) => "<<",
            (Some(b'<'), Some(b'&'), _) => "<&",
            (Some(b'<'), Some(b'>'), _) => "<>",
            (Some(b'<'), _, _) => "<",
            (Some(b'>'), Some(b'>'), _) => ">>",
            (Some(b'>'), Some(b'&'), _) => ">&",
            (Some(b'>'), Some(b'|'), _) => ">|",
            (Some(b'>'), _, _) => ">",
            (Some(b'&'), Some(b'>'), Some(b'>')) => "&>>",
            (Some(b'&'), Some(b'>'), _) => "&>",
            _ => {
                self.at = start;
                return None;
            }
        };
        self.at += operator.len();
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        let kind = if operator == "<<" || operator == "<<-" {
            RedirectionKind::Document(self.document(operator == "<<-"))
        } else {
            let before = self.at;
            let word = self.word();
            if self.at == before {
                self.trouble();
            }
            match operator {
                "<" => RedirectionKind::Input(word),
                "<>" => RedirectionKind::ReadWrite(word),
                "<<<" => RedirectionKind::Text(word),
                ">>" | "&>>" => RedirectionKind::Append(word),
                "<&" => RedirectionKind::Duplicate(word),
                // `>& file` writes a file, `>&2` and `>&-` do not.
                ">&" if is_descriptor(&word) => RedirectionKind::Duplicate(word),
                _ => RedirectionKind::Truncate(word),
            }
        };
        Some(Redirection { descriptor, kind, range: self.range(start, self.at) })
    }

    /// `{name}>`: the shell picks a number and puts it in the variable.
    fn take_variable_descriptor(&mut self) {
        let Some(inner) = self.rest().strip_prefix('{') else { return };
        let Some(close) = inner.bytes().take(64).position(|b| b == b'}') else { return };
        let followed = matches!(inner.as_bytes().get(close + 1), Some(b'<' | b'>'));
        if followed && inner.get(..close).is_some_and(is_name) {
            self.at += close + 2;
        }
    }
}

fn is_descriptor(word: &Word) -> bool {
    match word.plain() {
        Some(text) => text == "-" || text.trim_end_matches('-').bytes().all(|b| b.is_ascii_digit()),
        None => false,
    }
}

/// Whether a text can name a variable.
pub(in crate::shell) fn is_name(text: &str) -> bool {
    text.bytes().next().is_some_and(|b| b == b'_' || b.is_ascii_alphabetic())
        && text.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric())
}
