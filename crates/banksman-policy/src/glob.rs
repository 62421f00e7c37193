//! Names with wildcards.

use std::fmt;

use banksman_core::{fits_wildcard, wildcard_covers};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

/// A name in which `*` stands for any number of characters and `?` for one.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
pub struct Glob(#[schemars(length(min = 1))] Box<str>);

impl Glob {
    /// A pattern from its text.
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// The name, if it is only one name.
    #[must_use]
    pub fn exact(&self) -> Option<&str> {
        (!self.0.contains(['*', '?'])).then_some(&*self.0)
    }

    /// Whether every name fits.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.0.chars().all(|c| c == '*')
    }

    /// The same pattern in another spelling.
    pub(crate) fn map(&self, spell: impl FnOnce(&str) -> String) -> Self {
        Self(spell(&self.0).into())
    }

    /// What comes before the first wildcard.
    #[must_use]
    pub fn prefix(&self) -> &str {
        self.0.find(['*', '?']).and_then(|at| self.0.get(..at)).unwrap_or(&self.0)
    }

    /// Whether a name fits.
    #[must_use]
    pub fn fits(&self, name: &str) -> bool {
        // Most names have no wildcard, and comparing them costs nothing.
        self.exact().map_or_else(|| fits_wildcard(&self.0, name), |exact| exact == name)
    }

    /// Whether every name that fits `other` surely fits this one too. Some that do are not seen.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        wildcard_covers(&self.0, &other.0)
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Glob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.is_empty() {
            return Err(serde::de::Error::custom("an empty pattern fits nothing; use \"*\" for everything"));
        }
        Ok(Self(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks() {
        for (glob, name) in
            [("*", ""), ("a*", "abc"), ("*c", "abc"), ("a?c", "abc"), ("a*b*c", "axxbyyc"), ("é*", "école")]
        {
            assert!(Glob::new(glob).fits(name), "{glob} {name}");
        }
        for (glob, name) in [("a*", "ba"), ("a?c", "ac"), ("a*c", "ab"), ("abc", "abcd"), ("*a", "b")] {
            assert!(!Glob::new(glob).fits(name), "{glob} {name}");
        }
    }

    #[test]
    fn one_pattern_covers_another_only_if_all_its_names_fit() {
        for (glob, other) in
            [("*", "a*"), ("a*", "ab*"), ("a?c", "abc"), ("a?", "a?"), ("*a*", "?a*b"), ("a*c", "a*b*c")]
        {
            assert!(Glob::new(glob).covers(&Glob::new(other)), "{glob} {other}");
        }
        for (glob, other) in
            [("a?", "a*"), ("ab*", "a*"), ("a?c", "a*c"), ("?", "*"), ("*b", "*"), ("\u{10FFFF}", "*")]
        {
            assert!(!Glob::new(glob).covers(&Glob::new(other)), "{glob} {other}");
        }
    }

    #[test]
    fn a_hostile_pattern_is_still_quick() {
        let glob = Glob::new("*a".repeat(50) + "b");
        assert!(!glob.fits(&"a".repeat(5000)));
    }
}
