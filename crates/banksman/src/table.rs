//! Tables of what others wrote: a row is a line, whatever is in it.

use crate::display::{Screen, Tone, Visible, cut, width, wrap};

const GAP: &str = "  ";
const INDENT: &str = "    ";

/// One cell: harmless by construction.
pub(crate) struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    /// A text by anyone.
    pub(crate) fn new(text: &str) -> Self {
        Self { text: Visible(text).to_string(), tone: Tone::Plain }
    }

    pub(crate) fn toned(text: &str, tone: Tone) -> Self {
        Self { tone, ..Self::new(text) }
    }
}

/// A column: its heading, and how wide it gets before it is cut.
pub(crate) struct Column {
    pub(crate) heading: &'static str,
    pub(crate) most: usize,
}

/// What to do with rows that are wider than the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TooWide {
    /// Cut columns at their limits, and the last where the screen ends.
    Cut,
    /// Keep everything.
    GoOn,
}

pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    pub(crate) fn new(columns: Vec<Column>) -> Self {
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row, with a cell for each column.
    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// The table as text, headings first. On a terminal a row that is too long goes on indented, so that no row
    /// looks like two.
    pub(crate) fn render(&self, screen: Screen, too_wide: TooWide) -> String {
        let widths = self.widths(screen, too_wide);
        let headings: Vec<Cell> =
            self.columns.iter().map(|column| Cell::toned(column.heading, Tone::Faint)).collect();
        let mut out = String::new();
        for row in std::iter::once(&headings).chain(&self.rows) {
            let plain = line(row, &widths, Screen { colours: false, ..screen });
            match screen.terminal_columns {
                // On a narrow terminal even cut columns can be too wide together.
                Some(columns) if width(&plain) > columns => go_on(&mut out, &plain, columns),
                Some(_) | None => out.push_str(&line(row, &widths, screen)),
            }
            out.push('\n');
        }
        out
    }

    /// As wide as the content, up to the limit; the last column gets what the screen has left.
    fn widths(&self, screen: Screen, too_wide: TooWide) -> Vec<usize> {
        let content = |index: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(index));
            cells.map(|cell| width(&cell.text)).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = Vec::with_capacity(self.columns.len());
        for (index, column) in self.columns.iter().enumerate() {
            let wanted = content(index).max(width(column.heading));
            let is_last = index + 1 == self.columns.len();
            widths.push(match too_wide {
                TooWide::GoOn => wanted,
                TooWide::Cut if is_last => {
                    let before: usize = widths.iter().map(|width| width + GAP.len()).sum();
                    wanted.min(screen.columns().saturating_sub(before))
                }
                TooWide::Cut => wanted.min(column.most),
            });
        }
        widths
    }
}

fn line(row: &[Cell], widths: &[usize], screen: Screen) -> String {
    let mut out = String::new();
    for (index, (cell, most)) in row.iter().zip(widths).enumerate() {
        let text = cut(&cell.text, *most);
        let padding =
            if index + 1 == widths.len() { 0 } else { most.saturating_sub(width(&text)) + GAP.len() };
        // Padded outside of the colour: escape sequences take no columns.
        out.push_str(&screen.paint(cell.tone, &text));
        out.extend(std::iter::repeat_n(' ', padding));
    }
    out.truncate(out.trim_end().len());
    out
}

fn go_on(out: &mut String, line: &str, columns: usize) {
    for (index, piece) in wrap(line, columns.saturating_sub(INDENT.len())).iter().enumerate() {
        if index > 0 {
            out.push('\n');
            out.push_str(INDENT);
        }
        out.push_str(piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: Screen = Screen { terminal_columns: None, colours: false };

    fn table(name: &str, words: &str) -> Table {
        let mut table =
            Table::new(vec![Column { heading: "NAME", most: 10 }, Column { heading: "WORDS", most: 200 }]);
        table.row(vec![Cell::toned(name, Tone::Alarm), Cell::new(words)]);
        table.row(vec![Cell::new("b"), Cell::new("")]);
        table
    }

    #[test]
    fn columns_are_aligned_and_lines_end_clean() {
        assert_eq!(table("返金", "x y").render(FILE, TooWide::Cut), "NAME  WORDS\n返金  x y\nb\n");
    }

    #[test]
    fn a_row_is_a_line_that_fits() {
        let long = "w".repeat(500);
        let text = table(&"n".repeat(50), &format!("a\nb\u{1b}[31m{long}")).render(FILE, TooWide::Cut);
        assert_eq!(text.lines().count(), 3);
        assert!(text.lines().all(|line| width(line) <= 80), "{text}");
        assert!(text.contains(r"nnnnnnnnn…  a\nb\u{1b}[31mwww"), "{text}");
    }

    #[test]
    fn a_row_that_goes_on_cannot_pass_for_two() {
        let forged = format!("{}FORGED  none", " ".repeat(60));
        let screen = Screen { terminal_columns: Some(60), colours: false };
        let text = table("a", &forged).render(screen, TooWide::GoOn);
        assert!(text.contains("FORGED"));
        assert!(text.lines().all(|line| width(line) <= 60 && !line.starts_with("FORGED")), "{text}");
        assert_eq!(table("a", &forged).render(FILE, TooWide::GoOn).lines().count(), 3);
        let tiny = Screen { terminal_columns: Some(20), colours: false };
        let text = table(&forged, &forged).render(tiny, TooWide::Cut);
        assert!(text.lines().all(|line| width(line) <= 20), "{text}");
    }

    #[test]
    fn colours_do_not_disturb_the_columns() {
        let screen = Screen { terminal_columns: Some(80), colours: true };
        let text = table("a", "x").render(screen, TooWide::Cut);
        assert!(text.contains("\u{1b}[1;31ma\u{1b}[0m     x\n"), "{text:?}");
    }
}
