//! What this node itself has written, so that it does not take it for news.

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many ranges of our own are remembered. Whatever is forgotten counts as another's, which costs a read.
const OWN: usize = 1024;

/// The numbers of the events that this node itself committed, and whoever follows already knows of.
#[derive(Default)]
pub(super) struct Own {
    ranges: Mutex<VecDeque<RangeInclusive<u64>>>,
    /// The database's process that writes for us. What it notifies of is nothing new here.
    writer: AtomicI32,
    /// Whether no other node listened when we last looked.
    alone: AtomicBool,
}

impl Own {
    /// From now on this process of the database writes for us.
    pub(super) fn write_by(&self, process: i32) {
        self.writer.store(process, Ordering::Relaxed);
    }

    pub(super) fn is_writer(&self, process: i32) -> bool {
        self.writer.load(Ordering::Relaxed) == process
    }

    /// Whether nobody has to be notified. Whoever begins to listen looks every second until we have noticed.
    pub(super) fn is_alone(&self) -> bool {
        self.alone.load(Ordering::Relaxed)
    }

    pub(super) fn set_alone(&self, alone: bool) {
        self.alone.store(alone, Ordering::Relaxed);
    }

    fn ranges(&self) -> MutexGuard<'_, VecDeque<RangeInclusive<u64>>> {
        self.ranges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what was just committed. Not before it is known to be: what was lost on the way is news to us too.
    pub(super) fn note_behind(&self, before: u64, last: u64) {
        if last > before {
            self.note(before + 1..=last);
        }
    }

    fn note(&self, events: RangeInclusive<u64>) {
        let mut ranges = self.ranges();
        if ranges.len() >= OWN {
            ranges.pop_front();
        }
        ranges.push_back(events);
    }

    /// The last of the events behind a place that are all our own, or that place.
    pub(super) fn reach(&self, mut place: u64) -> u64 {
        let mut ranges = self.ranges();
        while let Some(events) = ranges.pop_front_if(|events| *events.start() <= place + 1) {
            place = place.max(*events.end());
        }
        place
    }

    /// The same, and forgets nothing: what was heard of them may still have to be told from news.
    pub(super) fn pass(&self, place: u64) -> u64 {
        self.ranges().iter().fold(place, |place, events| {
            if *events.start() <= place + 1 { place.max(*events.end()) } else { place }
        })
    }

    /// Forgets what lies up to a place, which nobody asks for any more.
    pub(super) fn forget(&self, place: u64) {
        let mut ranges = self.ranges();
        while ranges.pop_front_if(|events| *events.end() <= place).is_some() {}
    }

    /// Whether an event is our own. They are asked for in ascending order, and what lies before is forgotten.
    pub(super) fn knows(&self, seq: u64) -> bool {
        let mut ranges = self.ranges();
        while ranges.front().is_some_and(|events| *events.end() < seq) {
            ranges.pop_front();
        }
        ranges.front().is_some_and(|events| events.contains(&seq))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_events_are_known_once_and_others_never() {
        let own = Own::default();
        own.note(3..=5);
        own.note(9..=9);
        let known: Vec<u64> = (1..=12).filter(|seq| own.knows(*seq)).collect();
        assert_eq!(known, [3, 4, 5, 9]);
        assert!(own.ranges().is_empty());
    }

    #[test]
    fn our_own_events_are_passed_over_up_to_the_first_of_another() {
        let own = Own::default();
        [1..=3, 4..=4, 7..=9].into_iter().for_each(|events| own.note(events));
        assert_eq!(own.reach(0), 4);
        assert_eq!(own.reach(4), 4);
        assert_eq!(own.reach(5), 5);
        assert_eq!(own.reach(6), 9);
        assert_eq!(own.reach(9), 9);
        assert!(own.ranges().is_empty());
    }

    #[test]
    fn what_is_passed_over_is_still_known_until_it_is_forgotten() {
        let own = Own::default();
        [1..=3, 4..=4, 7..=9].into_iter().for_each(|events| own.note(events));
        assert_eq!([own.pass(0), own.pass(4), own.pass(5), own.pass(6), own.pass(9)], [4, 4, 5, 9, 9]);
        own.forget(8);
        assert!(!own.knows(4) && own.knows(9));
        own.forget(9);
        assert!(own.ranges().is_empty());
    }

    #[test]
    fn what_nobody_follows_does_not_pile_up() {
        let own = Own::default();
        (1..=10_000).for_each(|seq| own.note(seq..=seq));
        assert_eq!(own.ranges().len(), OWN);
        assert!(own.knows(10_000));
    }
}
