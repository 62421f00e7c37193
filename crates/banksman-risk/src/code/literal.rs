//! Numbers as they are written.

/// An integer in any of the usual notations.
pub(crate) fn integer(text: &str) -> Option<i64> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok();
    }
    let clean: String = text.chars().filter(|c| *c != '_').collect::<String>().to_ascii_lowercase();
    let clean = clean.trim_end_matches(['n', 'l']);
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = clean.strip_prefix(prefix) {
            return i64::from_str_radix(digits, radix).ok();
        }
    }
    clean.parse().ok()
}
