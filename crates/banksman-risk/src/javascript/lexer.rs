//! JavaScript's tokens. Where a slash, a brace or a bracket may mean several things, the parser says what it is.

use crate::code::parser::{self, Kind, Token};

/// What ended a stretch of text in a template or in JSX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stretch {
    /// The closing backtick; in JSX, a `<`.
    Closed,
    /// `${`; in JSX, a `{`.
    Code,
    /// The text.
    Never,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Lexer<'s> {
    text: &'s str,
    pub(super) at: usize,
    /// Whether a line ended before the last token: then a statement may have ended, too.
    pub(super) broke: bool,
    /// A template was not closed; no later one is.
    unclosed: bool,
    /// How many bytes were looked at for the end of a regular expression that had none.
    futile: usize,
}

/// Who has looked that far in vain stops looking: otherwise a line of nothing but slashes is read again for each.
const FUTILE: usize = 64 * 1024;

impl<'s> Lexer<'s> {
    pub(super) fn new(text: &'s str) -> Self {
        let mut lexer = Self { text, at: 0, broke: false, unclosed: false, futile: 0 };
        if text.starts_with("#!") {
            lexer.skip_line();
        }
        lexer
    }

    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    fn rest(&self) -> &'s str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Between tokens: blanks, lines and comments.
    fn skip_blanks(&mut self) {
        loop {
            match (self.byte(self.at), self.byte(self.at + 1)) {
                (b' ' | b'\t' | b'\x0b' | b'\x0c', _) => self.at += 1,
                (b'\n' | b'\r', _) => {
                    self.broke = true;
                    self.at += 1;
                }
                (b'/', b'/') => self.skip_line(),
                (b'/', b'*') => match self.rest().find("*/") {
                    Some(length) => {
                        self.broke |= self.rest().get(..length).is_some_and(|comment| comment.contains('\n'));
                        self.at += length + 2;
                    }
                    None => return,
                },
                (0x80.., _) => match self.rest().chars().next() {
                    Some(c) if c.is_whitespace() || c == '\u{feff}' => {
                        self.broke |= is_line_end(c);
                        self.at += c.len_utf8();
                    }
                    _ => return,
                },
                _ => return,
            }
        }
    }

    /// To the end of a line, which is more than a newline: what stands behind a paragraph separator runs.
    fn skip_line(&mut self) {
        self.at += self.rest().find(is_line_end).unwrap_or(self.rest().len());
    }

    fn name(&mut self) -> Kind {
        loop {
            match self.byte(self.at) {
                byte if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') => self.at += 1,
                b'\\' if self.byte(self.at + 1) == b'u' => self.at += 2,
                // `\u{61}` is a letter of the name.
                b'{' if self.text.as_bytes().get(..self.at).is_some_and(|text| text.ends_with(b"\\u")) => {
                    match self.rest().find('}') {
                        Some(length) if length < 10 => self.at += length + 1,
                        _ => return Kind::Bad,
                    }
                }
                0x80.. => match self.rest().chars().next() {
                    Some(c) if !c.is_whitespace() && c != '\u{feff}' => self.at += c.len_utf8(),
                    _ => return Kind::Name,
                },
                _ => return Kind::Name,
            }
        }
    }

    fn number(&mut self) -> Kind {
        let is_radix = matches!(self.byte(self.at + 1).to_ascii_lowercase(), b'x' | b'o' | b'b');
        let has_radix = self.byte(self.at) == b'0' && is_radix;
        loop {
            match self.byte(self.at) {
                b'e' | b'E' if !has_radix && matches!(self.byte(self.at + 1), b'+' | b'-') => self.at += 2,
                b'.' if !has_radix => self.at += 1,
                byte if byte.is_ascii_alphanumeric() || byte == b'_' => self.at += 1,
                _ => return Kind::Number,
            }
        }
    }

    fn string(&mut self, quote: u8) -> Kind {
        let mut at = self.at + 1;
        loop {
            match self.byte(at) {
                b'\\' if self.byte(at + 1) == b'\r' && self.byte(at + 2) == b'\n' => at += 3,
                b'\\' => at += 2,
                b'\n' | b'\r' => break,
                0 if at >= self.text.len() => break,
                byte if byte == quote => {
                    self.at = at + 1;
                    return Kind::Text;
                }
                _ => at += 1,
            }
        }
        // It does not end: what it holds is read as code up to there.
        self.at += 1;
        Kind::Bad
    }

    fn mark(&mut self, byte: u8) -> Kind {
        const LONG: &[&str] = &[
            ">>>=", "...", "===", "!==", "**=", "<<=", ">>=", ">>>", "&&=", "||=", "??=", "=>", "==", "!=",
            "<=", ">=", "&&", "||", "??", "?.", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=",
            "<<", ">>", "**",
        ];
        let rest = self.rest().as_bytes();
        let is_followed =
            matches!(rest.get(1), Some(b'=' | b'>' | b'<' | b'&' | b'|' | b'?' | b'.' | b'+' | b'-' | b'*'));
        let long = LONG.iter().find(|mark| is_followed && rest.starts_with(mark.as_bytes()));
        // `a?.5:b` is a choice.
        let long = long.filter(|mark| **mark != "?." || !self.byte(self.at + 2).is_ascii_digit());
        self.at += long.map_or(1, |mark| mark.len());
        let is_known = byte.is_ascii_punctuation() && !matches!(byte, b'\\' | b'#') || long.is_some();
        if is_known { Kind::Mark } else { Kind::Bad }
    }

    /// Reads a regular expression that begins here instead of a division. `false`: it does not end.
    pub(super) fn regex(&mut self, start: usize) -> bool {
        if self.futile > FUTILE {
            return false;
        }
        let mut in_class = false;
        let mut at = start + 1;
        loop {
            match self.byte(at) {
                b'\\' => at += 1,
                b'[' => in_class = true,
                b']' => in_class = false,
                b'/' if !in_class => break,
                b'\n' | b'\r' => {
                    self.futile += at - start;
                    return false;
                }
                0 if at >= self.text.len() => {
                    self.futile += at - start;
                    return false;
                }
                _ => {}
            }
            at += 1;
        }
        self.at = at + 1;
        while self.byte(self.at).is_ascii_alphabetic() {
            self.at += 1;
        }
        true
    }

    /// Reads the text of a template up to its end or the next `${`. Where the text ends, and with what.
    pub(super) fn template(&mut self) -> (usize, Stretch) {
        let mut at = self.at;
        while at < self.text.len() && !self.unclosed {
            match (self.byte(at), self.byte(at + 1)) {
                (b'\\', _) => at += 2,
                (b'`', _) => {
                    self.at = at + 1;
                    return (at, Stretch::Closed);
                }
                (b'$', b'{') => {
                    self.at = at + 2;
                    return (at, Stretch::Code);
                }
                _ => at += 1,
            }
        }
        // What it holds is read as code.
        self.unclosed = true;
        (self.at, Stretch::Never)
    }

    /// Reads the text between JSX tags up to the next tag or `{`.
    pub(super) fn jsx_text(&mut self) -> Stretch {
        match self.rest().find(['<', '{']) {
            Some(length) => {
                self.at += length + 1;
                if self.byte(self.at - 1) == b'<' { Stretch::Closed } else { Stretch::Code }
            }
            None => Stretch::Never,
        }
    }
}

impl parser::Lexer for Lexer<'_> {
    fn next(&mut self) -> Token {
        self.broke = false;
        self.skip_blanks();
        let start = self.at;
        let kind = match self.byte(start) {
            0 if start >= self.text.len() => Kind::End,
            b'0'..=b'9' => self.number(),
            b'.' if self.byte(start + 1).is_ascii_digit() => self.number(),
            quote @ (b'"' | b'\'') => self.string(quote),
            b'#' if is_name(self.byte(start + 1)) && self.byte(start + 1) != b'\\' => {
                self.at += 1;
                self.name()
            }
            b'\\' if self.byte(start + 1) != b'u' => self.mark(b'\\'),
            byte if is_name(byte) => self.name(),
            byte => self.mark(byte),
        };
        Token { kind, start, end: self.at }
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$' | b'\\') || byte >= 0x80
}

fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}
