//! When to try again, and when to leave someone alone. Values in, values out.

use std::time::Duration;

use banksman_config::{TimeTest, in_zone};
use banksman_core::Timestamp;

/// How often to try, and how long to wait in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retries {
    /// How many tries at the most.
    pub tries: u32,
    /// How long to wait after the first.
    pub first: Duration,
    /// And never longer than this.
    pub longest: Duration,
}

impl Retries {
    /// How long to wait after this many tries: four times as long each time, give or take a quarter, so that those who
    /// failed together do not come back together. `chance` is any number.
    #[must_use]
    pub fn pause(&self, tried: u32, chance: u32) -> Duration {
        let doublings = tried.saturating_sub(1).saturating_mul(2).min(30);
        let pause = self.first.saturating_mul(1 << doublings).min(self.longest);
        // From three quarters to five quarters of it.
        let share = 768 + chance % 513;
        pause.saturating_mul(share) / 1024
    }
}

/// The farthest that quiet hours are looked through. Whoever is never to be told has no address.
const A_WEEK: u32 = 8 * 24 * 60;

/// The first moment from `now` on that is outside of quiet hours, to the minute.
pub(crate) fn after_quiet(quiet: &TimeTest, zone: &str, now: Timestamp) -> Timestamp {
    let is_quiet = |at: Timestamp| in_zone(quiet, at, zone).unwrap_or(false);
    if !is_quiet(now) {
        return now;
    }
    // Zones differ by whole minutes, so their minutes begin together.
    let minute = 60_000_000;
    let next = Timestamp::from_micros(now.as_micros() - now.as_micros().rem_euclid(minute) + minute);
    let later = |minutes: u32| next.after(Duration::from_secs(u64::from(minutes) * 60));
    (0..A_WEEK).map(later).find(|at| !is_quiet(*at)).unwrap_or_else(|| later(A_WEEK))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RETRIES: Retries =
        Retries { tries: 3, first: Duration::from_secs(15), longest: Duration::from_secs(300) };

    proptest! {
        #[test]
        fn pauses_grow_and_stay_within_bounds(tried in 0_u32..200, chance: u32) {
            let pause = RETRIES.pause(tried, chance);
            prop_assert!(pause >= Duration::from_secs(11) && pause <= Duration::from_secs(375));
            // The next is longer whatever chance says, until the longest is reached.
            if (1..3).contains(&tried) {
                prop_assert!(RETRIES.pause(tried + 1, 0) > RETRIES.pause(tried, u32::MAX));
            }
        }

        #[test]
        fn quiet_hours_end_and_are_over_then(minutes in 0_i64..20_000, from in 0_u32..24, length in 1_u32..23) {
            let to = (from + length) % 24;
            let quiet: TimeTest = serde_saphyr::from_str(&format!("{{from: '{from:02}:00', to: '{to:02}:00'}}")).unwrap();
            let now = Timestamp::from_micros(1_700_000_000_000_000 + minutes * 60_000_000);
            let end = after_quiet(&quiet, "Asia/Kolkata", now);
            prop_assert!(end >= now);
            prop_assert_eq!(in_zone(&quiet, end, "Asia/Kolkata"), Some(false));
            prop_assert!(end.since(now) <= Duration::from_secs(u64::from(length) * 3600));
        }
    }

    #[test]
    fn nobody_is_left_alone_for_ever() {
        let always: TimeTest = serde_saphyr::from_str("{days: [mon, tue, wed, thu, fri, sat, sun]}").unwrap();
        let now = Timestamp::from_micros(1_700_000_000_000_000);
        assert!(after_quiet(&always, "UTC", now).since(now) <= Duration::from_secs(9 * 24 * 3600));
        assert_eq!(after_quiet(&always, "Nowhere/Atall", now), now);
    }
}
