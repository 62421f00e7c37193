//! A terminal on which no character can move another.
//!
//! How wide a character is, terminals disagree about: some draw ambiguous letters, emoji or box lines over two columns.
//! A text that counts on that would push the rest of its row, and our frame with it, to the side. So behind every
//! character that is not ASCII the cursor is put where it belongs.

use ratatui::backend::{Backend, ClearType, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};

pub(crate) struct Steady<B>(pub(crate) B);

impl<B: Backend> Backend for Steady<B> {
    type Error = B::Error;

    fn draw<'a, I>(&mut self, content: I) -> Result<(), Self::Error>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        // The backend moves the cursor at the start of each call, and then only where cells are apart.
        let mut run = Vec::new();
        for (x, y, cell) in content {
            run.push((x, y, cell));
            if !cell.symbol().is_ascii() {
                self.0.draw(run.drain(..))?;
            }
        }
        if run.is_empty() { Ok(()) } else { self.0.draw(run.into_iter()) }
    }

    fn hide_cursor(&mut self) -> Result<(), Self::Error> {
        self.0.hide_cursor()
    }

    fn show_cursor(&mut self) -> Result<(), Self::Error> {
        self.0.show_cursor()
    }

    fn get_cursor_position(&mut self) -> Result<Position, Self::Error> {
        self.0.get_cursor_position()
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> Result<(), Self::Error> {
        self.0.set_cursor_position(position)
    }

    fn clear(&mut self) -> Result<(), Self::Error> {
        self.0.clear()
    }

    fn clear_region(&mut self, clear_type: ClearType) -> Result<(), Self::Error> {
        self.0.clear_region(clear_type)
    }

    fn size(&self) -> Result<Size, Self::Error> {
        self.0.size()
    }

    fn window_size(&mut self) -> Result<WindowSize, Self::Error> {
        self.0.window_size()
    }

    fn flush(&mut self) -> Result<(), Self::Error> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use ratatui::backend::CrosstermBackend;

    use super::*;

    #[test]
    fn behind_every_character_that_is_not_ascii_the_cursor_is_put_where_it_belongs() {
        let cells: Vec<Cell> = ["a", "§", "b", "│"].iter().map(|symbol| Cell::new(symbol)).collect();
        let mut bytes = Vec::new();
        let row = cells.iter().enumerate().map(|(x, cell)| (u16::try_from(x).unwrap(), 0, cell));
        Steady(CrosstermBackend::new(&mut bytes)).draw(row).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let after = text.split('§').nth(1).unwrap();
        let (moved, _) = after.split_once('b').unwrap();
        assert!(moved.contains("\u{1b}[1;3H"), "{text:?}");
    }
}
