//! Undoes encodings that hide a command.

use super::value::Field;

/// Base64, standard or URL-safe, as text.
pub(super) fn base64(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let mut bits = 0_u32;
    let mut count = 0_u8;
    for byte in text.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => break,
            b' ' | b'\n' | b'\r' | b'\t' => continue,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 0xff).ok()?);
        }
    }
    as_text(bytes)
}

/// Hexadecimal digits, as text.
pub(super) fn hex(text: &str) -> Option<String> {
    let digits: Vec<u8> = text
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .map(|byte| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect::<Option<_>>()?;
    let bytes =
        digits.chunks_exact(2).map(|pair| pair.iter().fold(0, |value, digit| value << 4 | digit)).collect();
    as_text(bytes)
}

fn as_text(mut bytes: Vec<u8>) -> Option<String> {
    // A NUL would be taken for a hole.
    bytes.retain(|byte| *byte != 0);
    String::from_utf8(bytes).ok()
}

/// `tr SET1 SET2` and `tr -d SET1`.
pub(super) fn translate(text: &str, arguments: &[Field]) -> Option<String> {
    let mut sets = Vec::new();
    let mut deletes = false;
    for field in arguments {
        match field.text.as_str() {
            "-d" | "--delete" => deletes = true,
            text if text.starts_with('-') && text.len() > 1 => return None,
            text => sets.push(set(text)?),
        }
    }
    match (deletes, sets.as_slice()) {
        (true, [removed]) => Some(text.chars().filter(|letter| !removed.contains(letter)).collect()),
        (false, [from, to]) => {
            let last = to.last().copied();
            let replaced = |letter: char| match from.iter().position(|known| *known == letter) {
                Some(at) => to.get(at).copied().or(last).unwrap_or(letter),
                None => letter,
            };
            Some(text.chars().map(replaced).collect())
        }
        _ => None,
    }
}

fn set(text: &str) -> Option<Vec<char>> {
    const LETTERS: usize = 512;
    let text = match text {
        "[:upper:]" | "[A-Z]" => "A-Z".to_owned(),
        "[:lower:]" | "[a-z]" => "a-z".to_owned(),
        other if other.contains("[:") => return None,
        other => super::syntax::ansi_c(other),
    };
    let letters: Vec<char> = text.chars().collect();
    let mut result = Vec::new();
    let mut at = 0;
    while let Some(letter) = letters.get(at) {
        if letters.get(at + 1) == Some(&'-')
            && let Some(end) = letters.get(at + 2)
        {
            result.extend((*letter..=*end).take(LETTERS));
            at += 3;
        } else {
            result.push(*letter);
            at += 1;
        }
        if result.len() > LETTERS {
            return None;
        }
    }
    Some(result)
}

/// `s/x/y/g` with texts, not patterns.
pub(super) fn substitute(text: &str, script: &str) -> Option<String> {
    const GROWN: usize = 64 * 1024;
    let mut letters = script.strip_prefix('s')?.chars();
    let delimiter = letters.next()?;
    let mut parts = letters.as_str().split(delimiter);
    let (from, to, flags) = (parts.next()?, parts.next()?, parts.next()?);
    let is_pattern = |text: &str| text.contains(['.', '*', '[', '\\', '^', '$', '&', '+', '?', '(']);
    if parts.next().is_some()
        || from.is_empty()
        || is_pattern(from)
        || is_pattern(to)
        || text.len() * to.len().max(1) > GROWN
    {
        return None;
    }
    Some(if flags.contains('g') {
        text.replace(from, to)
    } else {
        text.lines().map(|line| line.replacen(from, to, 1) + "\n").collect()
    })
}
