//! What happened lately, counted once and then kept up to date by what is new in the log.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use banksman_core::audit::Event;
use banksman_core::statistics::{KEPT, Lately, Statistics, back};
use banksman_store::EventQuery;
use tokio::sync::Mutex;

use crate::{Engine, EngineError};

/// How many events are read at a time.
const PAGE: usize = 1000;

/// How many events one asker waits for; beyond that counting goes on behind them.
const AT_ONCE: u64 = 2000;

/// How many events back counting begins at the most, however much happened in the time that is kept.
const FURTHEST: u64 = 300_000;

/// What was counted so far.
#[derive(Default)]
pub(crate) struct Counting {
    counted: Mutex<Counted>,
    /// Whether someone counts behind the askers.
    busy: AtomicBool,
}

#[derive(Default)]
struct Counted {
    statistics: Statistics,
    /// The place of the first event that was counted, and of the last; none, before the first asker.
    from: Option<u64>,
    upto: u64,
}

/// What happened in a stretch of time, and how much of the log that rests on.
#[derive(Debug, Clone)]
pub struct Counts {
    /// What happened.
    pub lately: Lately,
    /// How many events are not counted yet; they will be soon.
    pub behind: u64,
}

impl Engine {
    /// What happened lately: so many parts of so many hours each, up to now.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn statistics(self: &Arc<Self>, parts: u32, hours_each: u32) -> Result<Counts, EngineError> {
        self.count_events(AT_ONCE).await?;
        let now = self.clock.now();
        let counts = {
            let counted = self.counting.counted.lock().await;
            Counts {
                lately: counted.statistics.lately(now, parts, hours_each),
                behind: self.live.newest().saturating_sub(counted.upto),
            }
        };
        if counts.behind > 0 && !self.counting.busy.swap(true, Ordering::AcqRel) {
            let engine = Arc::clone(self);
            tokio::spawn(async move {
                if let Err(error) = engine.count_events(u64::MAX).await {
                    tracing::warn!(%error, "could not count what happened lately");
                }
                engine.counting.busy.store(false, Ordering::Release);
            });
        }
        Ok(counts)
    }

    /// Counts what is new, up to so many events.
    async fn count_events(&self, most: u64) -> Result<(), EngineError> {
        let mut read = 0;
        while read < most {
            // One page a turn, so that askers wait for a page and not for all of it.
            let mut counted = self.counting.counted.lock().await;
            let after = match counted.from {
                Some(_) => counted.upto,
                None => {
                    let first = self.first_to_count().await?;
                    (counted.from, counted.upto) = (Some(first), first);
                    first
                }
            };
            let page = self.store.events(EventQuery::following(after, PAGE)).await?;
            let Some(last) = page.last() else {
                counted.statistics.forget_before(self.clock.now());
                return Ok(());
            };
            counted.upto = last.seq;
            for event in &page {
                counted.statistics.add(&event.kind, &event.body);
            }
            read += u64::try_from(page.len()).unwrap_or(u64::MAX);
        }
        Ok(())
    }

    /// Behind which event counting begins. The log is in the order of commits and so, nearly, of time: the place is found
    /// by halving, without an index of times.
    async fn first_to_count(&self) -> Result<u64, EngineError> {
        let newest = self.live.newest();
        let wanted = back(self.clock.now(), KEPT);
        let (mut low, mut high) = (newest.saturating_sub(FURTHEST), newest);
        while low < high {
            let middle = low + (high - low) / 2;
            let found = self.store.events(EventQuery::following(middle, 1)).await?;
            let at = found.first().and_then(|event| Event::from_bytes(event.body.as_bytes()).ok());
            match at {
                Some(event) if event.at < wanted => low = middle + 1,
                Some(_) | None => high = middle,
            }
        }
        Ok(low)
    }
}
