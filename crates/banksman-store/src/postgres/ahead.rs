//! What is told before what comes before it.
//!
//! A node that wrote alone tells of its last commits a moment later (`super::untold`), so what it tells and what others tell, who began
//! to write meanwhile, need not be in the order of the log. It is put in order here: whoever follows waits a little for what is
//! missing, and then looks for it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::own::Own;
use super::telling::Told;

/// How long what is missing may take. Longer than nodes wait before they tell, with the group in between that may be on its way.
pub(super) const GRACE: Duration = Duration::from_millis(10);

/// What was told and not taken yet, by the place where the log ended before it.
#[derive(Default)]
pub(super) struct Ahead(BTreeMap<u64, Waiting>);

/// What comes next in the log.
#[derive(Debug, PartialEq)]
pub(super) enum Next {
    /// A group, and whether this node wrote it.
    Told { ours: bool, told: Told },
    /// What was not told yet, if anything.
    Nothing,
    /// What should have been told.
    Missed,
}

struct Waiting {
    since: Instant,
    /// Whether this node wrote it.
    ours: bool,
    told: Told,
}

impl Ahead {
    pub(super) fn put(&mut self, ours: bool, told: Vec<Told>) {
        let since = Instant::now();
        self.0.extend(told.into_iter().map(|told| (told.before, Waiting { since, ours, told })));
    }

    /// What follows on a place in the log, which it moves on. What this node wrote itself and knows of is passed over.
    pub(super) fn next(&mut self, place: &mut u64, own: &Own) -> Next {
        while let Some(first) = self.0.first_entry() {
            let (before, last) = (first.get().told.before, first.get().told.last_seq());
            if before > *place {
                *place = own.pass(*place);
            }
            if last <= *place {
                first.remove();
            } else if before == *place {
                let Waiting { ours, told, .. } = first.remove();
                *place = last;
                return Next::Told { ours, told };
            } else if before > *place {
                return self.waiting();
            } else {
                // Groups are seen whole or not at all.
                return Next::Missed;
            }
        }
        Next::Nothing
    }

    fn waiting(&self) -> Next {
        let is_late = self.until().is_some_and(|late| late <= Instant::now());
        if is_late { Next::Missed } else { Next::Nothing }
    }

    /// When something has waited for long enough.
    pub(super) fn until(&self) -> Option<Instant> {
        self.0.values().map(|waiting| waiting.since + GRACE).min()
    }

    /// The log has been looked at, and all that was told is in it.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(said: &str) -> Vec<Told> {
        Told::read(said).unwrap()
    }

    /// The places of what can be taken, and where the log is followed up to.
    fn taken(ahead: &mut Ahead, mut place: u64, own: &Own) -> (Vec<u64>, u64) {
        let mut places = Vec::new();
        loop {
            match ahead.next(&mut place, own) {
                Next::Told { told, .. } => places.push(told.before),
                Next::Nothing => return (places, place),
                Next::Missed => panic!("it can still be told"),
            }
        }
    }

    #[test]
    fn what_comes_early_waits_for_what_is_before_it() {
        let (mut ahead, own) = (Ahead::default(), Own::default());
        assert_eq!(ahead.until(), None);
        ahead.put(false, told("6 [null]"));
        ahead.put(false, told("9 [null]"));
        assert_eq!(taken(&mut ahead, 4, &own), (vec![], 4));
        assert!(ahead.until().is_some_and(|until| until <= Instant::now() + GRACE));
        ahead.put(false, told("4 [null,null]\n7 [null]"));
        assert_eq!(taken(&mut ahead, 4, &own), (vec![4, 6, 7], 8));
        ahead.put(false, told("8 [null]"));
        assert_eq!(taken(&mut ahead, 8, &own), (vec![8, 9], 10));
        assert_eq!(ahead.until(), None);
    }

    #[test]
    fn what_is_known_is_not_taken_again() {
        let (mut ahead, own) = (Ahead::default(), Own::default());
        ahead.put(false, told("3 [null]\n4 [null]\n5 [null]"));
        assert_eq!(taken(&mut ahead, 5, &own), (vec![5], 6));
        ahead.put(false, told("4 [null,null]"));
        assert_eq!(taken(&mut ahead, 6, &own), (vec![], 6));
        assert_eq!(ahead.until(), None);
        ahead.put(false, told("5 [null,null]"));
        assert_eq!(ahead.next(&mut 6, &own), Next::Missed, "nobody knows half a group");
    }

    #[test]
    fn nobody_waits_for_what_they_wrote_themselves() {
        let (mut ahead, own) = (Ahead::default(), Own::default());
        own.note_behind(4, 5);
        own.note_behind(5, 7);
        own.note_behind(8, 9);
        ahead.put(false, told("7 [null]"));
        assert_eq!(taken(&mut ahead, 4, &own), (vec![7], 8));
        assert!(own.knows(5), "it may still be asked for");
        ahead.put(true, told("4 [null]\n5 [null,null]\n8 [null]"));
        assert_eq!(taken(&mut ahead, 8, &own), (vec![8], 9), "told later, and passed over already");
    }
}
