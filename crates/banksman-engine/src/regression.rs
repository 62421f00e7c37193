//! Regressions: when too many actions fail in production, the mode falls back to shadow.
//!
//! What failed is in the audit log, whichever node it failed on, and only there: at each failure, and when the workers
//! start, it is read back to where it was read before. So a process that was killed between a failure and the fallback
//! finds it when it starts again.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use banksman_core::audit::{Event, Fact};
use banksman_core::{ActionId, Case, Status, Timestamp};
use banksman_policy::Fallback;
use banksman_store::{EventQuery, Order};
use tokio::sync::Mutex;

use crate::{Engine, EngineError};

/// How much of the log is read at first, then at a time, and how often at most. A house that is busier than that within
/// the window has more than enough in it.
const FIRST_PAGE: usize = 32;
const PAGE: usize = 1_000;
const PAGES: usize = 100;

/// What failed lately.
#[derive(Default)]
pub(crate) struct Failures {
    /// Nothing until the log was read.
    counted: Mutex<Option<Counted>>,
}

#[derive(Default)]
struct Counted {
    /// The place in the log up to which this is known.
    up_to: u64,
    /// By action: one that ended unknown and is reported failed later has failed once.
    recent: HashMap<ActionId, Timestamp>,
}

impl Engine {
    /// Counts an action that ended, if it ended badly, and falls back if it is one too many.
    pub(crate) async fn heed_outcome(&self, case: &Arc<Case>) {
        match case.status() {
            Status::Failed | Status::Unknown => self.heed(Some(case.id)).await,
            Status::Blocked
            | Status::Pending
            | Status::Authorised
            | Status::Denied
            | Status::Expired
            | Status::Cancelled
            | Status::Executing
            | Status::Succeeded
            | Status::Lapsed
            | Status::Revoked => {}
        }
    }

    /// Looks whether production should have fallen back before this process started.
    pub(crate) async fn heed_what_failed_before(&self) {
        self.heed(None).await;
    }

    async fn heed(&self, failed: Option<ActionId>) {
        let Some(fallback) = self.judge.load().house().fallback else { return };
        // The outcome itself is recorded. A fallback that fails now is made up for at the next failure or start.
        if let Err(error) = self.count_failures(fallback, failed).await {
            tracing::error!(%error, "failures could not be counted; the mode stays as it is");
        }
    }

    async fn count_failures(&self, fallback: Fallback, failed: Option<ActionId>) -> Result<(), EngineError> {
        let within = Duration::from_secs(fallback.within.0);
        let mut known = self.failures.counted.lock().await;
        let now = self.clock.now();
        let mut counted = self.failures_behind(known.take(), now, within).await?;
        counted.recent.retain(|_, at| now.since(*at) < within);
        let newest = counted.recent.iter().max_by_key(|(_, at)| **at).map(|(id, _)| *id);
        let count = counted.recent.len();
        *known = Some(counted);
        if count >= usize::try_from(fallback.failures).unwrap_or(usize::MAX) {
            let reason = format!("{count} actions failed within {} seconds", fallback.within.0);
            self.fall_back_to_shadow(None, &reason, failed.or(newest)).await?;
        }
        Ok(())
    }

    /// What failed since the last change of mode, within the window: whoever changes the mode begins with a clean slate.
    /// The log is read from its end, back to where it was read before.
    async fn failures_behind(
        &self,
        known: Option<Counted>,
        now: Timestamp,
        within: Duration,
    ) -> Result<Counted, EngineError> {
        let mut counted = Counted::default();
        let (mut before, mut limit) = (None, FIRST_PAGE);
        for _ in 0..PAGES {
            let query =
                EventQuery { after: before, order: Order::Descending, ..EventQuery::following(0, limit) };
            let page = self.store.events(query).await?;
            for stored in &page {
                before = Some(stored.seq);
                counted.up_to = counted.up_to.max(stored.seq);
                if let Some(known) = known.as_ref().filter(|known| stored.seq <= known.up_to) {
                    counted.recent.extend(&known.recent);
                    return Ok(counted);
                }
                let Ok(event) = Event::from_bytes(stored.body.as_bytes()) else { continue };
                if now.since(event.at) >= within || matches!(event.fact, Fact::ModeChanged { .. }) {
                    return Ok(counted);
                }
                let Some(action) = event.action else { continue };
                let ended_badly = matches!(action.status, Status::Failed | Status::Unknown);
                if ended_badly && matches!(event.fact, Fact::Finished { .. } | Fact::LeaseEnded) {
                    counted.recent.insert(action.id, event.at);
                }
            }
            if page.len() < limit {
                break;
            }
            limit = PAGE;
        }
        Ok(counted)
    }
}
