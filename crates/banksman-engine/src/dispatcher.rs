//! The dispatcher: takes notices from the outbox to whoever tells people.

use std::sync::Arc;
use std::time::Duration;

use banksman_core::Case;
use banksman_store::{Commit, StoredNotice};
use tokio::sync::Notify;

use crate::{Engine, EngineError};

const AT_A_TIME: usize = 512;

/// Notices that come together are told together, and cost one write together.
const GATHER: Duration = Duration::from_millis(250);

const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// How long telling may take before another node tells of the same.
const LEASE: Duration = Duration::from_secs(30);

/// How often to look for what another node has left behind.
const LOOK: Duration = Duration::from_secs(15);

/// Tells people. Channels implement it.
pub trait NoticeSink: Send + Sync + 'static {
    /// Tells of these notices, each with its action as it stands now, and of how many `more` there are. All are
    /// settled afterwards.
    fn tell(&self, notices: &[(StoredNotice, Arc<Case>)], more: usize);
}

/// Tells whoever watches the server's log.
#[derive(Debug, Clone, Copy, Default)]
pub struct LogSink;

/// Beyond this many at once, a line for each helps nobody.
const TOLD_IN_FULL: usize = 5;

impl NoticeSink for LogSink {
    fn tell(&self, notices: &[(StoredNotice, Arc<Case>)], more: usize) {
        for (notice, case) in notices {
            tracing::info!(
                notice = notice.notice,
                action = %case.id,
                // Debug, not Display: an agent chose these names, and Debug escapes what could forge a line.
                tool = ?case.submission.action.tool,
                agent = ?case.agent,
                status = %case.status(),
                risk = %case.submission.verdict.risk,
                "for people's attention"
            );
        }
        if more > 0 {
            tracing::info!(more, "and more: `banksman pending` lists them");
        }
    }
}

/// Knows when there is something in the outbox.
#[derive(Default)]
pub(crate) struct Dispatcher {
    filled: Notify,
}

impl Dispatcher {
    pub(crate) fn nudge(&self) {
        self.filled.notify_one();
    }
}

impl Engine {
    pub(crate) async fn dispatch(&self, sink: Arc<dyn NoticeSink>) {
        loop {
            match self.dispatch_once(&*sink).await {
                Ok(0) => drop(tokio::time::timeout(LOOK, self.dispatcher.filled.notified()).await),
                // More than a page: go on at once.
                Ok(AT_A_TIME..) => continue,
                Ok(_) => {}
                Err(error) => {
                    tracing::error!(%error, "the outbox could not be emptied; trying again");
                    tokio::time::sleep(AFTER_FAILURE).await;
                }
            }
            tokio::time::sleep(GATHER).await;
        }
    }

    /// Tells of what is in the outbox, and settles it.
    async fn dispatch_once(&self, sink: &dyn NoticeSink) -> Result<usize, EngineError> {
        let notices = self.store.take_notices(AT_A_TIME, LEASE).await?;
        if notices.is_empty() {
            return Ok(0);
        }
        let settled_notices: Vec<i64> = notices.iter().map(|notice| notice.id).collect();
        let count = notices.len();
        let mut told = Vec::with_capacity(TOLD_IN_FULL);
        for notice in notices.into_iter().take(TOLD_IN_FULL) {
            let case = self.recall(notice.action).await?;
            told.push((notice, case));
        }
        sink.tell(&told, count - told.len());
        let commit = Commit { settled_notices, ..Commit::default() };
        self.store.commit(commit).await.map_err(EngineError::unguarded)?;
        Ok(count)
    }
}
