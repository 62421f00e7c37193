//! How things look.
//!
//! Only the sixteen colours of the reader's own theme, and no background but the reverse of it: that reads on light
//! and on dark terminals. Whatever a colour says, a word says too, so nothing is lost without colours.

use banksman_core::Risk;
use banksman_core::visible::{Unframed, cut, width};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Span;

/// Whether there are colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Paint {
    pub(crate) colours: bool,
}

/// What a text is to a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Bold,
    Faint,
    Alarm,
    Warning,
    Fine,
    /// A bar across the screen.
    Bar,
    /// A bar that must not be missed.
    AlarmBar,
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

impl Paint {
    pub(crate) fn style(self, tone: Tone) -> Style {
        let plain = Style::new();
        let bold = plain.add_modifier(Modifier::BOLD);
        let coloured = |style: Style, colour: Color| if self.colours { style.fg(colour) } else { style };
        match tone {
            Tone::Plain => plain,
            Tone::Bold => bold,
            Tone::Faint => plain.add_modifier(Modifier::DIM),
            Tone::Alarm => coloured(bold, Color::Red),
            Tone::Warning => coloured(plain, Color::Yellow),
            Tone::Fine => coloured(plain, Color::Green),
            Tone::Bar => plain.add_modifier(Modifier::REVERSED),
            Tone::AlarmBar => coloured(bold, Color::Red).add_modifier(Modifier::REVERSED),
        }
    }

    /// What an analyser pointed at.
    pub(crate) fn mark(self, risk: Risk) -> Style {
        self.style(risk.into()).add_modifier(Modifier::UNDERLINED)
    }

    /// A text of ours, or one that has been made visible.
    pub(crate) fn span(self, tone: Tone, text: impl Into<String>) -> Span<'static> {
        Span::styled(text.into(), self.style(tone))
    }
}

/// A text by anyone, on one line, with nothing in it that acts, hides or draws a frame.
pub(crate) fn foreign(text: &str) -> String {
    Unframed(text).to_string()
}

/// The same in exactly so many columns.
pub(crate) fn cell(text: &str, columns: usize) -> String {
    padded(&foreign(text), columns)
}

/// A text that has been made visible, in exactly so many columns.
pub(crate) fn padded(text: &str, columns: usize) -> String {
    let short = cut(text, columns);
    let padding = " ".repeat(columns.saturating_sub(width(&short)));
    short + &padding
}
