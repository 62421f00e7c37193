//! The servers behind the gateway.

mod child;
mod house;
pub(crate) mod http;
pub(crate) mod lane;
pub(crate) mod reply;
mod slots;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

pub(crate) use child::{Child, Manner};
pub(crate) use house::{Behalf, Greeting, House, header_text, with_meta};
pub(crate) use lane::{Answer, Lane, Route};
pub(crate) use slots::{Slot, Slots};

use crate::config::{Target, UpstreamConfig};
use http::HttpUpstream;

/// A program that ends is started again after this long, and twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// One that lived for so long starts afresh.
const LIVED: Duration = Duration::from_secs(60);

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SendError {
    /// It surely did not arrive.
    #[error("{0}")]
    NotSent(String),
    /// It may have arrived, and done what it does.
    #[error("{0}")]
    Lost(String),
}

/// A server behind the gateway.
pub(crate) struct Upstream {
    pub(crate) name: String,
    pub(crate) config: UpstreamConfig,
    pub(crate) reach: Reach,
    pub(crate) house: House,
    pauses: Mutex<Pauses>,
}

/// How it is reached.
pub(crate) enum Reach {
    Http(Arc<HttpUpstream>),
    Program,
}

#[derive(Default)]
struct Pauses {
    failures: u32,
    started: Option<Instant>,
    not_before: Option<Instant>,
}

impl Upstream {
    pub(crate) fn new(name: &str, config: &UpstreamConfig) -> Arc<Self> {
        let reach = match &config.target {
            Target::Http { uri, headers } => {
                Reach::Http(Arc::new(HttpUpstream::new(uri.clone(), headers.clone())))
            }
            Target::Command { .. } => Reach::Program,
        };
        Arc::new(Self {
            name: name.to_owned(),
            config: config.clone(),
            reach,
            house: House::default(),
            pauses: Mutex::default(),
        })
    }

    /// Starts its program, unless it ended so often lately that it has to wait.
    ///
    /// # Errors
    /// If it has to wait, or cannot be started.
    pub(crate) fn start(&self, manner: Manner, slot: Option<Slot>) -> Result<Arc<Child>, SendError> {
        let Target::Command { words, env, directory } = &self.config.target else {
            return Err(SendError::NotSent("it is no program".to_owned()));
        };
        self.pauses.lock().unwrap_or_else(PoisonError::into_inner).check(Instant::now())?;
        Child::start_in(slot, &self.name, words, env, directory.as_ref(), manner)
    }

    /// Its program ended before it was of use.
    pub(crate) fn note_failure(&self) {
        self.pauses.lock().unwrap_or_else(PoisonError::into_inner).failed(Instant::now());
    }
}

impl Pauses {
    fn check(&mut self, now: Instant) -> Result<(), SendError> {
        if let Some(later) = self.not_before.filter(|later| *later > now) {
            let wait = later.duration_since(now).as_secs() + 1;
            return Err(SendError::NotSent(format!("its program ended; it is started again in {wait} s")));
        }
        if self.started.is_some_and(|started| now.duration_since(started) > LIVED) {
            self.failures = 0;
        }
        self.started = Some(now);
        Ok(())
    }

    fn failed(&mut self, now: Instant) {
        let pause = FIRST_PAUSE.saturating_mul(2u32.saturating_pow(self.failures.min(16))).min(LONGEST_PAUSE);
        self.failures = self.failures.saturating_add(1);
        self.not_before = Some(now + pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_keeps_ending_is_left_alone_for_longer_and_longer() {
        let mut pauses = Pauses::default();
        let start = Instant::now();
        let mut now = start;
        let mut waited = Vec::new();
        for _ in 0..10 {
            assert!(pauses.check(now).is_ok());
            pauses.failed(now);
            assert!(pauses.check(now).is_err());
            let until = pauses.not_before.unwrap();
            waited.push(until.duration_since(now).as_millis());
            now = until;
        }
        assert_eq!(waited[..4], [500, 1000, 2000, 4000]);
        assert_eq!(waited[9], 60_000);
        assert!(pauses.check(now).is_ok());
        // It lives for long, ends once, and is back soon.
        let later = now + LIVED + Duration::from_secs(1);
        assert!(pauses.check(later).is_ok());
        pauses.failed(later);
        assert_eq!(pauses.not_before.unwrap().duration_since(later), FIRST_PAUSE);
    }
}
