//! Moments and spans, as people read them.

use std::time::Duration;

use banksman_core::Timestamp;
use maud::{Markup, html};

/// A moment, to the minute.
pub(crate) fn moment(at: Timestamp) -> Markup {
    shown(at, "2026-11-16T12:00".len())
}

/// The same to the second, where things happen in the same minute.
pub(crate) fn to_the_second(at: Timestamp) -> Markup {
    shown(at, "2026-11-16T12:00:00".len())
}

fn shown(at: Timestamp, length: usize) -> Markup {
    let exact = at.to_string();
    let shown = exact.get(..length).map(|text| text.replace('T', " ")).unwrap_or_else(|| exact.clone());
    html! { time datetime=(exact) title=(exact) { (shown) " UTC" } }
}

/// How long ago.
pub(crate) fn ago(at: Timestamp, now: Timestamp) -> Markup {
    html! { time datetime=(at.to_string()) title=(at.to_string()) { (span(now.since(at))) " ago" } }
}

/// How long is left; a script counts it down.
pub(crate) fn left(until: Timestamp, now: Timestamp) -> Markup {
    let soon = until.since(now) < Duration::from_secs(300);
    html! {
        time.countdown.soon[soon] datetime=(until.to_string()) data-countdown title=(until.to_string()) {
            (span(until.since(now)))
        }
    }
}

/// The largest two units are enough to act on. The same as the script writes, so that nothing jumps.
pub(crate) fn span(span: Duration) -> String {
    let seconds = span.as_secs();
    let (days, hours, minutes, rest) =
        (seconds / 86400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{rest} s"),
        (0, 0, _) => format!("{minutes} min {rest:02} s"),
        (0, _, _) => format!("{hours} h {minutes:02} min"),
        (_, _, _) => format!("{days} d {hours:02} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_naturally() {
        for (seconds, text) in [(0, "0 s"), (61, "1 min 01 s"), (3_600, "1 h 00 min"), (90_000, "1 d 01 h")] {
            assert_eq!(span(Duration::from_secs(seconds)), text);
        }
    }
}
