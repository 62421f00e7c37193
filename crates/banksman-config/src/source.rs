//! A file's text: read as what its language has, and shown where it is wrong.

use serde::de::DeserializeOwned;
use serde_saphyr::{Location, Spanned};

use crate::error::{ConfigError, Place};
use crate::mistake::{Hint, in_words};

/// A file's text and its name.
#[derive(Debug, Clone)]
pub struct Source {
    name: String,
    text: String,
}

impl Source {
    /// A text and what to call it in messages.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Reads it as anything that people write in YAML.
    ///
    /// # Errors
    /// If it is not YAML, or not that.
    pub fn read_as<T: DeserializeOwned>(&self) -> Result<T, ConfigError> {
        self.read_with_hint(|_, _| None)
    }

    /// The same for a language that can say where a key belongs which is not there.
    ///
    /// # Errors
    /// As [`Source::read_as`].
    pub fn read_with_hint<T: DeserializeOwned>(&self, hint: Hint) -> Result<T, ConfigError> {
        // The library's own snippet is left out: ours is the same for every error.
        let options = serde_saphyr::options! { with_snippet: false, strict_booleans: true };
        serde_saphyr::from_str_with_options(&self.text, options).map_err(|error| {
            let place = error.location().unwrap_or(Location::UNKNOWN);
            self.error(place, in_words(&error, hint))
        })
    }

    /// What is wrong at a place.
    pub fn error(&self, at: Location, problem: impl Into<String>) -> ConfigError {
        let place = self.place(at);
        let snippet = self.snippet(&place);
        ConfigError::new(place, problem.into(), snippet)
    }

    /// What is wrong with a value.
    pub fn error_at<T>(&self, spanned: &Spanned<T>, problem: impl Into<String>) -> ConfigError {
        self.error(spanned.referenced, problem)
    }

    /// A place in it, as people are told.
    #[must_use]
    pub fn place(&self, at: Location) -> Place {
        Place { file: self.name.clone(), line: at.line().max(1), column: at.column().max(1) }
    }

    /// The line of a place with a caret under it. A file is the operator's own text, but it is shown on terminals
    /// and in logs all the same: what is not printable becomes a dot.
    #[must_use]
    pub fn snippet(&self, place: &Place) -> String {
        let index = usize::try_from(place.line.saturating_sub(1)).unwrap_or(usize::MAX);
        let Some(line) = self.text.lines().nth(index) else { return String::new() };
        let shown: String = line.chars().take(160).map(|c| if c.is_control() { '.' } else { c }).collect();
        let before = usize::try_from(place.column.saturating_sub(1)).unwrap_or(0).min(shown.chars().count());
        format!("\n{:>5} | {shown}\n      | {}^", place.line, " ".repeat(before))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only whether it can be read is asked")]
    struct File {
        version: u32,
        #[serde(default)]
        label: Option<Spanned<String>>,
    }

    fn refused(text: &str) -> String {
        Source::new("a.yaml", text).read_as::<File>().expect_err(text).to_string()
    }

    #[test]
    fn what_is_wrong_is_shown_in_its_line() {
        for (text, shown) in [
            (
                "version: 1\nlabl: x\n",
                "a.yaml:2:1: there is no key \"labl\" here: did you mean \"label\"? the keys are version, label\n    2 | labl: x\n      | ^",
            ),
            (
                "version: 1\nversion: 2\n",
                "a.yaml:2:1: \"version\" is there twice: only one of them could count\n    2 | version: 2\n      | ^",
            ),
        ] {
            assert_eq!(refused(text), shown);
        }
    }

    #[test]
    fn a_language_says_where_a_key_belongs() {
        let source = Source::new("a.yaml", "version: 1\nlabl: x\n");
        let hint = |written: &str, keys: &[&str]| Some(format!("{written} and {}; ", keys.len()));
        let error = source.read_with_hint::<File>(hint).unwrap_err();
        assert_eq!(error.problem(), "there is no key \"labl\" here: labl and 2; the keys are version, label");
        assert_eq!((error.place().line, error.place().column), (2, 1));
    }

    #[test]
    fn what_is_not_printable_is_shown_as_a_dot() {
        let source = Source::new("a.yaml", "label: \"a\u{1b}[31m\"\n");
        let place = Place { file: "a.yaml".into(), line: 1, column: 8 };
        assert_eq!(source.snippet(&place), "\n    1 | label: \"a.[31m\"\n      |        ^");
        assert_eq!(source.snippet(&Place { line: 9, ..place }), "", "there is no such line");
    }
}
