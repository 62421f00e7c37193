//! A page of sections about one thing.
//!
//! Only our own words start in the first column. What others wrote is indented, made visible, and broken by us
//! before the terminal would break it, so nothing an agent writes can look like a heading or a field of ours.

use banksman_core::Risk;
use banksman_core::json::{CanonicalJson, Json};

use crate::display::{Screen, Tone, Visible, wrap};
use crate::pretty::{pretty, value_on_one_line};

const NAME_COLUMNS: usize = 12;

pub(crate) struct Sheet {
    screen: Screen,
    out: String,
}

impl Sheet {
    pub(crate) fn new(screen: Screen) -> Self {
        Self { screen, out: String::new() }
    }

    pub(crate) fn into_text(self) -> String {
        self.out
    }

    /// Starts a section. Headings are ours alone, hence `'static`.
    pub(crate) fn section(&mut self, heading: &'static str) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        let heading = self.screen.paint(Tone::Bold, heading);
        self.line(&heading);
    }

    /// A named value by anyone.
    pub(crate) fn field(&mut self, name: &'static str, value: &str) {
        self.toned_field(name, value, Tone::Plain);
    }

    pub(crate) fn risk(&mut self, name: &'static str, risk: Risk) {
        self.toned_field(name, risk.as_str(), risk.into());
    }

    fn toned_field(&mut self, name: &'static str, value: &str, tone: Tone) {
        let room = self.screen.columns().saturating_sub(2 + NAME_COLUMNS);
        for (index, piece) in wrap(&Visible(value).to_string(), room).iter().enumerate() {
            let label = if index == 0 { name } else { "" };
            let piece = self.screen.paint(tone, piece);
            self.line(&format!("  {label:<NAME_COLUMNS$}{piece}"));
        }
    }

    /// An item of a list, by anyone.
    pub(crate) fn item(&mut self, text: &str) {
        let room = self.screen.columns().saturating_sub(4);
        for (index, piece) in wrap(&Visible(text).to_string(), room).iter().enumerate() {
            let bullet = if index == 0 { "-" } else { " " };
            self.line(&format!("  {bullet} {piece}"));
        }
    }

    /// A sentence of ours in a section.
    pub(crate) fn note(&mut self, text: &str) {
        for piece in wrap(&Visible(text).to_string(), self.screen.columns().saturating_sub(2)) {
            self.line(&format!("  {piece}"));
        }
    }

    /// Several lines by anyone, behind a gutter; `:` marks where we broke a line.
    pub(crate) fn lines(&mut self, text: &str) {
        for line in text.lines() {
            self.gutter('|', &Visible(&line.replace('\t', "    ")).to_string());
        }
    }

    /// A JSON value, exactly, behind a gutter.
    pub(crate) fn json(&mut self, json: &CanonicalJson) {
        for line in pretty(json).lines() {
            self.gutter('|', line);
        }
    }

    /// The members of two objects that differ, before and after.
    pub(crate) fn changes(&mut self, old: &CanonicalJson, new: &CanonicalJson) {
        let (Ok(Json::Object(old)), Ok(Json::Object(new))) = (old.to_json(), new.to_json()) else {
            return self.note("The arguments are no objects: they cannot be compared.");
        };
        for (key, before) in old.iter() {
            let after = new.get(key);
            if after != Some(before) {
                self.change('-', key, before);
            }
            if let Some(after) = after.filter(|after| *after != before) {
                self.change('+', key, after);
            }
        }
        for (key, after) in new.iter().filter(|(key, _)| old.get(key).is_none()) {
            self.change('+', key, after);
        }
    }

    /// One side of a change: a member of a JSON object, behind its sign.
    fn change(&mut self, sign: char, key: &str, value: &Json) {
        let key = value_on_one_line(&Json::String(key.to_owned()));
        self.gutter(sign, &format!("{key}: {}", value_on_one_line(value)));
    }

    /// Something to copy. It must be ours down to the last character, and is never broken.
    pub(crate) fn verbatim(&mut self, text: &str) {
        self.line(&format!("  {text}"));
    }

    /// A line that has been made visible.
    fn gutter(&mut self, mark: char, line: &str) {
        for (index, piece) in wrap(line, self.screen.columns().saturating_sub(4)).iter().enumerate() {
            let mark = if index == 0 { mark } else { ':' };
            self.line(&format!("  {mark} {piece}"));
        }
    }

    fn line(&mut self, line: &str) {
        self.out.push_str(line.trim_end_matches(' '));
        self.out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::display::width;

    const NARROW: Screen = Screen { terminal_columns: Some(40), colours: false };

    #[test]
    fn nothing_of_others_reaches_the_first_column() {
        // Padded so that a terminal of 40 columns would itself break right before the forged heading.
        let forged = format!("{}Policy\n\nPolicy\r\u{1b}[1mrisk none", "x".repeat(36));
        let mut sheet = Sheet::new(NARROW);
        sheet.section("Heading");
        sheet.field("tool", &forged);
        sheet.item(&forged);
        sheet.note(&forged);
        sheet.lines(&forged);
        sheet.change('+', &forged, &Json::String(forged.clone()));
        sheet.json(&CanonicalJson::parse(serde_json::to_string(&forged).unwrap().as_bytes()).unwrap());
        let text = sheet.into_text();
        let outside: Vec<&str> = text.lines().filter(|line| !line.starts_with("  ")).collect();
        assert_eq!(outside, ["Heading"], "{text}");
        assert!(text.lines().all(|line| width(line) <= 40), "{text}");
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
    }

    #[test]
    fn fields_line_up() {
        let mut sheet = Sheet::new(NARROW);
        sheet.section("One");
        sheet.field("tool", "a value that is too long for one line");
        sheet.section("Two");
        sheet.lines("first\n\n\tthird");
        assert_eq!(
            sheet.into_text(),
            "One\n  tool        a value that is too long\n              for one line\n\nTwo\n  | first\n  |\n  |     third\n"
        );
    }
}
