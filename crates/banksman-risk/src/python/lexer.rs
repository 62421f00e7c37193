//! Python's tokens, with the lines and indentation that mean something.

use crate::code::parser::{self, Kind, Token};

/// `{value!r:spec}` in an f-string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) value: std::ops::Range<usize>,
    pub(super) spec: std::ops::Range<usize>,
    /// Behind the closing brace.
    pub(super) end: usize,
}

/// How a text is quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quoting {
    quote: u8,
    triple: bool,
    pub(super) raw: bool,
    /// An f-string: it holds code.
    pub(super) format: bool,
}

impl Quoting {
    /// Bytes of one of its two ends.
    pub(super) fn width(self) -> usize {
        if self.triple { 3 } else { 1 }
    }

    /// Where to note that texts quoted like this do not end.
    fn slot(self) -> usize {
        usize::from(self.quote == b'"') | usize::from(self.triple) << 1 | usize::from(self.format) << 2
    }
}

/// F-strings inside each other. Each of them is gone through once more for each around it.
const FORMATS: u8 = 4;
const TAB: u32 = 8;

/// Takes a text apart, one token after the other.
#[derive(Debug, Clone)]
pub(super) struct Lexer<'s> {
    text: &'s str,
    at: usize,
    end: usize,
    /// Brackets that are open: inside of them, lines and indentation mean nothing.
    pub(super) brackets: u32,
    indents: Vec<u32>,
    dedents: usize,
    line_starts: bool,
    /// A line goes back to an indentation that there was none of.
    pub(super) uneven: bool,
    /// How far is known to hold no end of a text, by how it is quoted; without it, quotes that never end would be
    /// looked for again and again.
    unclosed: [usize; 8],
}

impl<'s> Lexer<'s> {
    pub(super) fn new(text: &'s str) -> Self {
        let at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        Self {
            text,
            at,
            end: text.len(),
            brackets: 0,
            indents: Vec::new(),
            dedents: 0,
            line_starts: true,
            uneven: false,
            unclosed: [0; 8],
        }
    }

    /// The same text, but only a stretch of it, as if in brackets.
    pub(super) fn inside(&self, range: std::ops::Range<usize>) -> Self {
        Self { at: range.start, end: range.end, brackets: 1, line_starts: false, ..Self::new(self.text) }
    }

    fn byte(&self, at: usize) -> u8 {
        if at < self.end { self.text.as_bytes().get(at).copied().unwrap_or(0) } else { 0 }
    }

    fn token(&self, kind: Kind, start: usize) -> Token {
        Token { kind, start, end: self.at }
    }

    /// Between tokens: blanks, comments, continued lines, and in brackets all lines.
    fn skip_blanks(&mut self) {
        loop {
            match self.byte(self.at) {
                b' ' | b'\t' | b'\x0c' => self.at += 1,
                b'#' => self.skip_comment(),
                b'\n' | b'\r' if self.brackets > 0 => self.skip_newline(),
                b'\\' if matches!(self.byte(self.at + 1), b'\n' | b'\r') => {
                    self.at += 1;
                    self.skip_newline();
                }
                _ => return,
            }
        }
    }

    /// A carriage return alone ends a line as well, and so a comment: what follows it runs.
    fn skip_comment(&mut self) {
        while self.at < self.end && !matches!(self.byte(self.at), b'\n' | b'\r') {
            self.at += 1;
        }
    }

    fn skip_newline(&mut self) {
        self.at += if self.byte(self.at) == b'\r' && self.byte(self.at + 1) == b'\n' { 2 } else { 1 };
    }

    /// Goes to the first line that holds something. Whether it stands further in or out than the one before.
    fn indentation(&mut self) -> Option<Kind> {
        let mut column = 0;
        loop {
            match self.byte(self.at) {
                b' ' => column += 1,
                b'\t' => column = (column / TAB + 1) * TAB,
                b'\x0c' => column = 0,
                b'\n' | b'\r' => {
                    self.skip_newline();
                    column = 0;
                    continue;
                }
                b'#' => {
                    self.skip_comment();
                    continue;
                }
                _ if self.at >= self.end => return None,
                _ => break,
            }
            self.at += 1;
        }
        let current = self.indents.last().copied().unwrap_or(0);
        if column > current {
            self.indents.push(column);
            return Some(Kind::Indent);
        }
        let mut closed = 0;
        while self.indents.last().is_some_and(|indent| *indent > column) {
            self.indents.pop();
            closed += 1;
        }
        if closed == 0 {
            return None;
        }
        self.uneven |= self.indents.last().copied().unwrap_or(0) != column;
        self.dedents = closed - 1;
        Some(Kind::Dedent)
    }

    fn name(&mut self) -> Kind {
        let start = self.at;
        while is_name(self.byte(self.at)) || self.byte(self.at).is_ascii_digit() {
            self.at += 1;
        }
        if self.at - start <= 3 && matches!(self.byte(self.at), b'"' | b'\'') {
            let prefix = self.text.as_bytes().get(start..self.at).unwrap_or_default();
            if prefix.iter().all(|byte| is_prefix(*byte)) {
                return self.string(start);
            }
        }
        Kind::Name
    }

    fn digits(&mut self, is_digit: impl Fn(u8) -> bool) {
        while is_digit(self.byte(self.at)) || self.byte(self.at) == b'_' {
            self.at += 1;
        }
    }

    fn number(&mut self) -> Kind {
        let radix = self.byte(self.at + 1).to_ascii_lowercase();
        if self.byte(self.at) == b'0' && matches!(radix, b'x' | b'o' | b'b') {
            self.at += 2;
            self.digits(|byte| byte.is_ascii_hexdigit());
        } else {
            self.digits(|byte| byte.is_ascii_digit());
            if self.byte(self.at) == b'.' {
                self.at += 1;
                self.digits(|byte| byte.is_ascii_digit());
            }
            let signed = matches!(self.byte(self.at + 1), b'+' | b'-');
            if matches!(self.byte(self.at), b'e' | b'E')
                && self.byte(self.at + 1 + usize::from(signed)).is_ascii_digit()
            {
                self.at += 1 + usize::from(signed);
                self.digits(|byte| byte.is_ascii_digit());
            }
        }
        if matches!(self.byte(self.at), b'j' | b'J' | b'l' | b'L') {
            self.at += 1;
        }
        Kind::Number
    }

    fn mark(&mut self, byte: u8) -> Kind {
        let (second, third) = (self.byte(self.at + 1), self.byte(self.at + 2));
        let width = match (byte, second, third) {
            (b'*', b'*', b'=') | (b'/', b'/', b'=') | (b'>', b'>', b'=') | (b'<', b'<', b'=') => 3,
            (b'.', b'.', b'.') => 3,
            (b'*', b'*', _) | (b'/', b'/', _) | (b'>', b'>', _) | (b'<', b'<' | b'>', _) => 2,
            (b'-', b'>', _) => 2,
            (b'+' | b'-' | b'*' | b'/' | b'%' | b'&' | b'|' | b'^' | b'@', b'=', _) => 2,
            (b'<' | b'>' | b'=' | b'!' | b':', b'=', _) => 2,
            _ => 1,
        };
        self.at += width;
        match byte {
            b'(' | b'[' | b'{' => self.brackets += 1,
            b')' | b']' | b'}' => self.brackets = self.brackets.saturating_sub(1),
            b'!' if width == 1 => return Kind::Bad,
            b'$' | b'?' | b'`' | b'\\' => return Kind::Bad,
            byte if byte.is_ascii_control() => return Kind::Bad,
            _ => {}
        }
        Kind::Mark
    }

    /// A text whose prefix starts here. One that does not end is nothing; what it holds is read as code.
    fn string(&mut self, start: usize) -> Kind {
        let quoting = self.quoting(start..self.at);
        let slot = quoting.slot();
        let content = self.at + quoting.width();
        let known_unclosed = self.unclosed.get(slot).is_some_and(|unclosed| content <= *unclosed);
        let closing = if known_unclosed { Err(self.at) } else { self.closing(content, quoting, 0) };
        match closing {
            Ok(at) => {
                self.at = at + quoting.width();
                Kind::Text
            }
            Err(at) => {
                if let Some(unclosed) = self.unclosed.get_mut(slot) {
                    *unclosed = at.max(*unclosed);
                }
                self.at += quoting.width();
                Kind::Bad
            }
        }
    }

    /// How the text is quoted whose prefix is this and whose quotes come after it.
    pub(super) fn quoting(&self, prefix: std::ops::Range<usize>) -> Quoting {
        let quote = self.byte(prefix.end);
        let triple = self.byte(prefix.end + 1) == quote && self.byte(prefix.end + 2) == quote;
        let has = |wanted: &[u8]| prefix.clone().any(|at| wanted.contains(&self.byte(at)));
        Quoting { quote, triple, raw: has(b"rR"), format: has(b"fFtT") }
    }

    /// Where a text ends that begins here; if nowhere, how far was looked.
    fn closing(&self, from: usize, quoting: Quoting, formats: u8) -> Result<usize, usize> {
        let mut at = from;
        while at < self.end {
            match self.byte(at) {
                b'\\' => at = self.behind_escape(at, quoting),
                b'\n' | b'\r' if !quoting.triple => return Err(at),
                b'{' if quoting.format => {
                    at = if self.byte(at + 1) == b'{' { at + 2 } else { self.field(at + 1, formats)?.end };
                }
                byte if byte == quoting.quote => {
                    if !quoting.triple || (self.byte(at + 1) == byte && self.byte(at + 2) == byte) {
                        return Ok(at);
                    }
                    at += 1;
                }
                _ => at += 1,
            }
        }
        Err(self.end)
    }

    /// Behind a backslash and what it takes the meaning from.
    pub(super) fn behind_escape(&self, at: usize, quoting: Quoting) -> usize {
        match (self.byte(at + 1), self.byte(at + 2)) {
            (b'{' | b'}', _) if quoting.format => at + 1,
            (b'N', b'{') if quoting.format && !quoting.raw => {
                let rest = self.text.as_bytes().get(at..self.end).unwrap_or_default();
                rest.iter().position(|byte| *byte == b'}').map_or(self.end, |length| at + length + 1)
            }
            (b'\r', b'\n') => at + 3,
            _ => at + 2,
        }
    }

    /// The field of an f-string that begins here, behind its brace; if it does not end, how far was looked.
    pub(super) fn field(&self, from: usize, formats: u8) -> Result<Field, usize> {
        if formats >= FORMATS {
            return Err(from);
        }
        let mut brackets = 0_u32;
        let mut at = from;
        while at < self.end {
            match self.byte(at) {
                b'(' | b'[' | b'{' => brackets += 1,
                b')' | b']' | b'}' if brackets > 0 => brackets -= 1,
                b'}' => return Ok(Field { value: from..at, spec: at..at, end: at + 1 }),
                b'!' if brackets == 0 && self.byte(at + 1) != b'=' => {
                    return self.spec(from..at, at, formats);
                }
                b':' if brackets == 0 => return self.spec(from..at, at, formats),
                b'"' | b'\'' => {
                    let prefix = (from..at).rev().take(3).take_while(|at| is_prefix(self.byte(*at))).count();
                    let quoting = self.quoting(at - prefix..at);
                    at = self.closing(at + quoting.width(), quoting, formats + 1)? + quoting.width();
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
        Err(self.end)
    }

    /// The rest of a field: how its value is shown, which may hold fields again.
    fn spec(&self, value: std::ops::Range<usize>, from: usize, formats: u8) -> Result<Field, usize> {
        let mut at = from;
        while at < self.end {
            match self.byte(at) {
                b'{' => at = self.field(at + 1, formats + 1)?.end,
                b'}' => return Ok(Field { value, spec: from..at, end: at + 1 }),
                _ => at += 1,
            }
        }
        Err(self.end)
    }
}

impl parser::Lexer for Lexer<'_> {
    fn next(&mut self) -> Token {
        if self.dedents > 0 {
            self.dedents -= 1;
            return self.token(Kind::Dedent, self.at);
        }
        if self.line_starts && self.brackets == 0 {
            self.line_starts = false;
            if let Some(kind) = self.indentation() {
                return self.token(kind, self.at);
            }
        }
        self.skip_blanks();
        let start = self.at;
        if start >= self.end {
            return self.token(Kind::End, start);
        }
        let kind = match self.byte(start) {
            b'\n' | b'\r' => {
                self.skip_newline();
                self.line_starts = true;
                Kind::Newline
            }
            b'0'..=b'9' => self.number(),
            b'.' if self.byte(start + 1).is_ascii_digit() => self.number(),
            b'"' | b'\'' => self.string(start),
            byte if is_name(byte) => self.name(),
            byte => self.mark(byte),
        };
        self.token(kind, start)
    }

    fn forget_brackets(&mut self) {
        self.brackets = 0;
    }
}

/// Whether a name may begin with it. All that is not ASCII counts: what is no letter, Python would refuse.
fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

/// Whether it may stand before a quote.
fn is_prefix(byte: u8) -> bool {
    matches!(byte.to_ascii_lowercase(), b'r' | b'b' | b'u' | b'f' | b't')
}
