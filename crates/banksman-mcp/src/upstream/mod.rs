//! The servers behind the gateway.

mod alias;
mod child;
mod connection;
mod environment;
mod framing;
mod house;
pub(crate) mod http;
mod incoming;
pub(crate) mod lane;
mod lines;
mod listening;
mod mailbox;
mod patience;
mod process;
mod refusals;
pub(crate) mod reply;
mod rooms;
mod slots;

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::time::timeout;

pub(crate) use child::{Child, Manner};
pub(crate) use environment::Inherits;
pub(crate) use framing::{header_text, with_meta};
pub(crate) use house::{Behalf, CALL_TRIES, Greeting, HouseError, NO_CAPABILITIES};
pub(crate) use incoming::Stream;
pub(crate) use lane::{Answer, Lane, Route};
pub(crate) use listening::{OurSession, Told};
pub(crate) use mailbox::{Hush, Mailbox, Post, Questions, Wants, mailbox};
use patience::Patience;
use process::Launch;
pub(crate) use refusals::{REFUSED_WITHIN, Refusals};
use rooms::House;
pub(crate) use slots::{Slot, Slots};

use crate::config::{Target, UpstreamConfig};
use http::HttpUpstream;

/// A program that ends is started again after this long, and twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// One that lived for so long starts afresh.
const LIVED: Duration = Duration::from_secs(60);

/// How long a server may take to open a session. A program may have to be fetched first: that goes on for so long when those
/// who wait for it have gone.
const MET_WITHIN: Duration = Duration::from_secs(15);
const PROGRAM_MET_WITHIN: Duration = Duration::from_secs(5 * 60);

/// How long a call that may run waits for a way to its server.
pub(crate) const WAYS_WITHIN: Duration = Duration::from_secs(60);

/// So long a server may look for what it is asked about, if others are to be asked after it.
const FOUND_WITHIN: Duration = Duration::from_secs(30);

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

/// What a call gets whose server takes too long to open a session.
pub(crate) fn not_met_in_time() -> SendError {
    SendError::NotSent("it has not said in time who it is; it may still be starting".to_owned())
}

/// A server behind the gateway.
pub(crate) struct Upstream {
    pub(crate) name: String,
    pub(crate) config: UpstreamConfig,
    pub(crate) reach: Reach,
    pub(crate) house: House,
    pauses: Mutex<Pauses>,
    patience: Patience,
    /// Meeting it goes on when whoever wanted to has gone.
    me: Weak<Self>,
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
        let patience = match &reach {
            Reach::Http(_) => Patience::over_http(),
            Reach::Program => Patience::of_a_program(),
        };
        Arc::new_cyclic(|me| Self {
            name: name.to_owned(),
            config: config.clone(),
            reach,
            house: House::default(),
            pauses: Mutex::default(),
            patience,
            me: Weak::clone(me),
        })
    }

    /// What comes of opening a session with it, or of asking what it speaks.
    ///
    /// # Errors
    /// If nothing comes, or nothing in time.
    pub(crate) async fn meeting<T>(
        &self,
        work: impl Future<Output = Result<T, SendError>>,
    ) -> Result<T, SendError> {
        let within = match &self.reach {
            Reach::Http(_) => MET_WITHIN,
            Reach::Program => PROGRAM_MET_WITHIN,
        };
        // That it takes its time is no reason to let others wait until they may start it.
        timeout(within, work).await.unwrap_or_else(|_| {
            let problem = format!("it has not said who it is within {} s", within.as_secs());
            Err(SendError::NotSent(problem))
        })
    }

    /// What comes of asking whether it knows something that nobody has listed; it may have to look for it.
    pub(crate) async fn asked_around<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let within = if self.patience.is_short() { self.patience.left() } else { FOUND_WITHIN };
        timeout(within, work).await.ok()
    }

    /// What comes of asking it something that is soon said. Others stand beside it, and do not wait for one that is out.
    ///
    /// # Errors
    /// If nothing comes, or not in time.
    pub(crate) async fn in_time<T, E: ToString>(
        &self,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, String> {
        self.patience.wait(&self.name, work).await
    }

    /// Starts its program, unless it ended so often lately that it has to wait.
    ///
    /// # Errors
    /// If it has to wait, or cannot be started.
    pub(crate) fn start(&self, manner: Manner, slot: Option<Slot>) -> Result<Arc<Child>, SendError> {
        let Target::Command { words, env, inherits, directory } = &self.config.target else {
            return Err(SendError::NotSent("it is no program".to_owned()));
        };
        self.pauses.lock().unwrap_or_else(PoisonError::into_inner).check(Instant::now())?;
        let (inherits, directory) = (*inherits, directory.as_ref());
        Child::start_in(slot, &Launch { name: &self.name, words, env, inherits, directory }, manner)
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
    use crate::config::Config;

    #[tokio::test(start_paused = true)]
    async fn a_program_that_has_to_be_fetched_first_has_minutes_and_is_no_failure_if_they_are_not_enough() {
        let config = "version: 1\nupstreams: {prog: {command: ['true']}}\n";
        let config = Config::parse("mcp.yaml", config).unwrap();
        let upstream = Upstream::new("prog", &config.upstreams["prog"]);
        let fetched = async {
            tokio::time::sleep(Duration::from_secs(4 * 60)).await;
            Ok(())
        };
        assert!(upstream.meeting(fetched).await.is_ok());
        assert!(upstream.meeting(std::future::pending::<Result<(), _>>()).await.is_err());
        assert!(upstream.pauses.lock().unwrap().check(Instant::now()).is_ok());
    }

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
