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

/// A name with each letter beyond ASCII spelled beside it: letters of other writing look like ours.
pub(crate) struct Letters<'a>(pub(crate) &'a str);

impl Render for Letters<'_> {
    fn render_to(&self, out: &mut String) {
        out.push_str("<bdi>");
        let mut eye = Eye::default();
        for c in self.0.chars() {
            let is_missed = eye.misses(c);
            let mut letter = [0; 4];
            if !is_missed {
                push(out, c.encode_utf8(&mut letter), Breaks::Spelled);
            }
            if is_missed || !c.is_ascii() {
                mark(out, &code_point(c));
            }
        }
        out.push_str("</bdi>");
    }
}

/// From how many spaces on a run of them is marked: fewer are seen for what they are.
const SPACES: usize = 3;

/// How many empty lines stay; more are said in words, so that they push nothing out of sight.
const EMPTY_LINES: usize = 3;

/// Adds a text by someone else. White space that could pass for other white space is marked.
pub(crate) fn push(out: &mut String, text: &str, breaks: Breaks) {
    let mut eye = Eye::default();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let is_missed = eye.misses(c);
        let run = if matches!(c, ' ' | '\n') { rest.len() - rest.trim_start_matches(c).len() } else { 1 };
        let mut taken = c.len_utf8();
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            ' ' if run >= SPACES => {
                let _ = write!(out, "<span class=\"spaces\">{}</span>", " ".repeat(run));
                taken = run;
            }
            '\n' if breaks == Breaks::Kept => {
                line_break(out);
                if run > EMPTY_LINES + 1 {
                    mark(out, &format!("⋯ {} empty lines", run - 1));
                    line_break(out);
                    taken = run;
                }
            }
            '\t' if breaks == Breaks::Kept => out.push_str("<span class=\"tab\">\t</span>"),
            '\n' => mark(out, "\\n"),
            '\r' => mark(out, "\\r"),
            '\t' => mark(out, "\\t"),
            c if is_missed => mark(out, &code_point(c)),
            c => out.push(c),
        }
        rest = rest.get(taken..).unwrap_or_default();
    }
}

/// A line that wraps ends without one.
fn line_break(out: &mut String) {
    out.push_str("<span class=\"break\"></span>\n");
}

fn code_point(c: char) -> String {
    format!("U+{:04X}", u32::from(c))
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
        let lines = "<bdi>a<span class=\"break\"></span>\n<span class=\"tab\">\t</span>b<span class=\"unseen\">\\r</span></bdi>";
        assert_eq!(ForeignLines("a\n\tb\r").render().0, lines);
    }

    #[test]
    fn runs_of_spaces_and_of_empty_lines_are_marked() {
        assert_eq!(Foreign("a  b   c").render().0, "<bdi>a  b<span class=\"spaces\">   </span>c</bdi>");
        let shown = |count: usize| ForeignLines(&format!("a{}b", "\n".repeat(count))).render().0;
        assert!(!shown(4).contains("unseen") && shown(4).matches('\n').count() == 4);
        assert!(shown(5).contains("<span class=\"unseen\">⋯ 4 empty lines</span>"), "{}", shown(5));
        assert!(shown(2_300).contains("⋯ 2299 empty lines") && shown(2_300).matches('\n').count() == 2);
    }

    #[test]
    fn a_mark_on_what_is_no_letter_is_spelled() {
        for before in [" ", "   ", "\"", "<", "&", "\n"] {
            let shown = ForeignLines(&format!("a{before}\u{301}")).render().0;
            assert!(shown.contains("U+0301"), "{before:?}: {shown}");
        }
    }

    #[test]
    fn letters_of_other_writing_are_spelled_beside_themselves() {
        assert_eq!(
            Letters("g\u{43e}o\u{200b}").render().0,
            "<bdi>g\u{43e}<span class=\"unseen\">U+043E</span>o<span class=\"unseen\">U+200B</span></bdi>"
        );
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
