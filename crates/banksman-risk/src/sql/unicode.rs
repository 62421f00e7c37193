//! Names and strings in which characters are written as numbers: `U&"\0064elete"`.

use std::borrow::Cow;

/// The same text with such names and strings spelled out, if there are any.
pub(super) fn spelled_out(text: &str) -> Cow<'_, str> {
    let is_marked = |window: &[u8]| matches!(window, [b'u' | b'U', b'&', b'"' | b'\'']);
    if !text.as_bytes().windows(3).any(is_marked) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.as_bytes().windows(3).position(is_marked) {
        let (before, marked) = rest.split_at_checked(at).unwrap_or((rest, ""));
        plain.push_str(before);
        let quoted = marked.get(2..).unwrap_or_default();
        let quote = if quoted.starts_with('"') { '"' } else { '\'' };
        let inside = quoted.get(1..).unwrap_or_default();
        let end = end_of(inside, quote);
        let after = inside.get(end + 1..).unwrap_or_default();
        let (escape, after) = escape_of(after);
        plain.push(quote);
        decode(inside.get(..end).unwrap_or_default(), escape, quote, &mut plain);
        plain.push(quote);
        rest = after;
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// Where the closing quote stands, or the end of the text. A doubled quote closes nothing.
fn end_of(inside: &str, quote: char) -> usize {
    let mut from = 0;
    while let Some(at) = inside.get(from..).and_then(|rest| rest.find(quote)) {
        let at = from + at;
        if !inside.get(at + 1..).is_some_and(|rest| rest.starts_with(quote)) {
            return at;
        }
        from = at + 2;
    }
    inside.len()
}

/// The character that numbers follow (`UESCAPE '!'` names another than the backslash), and what comes behind.
fn escape_of(after: &str) -> (char, &str) {
    let named = || {
        let trimmed = after.trim_start();
        let word = trimmed.get(..7).filter(|word| word.eq_ignore_ascii_case("uescape"))?;
        let quoted = trimmed.get(word.len()..)?.trim_start().strip_prefix('\'')?;
        let escape = quoted.chars().next()?;
        Some((escape, quoted.get(escape.len_utf8()..)?.strip_prefix('\'')?))
    };
    named().unwrap_or(('\\', after))
}

fn decode(inside: &str, escape: char, quote: char, plain: &mut String) {
    let mut rest = inside;
    while let Some((before, after)) = rest.split_once(escape) {
        plain.push_str(before);
        let (digits, skip) = match after.strip_prefix('+') {
            Some(six) => (six.get(..6), 7),
            None => (after.get(..4), 4),
        };
        let character =
            digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()).and_then(char::from_u32);
        match character {
            Some(character) => {
                // A quote that was written as a number closes nothing.
                plain.push(character);
                if character == quote {
                    plain.push(character);
                }
                rest = after.get(skip..).unwrap_or_default();
            }
            None => {
                plain.push(escape);
                rest = after.strip_prefix(escape).unwrap_or(after);
            }
        }
    }
    plain.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::spelled_out;

    #[test]
    fn numbers_become_characters() {
        for (text, plain) in [
            ("SELECT 1", "SELECT 1"),
            (r#"U&"\0070g_read_file"('x')"#, r#""pg_read_file"('x')"#),
            (r#"u&"d\+000061ta""#, r#""data""#),
            (r#"U&"d!0061ta" UESCAPE '!' x"#, r#""data" x"#),
            (r"U&'a\0027b'", "'a''b'"),
            (r#"U&"a\\b""#, r#""a\b""#),
            (r#"U&"a""b""#, r#""a""b""#),
            (r#"U&"\00"#, r#""\00""#),
        ] {
            assert_eq!(spelled_out(text), plain, "{text}");
        }
    }
}
