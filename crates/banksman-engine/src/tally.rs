//! How many actions wait, for everyone who looks at the same time: counted once.

use std::sync::Arc;
use std::time::Duration;

use banksman_core::Timestamp;
use banksman_store::PendingCounts;
use tokio::sync::Mutex;

use crate::{Engine, EngineError};

/// How old counts by tool, agent, tier and risk may be: they cost a look at everything that waits.
const FRESH: Duration = Duration::from_secs(2);

/// What was counted last.
#[derive(Default)]
pub(crate) struct Tally {
    /// How many wait, as of this event or later. No event, no change.
    total: Mutex<Option<(u64, u64)>>,
    counts: Mutex<Option<(Timestamp, Arc<PendingCounts>)>>,
}

impl Engine {
    /// How many actions wait for people.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn pending_count(&self) -> Result<u64, EngineError> {
        // The lock is held while counting, so that a hundred open pages that hear of one event ask once.
        let mut known = self.tally.total.lock().await;
        let newest = self.live.newest();
        if let Some((_, count)) = known.filter(|(seq, _)| *seq == newest) {
            return Ok(count);
        }
        let count = self.store.pending_count().await?;
        *known = Some((newest, count));
        Ok(count)
    }

    /// The same by what they are, at most two seconds old.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn pending_counts(&self) -> Result<Arc<PendingCounts>, EngineError> {
        let mut known = self.tally.counts.lock().await;
        let now = self.clock.now();
        if let Some((at, counts)) = known.as_ref().filter(|(at, _)| now.since(*at) < FRESH && *at <= now) {
            tracing::trace!(%at, "counted a moment ago");
            return Ok(Arc::clone(counts));
        }
        let counts = Arc::new(self.store.pending_counts().await?);
        *known = Some((now, Arc::clone(&counts)));
        Ok(counts)
    }
}
