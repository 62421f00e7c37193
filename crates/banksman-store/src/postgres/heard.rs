//! What the database says to a node without being asked: between the writer's session, which hears it, and whoever follows.
//!
//! It is the writer's session that listens, because the database wakes up every session that does, for every commit of
//! every node. While the writer waits for an answer it is awake anyway, and what others did comes with the answer.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::session::Hear;

/// How many notifications may wait to be taken. Whatever is said beyond that is missed, and then the log is read.
const UNTAKEN: usize = 1024;

/// What has been said since it was last taken.
#[derive(Debug, PartialEq)]
pub(super) struct Said {
    /// Which process of the database said what.
    pub(super) of: Vec<(i32, String)>,
    /// Whether there may have been more.
    pub(super) missed: bool,
}

/// Where what is heard waits to be taken.
pub(super) struct Heard {
    said: Mutex<Said>,
    more: Notify,
    /// Sessions count from 1, and this is the one that listens; 0 if none does.
    listens: AtomicU64,
    sessions: AtomicU64,
    /// Whether anybody follows, and that somebody has begun to or found that no session listens.
    is_wanted: AtomicBool,
    wanted: Notify,
}

impl Default for Heard {
    fn default() -> Self {
        Self {
            // Before anybody listened there was something to miss.
            said: Mutex::new(Said { of: Vec::new(), missed: true }),
            more: Notify::new(),
            listens: AtomicU64::new(0),
            sessions: AtomicU64::new(0),
            is_wanted: AtomicBool::new(false),
            wanted: Notify::new(),
        }
    }
}

/// By which a session hears. When its connection ends, it is gone.
struct Ear {
    session: u64,
    heard: Arc<Heard>,
}

impl Heard {
    /// The number of a new session, and by what it hears.
    pub(super) fn ear(self: &Arc<Self>) -> (u64, Hear) {
        let session = self.sessions.fetch_add(1, Ordering::Relaxed) + 1;
        let ear = Ear { session, heard: Arc::clone(self) };
        (session, Arc::new(move |process, said| ear.heard.hear(process, said)))
    }

    /// From now on this session listens. Nobody knows what was said before.
    pub(super) fn begin(&self, session: u64) {
        self.listens.store(session, Ordering::Relaxed);
        self.said().missed = true;
        self.more.notify_one();
    }

    /// This session listens no more. Another may by now.
    pub(super) fn end(&self, session: u64) {
        if self.listens.compare_exchange(session, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            self.more.notify_one();
        }
    }

    /// Whether a session should listen that does not.
    pub(super) fn is_to_begin(&self, session: u64) -> bool {
        self.is_wanted.load(Ordering::Relaxed) && self.listens.load(Ordering::Relaxed) != session
    }

    /// Asks for a session that listens, unless there is one.
    pub(super) fn want(&self) {
        if self.listens.load(Ordering::Relaxed) == 0 {
            self.is_wanted.store(true, Ordering::Relaxed);
            self.wanted.notify_one();
        }
    }

    /// Whether anybody follows the log, as every node does, and those do not who are there for a moment only.
    pub(super) fn is_followed(&self) -> bool {
        self.is_wanted.load(Ordering::Relaxed)
    }

    /// Waits until somebody asks.
    pub(super) async fn wanted(&self) {
        self.wanted.notified().await;
    }

    /// Waits until there is something to take.
    pub(super) async fn more(&self) {
        self.more.notified().await;
    }

    pub(super) fn take(&self) -> Said {
        std::mem::replace(&mut *self.said(), Said { of: Vec::new(), missed: false })
    }

    fn hear(&self, process: i32, said: &str) {
        let mut all = self.said();
        if all.of.len() < UNTAKEN {
            all.of.push((process, said.to_owned()));
        } else {
            all.missed = true;
        }
        drop(all);
        self.more.notify_one();
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        self.heard.end(self.session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listening() -> (Arc<Heard>, u64, Hear) {
        let heard = Arc::<Heard>::default();
        let (session, hear) = heard.ear();
        heard.want();
        assert!(heard.is_to_begin(session));
        heard.begin(session);
        assert!(!heard.is_to_begin(session));
        assert_eq!(heard.take(), Said { of: Vec::new(), missed: true }, "what was said before");
        (heard, session, hear)
    }

    #[test]
    fn what_is_said_is_taken_once_and_what_does_not_fit_is_missed() {
        let (heard, _, hear) = listening();
        hear(7, "one");
        assert_eq!(heard.take(), Said { of: vec![(7, "one".into())], missed: false });
        (0..=UNTAKEN).for_each(|_| hear(7, "more"));
        let said = heard.take();
        assert_eq!((said.of.len(), said.missed), (UNTAKEN, true));
        assert_eq!(heard.take(), Said { of: Vec::new(), missed: false });
    }

    #[test]
    fn an_ear_that_ends_late_takes_nothing_from_the_next() {
        let (heard, first, hear) = listening();
        let (second, hear_again) = heard.ear();
        assert!(heard.is_to_begin(second));
        heard.begin(second);
        drop(hear);
        assert!(!heard.is_to_begin(second), "it still listens");
        drop(hear_again);
        assert!(heard.is_to_begin(second) && heard.is_to_begin(first), "nobody does");
    }

    #[test]
    fn nobody_has_to_listen_for_nobody() {
        let heard = Arc::<Heard>::default();
        let (session, _hear) = heard.ear();
        assert!(!heard.is_to_begin(session));
    }
}
