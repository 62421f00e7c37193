//! Time spans as people write them.

use serde::{Deserialize, Deserializer};

/// A time span in seconds, written as `90`, `90s`, `15m`, `1h` or `7d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seconds(pub u64);

/// Longer is a mistake: nobody decides after a year.
const LONGEST: u64 = 366 * 86_400;

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Seconds {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Seconds".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A time span from 1s to 366d: seconds, or a number with s, m, h or d.",
            "anyOf": [
                {"type": "integer", "minimum": 1, "maximum": LONGEST},
                {"type": "string", "pattern": "^[0-9]+[smhd]?$"},
            ],
            "examples": ["90s", "15m", "1h", "7d"],
        })
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Seconds(u64),
            Text(String),
        }
        let seconds = match Written::deserialize(deserializer)? {
            Written::Seconds(seconds) => Some(Self(seconds)),
            Written::Text(text) => Self::parse(&text),
        };
        seconds.filter(|Self(seconds)| (1..=LONGEST).contains(seconds)).ok_or_else(|| {
            serde::de::Error::custom("expected a time span from 1s to 366d, such as 90s, 15m, 1h or 7d")
        })
    }
}

impl Seconds {
    /// Reads a span that was written as text. Whether it is too short or too long is not looked at.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let factor = match text.get(digits.len()..)? {
            "" | "s" => 1,
            "m" => 60,
            "h" => 3600,
            "d" => 86_400,
            _ => return None,
        };
        digits.parse::<u64>().ok()?.checked_mul(factor).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_written_as_people_write_them() {
        for (text, seconds) in [("90", 90), ("90s", 90), ("15m", 900), ("1h", 3600), ("7d", 604_800)] {
            assert_eq!(serde_saphyr::from_str::<Seconds>(text).map(|s| s.0).ok(), Some(seconds), "{text}");
        }
        for text in ["0", "-1", "soon", "1w", "1.5h", "367d", "", "99999999999999999999d"] {
            assert!(serde_saphyr::from_str::<Seconds>(text).is_err(), "{text}");
        }
    }
}
