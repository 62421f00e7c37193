//! A moment, as a value: microseconds since 1970 in UTC.
//!
//! Stores keep the integer, so comparing two moments never compares texts; the wire shows RFC 3339.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use jiff::fmt::temporal::DateTimePrinter;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A moment in UTC, to the microsecond.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

/// A text that is not an RFC 3339 moment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not an RFC 3339 time such as 2026-11-15T10:00:00Z")]
pub struct InvalidTimeError;

impl Timestamp {
    /// The latest moment that can be written as RFC 3339 (the end of the year 9999).
    pub const MAX: Self = Self(253_402_207_199_999_999);

    /// The moment `micros` after 1970-01-01T00:00:00Z.
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Milliseconds since 1970, for ids; moments before 1970 count as 1970.
    #[must_use]
    pub fn as_millis(self) -> u64 {
        u64::try_from(self.0 / 1_000).unwrap_or(0)
    }

    /// The moment `span` later, or [`Timestamp::MAX`] if that is beyond what can be written.
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        let micros = i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(micros).min(Self::MAX.0))
    }

    /// How long from `earlier` until this moment; zero if `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

/// How times are written: to the microsecond.
const PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(6));

/// A time as text, where it is. Times are written often, and the way by [`fmt`] is a long one.
struct Written {
    bytes: [u8; 40],
    length: usize,
}

impl jiff::fmt::Write for Written {
    fn write_str(&mut self, text: &str) -> Result<(), jiff::Error> {
        let room = self.bytes.get_mut(self.length..self.length + text.len());
        let room = room.ok_or_else(|| jiff::Error::from_args(format_args!("a time is shorter")))?;
        room.copy_from_slice(text.as_bytes());
        self.length += text.len();
        Ok(())
    }
}

impl Written {
    /// The moment as RFC 3339, if it can be written so.
    fn of(moment: Timestamp) -> Option<Self> {
        let moment = jiff::Timestamp::from_microsecond(moment.0).ok()?;
        let mut written = Self { bytes: [0; 40], length: 0 };
        PRINTER.print_timestamp(&moment, &mut written).ok()?;
        Some(written)
    }

    fn as_str(&self) -> &str {
        self.bytes.get(..self.length).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Written::of(*self) {
            Some(written) => f.write_str(written.as_str()),
            None => write!(f, "{}us", self.0),
        }
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Timestamp {
    type Err = InvalidTimeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let moment = text.parse::<jiff::Timestamp>().map_err(|_| InvalidTimeError)?;
        Ok(Self(moment.as_microsecond()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match Written::of(*self) {
            Some(written) => serializer.serialize_str(written.as_str()),
            None => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

/// The integer form, for what stores keep: `#[serde(with = "micros")]`.
pub(crate) mod micros {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Timestamp;

    pub(crate) fn serialize<S: Serializer>(moment: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        moment.as_micros().serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        i64::deserialize(deserializer).map(Timestamp::from_micros)
    }
}

/// The same for a moment that may not be there.
pub(crate) mod optional_micros {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Timestamp;

    pub(crate) fn serialize<S: Serializer>(
        moment: &Option<Timestamp>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        moment.map(Timestamp::as_micros).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        Ok(Option::<i64>::deserialize(deserializer)?.map(Timestamp::from_micros))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_and_reads_rfc_3339() {
        let moment = Timestamp::from_micros(1_700_000_000_123_456);
        assert_eq!(moment.to_string(), "2023-11-14T22:13:20.123456Z");
        assert_eq!(moment.to_string().parse(), Ok(moment));
        assert_eq!("2023-11-14T23:13:20.123456+01:00".parse(), Ok(moment));
        assert!("2023-11-14".parse::<Timestamp>().is_err());
    }

    #[test]
    fn far_futures_saturate_instead_of_wrapping() {
        assert_eq!(Timestamp::from_micros(5).after(Duration::MAX), Timestamp::MAX);
        assert_eq!(Timestamp::MAX.to_string().parse(), Ok(Timestamp::MAX));
    }
}
