//! A parsed JSON text.

use super::Number;

/// A JSON value whose objects have no duplicate keys and whose numbers are exact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number by its exact value.
    Number(Number),
    /// A text without NUL and without lone surrogates.
    String(String),
    /// A list.
    Array(Vec<Json>),
    /// Members in canonical order.
    Object(Object),
}

impl Json {
    /// What kind of value this is, in the words of an error message.
    #[must_use]
    pub fn kind_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }

    /// The text, if this is one.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    /// The members, if this is an object.
    #[must_use]
    pub fn as_object(&self) -> Option<&Object> {
        if let Self::Object(members) = self { Some(members) } else { None }
    }

    /// The value at a member of an object.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.as_object().and_then(|members| members.get(key))
    }
}

/// The members of an object, sorted by the UTF-16 code units of their keys, as RFC 8785 orders them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Object {
    members: Vec<(String, Json)>,
}

/// RFC 8785 sorts by UTF-16 code units, which is not the order of UTF-8 bytes beyond the basic plane.
pub(super) fn key_order(a: &str, b: &str) -> std::cmp::Ordering {
    if a.is_ascii() && b.is_ascii() { a.cmp(b) } else { a.encode_utf16().cmp(b.encode_utf16()) }
}

impl Object {
    /// Sorts the members; `Err` carries a key that occurs twice.
    pub fn from_members(mut members: Vec<(String, Json)>) -> Result<Self, String> {
        members.sort_by(|(a, _), (b, _)| key_order(a, b));
        let twin = members.windows(2).find_map(|pair| match pair {
            [(a, _), (b, _)] if a == b => Some(a.clone()),
            _ => None,
        });
        match twin {
            Some(key) => Err(key),
            None => Ok(Self { members }),
        }
    }

    /// The value of a member.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Json> {
        let at = self.members.binary_search_by(|(name, _)| key_order(name, key)).ok()?;
        self.members.get(at).map(|(_, value)| value)
    }

    /// Members in canonical order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.members.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Members in canonical order, by value.
    pub fn into_members(self) -> impl Iterator<Item = (String, Json)> {
        self.members.into_iter()
    }

    /// How many members there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}
