//! Reads policy text, and says where it is wrong.

use std::fmt;

use serde_saphyr::{Location, Spanned};

use crate::file::PolicyFile;
use crate::mistake;

/// A place in a policy's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Which file.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// The column, from 1.
    pub column: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// A policy that cannot be used: what is wrong, and where, with the line and a caret under it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}{snippet}")]
pub struct PolicyError {
    place: Place,
    problem: String,
    snippet: String,
}

impl PolicyError {
    /// Where it is.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// What is wrong.
    #[must_use]
    pub fn problem(&self) -> &str {
        &self.problem
    }
}

/// A policy's text and its name.
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

    /// Reads it.
    ///
    /// # Errors
    /// If it is not YAML, or not a policy.
    pub fn read(&self) -> Result<PolicyFile, PolicyError> {
        self.read_as()
    }

    /// Reads it as anything that people write in YAML, as strictly.
    ///
    /// # Errors
    /// If it is not YAML, or not that.
    pub fn read_as<T: serde::de::DeserializeOwned>(&self) -> Result<T, PolicyError> {
        // The library's own snippet is left out: ours is the same for every error.
        let options = serde_saphyr::options! { with_snippet: false, strict_booleans: true };
        serde_saphyr::from_str_with_options(&self.text, options).map_err(|error| {
            let place = error.location().unwrap_or(Location::UNKNOWN);
            self.error(place, mistake::in_words(&error))
        })
    }

    /// What is wrong at a place.
    pub fn error(&self, at: Location, problem: impl Into<String>) -> PolicyError {
        let place = self.place(at);
        let snippet = self.snippet(&place);
        PolicyError { place, problem: problem.into(), snippet }
    }

    pub(crate) fn place(&self, at: Location) -> Place {
        Place { file: self.name.clone(), line: at.line().max(1), column: at.column().max(1) }
    }

    pub(crate) fn error_at<T>(&self, spanned: &Spanned<T>, problem: impl Into<String>) -> PolicyError {
        self.error(spanned.referenced, problem)
    }

    /// The line of a place with a caret under it. A policy is the operator's own text, but it is shown on terminals
    /// and in logs all the same: what is not printable becomes a dot.
    pub(crate) fn snippet(&self, place: &Place) -> String {
        let index = usize::try_from(place.line.saturating_sub(1)).unwrap_or(usize::MAX);
        let Some(line) = self.text.lines().nth(index) else { return String::new() };
        let shown: String = line.chars().take(160).map(|c| if c.is_control() { '.' } else { c }).collect();
        let before = usize::try_from(place.column.saturating_sub(1)).unwrap_or(0).min(shown.chars().count());
        format!("\n{:>5} | {shown}\n      | {}^", place.line, " ".repeat(before))
    }
}
