//! Names with wildcards.

use std::fmt;

use banksman_core::fits_wildcard;
use serde::{Deserialize, Deserializer};

/// A name in which `*` stands for any number of characters and `?` for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob(Box<str>);

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

    /// What comes before the first wildcard.
    #[must_use]
    pub fn prefix(&self) -> &str {
        self.0.find(['*', '?']).and_then(|at| self.0.get(..at)).unwrap_or(&self.0)
    }

    /// Whether a name fits.
    #[must_use]
    pub fn fits(&self, name: &str) -> bool {
        fits_wildcard(&self.0, name)
    }

    /// Whether every name that fits `other` fits this one too, as far as that can be told simply.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        &*self.0 == "*" || self == other || other.exact().is_some_and(|name| self.fits(name))
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
    fn a_hostile_pattern_is_still_quick() {
        let glob = Glob::new("*a".repeat(50) + "b");
        assert!(!glob.fits(&"a".repeat(5000)));
    }
}
