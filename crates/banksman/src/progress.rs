//! Tells a person who waits how far it is. Programs and files are not told.

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How often the line is drawn again.
const EVERY: Duration = Duration::from_millis(100);

/// How wide the bar is.
const WIDTH: u64 = 24;

/// A line on standard error that goes away when it is dropped.
pub(crate) struct Progress {
    shown: bool,
    next: Instant,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self { shown: std::io::stderr().is_terminal(), next: Instant::now() }
    }

    /// Does something that cannot tell how far it is, and looks from outside meanwhile.
    pub(crate) fn beside<T>(mut look: impl FnMut(&mut Self) + Send, work: impl FnOnce() -> T) -> T {
        let mut progress = Self::new();
        if !progress.shown {
            return work();
        }
        let (done, wait) = channel::<()>();
        std::thread::scope(|scope| {
            // It ends, and with it the line, when the work has dropped its end of the channel.
            scope.spawn(move || {
                while wait.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                    look(&mut progress);
                }
            });
            let result = work();
            drop(done);
            result
        })
    }

    /// Since when it works, if it has been a while.
    pub(crate) fn elapsed(&mut self, since: Instant, what: &str) {
        let seconds = since.elapsed().as_secs();
        if seconds > 0 {
            self.draw(|| format!("{what} ... {seconds} s"));
        }
    }

    /// So many of an unknown number.
    pub(crate) fn count(&mut self, done: u64, what: &str) {
        self.draw(|| format!("{done} {what} ..."));
    }

    /// So many of so many.
    pub(crate) fn share(&mut self, done: u64, total: u64, what: &str) {
        self.draw(|| format!("{} {what}", bar(done, total)));
    }

    fn draw(&mut self, line: impl FnOnce() -> String) {
        if self.shown && Instant::now() >= self.next {
            self.next = Instant::now() + EVERY;
            let _ = write!(std::io::stderr(), "\r{}\u{1b}[K", line());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\u{1b}[K");
        }
    }
}

fn bar(done: u64, total: u64) -> String {
    let share = |of: u64| done.min(total).saturating_mul(of) / total.max(1);
    let full = usize::try_from(share(WIDTH)).unwrap_or_default();
    let empty = usize::try_from(WIDTH).unwrap_or_default() - full;
    format!("[{}{}] {:3} %", "#".repeat(full), ".".repeat(empty), share(100))
}

#[cfg(test)]
mod tests {
    use super::{Progress, bar};

    #[test]
    fn what_is_done_beside_comes_back() {
        let mut looked = 0;
        assert_eq!(Progress::beside(|_| looked += 1, || 42), 42);
    }

    #[test]
    fn a_bar_fills_up_and_never_over() {
        assert_eq!(bar(0, 100), format!("[{}]   0 %", ".".repeat(24)));
        assert_eq!(bar(50, 100), format!("[{}{}]  50 %", "#".repeat(12), ".".repeat(12)));
        assert_eq!(bar(200, 100), format!("[{}] 100 %", "#".repeat(24)));
        assert_eq!(bar(0, 0), format!("[{}]   0 %", ".".repeat(24)));
        assert!(bar(u64::MAX, u64::MAX).len() < 40);
    }
}
