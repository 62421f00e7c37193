//! Lines about one thing, none wider than they may be.
//!
//! Only our own words begin in the first column. What others wrote is indented, spelled where it would act, hide or
//! draw, and broken by us, so nothing that an agent writes can look like a heading or a field of ours.

use banksman_core::json::CanonicalJson;
use banksman_core::visible::{Speller, pretty, width, wrap};
use banksman_review::Stretch;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::paint::{Paint, Tone, foreign};

/// How wide the names of fields are.
const NAME: usize = 14;

pub(crate) struct Sheet {
    paint: Paint,
    width: usize,
    lines: Vec<Line<'static>>,
}

impl Sheet {
    pub(crate) fn new(paint: Paint, width: usize) -> Self {
        Self { paint, width: width.max(20), lines: Vec::new() }
    }

    pub(crate) fn into_lines(self) -> Vec<Line<'static>> {
        self.lines
    }

    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    pub(crate) fn blank(&mut self) {
        self.lines.push(Line::default());
    }

    /// Starts a section. Headings are ours alone, hence `'static`.
    pub(crate) fn heading(&mut self, text: &'static str) {
        if !self.lines.is_empty() {
            self.blank();
        }
        self.own(Tone::Bold, text);
    }

    /// A line of ours.
    pub(crate) fn own(&mut self, tone: Tone, text: &str) {
        for piece in wrap(text, self.width) {
            self.lines.push(self.paint.span(tone, piece).into());
        }
    }

    /// A line of spans that is ours, or made visible, and fits.
    pub(crate) fn line(&mut self, spans: Vec<Span<'static>>) {
        self.lines.push(spans.into());
    }

    /// A named value by anyone.
    pub(crate) fn field(&mut self, name: &'static str, tone: Tone, value: &str) {
        let room = self.width.saturating_sub(2 + NAME);
        for (index, piece) in wrap(&foreign(value), room).into_iter().enumerate() {
            let label = if index == 0 { name } else { "" };
            let label = self.paint.span(Tone::Faint, format!("  {label:<NAME$}"));
            self.lines.push(vec![label, self.paint.span(tone, piece)].into());
        }
    }

    /// A sentence by anyone behind a sign of ours.
    pub(crate) fn item(&mut self, tone: Tone, sign: &str, text: &str) {
        let sign = format!("  {sign} ");
        let room = self.width.saturating_sub(width(&sign));
        for (index, piece) in wrap(&foreign(text), room).into_iter().enumerate() {
            let sign = if index == 0 { sign.clone() } else { " ".repeat(width(&sign)) };
            self.lines.push(vec![Span::raw(sign), self.paint.span(tone, piece)].into());
        }
    }

    /// A name and a value by anyone, with what does not fit further in.
    pub(crate) fn entry(&mut self, text: &str) {
        for (index, piece) in wrap(&foreign(text), self.width.saturating_sub(6)).into_iter().enumerate() {
            let indent = if index == 0 { "  " } else { "      " };
            self.lines.push(Line::raw(format!("{indent}{piece}")));
        }
    }

    /// Several lines by anyone, behind a gutter; `:` marks where we broke a line.
    pub(crate) fn quoted(&mut self, text: &str) {
        self.marked(text, &[Stretch { start: 0, end: text.len(), level: None, ending: Vec::new() }]);
    }

    /// The same, with what was found in it underlined and numbered.
    pub(crate) fn marked(&mut self, text: &str, stretches: &[Stretch]) {
        let mut block = Block::new(self.paint, self.width);
        let mut speller = Speller::unframed();
        for stretch in stretches {
            let style = stretch.level.map_or_else(Style::new, |level| self.paint.mark(level));
            for c in text.get(stretch.start..stretch.end).unwrap_or_default().chars() {
                let mut piece = String::new();
                speller.push(&mut piece, c);
                match c {
                    '\n' => block.end_line(),
                    '\t' => block.push("    ", style),
                    _ => block.push(&piece, style),
                }
            }
            for number in &stretch.ending {
                block.push(&format!("[{number}]"), self.paint.style(Tone::Bold));
            }
        }
        block.end_line();
        self.lines.append(&mut block.lines);
    }

    /// A JSON value, exactly, behind a gutter.
    pub(crate) fn json(&mut self, json: &CanonicalJson) {
        self.quoted(&pretty(json));
    }

    /// A line of a comparison, behind its sign.
    pub(crate) fn changed(&mut self, sign: char, tone: Tone, text: &str) {
        let text = foreign(&text.replace('\t', "    "));
        for (index, piece) in wrap(&text, self.width.saturating_sub(4)).into_iter().enumerate() {
            let sign = if index == 0 { sign } else { ':' };
            let style = self.paint.style(tone);
            self.lines
                .push(vec![Span::styled(format!("  {sign} "), style), Span::styled(piece, style)].into());
        }
    }
}

/// Lines behind a gutter, filled character by character.
struct Block {
    paint: Paint,
    room: usize,
    lines: Vec<Line<'static>>,
    row: Vec<Span<'static>>,
    taken: usize,
    gutter: &'static str,
}

const FIRST: &str = "  | ";
const GOES_ON: &str = "  : ";

impl Block {
    fn new(paint: Paint, width: usize) -> Self {
        let room = width.saturating_sub(FIRST.len()).max(2);
        Self { paint, room, lines: Vec::new(), row: Vec::new(), taken: 0, gutter: FIRST }
    }

    fn push(&mut self, piece: &str, style: Style) {
        // What spells one character may be longer than a narrow line.
        for c in piece.chars() {
            let columns = width(c.encode_utf8(&mut [0; 4]));
            if self.taken + columns > self.room {
                self.end_row();
                self.gutter = GOES_ON;
            }
            self.taken += columns;
            match self.row.last_mut() {
                Some(last) if last.style == style => last.content.to_mut().push(c),
                _ => self.row.push(Span::styled(c.to_string(), style)),
            }
        }
    }

    fn end_line(&mut self) {
        self.end_row();
        self.gutter = FIRST;
    }

    fn end_row(&mut self) {
        let mut row = vec![self.paint.span(Tone::Faint, self.gutter)];
        row.append(&mut self.row);
        self.lines.push(row.into());
        self.taken = 0;
    }
}
