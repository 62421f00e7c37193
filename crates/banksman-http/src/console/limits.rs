//! How often one address may try to come in.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use banksman_core::Timestamp;

/// So many at once, and then one in so many microseconds.
const BURST: i64 = 30;
const EVERY: i64 = 3_000_000;

/// More addresses than this are not remembered: then those are forgotten who were quiet for longest.
const REMEMBERED: usize = 10_000;

/// So many are forgotten at once, so that not every attempt has to look through all.
const FORGOTTEN: usize = REMEMBERED / 10;

/// Attempts to come in, by address. Each address has a moment at which it will have been quiet for long enough; every
/// attempt moves it on.
#[derive(Default)]
pub(crate) struct Attempts {
    quiet_at: Mutex<HashMap<IpAddr, i64>>,
}

/// An address that tried too often.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooOften {
    /// How long until it may try again.
    pub(crate) wait_seconds: i64,
}

impl Attempts {
    /// Whether an address may try now.
    pub(crate) fn allow(&self, from: IpAddr, now: Timestamp) -> Result<(), TooOften> {
        let (now, from) = (now.as_micros(), network(from));
        let mut quiet_at = self.quiet_at.lock().unwrap_or_else(PoisonError::into_inner);
        if quiet_at.len() >= REMEMBERED && !quiet_at.contains_key(&from) {
            make_room(&mut quiet_at);
        }
        let quiet = quiet_at.entry(from).or_insert(now);
        let next = (*quiet).max(now) + EVERY;
        let too_much = next - now - BURST * EVERY;
        if too_much > 0 {
            return Err(TooOften { wait_seconds: (too_much + 999_999) / 1_000_000 });
        }
        *quiet = next;
        Ok(())
    }
}

/// Forgets those who are nearest to being quiet. Whoever tried most is remembered longest, however many others come.
fn make_room(quiet_at: &mut HashMap<IpAddr, i64>) {
    let mut times: Vec<i64> = quiet_at.values().copied().collect();
    let (_, last, _) = times.select_nth_unstable(FORGOTTEN.min(quiet_at.len().saturating_sub(1)));
    let last = *last;
    let mut left = FORGOTTEN;
    quiet_at.retain(|_, quiet| {
        let goes = left > 0 && *quiet <= last;
        left -= usize::from(goes);
        !goes
    });
}

/// Whoever has one address of version 6 has a whole network of them.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6([a, b, c, d, 0, 0, 0, 0].into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_and_then_slowly() {
        let attempts = Attempts::default();
        let at = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
        let here: IpAddr = "192.0.2.1".parse().unwrap();
        let allowed =
            |from, when, tries: usize| (0..tries).filter(|_| attempts.allow(from, at(when)).is_ok()).count();
        assert_eq!(allowed(here, 0, 100), 30);
        assert_eq!(allowed(here, 1, 10), 0);
        assert_eq!(allowed(here, 6, 10), 2);
        assert_eq!(allowed("192.0.2.2".parse().unwrap(), 6, 5), 5, "others are not held back");
        assert_eq!(allowed(here, 10_000, 100), 30);
    }

    #[test]
    fn one_network_is_one() {
        let attempts = Attempts::default();
        let now = Timestamp::from_micros(0);
        let tries = (0..100u32).filter(|number| {
            attempts.allow(format!("2001:db8:1:2::{number:x}").parse().unwrap(), now).is_ok()
        });
        assert_eq!(tries.count(), 30);
        assert!(attempts.allow("2001:db8:1:3::1".parse().unwrap(), now).is_ok());
        let mapped: IpAddr = "::ffff:192.0.2.9".parse().unwrap();
        assert_eq!(network(mapped), "192.0.2.9".parse::<IpAddr>().unwrap());
    }

    #[test]
    fn whoever_is_held_back_is_told_for_how_long() {
        let attempts = Attempts::default();
        let at = |millis: i64| Timestamp::from_micros(millis * 1_000);
        let here: IpAddr = "192.0.2.1".parse().unwrap();
        while attempts.allow(here, at(0)).is_ok() {}
        assert_eq!(attempts.allow(here, at(0)), Err(TooOften { wait_seconds: 3 }));
        assert_eq!(attempts.allow(here, at(2_500)), Err(TooOften { wait_seconds: 1 }));
        assert_eq!(attempts.allow(here, at(3_000)), Ok(()));
    }

    #[test]
    fn many_others_do_not_make_anyone_forgotten_who_tried_too_often() {
        let attempts = Attempts::default();
        let now = Timestamp::from_micros(0);
        let here: IpAddr = "192.0.2.1".parse().unwrap();
        while attempts.allow(here, now).is_ok() {}
        for number in 0..25_000u32 {
            let [_, a, b, c] = number.to_be_bytes();
            attempts.allow(IpAddr::from([10, a, b, c]), now).unwrap();
        }
        assert!(attempts.allow(here, now).is_err());
        assert!(attempts.quiet_at.lock().unwrap().len() <= REMEMBERED);
    }
}
