//! Plain text by someone else.

use std::fmt::{self, Write as _};

use super::Eye;

/// A text by someone else, on one line: line breaks become `\n`, and what hides or acts becomes `\u{…}`.
///
/// Backslashes stay as they are, so this is for reading and not for reading back; arguments, where that
/// matters, are shown as JSON.
#[derive(Debug, Clone, Copy)]
pub struct Visible<'a>(pub &'a str);

impl fmt::Display for Visible<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut eye = Eye::default();
        for c in self.0.chars() {
            match c {
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                c if eye.misses(c) => write!(f, "\\u{{{:x}}}", u32::from(c))?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// The start and the end of a text that is too long for its place; what is left out is said, and never the end.
#[must_use]
pub fn brief(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let tail = most / 3;
    let head: String = text.chars().take(most - tail).collect();
    let end: String = text.chars().skip(count - tail).collect();
    format!("{head} … {} more characters … {end}", count - most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_brief_text_keeps_its_end() {
        assert_eq!(brief("short", 10), "short");
        let long = format!("{}rm -rf /", "x".repeat(1000));
        let shown = brief(&long, 90);
        assert!(shown.ends_with("rm -rf /") && shown.chars().count() < 130, "{shown}");
    }
}
