//! Words and the parts that they are made of.

use super::parser::{Parser, Place, Stop, is_name};
use super::quoting::{ansi_c, unescape_backticks};
use super::{Parameter, Part, Script, Word};

/// What ends a stretch in which only `$`, `` ` `` and `\` mean something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closing {
    /// `"`.
    Quote,
    /// `))` or, for `$[`, `]`.
    Arithmetic,
    /// `]`.
    Bracket,
}

/// What ends an unquoted word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WordEnd {
    /// A blank or an operator.
    Blank,
    /// `}`: the argument of `${x:-...}`.
    Brace,
}

impl Parser<'_> {
    /// The word that starts here; empty if none does.
    pub(super) fn word(&mut self) -> Word {
        let start = self.at;
        let parts = self.deeper(|parser| parser.parts(WordEnd::Blank));
        Word { parts, range: self.range(start, self.at) }
    }

    fn parts(&mut self, end: WordEnd) -> Vec<Part> {
        let mut parts = Vec::with_capacity(1);
        let mut literal = String::new();
        while let Some(byte) = self.peek() {
            match byte {
                b'}' if end == WordEnd::Brace => break,
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'|' | b')' if end == WordEnd::Blank => break,
                b'&' if end == WordEnd::Blank => break,
                b'<' | b'>' if self.peek_at(1) == Some(b'(') => {
                    flush(&mut literal, &mut parts);
                    self.at += 2;
                    let script = self.nested_script();
                    parts.push(Part::Process(script));
                }
                b'<' | b'>' if end == WordEnd::Blank => break,
                b'(' if end == WordEnd::Blank => {
                    if literal.ends_with(['?', '*', '+', '@', '!']) || (parts.is_empty() && literal == "=~") {
                        self.extended_glob(&mut literal);
                    } else if parts.is_empty() && is_array_start(&literal) {
                        flush(&mut literal, &mut parts);
                        let words = self.array();
                        parts.push(Part::Array(words));
                    } else {
                        break;
                    }
                }
                b'\\' => self.escape(&mut literal, &mut parts),
                b'\'' => {
                    flush(&mut literal, &mut parts);
                    let part = self.single();
                    parts.push(part);
                }
                b'"' => {
                    flush(&mut literal, &mut parts);
                    let part = self.double();
                    parts.push(part);
                }
                b'$' => {
                    if self.peek_at(1) == Some(b'\'') {
                        flush(&mut literal, &mut parts);
                        self.at += 2;
                        let text = self.ansi_text();
                        parts.push(Part::Quoted(text, None));
                    } else if self.peek_at(1) == Some(b'"') {
                        self.at += 1;
                    } else {
                        match self.dollar() {
                            Some(part) => {
                                flush(&mut literal, &mut parts);
                                parts.push(part);
                            }
                            None => {
                                literal.push('$');
                                self.at += 1;
                            }
                        }
                    }
                }
                b'`' => {
                    flush(&mut literal, &mut parts);
                    let part = self.backticks();
                    parts.push(part);
                }
                _ => self.plain_run(&mut literal),
            }
        }
        flush(&mut literal, &mut parts);
        parts
    }

    /// Letters that mean nothing, as many as there are.
    fn plain_run(&mut self, literal: &mut String) {
        let rest = self.rest();
        let special = |b: u8| {
            matches!(
                b,
                b' ' | b'\t'
                    | b'\r'
                    | b'\n'
                    | b';'
                    | b'|'
                    | b'&'
                    | b'<'
                    | b'>'
                    | b'('
                    | b')'
                    | b'\\'
                    | b'\''
                    | b'"'
                    | b'$'
                    | b'`'
                    | b'}'
            )
        };
        let length = rest.bytes().position(special).unwrap_or(rest.len());
        // At least the one that the caller found nothing special about.
        let length = if length == 0 { rest.chars().next().map_or(0, char::len_utf8) } else { length };
        literal.push_str(rest.get(..length).unwrap_or_default());
        self.at += length.max(1);
    }

    fn escape(&mut self, literal: &mut String, parts: &mut Vec<Part>) {
        self.at += 1;
        match self.rest().chars().next() {
            Some('\n') => self.at += 1,
            Some(letter) => {
                flush(literal, parts);
                self.at += letter.len_utf8();
                parts.push(Part::Quoted(letter.to_string(), None));
            }
            // A backslash at the very end stands for itself.
            None => literal.push('\\'),
        }
    }

    /// `'...'`, at the opening quote.
    fn single(&mut self) -> Part {
        self.at += 1;
        let start = self.at;
        let rest = self.rest();
        let length = match rest.find('\'') {
            Some(length) => {
                self.at += length + 1;
                length
            }
            None => {
                self.trouble();
                self.at = self.text.len();
                rest.len()
            }
        };
        Part::Quoted(rest.get(..length).unwrap_or_default().to_owned(), self.verbatim(start))
    }

    /// `"..."`, at the opening quote.
    fn double(&mut self) -> Part {
        self.at += 1;
        let parts = self.deeper(|parser| parser.double_parts(Some(Closing::Quote)));
        if !self.take("\"") {
            self.trouble();
        }
        Part::Double(parts)
    }

    /// After `$'`, with its end.
    fn ansi_text(&mut self) -> String {
        let rest = self.rest();
        let mut escaped = false;
        let end = rest.bytes().position(|b| {
            let closes = b == b'\'' && !escaped;
            escaped = b == b'\\' && !escaped;
            closes
        });
        match end {
            Some(end) => {
                self.at += end + 1;
                ansi_c(rest.get(..end).unwrap_or_default())
            }
            None => {
                self.trouble();
                self.at = self.text.len();
                ansi_c(rest)
            }
        }
    }

    /// Text in which only `$`, `` ` `` and `\` mean something; the closing is left.
    pub(super) fn double_parts(&mut self, closing: Option<Closing>) -> Vec<Part> {
        let mut parts = Vec::with_capacity(1);
        let mut text = String::new();
        let mut start = self.at;
        let mut verbatim = true;
        let mut depth = 0_usize;
        let flush_text = |text: &mut String, parts: &mut Vec<Part>, at: Option<usize>| {
            if !text.is_empty() {
                parts.push(Part::Quoted(std::mem::take(text), at));
            }
        };
        while let Some(byte) = self.peek() {
            match (byte, closing) {
                (b'"', Some(Closing::Quote)) => break,
                (b']', Some(Closing::Bracket)) if depth == 0 => break,
                (b')', Some(Closing::Arithmetic)) if depth == 0 => break,
                (b'[', Some(Closing::Bracket)) | (b'(', Some(Closing::Arithmetic)) => {
                    depth += 1;
                    text.push(char::from(byte));
                    self.at += 1;
                }
                (b']', Some(Closing::Bracket)) | (b')', Some(Closing::Arithmetic)) => {
                    depth -= 1;
                    text.push(char::from(byte));
                    self.at += 1;
                }
                (b'\\', _) => {
                    verbatim = false;
                    match self.peek_at(1) {
                        Some(b'\n') => self.at += 2,
                        Some(next @ (b'$' | b'`' | b'\\')) => {
                            text.push(char::from(next));
                            self.at += 2;
                        }
                        Some(b'"') if closing == Some(Closing::Quote) => {
                            text.push('"');
                            self.at += 2;
                        }
                        _ => {
                            text.push('\\');
                            self.at += 1;
                        }
                    }
                }
                (b'$' | b'`', _) => {
                    let before = self.at;
                    let part = if byte == b'`' { Some(self.backticks()) } else { self.dollar() };
                    match part {
                        Some(part) => {
                            let at = self.verbatim(start).filter(|_| verbatim);
                            flush_text(&mut text, &mut parts, at);
                            parts.push(part);
                            start = self.at;
                            verbatim = true;
                        }
                        None => {
                            self.at = before + 1;
                            text.push('$');
                        }
                    }
                }
                _ => {
                    let rest = self.rest();
                    let length = rest
                        .bytes()
                        .position(|b| matches!(b, b'"' | b'\\' | b'$' | b'`' | b'[' | b']' | b'(' | b')'))
                        .unwrap_or(rest.len());
                    let length =
                        if length == 0 { rest.chars().next().map_or(1, char::len_utf8) } else { length };
                    text.push_str(rest.get(..length).unwrap_or_default());
                    self.at += length;
                }
            }
        }
        let at = self.verbatim(start).filter(|_| verbatim);
        flush_text(&mut text, &mut parts, at);
        parts
    }

    /// What starts with `$`, at the `$`; nothing if it stands for itself.
    fn dollar(&mut self) -> Option<Part> {
        match self.peek_at(1)? {
            b'(' => {
                if self.peek_at(2) == Some(b'(') && self.closes_as_arithmetic(self.at + 3) {
                    self.at += 3;
                    return Some(Part::Arithmetic(self.arithmetic_parts()));
                }
                self.at += 2;
                Some(Part::Substitution(self.nested_script()))
            }
            b'[' => {
                self.at += 2;
                let parts = self.deeper(|parser| parser.double_parts(Some(Closing::Bracket)));
                if !self.take("]") {
                    self.trouble();
                }
                Some(Part::Arithmetic(parts))
            }
            b'{' => {
                self.at += 2;
                Some(Part::Parameter(Box::new(self.deeper(Self::braced))))
            }
            byte if byte == b'_' || byte.is_ascii_alphabetic() => {
                self.at += 1;
                let length =
                    self.rest().bytes().take_while(|b| *b == b'_' || b.is_ascii_alphanumeric()).count();
                let name = self.slice(self.at, self.at + length).to_owned();
                self.at += length;
                Some(Part::Parameter(Box::new(Parameter { name, ..Parameter::default() })))
            }
            byte if byte.is_ascii_digit() || b"@*#?$!-".contains(&byte) => {
                self.at += 2;
                let name = char::from(byte).to_string();
                Some(Part::Parameter(Box::new(Parameter { name, ..Parameter::default() })))
            }
            _ => None,
        }
    }

    /// After `${`, with its end.
    fn braced(&mut self) -> Parameter {
        let mut parameter = Parameter::default();
        if self.peek() == Some(b'#') && self.peek_at(1) != Some(b'}') {
            parameter.length = true;
            self.at += 1;
        } else if self.peek() == Some(b'!') && self.peek_at(1) != Some(b'}') {
            parameter.indirect = true;
            self.at += 1;
        }
        let rest = self.rest();
        let length = match rest.bytes().next() {
            Some(b) if b == b'_' || b.is_ascii_alphanumeric() => {
                rest.bytes().take_while(|b| *b == b'_' || b.is_ascii_alphanumeric()).count()
            }
            Some(b) if b"@*#?$!-".contains(&b) => 1,
            _ => 0,
        };
        if length == 0 {
            self.trouble();
        }
        parameter.name = rest.get(..length).unwrap_or_default().to_owned();
        self.at += length;
        if self.take("[") {
            parameter.index = Some(self.deeper(|parser| parser.double_parts(Some(Closing::Bracket))));
            if !self.take("]") {
                self.trouble();
            }
        }
        let operator = [
            "//", "/#", "/%", "/", ":-", ":=", ":+", ":?", ":", "-", "=", "+", "?", "##", "#", "%%", "%",
            "^^", "^", ",,", ",", "@",
        ]
        .into_iter()
        .find(|operator| self.take(operator));
        if let Some(operator) = operator {
            parameter.operator = operator.to_owned();
            parameter.argument = self.parts(WordEnd::Brace);
        }
        if !self.take("}") {
            self.trouble();
            // `${{ x }}` of templates: not shell, but it ends somewhere.
            let rest = self.rest();
            let line = rest.find(['\n', ' ', '}']).unwrap_or(rest.len());
            self.at += line;
            self.take("}");
        }
        parameter
    }

    /// After `$(` or `<(`, with its end.
    fn nested_script(&mut self) -> Script {
        let outer = std::mem::take(&mut self.pending);
        let script = self.deeper(|parser| parser.script(Stop::paren()));
        // A here-document that was announced inside ends inside.
        self.pending.splice(0..0, outer);
        if !self.take(")") {
            self.trouble();
        }
        script
    }

    /// `` `...` ``, at the opening one.
    fn backticks(&mut self) -> Part {
        self.at += 1;
        let start = self.at;
        let rest = self.rest();
        let mut escaped = false;
        let end = rest.bytes().position(|b| {
            let closes = b == b'`' && !escaped;
            escaped = b == b'\\' && !escaped;
            closes
        });
        let length = match end {
            Some(length) => {
                self.at += length + 1;
                length
            }
            None => {
                self.trouble();
                self.at = self.text.len();
                rest.len()
            }
        };
        let raw = rest.get(..length).unwrap_or_default();
        let (text, place) = match (&self.place, raw.contains('\\')) {
            (Place::Verbatim(base), false) => (raw.to_owned(), Place::Verbatim(base + start)),
            _ => (unescape_backticks(raw), Place::Derived(self.range(start, start + length))),
        };
        let mut inner = Parser::new(&text, place, self.depth);
        let script = inner.deeper(|parser| parser.script(Stop::default()));
        self.absorb(&inner);
        Part::Substitution(script)
    }

    /// `(a b c)`, at the opening parenthesis.
    fn array(&mut self) -> Vec<Word> {
        self.at += 1;
        let mut words = Vec::new();
        loop {
            self.lines();
            match self.peek() {
                None => {
                    self.trouble();
                    return words;
                }
                Some(b')') => {
                    self.at += 1;
                    return words;
                }
                Some(_) => {}
            }
            let before = self.at;
            words.push(self.word());
            if self.at == before {
                self.trouble();
                self.skip_char();
            }
        }
    }

    /// `@(a|b)`, at the opening parenthesis: a pattern, kept as it is.
    fn extended_glob(&mut self, literal: &mut String) {
        let rest = self.rest();
        let mut depth = 0_usize;
        let mut length = 0;
        for byte in rest.bytes() {
            length += 1;
            match byte {
                b'(' => depth += 1,
                b')' => depth = depth.saturating_sub(1),
                b'\n' | b'$' | b'`' => {
                    length -= 1;
                    self.trouble();
                    break;
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        let length = length.max(1);
        literal.push_str(rest.get(..length).unwrap_or_default());
        self.at += length;
    }
}

/// `name=` or `name+=`, after which a parenthesis opens an array.
fn is_array_start(literal: &str) -> bool {
    literal.strip_suffix('=').map(|left| left.strip_suffix('+').unwrap_or(left)).is_some_and(is_name)
}

fn flush(literal: &mut String, parts: &mut Vec<Part>) {
    if !literal.is_empty() {
        parts.push(Part::Literal(std::mem::take(literal)));
    }
}
