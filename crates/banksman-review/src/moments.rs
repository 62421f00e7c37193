//! Times as people say them: spans, "in 4 min", "2 h ago".

use std::time::Duration;

use banksman_core::Timestamp;

/// A span in its largest unit, rounded down: at most 8 columns.
#[must_use]
pub fn span(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// A moment as seen from now: `in 4 min`, `2 h ago`.
#[must_use]
pub fn relative(now: Timestamp, at: Timestamp) -> String {
    if at > now { format!("in {}", span(at.since(now))) } else { format!("{} ago", span(now.since(at))) }
}

/// A moment without fractions of a second.
#[must_use]
pub fn to_the_second(at: Timestamp) -> String {
    let text = at.to_string();
    match text.split_once('.') {
        Some((seconds, _)) => format!("{seconds}Z"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);

    #[test]
    fn spans_in_their_largest_unit() {
        for (seconds, text) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (3_599, "59 min"),
            (3_600, "1 h"),
            (172_799, "47 h"),
            (172_800, "2 d"),
            (31_622_400, "366 d"),
        ] {
            assert_eq!(span(Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn moments_as_seen_from_now() {
        assert_eq!(relative(NOW, NOW.after(Duration::from_secs(250))), "in 4 min");
        assert_eq!(relative(NOW.after(Duration::from_secs(7_300)), NOW), "2 h ago");
        assert_eq!(to_the_second(NOW), "2023-11-14T22:13:20Z");
    }
}
