//! A strict JSON reader (RFC 8259), with limits.

use super::{Json, Number, Object};

/// Bounds that keep hostile texts cheap.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How deep arrays and objects may nest.
    pub depth: usize,
    /// How many bytes a single number may take.
    pub number_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: 64, number_bytes: 256 }
    }
}

/// Why a text is not the JSON that we accept, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at byte {offset}")]
pub struct JsonError {
    /// What is wrong.
    pub kind: JsonErrorKind,
    /// Where it was noticed, in bytes from the start.
    pub offset: usize,
}

/// What is wrong with a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonErrorKind {
    /// Bytes that are not UTF-8.
    #[error("the text is not valid UTF-8")]
    NotUtf8,
    /// The text ends inside a value.
    #[error("the text ends too early")]
    UnexpectedEnd,
    /// Something that the grammar does not allow here.
    #[error("unexpected character")]
    UnexpectedCharacter,
    /// More text after the value.
    #[error("text follows the value")]
    TrailingText,
    /// Two readers of such an object could see two different actions.
    #[error("duplicate key {0:?}")]
    DuplicateKey(String),
    /// A number with more digits or a larger exponent than any use has.
    #[error("the number is too long or its exponent too large")]
    NumberTooLong,
    /// Nesting beyond the limit.
    #[error("nested too deeply")]
    TooDeep,
    /// `\q` and the like.
    #[error("unknown escape in a string")]
    BadEscape,
    /// Half of a surrogate pair: not a character, and every reader repairs it differently.
    #[error("lone surrogate in a string")]
    LoneSurrogate,
    /// NUL ends a text for half of the programs that would read it.
    #[error("NUL character in a string")]
    Nul,
    /// A raw control character where JSON demands an escape.
    #[error("unescaped control character in a string")]
    ControlCharacter,
}

/// Reads one JSON value that fills the whole text.
pub fn parse(text: &[u8]) -> Result<Json, JsonError> {
    parse_with(text, Limits::default())
}

/// Reads one JSON value within the given limits.
pub fn parse_with(bytes: &[u8], limits: Limits) -> Result<Json, JsonError> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| JsonError { kind: JsonErrorKind::NotUtf8, offset: error.valid_up_to() })?;
    let mut reader = Reader { text, at: 0, limits };
    let value = reader.value(0)?;
    reader.skip_space();
    if reader.at < text.len() {
        return Err(reader.error(JsonErrorKind::TrailingText));
    }
    Ok(value)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    limits: Limits,
}

impl<'a> Reader<'a> {
    fn error(&self, kind: JsonErrorKind) -> JsonError {
        JsonError { kind, offset: self.at }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// The text from `start` to here; both always stand on character borders.
    fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    fn unexpected(&self) -> JsonError {
        let kind = if self.at < self.text.len() {
            JsonErrorKind::UnexpectedCharacter
        } else {
            JsonErrorKind::UnexpectedEnd
        };
        self.error(kind)
    }

    fn expect(&mut self, byte: u8) -> Result<(), JsonError> {
        if self.peek() == Some(byte) {
            self.at += 1;
            Ok(())
        } else {
            Err(self.unexpected())
        }
    }

    fn value(&mut self, depth: usize) -> Result<Json, JsonError> {
        self.skip_space();
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Json::String),
            Some(b'-' | b'0'..=b'9') => self.number().map(Json::Number),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') => self.word("null", Json::Null),
            Some(_) | None => Err(self.unexpected()),
        }
    }

    fn word(&mut self, word: &str, value: Json) -> Result<Json, JsonError> {
        if self.text.as_bytes().get(self.at..).is_some_and(|rest| rest.starts_with(word.as_bytes())) {
            self.at += word.len();
            Ok(value)
        } else {
            Err(self.unexpected())
        }
    }

    fn deeper(&self, depth: usize) -> Result<usize, JsonError> {
        if depth >= self.limits.depth { Err(self.error(JsonErrorKind::TooDeep)) } else { Ok(depth + 1) }
    }

    fn array(&mut self, depth: usize) -> Result<Json, JsonError> {
        let depth = self.deeper(depth)?;
        self.expect(b'[')?;
        let mut items = Vec::new();
        self.skip_space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Json::Array(items));
        }
        loop {
            items.push(self.value(depth)?);
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(Json::Array(items));
                }
                Some(_) | None => return Err(self.unexpected()),
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, JsonError> {
        let depth = self.deeper(depth)?;
        let start = self.at;
        self.expect(b'{')?;
        let mut members = Vec::new();
        self.skip_space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Json::Object(Object::default()));
        }
        loop {
            self.skip_space();
            let key = self.string()?;
            self.skip_space();
            self.expect(b':')?;
            members.push((key, self.value(depth)?));
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Object::from_members(members)
                        .map(Json::Object)
                        .map_err(|key| JsonError { kind: JsonErrorKind::DuplicateKey(key), offset: start });
                }
                Some(_) | None => return Err(self.unexpected()),
            }
        }
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.unexpected());
        }
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Number, JsonError> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        let text = self.since(start);
        let too_long = JsonError { kind: JsonErrorKind::NumberTooLong, offset: start };
        if text.len() > self.limits.number_bytes {
            return Err(too_long);
        }
        let Some(number) = Number::from_json_text(text) else { return Err(too_long) };
        // The canonical text of a number can be longer than the text that was read, by the zeros or the point
        // and exponent of its layout; it has to stay within the limit too, or it could not be read again.
        let may_outgrow = text.len() + Number::MAX_GROWTH > self.limits.number_bytes;
        if may_outgrow && number.to_string().len() > self.limits.number_bytes {
            return Err(too_long);
        }
        Ok(number)
    }

    fn string(&mut self) -> Result<String, JsonError> {
        self.expect(b'"')?;
        let mut out = String::new();
        loop {
            let start = self.at;
            while self.peek().is_some_and(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\') {
                self.at += 1;
            }
            out.push_str(self.since(start));
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    self.at += 1;
                    out.push(self.escape()?);
                }
                Some(0) => return Err(self.error(JsonErrorKind::Nul)),
                Some(_) => return Err(self.error(JsonErrorKind::ControlCharacter)),
                None => return Err(self.error(JsonErrorKind::UnexpectedEnd)),
            }
        }
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        let byte = self.peek().ok_or_else(|| self.error(JsonErrorKind::UnexpectedEnd))?;
        let plain = match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.at += 1;
                return self.unicode_escape();
            }
            _ => return Err(self.error(JsonErrorKind::BadEscape)),
        };
        self.at += 1;
        Ok(plain)
    }

    fn unicode_escape(&mut self) -> Result<char, JsonError> {
        let first = self.hex4()?;
        let code = match first {
            0xD800..=0xDBFF => {
                if self.text.as_bytes().get(self.at..self.at + 2) != Some(br"\u") {
                    return Err(self.error(JsonErrorKind::LoneSurrogate));
                }
                self.at += 2;
                let second = self.hex4()?;
                if !(0xDC00..=0xDFFF).contains(&second) {
                    return Err(self.error(JsonErrorKind::LoneSurrogate));
                }
                0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00)
            }
            0 => return Err(self.error(JsonErrorKind::Nul)),
            other => other,
        };
        char::from_u32(code).ok_or_else(|| self.error(JsonErrorKind::LoneSurrogate))
    }

    fn hex4(&mut self) -> Result<u32, JsonError> {
        let mut code = 0;
        for _ in 0..4 {
            let byte = self.peek().ok_or_else(|| self.error(JsonErrorKind::UnexpectedEnd))?;
            let digit = char::from(byte).to_digit(16).ok_or_else(|| self.error(JsonErrorKind::BadEscape))?;
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> JsonErrorKind {
        parse(text.as_bytes()).expect_err(text).kind
    }

    #[test]
    fn reads_what_json_allows() {
        let value =
            parse(br#" {"b" : [1, -2.50, 3e2, true, false, null], "a" : "x\n\u00e9\ud83d\ude00\/" } "#)
                .unwrap();
        assert_eq!(value.get("a").and_then(Json::as_str), Some("x\né😀/"));
        assert_eq!(value.as_object().unwrap().iter().map(|(key, _)| key).collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn refuses_what_two_readers_could_read_in_two_ways() {
        assert_eq!(refused(r#"{"a":1,"a":2}"#), JsonErrorKind::DuplicateKey("a".into()));
        assert_eq!(refused(r#"{"a":1,"\u0061":2}"#), JsonErrorKind::DuplicateKey("a".into()));
        assert_eq!(refused(r#"{"x":[{"k":1,"z":0,"k":1}]}"#), JsonErrorKind::DuplicateKey("k".into()));
        assert_eq!(refused(r#""\ud800""#), JsonErrorKind::LoneSurrogate);
        assert_eq!(refused(r#""\udc00""#), JsonErrorKind::LoneSurrogate);
        assert_eq!(refused(r#""\ud800\u0041""#), JsonErrorKind::LoneSurrogate);
        assert_eq!(refused(r#""\u0000""#), JsonErrorKind::Nul);
        assert_eq!(refused("\"\0\""), JsonErrorKind::Nul);
        assert_eq!(refused("\"\n\""), JsonErrorKind::ControlCharacter);
        assert_eq!(parse(b"\"\xff\"").unwrap_err().kind, JsonErrorKind::NotUtf8);
    }

    #[test]
    fn refuses_broken_grammar() {
        for text in [
            "",
            " ",
            "{",
            "[1,",
            "[1,]",
            "{\"a\":1,}",
            "{a:1}",
            "01",
            "1.",
            ".5",
            "+1",
            "1e",
            "-",
            "tru",
            "nul",
            "NaN",
            "Infinity",
            "'a'",
            "\"\\x\"",
            "\"\\u12\"",
            "1 2",
            "[1]]",
            "// c\n1",
            "\u{feff}1",
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text:?}");
        }
    }

    #[test]
    fn stays_within_limits() {
        let deep = "[".repeat(100_000);
        assert_eq!(refused(&deep), JsonErrorKind::TooDeep);
        assert!(parse(format!("{}{}", "[".repeat(64), "]".repeat(64)).as_bytes()).is_ok());
        assert_eq!(refused(&"9".repeat(300)), JsonErrorKind::NumberTooLong);
        assert_eq!(refused("1e999999"), JsonErrorKind::NumberTooLong);
    }
}
