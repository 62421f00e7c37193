//! Undoes quoting.

/// The text of `$'...'`.
pub(in crate::shell) fn ansi_c(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    // Bytes above 127 written one by one can make up a letter.
    let mut bytes: Vec<u8> = Vec::new();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            flush_bytes(&mut bytes, &mut result);
            result.push(letter);
            continue;
        }
        let Some(kind) = letters.next() else {
            flush_bytes(&mut bytes, &mut result);
            result.push('\\');
            break;
        };
        let mut number = |radix: u32, most: usize, first: Option<char>| {
            let mut value = first.and_then(|digit| digit.to_digit(radix));
            let mut count = usize::from(first.is_some());
            while count < most
                && let Some(digit) = letters.peek().and_then(|next| next.to_digit(radix))
            {
                letters.next();
                value = Some(value.unwrap_or(0) * radix + digit);
                count += 1;
            }
            value
        };
        let unicode = match kind {
            'x' => {
                if let Some(value) = number(16, 2, None) {
                    bytes.push(u8::try_from(value).unwrap_or(b'?'));
                    continue;
                }
                Some('x')
            }
            '0'..='7' => {
                if let Some(value) = number(8, 3, Some(kind)) {
                    bytes.push(u8::try_from(value & 0xff).unwrap_or(b'?'));
                    continue;
                }
                None
            }
            'u' => number(16, 4, None).and_then(char::from_u32),
            'U' => number(16, 8, None).and_then(char::from_u32),
            'c' => letters.next().and_then(|next| char::from_u32(u32::from(next) & 0x1f)),
            'n' => Some('\n'),
            't' => Some('\t'),
            'r' => Some('\r'),
            'a' => Some('\x07'),
            'b' => Some('\x08'),
            'e' | 'E' => Some('\x1b'),
            'f' => Some('\x0c'),
            'v' => Some('\x0b'),
            '\\' | '\'' | '"' | '?' => Some(kind),
            other => {
                flush_bytes(&mut bytes, &mut result);
                result.push('\\');
                Some(other)
            }
        };
        flush_bytes(&mut bytes, &mut result);
        result.extend(unicode);
    }
    flush_bytes(&mut bytes, &mut result);
    result
}

fn flush_bytes(bytes: &mut Vec<u8>, result: &mut String) {
    if !bytes.is_empty() {
        // A NUL ends the text in bash; it must not be taken for a hole either.
        bytes.retain(|byte| *byte != 0);
        result.push_str(&String::from_utf8_lossy(bytes));
        bytes.clear();
    }
}

/// The text between backticks, where `` \` ``, `\\` and `\$` lose their backslash.
pub(super) fn unescape_backticks(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            ('\\', Some(next @ ('`' | '\\' | '$'))) => {
                result.push(*next);
                letters.next();
            }
            _ => result.push(letter),
        }
    }
    result
}
