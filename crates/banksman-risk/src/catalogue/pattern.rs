//! How texts are described in rules.

use std::fmt;
use std::sync::OnceLock;

use regex::Regex;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::fact::Word;

/// A text as a rule describes it: `name` exactly, `mkfs.*` with wildcards, or `{regex: ...}` searched anywhere.
///
/// A wildcard stands for any number of characters, a hole in the text only for itself: what is not known matches
/// nothing but a wildcard.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "Written", into = "Written")]
pub enum TextPattern {
    /// Exactly this.
    Exact(Box<str>),
    /// This with `*` for anything.
    Glob(Box<str>),
    /// A regular expression, searched anywhere.
    Regex(Expression),
}

/// A regular expression that is compiled when it is first asked.
///
/// A process that judges one command asks a few of the built-in expressions, and compiling all of them takes longer
/// than everything else that it does.
#[derive(Debug, Clone)]
pub struct Expression {
    source: Box<str>,
    /// Nothing, if it turns out not to be an expression at all.
    compiled: OnceLock<Option<Regex>>,
}

impl Expression {
    fn checked(source: &str) -> Result<Self, String> {
        let compiled = Regex::new(source).map_err(|error| format!("bad regex: {error}"))?;
        Ok(Self { source: source.into(), compiled: OnceLock::from(Some(compiled)) })
    }

    fn is_match(&self, text: &str) -> bool {
        // What cannot be asked counts as found: it must not make anything look harmless.
        self.compiled
            .get_or_init(|| Regex::new(&self.source).ok())
            .as_ref()
            .is_none_or(|regex| regex.is_match(text))
    }
}

#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
enum Written {
    Plain(String),
    Regex {
        regex: String,
        /// Whether it has been compiled before: only the build says so, of built-in rules.
        #[serde(skip)]
        proven: bool,
    },
}

/// By hand, because there are thousands: what is untagged would be read twice, and its errors would not say why.
impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Written;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a text or {regex: ...}")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Written, E> {
                Ok(Written::Plain(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Written, A::Error> {
                let written = match map.next_entry::<String, String>()? {
                    Some((key, regex)) if key == "regex" => Written::Regex { regex, proven: false },
                    Some((key, regex)) if key == "proven_regex" => Written::Regex { regex, proven: true },
                    Some((key, _)) => return Err(de::Error::unknown_field(&key, &["regex"])),
                    None => return Err(de::Error::missing_field("regex")),
                };
                match map.next_key::<String>()? {
                    None => Ok(written),
                    Some(key) => Err(de::Error::unknown_field(&key, &["regex"])),
                }
            }
        }

        deserializer.deserialize_any(Reader)
    }
}

impl TryFrom<Written> for TextPattern {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        match written {
            Written::Plain(text) if text.contains('*') => Ok(Self::Glob(text.into())),
            Written::Plain(text) => Ok(Self::Exact(text.into())),
            Written::Regex { regex, proven: true } => {
                Ok(Self::Regex(Expression { source: regex.into(), compiled: OnceLock::new() }))
            }
            Written::Regex { regex, proven: false } => Expression::checked(&regex).map(Self::Regex),
        }
    }
}

impl From<TextPattern> for Written {
    fn from(pattern: TextPattern) -> Self {
        match pattern {
            TextPattern::Exact(text) | TextPattern::Glob(text) => Self::Plain(text.into()),
            TextPattern::Regex(regex) => Self::Regex { regex: regex.source.into(), proven: true },
        }
    }
}

impl TextPattern {
    /// A pattern that the build wrote down among names; nothing if it is a name. An expression that cannot be read is
    /// asked of every name, and counts as found.
    pub(super) fn packed(text: &str) -> Option<Self> {
        if text.starts_with('{') {
            let unread = || Self::Regex(Expression { source: text.into(), compiled: OnceLock::from(None) });
            Some(serde_json::from_str(text).unwrap_or_else(|_| unread()))
        } else {
            text.contains('*').then(|| Self::Glob(text.into()))
        }
    }

    /// Whether it knows the text.
    #[must_use]
    pub fn knows(&self, text: &str) -> bool {
        match self {
            Self::Exact(exact) => &**exact == text,
            Self::Glob(glob) => glob_knows(glob, text),
            Self::Regex(regex) => regex.is_match(text),
        }
    }

    pub(super) fn any_knows(patterns: &[Self], word: &Word<'_>) -> bool {
        patterns.iter().any(|pattern| pattern.knows(&word.text))
    }
}

/// Whether a text fits a pattern in which `*` stands for any number of characters.
pub(super) fn glob_knows(glob: &str, text: &str) -> bool {
    let mut pieces = glob.split('*');
    let Some(first) = pieces.next() else { return text.is_empty() };
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut last = None;
    for piece in pieces {
        // The piece before this one may match anywhere; only the last is bound to the end.
        if let Some(piece) = last.replace(piece) {
            match rest.find(piece) {
                Some(at) => rest = rest.get(at + piece.len()..).unwrap_or_default(),
                None => return false,
            }
        }
    }
    match last {
        None => rest.is_empty(),
        Some(piece) => rest.ends_with(piece),
    }
}

#[cfg(test)]
mod tests {
    use super::glob_knows;

    #[test]
    fn wildcards_stand_for_anything() {
        for (glob, text) in
            [("*", ""), ("a*", "abc"), ("*c", "abc"), ("a*c", "ac"), ("a*b*c", "a1b2c"), ("", "")]
        {
            assert!(glob_knows(glob, text), "{glob} {text}");
        }
        for (glob, text) in
            [("a*", "ba"), ("*c", "cd"), ("a*a", "a"), ("a*b*c", "acb"), ("", "x"), ("ab", "abc")]
        {
            assert!(!glob_knows(glob, text), "{glob} {text}");
        }
    }
}
