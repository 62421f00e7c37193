//! Showing what others wrote.
//!
//! Whatever an agent can write is hostile when shown: an escape sequence repaints the screen, a carriage return
//! overwrites the line that warned, a bidirectional override reverses a file name, a zero-width character makes
//! two names look the same. So nothing of that reaches the terminal: each such character is replaced by its
//! number, whether or not the output is a terminal now, because files get shown later.

use std::io::IsTerminal;

use banksman_core::Risk;
pub(crate) use banksman_core::visible::{Visible, VisibleJson};
use unicode_width::UnicodeWidthChar;

/// How many columns a text takes that has been made visible.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

fn columns(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// The start of a text, with `…` in its last column if something was left out.
pub(crate) fn cut(text: &str, most: usize) -> String {
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
pub(crate) fn wrap(text: &str, most: usize) -> Vec<String> {
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

/// Whether a terminal is to be painted.
pub(crate) fn wants_colours() -> bool {
    // https://no-color.org: any value but the empty one.
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
        || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    !unwanted
}

/// What the output can do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Screen {
    /// The width of the terminal, if it is one.
    pub(crate) terminal_columns: Option<usize>,
    /// Whether to use colours.
    pub(crate) colours: bool,
}

impl Screen {
    pub(crate) fn of_stdout() -> Self {
        if !std::io::stdout().is_terminal() {
            return Self { terminal_columns: None, colours: false };
        }
        let columns = terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0));
        Self { terminal_columns: Some(columns), colours: wants_colours() }
    }

    pub(crate) fn is_terminal(self) -> bool {
        self.terminal_columns.is_some()
    }

    /// The width to write for. Files get 80 columns, because they are shown in a terminal sooner or later.
    pub(crate) fn columns(self) -> usize {
        self.terminal_columns.unwrap_or(80).max(20)
    }

    /// A text of ours, or one made visible, in a colour if there are colours.
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Plain => return text.to_owned(),
            Tone::Bold => "1",
            Tone::Faint => "2",
            Tone::Alarm => "1;31",
            Tone::Warning => "33",
            Tone::Fine => "32",
        };
        if self.colours { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// How something is meant to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Bold,
    Faint,
    Alarm,
    Warning,
    Fine,
}

impl From<Risk> for Tone {
    fn from(risk: Risk) -> Self {
        match risk {
            Risk::None | Risk::Low => Self::Fine,
            Risk::Medium => Self::Warning,
            Risk::High | Risk::Critical => Self::Alarm,
        }
    }
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
        ("\u{301}e\u{301}\u{301}\u{301}\u{301}", "\\u{301}e\u{301}\u{301}\u{301}\\u{301}"),
    ];

    #[test]
    fn nothing_hostile_gets_through() {
        for (text, shown) in NASTY {
            assert_eq!(Visible(text).to_string(), *shown);
        }
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
            let shown = VisibleJson(&json).to_string();
            assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), *text);
            assert!(!shown.chars().any(banksman_core::visible::is_hidden), "{shown}");
        }
        assert_eq!(VisibleJson("{\r\n\t\"a\":\"\u{e0041}\"}").to_string(), "{ \n \"a\":\"\\udb40\\udc41\"}");
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

    #[test]
    fn colours_only_where_wanted() {
        let plain = Screen { terminal_columns: None, colours: false };
        let colourful = Screen { terminal_columns: Some(80), colours: true };
        assert_eq!(plain.paint(Tone::Alarm, "high"), "high");
        assert_eq!(colourful.paint(Tone::Alarm, "high"), "\u{1b}[1;31mhigh\u{1b}[0m");
        assert_eq!(colourful.paint(Tone::Plain, "high"), "high");
    }
}
