//! The dispatcher: hands notices to whoever plans what people are sent because of them.

use std::sync::Arc;
use std::time::Duration;

use banksman_store::{Commit, NewDelivery, Post, StoredNotice};
use tokio::sync::Notify;

use crate::{Engine, EngineError};

const AT_A_TIME: usize = 512;

/// Notices that come together are told together, and cost one write together.
const GATHER: Duration = Duration::from_millis(250);

const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// How long planning may take before another node plans the same.
const LEASE: Duration = Duration::from_secs(30);

/// How often to look for what another node has left behind.
const LOOK: Duration = Duration::from_secs(15);

/// Knows whom to tell, and how.
#[async_trait::async_trait]
pub trait NoticeSink: Send + Sync + 'static {
    /// The messages that these notices make. They are stored in the transaction that settles the notices; if that
    /// fails, it is asked again, and whatever it gives the same id stays one message.
    ///
    /// # Errors
    /// If it cannot be said now. The notices stay where they are.
    async fn plan(&self, engine: &Engine, notices: &[StoredNotice]) -> Result<Vec<NewDelivery>, EngineError>;

    /// What it planned is stored now.
    fn planned(&self) {}
}

/// Tells whoever watches the server's log.
#[derive(Debug, Clone, Copy, Default)]
pub struct LogSink;

/// Beyond this many at once, a line for each helps nobody.
const TOLD_IN_FULL: usize = 5;

#[async_trait::async_trait]
impl NoticeSink for LogSink {
    async fn plan(&self, engine: &Engine, notices: &[StoredNotice]) -> Result<Vec<NewDelivery>, EngineError> {
        for notice in notices.iter().take(TOLD_IN_FULL) {
            let case = engine.case(notice.action).await?;
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
        let more = notices.len().saturating_sub(TOLD_IN_FULL);
        if more > 0 {
            tracing::info!(more, "and more: `banksman pending` lists them");
        }
        Ok(Vec::new())
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

    /// Has what is in the outbox planned, and settles it. Says how many notices that were.
    ///
    /// # Errors
    /// If the plan cannot be made or stored. Then nothing is settled.
    pub async fn dispatch_once(&self, sink: &dyn NoticeSink) -> Result<usize, EngineError> {
        let notices = self.store.take_notices(AT_A_TIME, LEASE).await?;
        if notices.is_empty() {
            return Ok(0);
        }
        let deliveries = sink.plan(self, &notices).await?;
        let post = (!deliveries.is_empty()).then(|| Box::new(Post { deliveries, ..Post::default() }));
        let settled_notices = notices.iter().map(|notice| notice.id).collect();
        // What has messages in it takes others longer that share a transaction with it.
        let patient = post.is_none();
        let commit = Commit { settled_notices, post, patient, ..Commit::default() };
        self.commit(commit).await.map_err(EngineError::unexpected_conflict)?;
        sink.planned();
        Ok(notices.len())
    }
}
