//! Regressions: when too many actions fail in production, the mode falls back to shadow.
//!
//! What failed is in the audit log. It is read once, when the first failure comes or the workers start, and counted in
//! memory from then on; a process that was killed between a failure and the fallback finds it when it starts again.

use std::collections::HashMap;
use std::sync::Arc;

use banksman_core::audit::{Event, Fact};
use banksman_core::{ActionId, Case, Status, Timestamp};
use banksman_policy::Fallback;
use banksman_store::{EventQuery, Order};
use tokio::sync::Mutex;

use crate::{Engine, EngineError};

/// How much of the log is read at a time, and at most. A house that is busier than that within the window has more
/// than enough in it.
const PAGE: usize = 1_000;
const PAGES: usize = 100;

/// What failed lately, by action: one that ended unknown and is reported failed later has failed once.
#[derive(Default)]
pub(crate) struct Failures {
    /// Nothing until the log was read.
    seen: Mutex<Option<HashMap<ActionId, Timestamp>>>,
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
        if let Err(error) = self.count_failure(fallback, failed).await {
            tracing::error!(%error, "failures could not be counted; the mode stays as it is");
        }
    }

    async fn count_failure(&self, fallback: Fallback, failed: Option<ActionId>) -> Result<(), EngineError> {
        let within = std::time::Duration::from_secs(fallback.within.0);
        let mut seen = self.failures.seen.lock().await;
        let now = self.clock.now();
        let mut recent = match seen.take() {
            Some(recent) => recent,
            None => self.failures_in_log(now, within).await?,
        };
        if let Some(id) = failed {
            recent.entry(id).or_insert(now);
        }
        recent.retain(|_, at| now.since(*at) < within);
        let newest = recent.iter().max_by_key(|(_, at)| **at).map(|(id, _)| *id);
        let count = recent.len();
        if count >= usize::try_from(fallback.failures).unwrap_or(usize::MAX) {
            let reason = format!("{count} actions failed within {} seconds", fallback.within.0);
            let fell = self.fall_back_to_shadow(None, &reason, failed.or(newest)).await?;
            if fell {
                // Whoever goes back to production begins with a clean slate.
                recent.clear();
            }
        }
        *seen = Some(recent);
        Ok(())
    }

    /// What failed within the window and since the last change of mode, newest first.
    async fn failures_in_log(
        &self,
        now: Timestamp,
        within: std::time::Duration,
    ) -> Result<HashMap<ActionId, Timestamp>, EngineError> {
        let mut failures = HashMap::new();
        let mut after = None;
        for _ in 0..PAGES {
            let query = EventQuery { after, order: Order::Descending, ..EventQuery::following(0, PAGE) };
            let page = self.store.events(query).await?;
            for stored in &page {
                after = Some(stored.seq);
                let Ok(event) = Event::from_bytes(stored.body.as_bytes()) else { continue };
                if now.since(event.at) >= within || matches!(event.fact, Fact::ModeChanged { .. }) {
                    return Ok(failures);
                }
                let Some(action) = event.action else { continue };
                let ended_badly = matches!(action.status, Status::Failed | Status::Unknown);
                if ended_badly && matches!(event.fact, Fact::Finished { .. } | Fact::LeaseEnded) {
                    failures.insert(action.id, event.at);
                }
            }
            if page.len() < PAGE {
                break;
            }
        }
        Ok(failures)
    }
}
