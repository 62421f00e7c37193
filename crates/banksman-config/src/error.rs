//! What is wrong with a file, and where.

use std::fmt;

/// A place in a file's text.
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

/// A file that cannot be used: what is wrong, and where, with the line and a caret under it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}{snippet}")]
pub struct ConfigError {
    place: Place,
    problem: String,
    snippet: String,
}

impl ConfigError {
    pub(crate) fn new(place: Place, problem: String, snippet: String) -> Self {
        Self { place, problem, snippet }
    }

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
