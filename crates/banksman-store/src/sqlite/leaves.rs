//! The hashes of what was committed lately, for the ledger: made before the writer sees an event, and kept until it is signed.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use banksman_core::Digest;

/// How many are kept at the most, some 2 MB. Of what is forgotten the ledger reads the events themselves.
const MOST: usize = 65_536;

/// Leaves without a gap between them.
#[derive(Debug, Default)]
pub(super) struct Leaves {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// The place in the log before the first of them.
    after: u64,
    leaves: VecDeque<Digest>,
}

impl Kept {
    fn end(&self) -> u64 {
        self.after.saturating_add(u64::try_from(self.leaves.len()).unwrap_or(u64::MAX))
    }

    fn forget(&mut self, count: usize) {
        self.leaves.drain(..count);
        self.after = self.after.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
    }
}

impl Leaves {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the leaves of events that were committed behind this place.
    pub(super) fn keep(&self, after: u64, leaves: impl Iterator<Item = Digest>) {
        let mut kept = self.kept();
        if kept.end() != after {
            // Another process has written in between.
            *kept = Kept { after, leaves: VecDeque::new() };
        }
        kept.leaves.extend(leaves);
        let too_many = kept.leaves.len().saturating_sub(MOST);
        kept.forget(too_many);
    }

    /// All behind this place, if the first of them is there. What lies before it is not asked for again.
    pub(super) fn behind(&self, after: u64) -> Vec<Digest> {
        let mut kept = self.kept();
        let Some(before) = after.checked_sub(kept.after) else { return Vec::new() };
        let before = usize::try_from(before).unwrap_or(usize::MAX).min(kept.leaves.len());
        kept.forget(before);
        if kept.after == after { kept.leaves.iter().copied().collect() } else { Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaves(places: std::ops::RangeInclusive<u64>) -> Vec<Digest> {
        places.map(|place| Digest::of(&place.to_be_bytes())).collect()
    }

    #[test]
    fn what_was_kept_is_there_until_it_is_passed() {
        let kept = Leaves::default();
        kept.keep(0, leaves(1..=3).into_iter());
        kept.keep(3, leaves(4..=5).into_iter());
        assert_eq!(kept.behind(0), leaves(1..=5));
        assert_eq!(kept.behind(2), leaves(3..=5));
        assert_eq!(kept.behind(2), leaves(3..=5), "until someone asks for what comes later");
        assert_eq!(kept.behind(1), [], "that is gone");
        assert_eq!(kept.behind(5), []);
        kept.keep(5, leaves(6..=6).into_iter());
        assert_eq!(kept.behind(5), leaves(6..=6));
        assert_eq!(kept.behind(9), [], "nobody is that far");
    }

    #[test]
    fn behind_a_gap_it_begins_anew() {
        let kept = Leaves::default();
        kept.keep(0, leaves(1..=3).into_iter());
        kept.keep(4, leaves(5..=6).into_iter());
        assert_eq!(kept.behind(0), []);
        assert_eq!(kept.behind(3), []);
        assert_eq!(kept.behind(4), leaves(5..=6));
    }

    #[test]
    fn what_nobody_asks_for_does_not_pile_up() {
        let kept = Leaves::default();
        let most = u64::try_from(MOST).unwrap();
        for after in (0..3 * most).step_by(1000) {
            kept.keep(after, leaves(after + 1..=after + 1000).into_iter());
        }
        assert!(kept.kept().leaves.len() <= MOST);
        let end = kept.kept().end();
        assert_eq!(kept.behind(end - 10), leaves(end - 9..=end));
    }
}
