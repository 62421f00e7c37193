//! Takes SQL apart into words, strings and signs, and into statements, whatever the dialect.
//!
//! Databases disagree on what is a comment and where a string ends, and an attacker chooses the reading that hides
//! most. So a text is read as the standard says and, if it matters, once more as MySQL does.

use std::borrow::Cow;
use std::ops::Range;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A keyword, a name, a number.
    Word,
    /// A name in quotes.
    Name,
    /// A string.
    Text,
    /// Any other sign.
    Sign(u8),
}

/// A token and where it stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// How a text is to be read where databases disagree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// `--` begins a comment, a backslash is a character, comments nest, `#` is a sign.
    Standard,
    /// `-- ` and `#` begin comments, a backslash escapes, comments do not nest.
    Mysql,
}

/// A text taken apart.
pub(super) struct Lexed<'t> {
    /// The text as it was.
    pub(super) text: &'t str,
    /// The text with comments blanked out and strings made plain, so that every dialect reads the same in it. As long
    /// as the text, byte by byte.
    pub(super) plain: Cow<'t, str>,
    /// What it is made of.
    pub(super) tokens: Vec<Token>,
    /// Whether databases disagree on how to read it.
    pub(super) ambiguous: bool,
    /// Whether it holds a comment that MySQL runs.
    pub(super) executable_comment: Option<Range<usize>>,
    /// Whether a string, name or comment does not end.
    pub(super) unfinished: bool,
}

impl<'t> Lexed<'t> {
    pub(super) fn of(text: &'t str, reading: Reading) -> Self {
        let mut lexer = Lexer {
            bytes: text.as_bytes(),
            reading,
            at: 0,
            blanks: Vec::new(),
            tokens: Vec::with_capacity(text.len() / 5),
            ambiguous: false,
            executable: None,
            open_executable: 0,
            unfinished: false,
            dollars_left: 16,
            holes: 0,
        };
        lexer.run();
        let plain = plain_text(text, &lexer.blanks);
        Self {
            text,
            plain,
            tokens: lexer.tokens,
            ambiguous: lexer.ambiguous,
            executable_comment: lexer.executable,
            unfinished: lexer.unfinished,
        }
    }

    /// The statements, as ranges of tokens: between semicolons, and between lines that say `GO`.
    pub(super) fn statements(&self) -> Vec<&[Token]> {
        let is_go = |token: &Token| {
            let alone = |range: Range<usize>, back: bool| {
                let side = self.text.get(range).unwrap_or_default();
                let line = if back { side.rsplit('\n').next() } else { side.split('\n').next() };
                line.unwrap_or_default().trim().is_empty()
            };
            token.kind == Kind::Word
                && token.end - token.start == 2
                && self.word(token).eq_ignore_ascii_case("go")
                // Only as far as a line is long: this is asked for every word of two letters.
                && alone(token.start.saturating_sub(8)..token.start, true)
                && alone(token.end..(token.end + 8).min(self.text.len()), false)
        };
        self.tokens
            .split(|token| token.kind == Kind::Sign(b';') || is_go(token))
            .filter(|statement| !statement.is_empty())
            .collect()
    }

    /// Whether nothing in a statement is left open.
    pub(super) fn is_known(&self, tokens: &[Token]) -> bool {
        let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else { return true };
        self.text.get(first.start..last.end).is_some_and(|statement| !statement.contains('\0'))
    }

    /// A token as it is written.
    pub(super) fn word(&self, token: &Token) -> &'t str {
        self.text.get(token.start..token.end).unwrap_or_default()
    }

    /// What a string or quoted name holds, and where, if it is written down as it is meant.
    pub(super) fn content(&self, token: &Token) -> (Cow<'t, str>, Option<Range<usize>>) {
        let written = self.word(token);
        let opening = written.find(['\'', '"', '`', '[', '$']).unwrap_or(0);
        let (skip, close) = if written.as_bytes().get(opening) == Some(&b'$') {
            let tag = written.get(opening + 1..).and_then(|rest| rest.find('$')).map_or(2, |at| at + 2);
            (opening + tag, tag)
        } else {
            (opening + 1, 1)
        };
        let inner = skip..written.len().saturating_sub(close).max(skip);
        let raw = written.get(inner.clone()).unwrap_or_default();
        if raw.contains("''") || raw.contains('\\') {
            return (Cow::Owned(raw.replace("''", "'").replace("\\'", "'")), None);
        }
        (Cow::Borrowed(raw), Some(token.start + inner.start..token.start + inner.end))
    }
}

/// What stands in the way of the parser, and what takes its place.
struct Blank {
    range: Range<usize>,
    with: u8,
}

struct Lexer<'b> {
    bytes: &'b [u8],
    reading: Reading,
    at: usize,
    blanks: Vec<Blank>,
    tokens: Vec<Token>,
    ambiguous: bool,
    executable: Option<Range<usize>>,
    open_executable: u32,
    unfinished: bool,
    /// How often the end of a dollar-quoted string may still be looked for in vain: each time is the whole text.
    dollars_left: u8,
    holes: u8,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn run(&mut self) {
        while let Some(byte) = self.bytes.get(self.at).copied() {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => self.at += 1,
                b'-' if self.peek(1) == b'-' => self.dashes(),
                b'#' => self.hash(),
                b'/' if self.peek(1) == b'*' => self.comment(),
                b'*' if self.peek(1) == b'/' && self.open_executable > 0 => {
                    self.open_executable -= 1;
                    self.blank(self.at..self.at + 2, b' ');
                    if let Some(range) = &mut self.executable {
                        range.end = self.at + 2;
                    }
                    self.at += 2;
                }
                b'\'' => self.string(self.at, false),
                b'"' | b'`' => self.quoted(byte, Kind::Name),
                b'[' if self.begins_name() => self.quoted(b']', Kind::Name),
                b'$' if self.dollar_tag().is_some() => self.dollar(),
                _ if is_word_byte(byte) => self.word(),
                _ => {
                    self.tokens.push(Token { kind: Kind::Sign(byte), start: self.at, end: self.at + 1 });
                    self.at += 1;
                }
            }
        }
        self.unfinished |= self.open_executable > 0;
    }

    fn blank(&mut self, range: Range<usize>, with: u8) {
        self.blanks.push(Blank { range, with });
    }

    fn skip_line(&mut self) {
        let start = self.at;
        let rest = self.bytes.get(start..).unwrap_or_default();
        self.at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        self.blank(start..self.at, b' ');
    }

    /// `--`: a comment for all if white space follows, for all but MySQL if not.
    fn dashes(&mut self) {
        let follows = self.peek(2);
        let spaced = follows == 0 || follows.is_ascii_whitespace() || follows == b'-';
        if !spaced {
            self.ambiguous = true;
            if self.reading == Reading::Mysql {
                // Two minus signs; the parser must not take them for a comment.
                self.blank(self.at..self.at + 1, b' ');
                self.at += 2;
                return;
            }
        }
        self.skip_line();
    }

    /// `#`: a comment for MySQL, a temporary table or an operator for others.
    fn hash(&mut self) {
        let names_table = is_word_byte(self.peek(1)) && self.reading == Reading::Standard;
        self.ambiguous = true;
        if self.reading == Reading::Mysql {
            self.skip_line();
        } else if names_table {
            self.word();
        } else {
            self.tokens.push(Token { kind: Kind::Sign(b'#'), start: self.at, end: self.at + 1 });
            self.at += 1;
        }
    }

    fn comment(&mut self) {
        let start = self.at;
        let marker = match (self.peek(2), self.peek(3)) {
            (b'!', _) => 3,
            (b'M', b'!') => 4,
            _ => 0,
        };
        if marker > 0 {
            // MySQL and MariaDB run what is in it; the digits are the least version that does.
            self.at += marker;
            let digits = self.bytes.get(self.at..).unwrap_or_default();
            self.at += digits.iter().take(6).take_while(|byte| byte.is_ascii_digit()).count();
            self.blank(start..self.at, b' ');
            self.open_executable += 1;
            let range = self.executable.get_or_insert(start..self.at);
            range.end = self.at;
            return;
        }
        self.at += 2;
        let mut depth = 1u32;
        while let Some(byte) = self.bytes.get(self.at) {
            if *byte == b'*' && self.peek(1) == b'/' {
                depth -= 1;
                self.at += 2;
                if depth == 0 {
                    break;
                }
            } else if *byte == b'/' && self.peek(1) == b'*' {
                self.ambiguous = true;
                if self.reading == Reading::Standard {
                    depth += 1;
                }
                self.at += 2;
            } else {
                self.at += 1;
            }
        }
        self.unfinished |= depth > 0;
        self.blank(start..self.at, b' ');
    }

    /// A string; `start` is where its prefix begins.
    fn string(&mut self, start: usize, escapes: bool) {
        let escapes = escapes || self.reading == Reading::Mysql;
        self.at += 1;
        let inside = self.at;
        let mut tricky = false;
        loop {
            match self.bytes.get(self.at) {
                None => {
                    self.unfinished = true;
                    break;
                }
                Some(b'\\') => {
                    tricky = true;
                    self.ambiguous |= matches!(self.peek(1), b'\'' | b'\\');
                    self.at += if escapes { 2 } else { 1 };
                }
                Some(b'\'') if self.peek(1) == b'\'' => {
                    tricky = true;
                    self.at += 2;
                }
                Some(b'\'') => break,
                Some(_) => self.at += 1,
            }
        }
        self.at = self.at.min(self.bytes.len());
        if tricky {
            self.blank(inside..self.at, b'x');
        }
        self.at = (self.at + 1).min(self.bytes.len());
        self.tokens.push(Token { kind: Kind::Text, start, end: self.at });
    }

    fn quoted(&mut self, close: u8, kind: Kind) {
        let start = self.at;
        self.at += 1;
        loop {
            match self.bytes.get(self.at) {
                None => {
                    self.unfinished = true;
                    break;
                }
                Some(byte) if *byte == close && self.peek(1) == close => self.at += 2,
                Some(byte) if *byte == close => {
                    self.at += 1;
                    break;
                }
                Some(b'\\') if close == b'"' && matches!(self.peek(1), b'"' | b'\\') => {
                    self.ambiguous = true;
                    self.at += if self.reading == Reading::Mysql { 2 } else { 1 };
                }
                Some(_) => self.at += 1,
            }
        }
        self.at = self.at.min(self.bytes.len());
        self.tokens.push(Token { kind, start, end: self.at });
    }

    /// Whether a bracket quotes a name (`FROM [my table]`) and is no subscript (`a[1]`, `ARRAY[1]`).
    fn begins_name(&self) -> bool {
        let follows = self.peek(1);
        let touches = self.tokens.last().is_some_and(|token| {
            token.end == self.at && matches!(token.kind, Kind::Word | Kind::Name | Kind::Sign(b')' | b']'))
        });
        !touches && (follows.is_ascii_alphabetic() || follows == b'_' || follows == b'#')
    }

    /// The length of `$$` or `$tag$`.
    fn dollar_tag(&self) -> Option<usize> {
        let rest = self.bytes.get(self.at + 1..)?;
        let name = rest.iter().take(64).take_while(|byte| is_word_byte(**byte) && **byte != b'$').count();
        let starts_well = rest.first().is_some_and(|byte| !byte.is_ascii_digit());
        (rest.get(name) == Some(&b'$') && starts_well).then_some(name + 2)
    }

    fn dollar(&mut self) {
        let start = self.at;
        let tag = self.dollar_tag().unwrap_or(2);
        let mark = self.bytes.get(start..start + tag).unwrap_or_default();
        let rest = self.bytes.get(start + tag..).unwrap_or_default();
        let length =
            if self.dollars_left == 0 { None } else { rest.windows(tag).position(|window| window == mark) };
        match length {
            Some(length) => {
                self.at = start + tag + length + tag;
                // An ordinary string of the same length, which every dialect knows.
                self.blank(start..start + 1, b'\'');
                self.blank(start + 1..self.at - 1, b'x');
                self.blank(self.at - 1..self.at, b'\'');
                self.tokens.push(Token { kind: Kind::Text, start, end: self.at });
            }
            None => {
                self.dollars_left = self.dollars_left.saturating_sub(1);
                self.unfinished = true;
                self.tokens.push(Token { kind: Kind::Sign(b'$'), start, end: start + 1 });
                self.at += 1;
            }
        }
    }

    /// A part of the text that is not known is a name or a number for the parser.
    fn fill_holes(&mut self, start: usize) {
        let word = self.bytes.get(start..self.at).unwrap_or_default();
        for at in word.iter().enumerate().filter(|(_, byte)| **byte == 0).map(|(at, _)| start + at) {
            let filler = FILLERS.get(usize::from(self.holes) % FILLERS.len()).copied().unwrap_or(b'g');
            self.blanks.push(Blank { range: at..at + 1, with: filler });
            self.holes = self.holes.wrapping_add(1);
        }
    }

    fn word(&mut self) {
        let start = self.at;
        self.at += 1;
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at += rest.iter().take_while(|byte| is_word_byte(**byte)).count();
        self.fill_holes(start);
        let word = self.bytes.get(start..self.at).unwrap_or_default();
        // N'x', E'x', X'x', B'x', _utf8'x'
        if self.peek(0) == b'\'' && (word.len() == 1 || word.first() == Some(&b'_')) {
            let escapes = matches!(word, b"e" | b"E");
            self.string(start, escapes);
            return;
        }
        self.tokens.push(Token { kind: Kind::Word, start, end: self.at });
    }
}

/// What stands for a part that is not known: letters that are no prefix of a string, so that two holes differ.
const FILLERS: &[u8] = b"ghijklmopstvwyz";

const fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'@' | 0) || byte >= 0x80
}

fn plain_text<'t>(text: &'t str, blanks: &[Blank]) -> Cow<'t, str> {
    if blanks.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut bytes = text.as_bytes().to_vec();
    for blank in blanks {
        if let Some(part) = bytes.get_mut(blank.range.clone()) {
            for byte in part {
                // Line breaks stay, and nothing becomes half a character.
                if *byte != b'\n' {
                    *byte = blank.with;
                }
            }
        }
    }
    String::from_utf8(bytes).map_or(Cow::Borrowed(text), Cow::Owned)
}
