//! The canonical text of a JSON value: RFC 8785, with exact numbers.

use std::fmt::Write as _;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::value::RawValue;

use super::write::write_string;
use super::{Json, JsonError, parse};

/// A JSON text in canonical form: sorted keys, no spaces, one spelling for each value.
///
/// This is what gets hashed, stored, shown and executed, so it is kept as text and handed on as it is: no
/// later reader can round a number or reorder a key on the way.
///
/// It is kept as what serde_json embeds without reading it again: one action is written five times in its life.
#[derive(Clone)]
pub struct CanonicalJson(Arc<RawValue>);

impl CanonicalJson {
    /// The canonical form of a value.
    #[must_use]
    #[expect(clippy::expect_used, reason = "the text was just written from a value; properties.rs tries")]
    pub fn of(value: &Json) -> Self {
        let mut out = String::with_capacity(256);
        write_value(&mut out, value);
        Self(Arc::from(RawValue::from_string(out).expect("what was written is JSON")))
    }

    /// Reads any JSON text and keeps its canonical form.
    pub fn parse(text: &[u8]) -> Result<Self, JsonError> {
        parse(text).map(|value| Self::of(&value))
    }

    /// The canonical text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// The value again.
    pub fn to_json(&self) -> Result<Json, JsonError> {
        parse(self.as_str().as_bytes())
    }
}

impl PartialEq for CanonicalJson {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for CanonicalJson {}

impl Hash for CanonicalJson {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl std::fmt::Debug for CanonicalJson {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for CanonicalJson {
    /// Embeds the text as it is. Only JSON serialisers can do that, and only those are used.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CanonicalJson {
    /// Reads from JSON and makes it canonical, so a text that comes over the wire is never merely trusted.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <Box<RawValue>>::deserialize(deserializer)?;
        Self::parse(raw.get().as_bytes()).map_err(de::Error::custom)
    }
}

fn write_value(out: &mut String, value: &Json) {
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(true) => out.push_str("true"),
        Json::Bool(false) => out.push_str("false"),
        Json::Number(number) => {
            // Writing to a String cannot fail.
            let _ = write!(out, "{number}");
        }
        Json::String(text) => write_string(out, text),
        Json::Array(items) => {
            out.push('[');
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                write_value(out, item);
            }
            out.push(']');
        }
        Json::Object(members) => {
            out.push('{');
            for (position, (key, value)) in members.iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                write_string(out, key);
                out.push(':');
                write_value(out, value);
            }
            out.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> String {
        CanonicalJson::parse(text.as_bytes()).unwrap().as_str().to_owned()
    }

    #[test]
    fn rfc_8785_examples() {
        assert_eq!(
            canonical(
                r#"{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
                    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}"#
            )
            // The RFC prints 333333333.3333333 here, the nearest double's shortest form; we keep the digits
            // that were sent, because a double does not hold them.
            .replace("333333333.33333329", "333333333.3333333"),
            r#"{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}"#
        );
        assert_eq!(
            canonical(r#"{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}"#),
            "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\u{fb33}\":3}"
        );
    }

    #[test]
    fn spelling_does_not_matter_but_value_does() {
        assert_eq!(canonical(r#"{"b":899.00,"a":"\u0041"}"#), canonical(r#"{"a":"A","b":8.99E+2}"#));
        assert_ne!(canonical("9007199254740993"), canonical("9007199254740992"));
    }

    #[test]
    fn serde_keeps_the_text() {
        let text = r#"{"a":9007199254740993,"b":1e+400}"#;
        let value: CanonicalJson = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&value).unwrap(), text);
        assert!(serde_json::from_str::<CanonicalJson>(r#"{"a":1,"a":2}"#).is_err());
    }
}
