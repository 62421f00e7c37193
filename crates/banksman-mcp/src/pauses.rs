//! How long a server is left alone that is listened to and says nothing, or no more.

use std::time::Duration;

pub(crate) const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// One that was heard for so long is asked again soon.
const LIVED: Duration = Duration::from_secs(60);

/// Twice as long each time: some end their streams all the time.
pub(crate) struct Pauses {
    next: Duration,
}

impl Default for Pauses {
    fn default() -> Self {
        Self { next: FIRST }
    }
}

impl Pauses {
    /// The pause after it was heard for so long.
    pub(crate) fn after(&mut self, heard: Duration) -> Duration {
        let pause = if heard >= LIVED { FIRST } else { self.next };
        self.next = pause.saturating_mul(2).min(LONGEST);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_ends_all_the_time_is_asked_less_and_less_often_and_who_was_heard_soon() {
        let mut pauses = Pauses::default();
        let seconds: Vec<u64> = (0..8).map(|_| pauses.after(Duration::ZERO).as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(pauses.after(LIVED), FIRST);
        assert_eq!(pauses.after(Duration::ZERO), 2 * FIRST);
    }
}
