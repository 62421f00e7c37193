//! Where the engine gets the time from.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use banksman_core::Timestamp;

/// A source of time. The engine asks it once per attempt and hands the answer inwards.
pub trait Clock: Send + Sync + 'static {
    /// The time now.
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }
}

/// The time at which it was made, and what has passed since: whoever sets the machine's clock moves no deadline. A hold
/// does not end early, and an authorisation does not live longer, because of it.
///
/// For a server that has its store to itself. Where nodes share a database its clock counts, and each is compared with
/// it.
#[derive(Debug)]
pub struct SteadyClock {
    /// The machine's clock when it was made.
    from: Timestamp,
    /// And how long the machine had been running then.
    since: Duration,
    /// How many seconds the machine's clock was off when that was last told.
    told: AtomicI64,
}

/// From how many seconds on it is told that the machine's clock was set.
const OFF: i64 = 10;

impl SteadyClock {
    /// A clock that agrees with the machine's now.
    #[must_use]
    pub fn start() -> Self {
        Self { from: SystemClock.now(), since: running(), told: AtomicI64::new(0) }
    }

    /// The time after the machine has been running for so long.
    fn at(&self, running: Duration) -> Timestamp {
        self.from.after(running.saturating_sub(self.since))
    }

    /// How far the machine's clock is off, in seconds, if that is to be told: it is a lot, or no longer, and another
    /// lot than the last time.
    fn jump(&self, machine: Timestamp, now: Timestamp) -> Option<i64> {
        let off = (machine.as_micros() - now.as_micros()) / 1_000_000;
        let off = if off.abs() > OFF { off } else { 0 };
        let told = self.told.load(Ordering::Relaxed);
        if (off - told).abs() <= OFF && (off == 0) == (told == 0) {
            return None;
        }
        self.told.store(off, Ordering::Relaxed);
        Some(off)
    }
}

impl Clock for SteadyClock {
    fn now(&self) -> Timestamp {
        let now = self.at(running());
        match self.jump(SystemClock.now(), now) {
            None => {}
            Some(0) => tracing::info!("this machine's clock is right again"),
            Some(seconds) => tracing::error!(
                seconds,
                "this machine's clock was set to another time; deadlines go on by the time that has really passed; \
                 restart to go by the new time"
            ),
        }
        now
    }
}

/// How long the machine has been running, sleep included: what was to end during it has ended.
#[cfg(target_os = "linux")]
fn running() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Elsewhere the monotonic clock counts sleep, or there is no better one.
#[cfg(not(target_os = "linux"))]
fn running() -> Duration {
    use std::sync::LazyLock;
    use std::time::Instant;
    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    BEGAN.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_on_from_the_machines_clock_at_the_pace_of_time() {
        let clock = SteadyClock::start();
        let (first, began) = (clock.now(), running());
        assert!(SystemClock.now().since(first) < Duration::from_secs(5));
        std::thread::sleep(Duration::from_millis(20));
        let passed = clock.now().since(first);
        assert!(
            passed >= Duration::from_millis(20) && passed <= running() - began + Duration::from_millis(5)
        );
    }

    #[test]
    fn setting_the_machines_clock_moves_no_time_and_is_told_once() {
        let second = |count: i64| Timestamp::from_micros(1_700_000_000_000_000 + count * 1_000_000);
        let since = Duration::from_secs(500);
        let clock = SteadyClock { from: second(0), since, told: AtomicI64::new(0) };
        // After so many seconds, the machine's clock shows this, and that is what is told.
        for (passed, shown, told) in [
            (1, 1, None),
            (2, 9, None),
            (3, 3 + 3_600, Some(3_600)),
            (4, 4 + 3_600, None),
            (5, 5 + 3_605, None),
            (6, 6 - 3_600, Some(-3_600)),
            (7, 7 - 3_600, None),
            (8, 8, Some(0)),
            (9, 9, None),
            (10, 10 - 11, Some(-11)),
            (11, 11, Some(0)),
        ] {
            let now = clock.at(since + Duration::from_secs(passed));
            assert_eq!(now, second(i64::try_from(passed).unwrap()), "no deadline moves");
            assert_eq!(clock.jump(second(shown), now), told, "after {passed} s");
        }
    }
}
