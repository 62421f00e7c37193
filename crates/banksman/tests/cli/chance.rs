//! Chance that can be had again: the same seed gives the same choices.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// SplitMix64 (Steele, Lea and Flood 2014): eight lines, and good enough to choose by.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The seed of this run: BANKSMAN_SEED if given, else a new one. Threads and disks have a mind of their own, so
    /// the same seed makes the same choices but not the very same run.
    pub(crate) fn seed() -> u64 {
        match std::env::var("BANKSMAN_SEED") {
            Ok(text) => text.trim().parse().unwrap(),
            Err(_) => {
                let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
                u64::from(since_1970.subsec_nanos()) ^ since_1970.as_secs().rotate_left(32)
            }
        }
    }

    /// A generator of its own for someone else, so that nobody's choices depend on who came first.
    pub(crate) fn fork(&mut self) -> Self {
        Self(self.next())
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// One of `0..count`. The bias of the remainder is of no account with counts this small.
    pub(crate) fn below(&mut self, count: u64) -> u64 {
        self.next() % count
    }

    pub(crate) fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn one_of<T: Copy>(&mut self, items: &[T]) -> Option<T> {
        let count = u64::try_from(items.len()).unwrap();
        (count > 0).then(|| items[usize::try_from(self.below(count)).unwrap()])
    }

    /// A pause of up to so many milliseconds, to the microsecond: a crash does not wait for a full one.
    pub(crate) fn up_to_millis(&mut self, most: u64) -> Duration {
        Duration::from_micros(self.below(most * 1000 + 1))
    }
}

#[test]
fn the_same_seed_chooses_the_same() {
    // The first outputs of the reference implementation for seed 1234567.
    let mut chance = Chance::new(1_234_567);
    assert_eq!(
        [chance.next(), chance.next(), chance.next()],
        [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
    );
}
