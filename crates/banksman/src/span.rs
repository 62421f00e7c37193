//! Times as people say and type them.

use std::time::Duration;

use banksman_core::Timestamp;
pub(crate) use banksman_review::{relative, span, to_the_second};

/// A moment as seen from now, and exactly.
pub(crate) fn both(now: Timestamp, at: Timestamp) -> String {
    format!("{} ({})", relative(now, at), to_the_second(at))
}

/// Reads a span such as `90s`, `15m`, `8h` or `2d`.
pub(crate) fn parse_span(text: &str) -> Result<Duration, String> {
    let wrong = || format!("expected a span such as 90s, 15m, 8h or 2d, not {text:?}");
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text.strip_prefix(digits) {
        Some("s" | "sec") => 1,
        Some("m" | "min") => 60,
        Some("h") => 3_600,
        Some("d") => 86_400,
        _ => return Err(wrong()),
    };
    let count: u64 = digits.trim_end().parse().map_err(|_| wrong())?;
    let seconds = count.checked_mul(unit).filter(|seconds| *seconds > 0).ok_or_else(wrong)?;
    Ok(Duration::from_secs(seconds))
}

/// A moment on the command line: exactly, or so long ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    At(Timestamp),
    Ago(Duration),
}

impl When {
    /// Reads an RFC 3339 moment or a span.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if let Ok(at) = text.parse() {
            return Ok(Self::At(at));
        }
        parse_span(text)
            .map(Self::Ago)
            .map_err(|_| "expected a time such as 2026-11-15T10:00:00Z, or how long ago, such as 2h".into())
    }

    pub(crate) fn from(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(at) => at,
            Self::Ago(span) => {
                let micros = i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
                Timestamp::from_micros(now.as_micros().saturating_sub(micros).max(0))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);

    #[test]
    fn moments_as_seen_from_now() {
        assert_eq!(both(NOW.after(Duration::from_secs(5)), NOW), "5 s ago (2023-11-14T22:13:20Z)");
    }

    #[test]
    fn spans_are_read_and_nonsense_is_not() {
        assert_eq!(parse_span("8h"), Ok(Duration::from_secs(28_800)));
        assert_eq!(parse_span("90 s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_span("2d"), Ok(Duration::from_secs(172_800)));
        for wrong in
            ["", "8", "h", "-1h", "1.5h", "0h", "8 weeks", "99999999999999999999d", "18446744073709551615d"]
        {
            assert!(parse_span(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_moment_is_given_exactly_or_as_a_span() {
        assert_eq!(When::parse("2023-11-14T22:13:20Z").map(|when| when.from(NOW)), Ok(NOW));
        assert_eq!(When::parse("1h").unwrap().from(NOW).as_micros(), NOW.as_micros() - 3_600_000_000);
        assert_eq!(When::Ago(Duration::MAX).from(NOW), Timestamp::from_micros(0));
        assert!(When::parse("yesterday").is_err());
    }
}
