//! Texts by others on a terminal: spelled where they would act or hide, and measured in columns.

use std::fmt::{self, Write as _};

use unicode_width::UnicodeWidthChar;

use super::Eye;

/// Spells a text by someone else, character by character, for a terminal.
///
/// Line breaks become `\n`, and what hides or acts becomes `\u{…}`. Backslashes stay as they are, so this is for
/// reading and not for reading back; arguments, where that matters, are shown as JSON.
#[derive(Debug, Default)]
pub struct Speller {
    eye: Eye,
    unframed: bool,
}

impl Speller {
    /// Also spells the characters that frames are drawn with: no text can end a frame of ours, or begin another.
    #[must_use]
    pub fn unframed() -> Self {
        Self { unframed: true, ..Self::default() }
    }

    /// Adds the next character.
    pub fn push(&mut self, out: &mut String, c: char) {
        let spelled = match c {
            '\n' => "\\n",
            '\r' => "\\r",
            '\t' => "\\t",
            _ => "",
        };
        if !spelled.is_empty() {
            // A mark that follows has no letter to sit on.
            self.eye = Eye::default();
            out.push_str(spelled);
            return;
        }
        match c {
            c if self.eye.misses(c) || (self.unframed && is_drawing(c)) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
}

/// Boxes, lines and blocks.
fn is_drawing(c: char) -> bool {
    matches!(c, '\u{2500}'..='\u{259f}' | '\u{1fb00}'..='\u{1fbff}')
}

/// A text by someone else, on one line: line breaks become `\n`, and what hides or acts becomes `\u{…}`.
#[derive(Debug, Clone, Copy)]
pub struct Visible<'a>(pub &'a str);

impl fmt::Display for Visible<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&spelled(self.0, Speller::default()))
    }
}

/// The same without a character that frames are drawn with, for screens that have frames.
#[derive(Debug, Clone, Copy)]
pub struct Unframed<'a>(pub &'a str);

impl fmt::Display for Unframed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&spelled(self.0, Speller::unframed()))
    }
}

fn spelled(text: &str, mut speller: Speller) -> String {
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|c| speller.push(&mut out, c));
    out
}

/// How many columns a text takes that has been made visible.
#[must_use]
pub fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

fn columns(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// The start of a text, with `…` in its last column if something was left out.
#[must_use]
pub fn cut(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    if most == 0 {
        return String::new();
    }
    let mut taken = 0;
    let kept = text.chars().take_while(|c| {
        taken += columns(*c);
        taken < most
    });
    let mut short: String = kept.collect();
    short.push('…');
    short
}

/// A text in pieces of at most `most` columns, broken at spaces where that is not too early.
///
/// Left to the terminal, a long line goes on in the first column, where it could pass for a line of ours.
#[must_use]
pub fn wrap(text: &str, most: usize) -> Vec<String> {
    // A wide character needs two columns; with fewer there would be no end.
    let most = most.max(2);
    let mut pieces = Vec::new();
    let mut piece = String::new();
    let mut taken = 0;
    for c in text.chars() {
        if taken + columns(c) > most {
            let rest = match piece.rfind(' ') {
                Some(space) if space > piece.len() / 2 => piece.split_off(space + 1),
                _ => String::new(),
            };
            taken = width(&rest);
            pieces.push(std::mem::replace(&mut piece, rest));
        }
        taken += columns(c);
        piece.push(c);
    }
    pieces.push(piece);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a hostile agent would try, and how it has to look.
    const NASTY: &[(&str, &str)] = &[
        ("\u{1b}[2J\u{1b}[H", r"\u{1b}[2J\u{1b}[H"),
        ("\u{1b}]8;;http://evil\u{1b}\\click", r"\u{1b}]8;;http://evil\u{1b}\click"),
        ("\u{1b}]0;title\u{7}", r"\u{1b}]0;title\u{7}"),
        ("\u{9b}31mred", r"\u{9b}31mred"),
        ("\u{90}dcs\u{9c}", r"\u{90}dcs\u{9c}"),
        ("high\rlow ", r"high\rlow "),
        ("a\nrisk  none", r"a\nrisk  none"),
        ("a\tb\u{8}\u{7f}\u{b}\u{c}", r"a\tb\u{8}\u{7f}\u{b}\u{c}"),
        ("a\u{85}b\u{2028}c\u{2029}d", r"a\u{85}b\u{2028}c\u{2029}d"),
        ("invoice\u{202e}fdp.exe", r"invoice\u{202e}fdp.exe"),
        (
            "\u{2066}x\u{2069}\u{202a}\u{202b}\u{202c}\u{202d}",
            r"\u{2066}x\u{2069}\u{202a}\u{202b}\u{202c}\u{202d}",
        ),
        ("\u{2067}\u{2068}\u{200e}\u{200f}\u{61c}", r"\u{2067}\u{2068}\u{200e}\u{200f}\u{61c}"),
        (
            "pay\u{200b}pal\u{200c}\u{200d}\u{feff}\u{2060}\u{ad}",
            r"pay\u{200b}pal\u{200c}\u{200d}\u{feff}\u{2060}\u{ad}",
        ),
        ("rm\u{a0}-rf\u{2003}/", r"rm\u{a0}-rf\u{2003}/"),
        ("\u{e0041}\u{e0042}", r"\u{e0041}\u{e0042}"),
        ("\u{fe0f}\u{e0100}\u{180b}", r"\u{fe0f}\u{e0100}\u{180b}"),
        ("\u{3164}\u{115f}\u{ffa0}\u{2800}", r"\u{3164}\u{115f}\u{ffa0}\u{2800}"),
        ("\u{e0b0}\u{fffe}\u{10ffff}", r"\u{e0b0}\u{fffe}\u{10ffff}"),
        ("e\n\u{301}", r"e\n\u{301}"),
        ("\u{301}e\u{301}\u{301}\u{301}\u{301}", "\\u{301}e\u{301}\u{301}\u{301}\\u{301}"),
    ];

    #[test]
    fn nothing_hostile_gets_through() {
        for (text, shown) in NASTY {
            assert_eq!(Visible(text).to_string(), *shown);
        }
    }

    #[test]
    fn frames_are_spelled_where_they_could_be_forged() {
        assert_eq!(Unframed("a│└█🬀─").to_string(), r"a\u{2502}\u{2514}\u{2588}\u{1fb00}\u{2500}");
        assert_eq!(Visible("│").to_string(), "│");
    }

    #[test]
    fn ordinary_writing_stays_readable() {
        for text in [
            "refund 899.00 € für Ünal",
            "返金してください\u{3000}お願い",
            "שלום",
            "👍 done",
            "नमस्ते",
            "C:\\dir",
        ] {
            assert_eq!(Visible(text).to_string(), text);
        }
    }

    #[test]
    fn every_character_is_either_shown_or_spelled() {
        for c in (0..=0x10_ffff).filter_map(char::from_u32) {
            let text = c.to_string();
            let shown = Visible(&text).to_string();
            assert!(shown == text || shown.starts_with('\\'), "{:x}", u32::from(c));
            assert!(width(&shown) > 0, "{:x} takes no room", u32::from(c));
            assert!(!shown.chars().any(char::is_control), "{:x}", u32::from(c));
        }
    }

    #[test]
    fn json_keeps_its_meaning() {
        for (text, _) in NASTY {
            let json = serde_json::to_string(text).unwrap();
            let shown = crate::visible::VisibleJson(&json).to_string();
            assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), *text);
            assert!(!shown.chars().any(crate::visible::is_hidden), "{shown}");
        }
        assert_eq!(
            crate::visible::VisibleJson("{\r\n\t\"a\":\"\u{e0041}\"}").to_string(),
            "{ \n \"a\":\"\\udb40\\udc41\"}"
        );
    }

    #[test]
    fn cutting_counts_columns() {
        assert_eq!(cut("short", 5), "short");
        assert_eq!(cut("longer", 5), "long…");
        assert_eq!(cut("返金返金", 5), "返金…");
        assert_eq!(width(&cut("返金返金", 4)), 3);
    }

    #[test]
    fn wrapping_loses_nothing_and_fits() {
        for text in [
            "",
            "one two three four",
            "abcdefghijklmnopqrstuvwxyz",
            "返金返金返金返金返金",
            "a                  b",
        ] {
            let pieces = wrap(text, 7);
            assert_eq!(pieces.concat(), text);
            assert!(pieces.iter().all(|piece| width(piece) <= 7), "{pieces:?}");
        }
        assert_eq!(wrap("one two three", 9), ["one two ", "three"]);
        assert_eq!(wrap("返", 0), ["返"]);
    }
}
