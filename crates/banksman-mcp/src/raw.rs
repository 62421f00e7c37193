//! JSON objects as they were written: a member can be looked at or replaced, and the rest keeps its bytes.
//!
//! Typed models drop what they do not know, round big numbers and reorder keys. What goes through here does not.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The members of an object, in their order, each value as it was written.
#[derive(Debug, Default)]
pub(crate) struct Members<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Members<'a> {
    /// The members of an object; `None` if it is none.
    pub(crate) fn read(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    pub(crate) fn read_bytes(bytes: &'a [u8]) -> Option<Self> {
        Self::read(std::str::from_utf8(bytes).ok()?)
    }

    /// A member's value, as it was written.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_ref())
    }

    /// All of them, in their order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_ref(), value.as_ref()))
    }

    /// A member that is a text.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        serde_json::from_str(self.get(key)?).ok()
    }

    /// Replaces a member, or adds it at the end. `value` has to be JSON.
    pub(crate) fn set(&mut self, key: &'a str, value: impl Into<Cow<'a, str>>) {
        let value = value.into();
        match self.0.iter_mut().find(|(name, _)| name == key) {
            Some((_, old)) => *old = value,
            None => self.0.push((Cow::Borrowed(key), value)),
        }
    }

    pub(crate) fn remove(&mut self, key: &str) {
        self.0.retain(|(name, _)| name != key);
    }

    pub(crate) fn write(&self) -> String {
        let length = self.0.iter().map(|(key, value)| key.len() + value.len() + 4).sum::<usize>() + 2;
        let mut text = String::with_capacity(length);
        text.push('{');
        for (position, (key, value)) in self.0.iter().enumerate() {
            if position > 0 {
                text.push(',');
            }
            text.push_str(&quoted(key));
            text.push(':');
            text.push_str(value);
        }
        text.push('}');
        text
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((key, value)) = map.next_entry::<Key<'de>, &'de RawValue>()? {
                    members.push((key.0, Cow::Borrowed(value.get())));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

/// A key, borrowed unless it has escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Key<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

/// A text as JSON.
pub(crate) fn quoted(text: &str) -> String {
    // Writing a text to memory cannot fail.
    serde_json::to_string(text).unwrap_or_else(|_| "\"\"".to_owned())
}

/// Adds an element at the front of a list, or at its end; nothing if it is no list.
pub(crate) fn with_element(list: &str, element: &str, at: End) -> Option<String> {
    let inside = list.trim().strip_prefix('[')?.strip_suffix(']')?.trim();
    Some(match (inside.is_empty(), at) {
        (true, _) => format!("[{element}]"),
        (false, End::Front) => format!("[{element},{inside}]"),
        (false, End::Back) => format!("[{inside},{element}]"),
    })
}

/// The first elements of a list, each as it was written.
#[derive(Debug)]
pub(crate) struct Elements<'a> {
    pub(crate) first: Vec<&'a RawValue>,
    /// Whether there are others behind them.
    pub(crate) more: bool,
}

impl<'a> Elements<'a> {
    /// So many elements of a list at the most, however long it is; nothing if it is no list.
    pub(crate) fn read(list: &'a str, most: usize) -> Option<Self> {
        struct First(usize);
        impl<'de> DeserializeSeed<'de> for First {
            type Value = Elements<'de>;

            fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
                deserializer.deserialize_seq(self)
            }
        }
        impl<'de> Visitor<'de> for First {
            type Value = Elements<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut first = Vec::new();
                while first.len() < self.0 {
                    match list.next_element()? {
                        Some(element) => first.push(element),
                        None => return Ok(Elements { first, more: false }),
                    }
                }
                let mut more = false;
                while list.next_element::<IgnoredAny>()?.is_some() {
                    more = true;
                }
                Ok(Elements { first, more })
            }
        }
        let mut reader = serde_json::Deserializer::from_str(list);
        let elements = First(most).deserialize(&mut reader).ok()?;
        reader.end().ok()?;
        Some(elements)
    }
}

/// Which end of a list.
#[derive(Debug, Clone, Copy)]
pub(crate) enum End {
    Front,
    Back,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_touched_keeps_its_bytes() {
        let text = r#"{"z": 9007199254740993 ,"a\u0041":{"b" : [1.0,  2e0]},"params":{"x":1}}"#;
        let mut members = Members::read(text).unwrap();
        assert_eq!(members.get("z"), Some("9007199254740993"));
        members.set("params", r#"{"y":2}"#);
        members.set("new", "null");
        assert_eq!(
            members.write(),
            r#"{"z":9007199254740993,"aA":{"b" : [1.0,  2e0]},"params":{"y":2},"new":null}"#
        );
        for other in ["[]", "1", "", "{", "\"{}\""] {
            assert!(Members::read(other).is_none(), "{other}");
        }
    }

    #[test]
    fn elements_go_to_either_end() {
        assert_eq!(with_element("[ ]", "1", End::Front).unwrap(), "[1]");
        assert_eq!(with_element(" [2, 3] ", "1", End::Front).unwrap(), "[1,2, 3]");
        assert_eq!(with_element("[2]", "1", End::Back).unwrap(), "[2,1]");
        assert!(with_element("{}", "1", End::Back).is_none());
    }

    #[test]
    fn a_list_is_read_up_to_where_it_is_too_long() {
        let read = |list: &str| {
            let read = Elements::read(list, 2)?;
            Some((read.first.iter().map(|one| one.get().to_owned()).collect::<Vec<_>>().join(" "), read.more))
        };
        assert_eq!(read("[ ]").unwrap(), (String::new(), false));
        assert_eq!(read("[1, 2.0]").unwrap(), ("1 2.0".to_owned(), false));
        assert_eq!(read(r#"[{"a" : 1},2,3,4]"#).unwrap(), (r#"{"a" : 1} 2"#.to_owned(), true));
        for other in ["{}", "[1,2,", "[1,2,3,x]", "[] []", ""] {
            assert!(read(other).is_none(), "{other}");
        }
    }
}
