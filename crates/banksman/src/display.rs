//! Showing what others wrote.
//!
//! Whatever an agent can write is hostile when shown: an escape sequence repaints the screen, a carriage return
//! overwrites the line that warned, a bidirectional override reverses a file name, a zero-width character makes
//! two names look the same. So nothing of that reaches the terminal: each such character is replaced by its
//! number, whether or not the output is a terminal now, because files get shown later.

use std::io::IsTerminal;

use banksman_core::Risk;
pub(crate) use banksman_core::visible::{Unframed, Visible, VisibleJson, cut, width, wrap};

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

    #[test]
    fn colours_only_where_wanted() {
        let plain = Screen { terminal_columns: None, colours: false };
        let colourful = Screen { terminal_columns: Some(80), colours: true };
        assert_eq!(plain.paint(Tone::Alarm, "high"), "high");
        assert_eq!(colourful.paint(Tone::Alarm, "high"), "\u{1b}[1;31mhigh\u{1b}[0m");
        assert_eq!(colourful.paint(Tone::Plain, "high"), "high");
    }
}
