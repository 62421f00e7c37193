//! How often one address may try to come in.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use banksman_core::Timestamp;

/// So many at once, and then one in so many microseconds.
const BURST: i64 = 30;
const EVERY: i64 = 3_000_000;

/// More addresses than this are not remembered: then the oldest are forgotten.
const REMEMBERED: usize = 10_000;

/// Attempts to come in, by address. Each address has a moment at which it will have been quiet for long enough; every
/// attempt moves it on.
#[derive(Default)]
pub(crate) struct Attempts {
    quiet_at: Mutex<HashMap<IpAddr, i64>>,
}

impl Attempts {
    /// Whether an address may try now.
    pub(crate) fn allow(&self, from: IpAddr, now: Timestamp) -> bool {
        let now = now.as_micros();
        let mut quiet_at = self.quiet_at.lock().unwrap_or_else(PoisonError::into_inner);
        if quiet_at.len() >= REMEMBERED {
            quiet_at.retain(|_, quiet| *quiet > now);
            if quiet_at.len() >= REMEMBERED {
                quiet_at.clear();
            }
        }
        let quiet = quiet_at.entry(network(from)).or_insert(now);
        let next = (*quiet).max(now) + EVERY;
        if next - now > BURST * EVERY {
            return false;
        }
        *quiet = next;
        true
    }
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
            |from, when, tries: usize| (0..tries).filter(|_| attempts.allow(from, at(when))).count();
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
        let tries = (0..100u32)
            .filter(|number| attempts.allow(format!("2001:db8:1:2::{number:x}").parse().unwrap(), now));
        assert_eq!(tries.count(), 30);
        assert!(attempts.allow("2001:db8:1:3::1".parse().unwrap(), now));
        let mapped: IpAddr = "::ffff:192.0.2.9".parse().unwrap();
        assert_eq!(network(mapped), "192.0.2.9".parse::<IpAddr>().unwrap());
    }
}
