//! Undoes the encodings that code is hidden in.

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::value::{TEXT, Taint, Value};
use crate::fact::Word;

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// Bytes as a text: UTF-8 if they are, else each byte a character.
pub(crate) fn text_of(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}

/// A decoded text; one that could not be decoded is unknown, but known to be decoded.
fn decoded(text: Option<String>, taint: Taint) -> Value {
    let value = text.filter(|text| text.len() <= TEXT).map_or(Value::UNKNOWN, Value::text);
    value.with(taint.and(Taint::DECODED))
}

/// Applies a decoder to every alternative.
pub(crate) fn decode(value: &Value, decoder: fn(&str) -> Option<String>) -> Value {
    value.each(|one| decoded(one.known_text().and_then(|text| decoder(&text)), one.taint))
}

pub(crate) fn base64(text: &str) -> Option<String> {
    let clean: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let engine = if clean.contains(['-', '_']) { &URL_SAFE } else { &STANDARD };
    engine.decode(clean).ok().map(|bytes| text_of(&bytes))
}

pub(crate) fn encode_base64(text: &str) -> String {
    STANDARD.encode(text)
}

pub(crate) fn hex(text: &str) -> Option<String> {
    let digits: Vec<u32> =
        text.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16)).collect::<Option<_>>()?;
    let bytes = digits.chunks(2).map(|pair| match pair {
        [high, low] => u8::try_from(high * 16 + low).ok(),
        _ => None,
    });
    bytes.collect::<Option<Vec<u8>>>().map(|bytes| text_of(&bytes))
}

pub(crate) fn rot13(text: &str) -> Option<String> {
    let turn = |c: char, first: u8| char::from((c as u8 - first + 13) % 26 + first);
    Some(
        text.chars()
            .map(|c| match c {
                'a'..='z' => turn(c, b'a'),
                'A'..='Z' => turn(c, b'A'),
                _ => c,
            })
            .collect(),
    )
}

/// `%72%6d`, as in URLs.
pub(crate) fn percent(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        match after.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(b'%');
                rest = after;
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    Some(text_of(&bytes))
}

/// Numbers as the characters that they stand for.
pub(crate) fn characters(numbers: &[Value]) -> Value {
    let text = numbers.iter().map(|number| {
        number
            .as_number()
            .and_then(|number| u32::try_from(number).ok())
            .and_then(char::from_u32)
            .unwrap_or(Word::HOLE)
    });
    Value::text(text.collect::<String>())
}

/// Undoes `\n`, `\x72`, `\162`, `\u0072`, `\u{72}` and the rest.
pub(crate) fn unescape(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            plain.push(c);
            continue;
        }
        match rest.next() {
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some('r') => plain.push('\r'),
            Some('a') => plain.push('\x07'),
            Some('b') => plain.push('\x08'),
            Some('f') => plain.push('\x0c'),
            Some('v') => plain.push('\x0b'),
            Some('\n') | None => {}
            Some('x') => plain.push(coded(&mut rest, 16, 2)),
            Some('u') if rest.as_str().starts_with('{') => {
                rest.next();
                let code = coded(&mut rest, 16, 6);
                rest.next();
                plain.push(code);
            }
            Some('u') => plain.push(coded(&mut rest, 16, 4)),
            Some('U') => plain.push(coded(&mut rest, 16, 8)),
            Some(digit @ '0'..='7') => {
                let mut code = digit.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    let Some(digit) = rest.as_str().chars().next().and_then(|c| c.to_digit(8)) else { break };
                    code = code * 8 + digit;
                    rest.next();
                }
                plain.push(char::from_u32(code).unwrap_or(Word::HOLE));
            }
            Some(other) => plain.push(other),
        }
    }
    plain
}

fn coded(rest: &mut std::str::Chars<'_>, radix: u32, digits: usize) -> char {
    let mut code: u32 = 0;
    for _ in 0..digits {
        let Some(digit) = rest.as_str().chars().next().and_then(|c| c.to_digit(radix)) else { break };
        code = code.wrapping_mul(radix).wrapping_add(digit);
        rest.next();
    }
    char::from_u32(code).unwrap_or(Word::HOLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_undone() {
        assert_eq!(base64("cm0gLXJmIC8=").as_deref(), Some("rm -rf /"));
        assert_eq!(base64("cm0gLXJmIC8").as_deref(), Some("rm -rf /"));
        assert_eq!(base64("!"), None);
        assert_eq!(hex("726d20").as_deref(), Some("rm "));
        assert_eq!(hex("7"), None);
        assert_eq!(rot13("flfgrz").as_deref(), Some("system"));
        assert_eq!(percent("r%6d%zz").as_deref(), Some("rm%zz"));
        assert_eq!(unescape(r"\x72\155\u0020\u{2d}\q\\"), "rm -q\\");
    }
}
