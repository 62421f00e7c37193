//! A line of text that someone types.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Longer reasons belong elsewhere.
const LONGEST: usize = 1_000;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Input {
    text: String,
}

impl Input {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// What was typed, if anything was.
    pub(crate) fn said(&self) -> Option<String> {
        Some(self.text.trim()).filter(|text| !text.is_empty()).map(str::to_owned)
    }

    /// Takes a key if it is one for a text.
    pub(crate) fn take(&mut self, key: KeyEvent) {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('u') if control => self.text.clear(),
            KeyCode::Char('w') if control => self.drop_word(),
            KeyCode::Char(c) if !control && !key.modifiers.contains(KeyModifiers::ALT) => self.push(c),
            KeyCode::Backspace => drop(self.text.pop()),
            _ => {}
        }
    }

    /// Takes a text as it was pasted, on one line.
    pub(crate) fn paste(&mut self, text: &str) {
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).for_each(|c| self.push(c));
    }

    fn push(&mut self, c: char) {
        if self.text.chars().count() < LONGEST {
            self.text.push(c);
        }
    }

    fn drop_word(&mut self) {
        let kept = self.text.trim_end().rfind(' ').map_or(0, |space| space + 1);
        self.text.truncate(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(keys: &[(KeyCode, KeyModifiers)]) -> Input {
        let mut input = Input::default();
        keys.iter().for_each(|(code, modifiers)| input.take(KeyEvent::new(*code, *modifiers)));
        input
    }

    #[test]
    fn letters_are_taken_and_taken_back() {
        let plain = KeyModifiers::NONE;
        let mut keys: Vec<_> = "one two".chars().map(|c| (KeyCode::Char(c), plain)).collect();
        assert_eq!(typed(&keys).text(), "one two");
        keys.push((KeyCode::Backspace, plain));
        assert_eq!(typed(&keys).text(), "one tw");
        keys.push((KeyCode::Char('w'), KeyModifiers::CONTROL));
        assert_eq!(typed(&keys).text(), "one ");
        assert_eq!(typed(&keys).said().as_deref(), Some("one"));
        keys.push((KeyCode::Char('u'), KeyModifiers::CONTROL));
        assert_eq!(typed(&keys).said(), None);
    }

    #[test]
    fn what_is_pasted_stays_one_line_and_does_not_grow_for_ever() {
        let mut input = Input::default();
        input.paste("a\r\nb\u{1b}c");
        assert_eq!(input.text(), "a  b c");
        input.paste(&"x".repeat(5_000));
        assert_eq!(input.text().chars().count(), LONGEST);
    }
}
