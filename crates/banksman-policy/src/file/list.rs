//! `x` or `[x, y]`: what matches any of several.

use schemars::JsonSchema;
use serde::Deserialize;

/// `x` or `[x, y]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Listed<T> {
    One(T),
    Many(#[schemars(length(min = 1))] Vec<T>),
}

impl<T> TryFrom<Listed<T>> for OneOrMany<T> {
    type Error = &'static str;

    fn try_from(listed: Listed<T>) -> Result<Self, Self::Error> {
        match listed {
            Listed::One(one) => Ok(Self::One(one)),
            Listed::Many(many) if many.is_empty() => {
                Err("can never match: the list is empty; leave it out to match anything")
            }
            Listed::Many(many) => Ok(Self::Many(many)),
        }
    }
}

/// `x` or `[x, y]`; what is left out matches anything.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(rename = "OneOrMany{T}")]
#[serde(try_from = "Listed<T>", bound(deserialize = "T: Deserialize<'de>"))]
pub enum OneOrMany<T> {
    /// Just one.
    One(T),
    /// Any of these.
    Many(Vec<T>),
}

impl<T> Default for OneOrMany<T> {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl<T> OneOrMany<T> {
    /// All of them.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Many(many) => many,
        }
    }
}
