//! What this node has committed and not told the others yet.
//!
//! Telling costs the database and everyone who hears it as much for one event as for twenty. So a group that follows soon on one
//! that was told of is not told of itself: the next group that is, tells of it too, and if none comes, it is told alone a moment later.

use std::time::{Duration, Instant};

use super::telling::{Earlier, LONGEST};

/// How long others wait at the most for what was committed right after they were told something.
pub(super) const EVERY: Duration = Duration::from_millis(2);

pub(super) struct Untold {
    every: Duration,
    /// When others were last told.
    told: Option<Instant>,
    /// What there is to tell: one group after the other, each with the place where the log ended before it. `None` if it is not known
    /// any more, or too much: then others are told to look.
    lines: Option<String>,
    /// When it is to be told alone, if there is anything.
    due: Option<Instant>,
}

impl Untold {
    pub(super) fn new(every: Duration) -> Self {
        Self { every, told: None, lines: Some(String::new()), due: None }
    }

    /// Whether a group that begins now should tell. It is known of when it is committed, and that takes as long as the last one did;
    /// a little before the time, because whatever is then told alone takes a turn of its own, which the next group waits for.
    pub(super) fn is_time(&self, now: Instant, takes: Duration) -> bool {
        self.told.is_none_or(|told| now + takes >= told + self.every * 3 / 4)
    }

    /// When it is to be told alone, if there is anything to tell and nothing else does.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// What a group has to tell besides itself.
    pub(super) fn earlier(&self) -> Earlier<'_> {
        self.lines.as_deref().map_or(Earlier::Unknown, Earlier::Lines)
    }

    /// All of it, for a notification of its own.
    pub(super) fn alone(&self) -> String {
        self.lines.as_deref().unwrap_or_default().trim_end().to_owned()
    }

    /// A group was committed and not told of.
    pub(super) fn add(&mut self, before: u64, items: &str) {
        let fits = |lines: &String| !items.is_empty() && lines.len() + items.len() < LONGEST;
        self.lines = self.lines.take().filter(fits).map(|lines| format!("{lines}{before} {items}\n"));
        let due = || self.told.unwrap_or_else(Instant::now) + self.every;
        self.due = Some(self.due.unwrap_or_else(due));
    }

    /// Others have been told all that there was.
    pub(super) fn told(&mut self) {
        *self = Self { told: Some(Instant::now()), ..Self::new(self.every) };
    }

    /// Nobody knows what was committed, or whether others were told: they are to look, as soon as somebody can tell them.
    pub(super) fn lost(&mut self) {
        self.lines = None;
        self.due = Some(Instant::now());
    }

    /// They could not be told even that. They look by themselves within a second; the next group that is committed tells them.
    pub(super) fn given_up(&mut self) {
        *self = Self { lines: None, ..Self::new(self.every) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(1000);

    #[test]
    fn what_follows_soon_waits_for_the_next_and_not_for_ever() {
        let mut untold = Untold::new(LONG);
        let now = Instant::now();
        assert!(untold.is_time(now, Duration::ZERO), "nobody has been told anything yet");
        assert_eq!(untold.due(), None);
        untold.told();
        assert!(!untold.is_time(now, Duration::ZERO));
        assert!(untold.is_time(now, LONG), "it will be time when it is committed");
        assert!(untold.is_time(now + LONG, Duration::ZERO));
        assert_eq!(untold.due(), None, "there is nothing to tell");
        untold.add(4, "[null]");
        let due = untold.due().unwrap();
        assert!(due > now + LONG / 2 && due < now + 2 * LONG);
        untold.add(6, "[null,null]");
        assert_eq!(untold.due(), Some(due), "it does not wait for longer because of the next");
        assert_eq!(untold.earlier(), Earlier::Lines("4 [null]\n6 [null,null]\n"));
        assert_eq!(untold.alone(), "4 [null]\n6 [null,null]");
        untold.told();
        assert_eq!((untold.due(), untold.earlier()), (None, Earlier::Lines("")));
    }

    #[test]
    fn what_is_too_much_or_not_known_is_looked_for() {
        let mut untold = Untold::new(LONG);
        untold.told();
        untold.add(4, "");
        assert_eq!((untold.earlier(), untold.alone()), (Earlier::Unknown, String::new()));
        untold.add(5, "[null]");
        assert_eq!(untold.earlier(), Earlier::Unknown, "not only what came after it");
        untold.told();
        let items = "x".repeat(LONGEST / 2);
        untold.add(4, &items);
        assert!(matches!(untold.earlier(), Earlier::Lines(_)));
        untold.add(5, &items);
        assert_eq!(untold.earlier(), Earlier::Unknown);
        untold.told();
        untold.lost();
        assert_eq!(untold.earlier(), Earlier::Unknown);
        assert!(untold.due().unwrap() <= Instant::now(), "at once");
        untold.given_up();
        assert_eq!((untold.earlier(), untold.due()), (Earlier::Unknown, None));
        assert!(untold.is_time(Instant::now(), Duration::ZERO), "by the next group");
    }
}
