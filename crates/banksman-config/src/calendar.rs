//! Local time: which day it is at a place, and whether the office is open there.

use banksman_core::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Deserializer, Serialize};

/// A time of day and week.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct TimeTest {
    /// On these days.
    pub days: Vec<Day>,
    /// From this time of day on.
    pub from: Option<TimeOfDay>,
    /// Until just before this time of day. If it is earlier than `from`, the night between counts.
    pub to: Option<TimeOfDay>,
    /// Whether it is meant the other way round: at all other times.
    pub outside: bool,
}

/// A day of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "they are the days of the week")]
pub enum Day {
    Mon,
    Tue,
    Wed,
    Thu,
    Fri,
    Sat,
    Sun,
}

/// A time of day, written as `09:30`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transparent))]
pub struct TimeOfDay {
    #[cfg_attr(
        feature = "schema",
        schemars(with = "String", regex(pattern = "^([01][0-9]|2[0-3]):[0-5][0-9]$"))
    )]
    minutes: u16,
}

impl<'de> Deserialize<'de> for TimeOfDay {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text)
            .ok_or_else(|| serde::de::Error::custom("expected a time of day in quotes, such as \"09:30\""))
    }
}

impl TimeOfDay {
    fn parse(text: &str) -> Option<Self> {
        let (hours, minutes) = text.split_once(':')?;
        let digits = |text: &str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(hours) || !digits(minutes) {
            return None;
        }
        let (hours, minutes): (u16, u16) = (hours.parse().ok()?, minutes.parse().ok()?);
        (hours <= 23 && minutes <= 59).then(|| Self { minutes: hours * 60 + minutes })
    }
}

/// A moment on the wall clock of a place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LocalTime {
    /// The day of the week.
    pub weekday: Day,
    /// The hour, from 0 to 23.
    pub hour: i64,
    /// The minute.
    pub minute: i64,
    /// The date, as `2026-11-16`.
    pub date: String,
}

/// Where a wall clock hangs.
#[derive(Debug, Clone)]
pub struct Zone(TimeZone);

impl Zone {
    /// The one that needs no name.
    pub const UTC: Self = Self(TimeZone::UTC);

    /// A time zone by its name in the IANA database.
    ///
    /// # Errors
    /// If there is none, as a phrase for the operator.
    pub fn named(name: &str) -> Result<Self, String> {
        TimeZone::get(name)
            .map(Self)
            .map_err(|_| format!("there is no time zone {name:?}: write one such as Europe/Berlin"))
    }
}

impl LocalTime {
    /// What the clock of a place shows at a moment.
    #[must_use]
    pub fn of(now: Timestamp, zone: &Zone) -> Self {
        // Beyond what a calendar holds there is only its beginning: such a clock is not to be trusted anyway.
        let moment = jiff::Timestamp::from_microsecond(now.as_micros()).unwrap_or_default();
        let local = moment.to_zoned(zone.0.clone());
        let weekday = match local.weekday() {
            jiff::civil::Weekday::Monday => Day::Mon,
            jiff::civil::Weekday::Tuesday => Day::Tue,
            jiff::civil::Weekday::Wednesday => Day::Wed,
            jiff::civil::Weekday::Thursday => Day::Thu,
            jiff::civil::Weekday::Friday => Day::Fri,
            jiff::civil::Weekday::Saturday => Day::Sat,
            jiff::civil::Weekday::Sunday => Day::Sun,
        };
        Self {
            weekday,
            hour: local.hour().into(),
            minute: local.minute().into(),
            date: local.date().to_string(),
        }
    }
}

/// Whether a moment is within a time of day and week, on the wall clock of a time zone. `None` if there is no such zone.
#[must_use]
pub fn in_zone(test: &TimeTest, now: Timestamp, zone: &str) -> Option<bool> {
    Zone::named(zone).ok().map(|zone| test.holds(&LocalTime::of(now, &zone)))
}

impl TimeTest {
    /// What is wrong with it, if anything is.
    #[must_use]
    pub fn problem(&self) -> Option<&'static str> {
        match (self.from, self.to) {
            _ if self.days.is_empty() && self.from.is_none() && self.to.is_none() => {
                Some("says nothing about the time: give days, from or to")
            }
            (Some(from), Some(to)) if from == to => Some("from and to are the same time of day"),
            _ => None,
        }
    }

    /// Whether a moment is within it.
    #[must_use]
    pub fn holds(&self, local: &LocalTime) -> bool {
        let minutes = u16::try_from(local.hour * 60 + local.minute).unwrap_or(0);
        let from = self.from.map_or(0, |time| time.minutes);
        let to = self.to.map_or(24 * 60, |time| time.minutes);
        let within = if from < to { (from..to).contains(&minutes) } else { minutes >= from || minutes < to };
        let inside = within && (self.days.is_empty() || self.days.contains(&local.weekday));
        inside != self.outside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(text: &str) -> TimeTest {
        serde_saphyr::from_str(text).unwrap()
    }

    fn at(text: &str, zone: &str) -> LocalTime {
        LocalTime::of(text.parse().unwrap(), &Zone::named(zone).unwrap())
    }

    #[test]
    fn a_place_has_its_own_day_and_hour() {
        let moment = "2026-11-15T23:30:00Z";
        assert_eq!(at(moment, "UTC").weekday, Day::Sun);
        let tokyo = at(moment, "Asia/Tokyo");
        assert_eq!((tokyo.weekday, tokyo.hour, tokyo.minute), (Day::Mon, 8, 30));
        assert_eq!(tokyo.date, "2026-11-16");
        // Summer time.
        assert_eq!(at("2026-07-01T12:00:00Z", "Europe/Berlin").hour, 14);
        assert_eq!(at("2026-12-01T12:00:00Z", "Europe/Berlin").hour, 13);
    }

    #[test]
    fn office_hours_end_when_they_say() {
        let office = test("{days: [mon, tue, wed, thu, fri], from: '09:00', to: '17:00'}");
        let outside = TimeTest { outside: true, ..office.clone() };
        for (moment, open) in [
            ("2026-11-16T09:00:00Z", true),
            ("2026-11-16T16:59:59Z", true),
            ("2026-11-16T17:00:00Z", false),
            ("2026-11-16T08:59:59Z", false),
            ("2026-11-15T12:00:00Z", false),
        ] {
            assert_eq!(office.holds(&at(moment, "UTC")), open, "{moment}");
            assert_eq!(outside.holds(&at(moment, "UTC")), !open, "{moment}");
        }
    }

    #[test]
    fn a_night_goes_past_midnight() {
        let night = test("{from: '22:00', to: '06:00'}");
        for (moment, dark) in [
            ("2026-11-16T23:00:00Z", true),
            ("2026-11-16T05:59:00Z", true),
            ("2026-11-16T06:00:00Z", false),
            ("2026-11-16T21:59:00Z", false),
        ] {
            assert_eq!(night.holds(&at(moment, "UTC")), dark, "{moment}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in
            ["{from: '24:00'}", "{from: '9:00'}", "{from: noon}", "{days: [someday]}", "{till: '09:00'}"]
        {
            assert!(serde_saphyr::from_str::<TimeTest>(text).is_err(), "{text}");
        }
        assert!(test("{}").problem().is_some());
        assert!(test("{from: '09:00', to: '09:00'}").problem().is_some());
    }
}
