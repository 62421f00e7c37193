//! The words of others: escaped, isolated, and with nothing in them that acts or hides.

use std::fmt::Write as _;

use banksman_core::visible::Eye;
pub(crate) use banksman_core::visible::brief;
use maud::Render;

/// Whether `brief` leaves a text as it is.
pub(crate) fn fits(text: &str, most: usize) -> bool {
    brief(text, most) == text
}

/// A text by someone else, on one line.
pub(crate) struct Foreign<'a>(pub(crate) &'a str);

/// A text by someone else that keeps its lines and indents, for panels that show white space.
pub(crate) struct ForeignLines<'a>(pub(crate) &'a str);

/// What becomes of line breaks and tabs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Breaks {
    /// They are spelled, because a line of its own could pass for one of ours.
    Spelled,
    /// They stay.
    Kept,
}

// `bdi`: right-to-left writing in a value must not reorder what we wrote around it.
impl Render for Foreign<'_> {
    fn render_to(&self, out: &mut String) {
        out.push_str("<bdi>");
        push(out, self.0, Breaks::Spelled);
        out.push_str("</bdi>");
    }
}

impl Render for ForeignLines<'_> {
    fn render_to(&self, out: &mut String) {
        out.push_str("<bdi>");
        push(out, self.0, Breaks::Kept);
        out.push_str("</bdi>");
    }
}

/// Adds a text by someone else.
pub(crate) fn push(out: &mut String, text: &str, breaks: Breaks) {
    let mut eye = Eye::default();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' if breaks == Breaks::Kept => out.push(c),
            '\n' => mark(out, "\\n"),
            '\r' => mark(out, "\\r"),
            '\t' => mark(out, "\\t"),
            c if eye.misses(c) => {
                let _ = write!(out, "<span class=\"unseen\">U+{:04X}</span>", u32::from(c));
            }
            c => out.push(c),
        }
    }
}

fn mark(out: &mut String, spelled: &str) {
    let _ = write!(out, "<span class=\"unseen\">{spelled}</span>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_becomes_markup() {
        assert_eq!(Foreign("<a href=\"'&").render().0, "<bdi>&lt;a href=&quot;&#39;&amp;</bdi>");
    }

    #[test]
    fn what_acts_or_hides_is_spelled() {
        assert_eq!(Foreign("a\u{202e}b").render().0, "<bdi>a<span class=\"unseen\">U+202E</span>b</bdi>");
        assert_eq!(Foreign("a\nb").render().0, "<bdi>a<span class=\"unseen\">\\n</span>b</bdi>");
        assert_eq!(ForeignLines("a\n\tb\r").render().0, "<bdi>a\n\tb<span class=\"unseen\">\\r</span></bdi>");
    }

    #[test]
    fn no_character_reaches_the_page_as_it_is_if_it_cannot_be_seen() {
        for c in (0..=0x10_ffff).filter_map(char::from_u32).filter(|c| banksman_core::visible::is_hidden(*c))
        {
            let shown = Foreign(&format!("a{c}b")).render().0;
            assert!(!shown.contains(c), "{:x}", u32::from(c));
        }
    }
}
