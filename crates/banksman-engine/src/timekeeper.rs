//! The timekeeper: takes the steps of chains, expires holds, lapses authorisations, ends leases. It sleeps until the next one is due.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use banksman_core::{ActionId, Command, Refusal, Timestamp, step};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::advance::House;
use crate::{Engine, EngineError};

/// How many overdue actions are moved at a time; the writer groups them.
const AT_A_TIME: usize = 256;

/// How long to wait after the store failed.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// No sleep is longer: a clock that was set forward must not make deadlines late by more than this.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);

/// Knows when it has to wake up next.
pub(crate) struct Timekeeper {
    /// Microseconds; `i64::MAX` if nothing is due.
    next: AtomicI64,
    /// Whether it sleeps until then. While it is awake it will look at `next` itself, and need not be woken.
    asleep: AtomicBool,
    earlier: Notify,
}

impl Default for Timekeeper {
    fn default() -> Self {
        Self { next: AtomicI64::new(i64::MAX), asleep: AtomicBool::new(false), earlier: Notify::new() }
    }
}

impl Timekeeper {
    /// Something will be due at that time.
    pub(crate) fn expect(&self, due: Timestamp) {
        // Sequentially consistent on both sides: either the timekeeper sees the new time before it falls asleep, or
        // we see that it sleeps.
        let earlier = self.next.fetch_min(due.as_micros(), Ordering::SeqCst) > due.as_micros();
        if earlier && self.asleep.load(Ordering::SeqCst) {
            self.earlier.notify_one();
        }
    }
}

impl Engine {
    /// Starts the workers. They end when the returned handles are aborted or the runtime stops; whatever they
    /// leave undone, the next start finds in the store.
    pub fn start_workers(self: &Arc<Self>, sink: Arc<dyn crate::NoticeSink>) -> Vec<JoinHandle<()>> {
        let keep_time = Arc::clone(self);
        let dispatch = Arc::clone(self);
        let hear = Arc::clone(self);
        let keep_ledger = Arc::clone(self);
        let mut workers = vec![
            tokio::spawn(async move { keep_time.keep_time().await }),
            tokio::spawn(async move { dispatch.dispatch(sink).await }),
            tokio::spawn(async move { hear.take_in_abandoned_commits().await }),
            tokio::spawn(keep_ledger.keep_ledger()),
        ];
        if let Some(news) = self.store.follow(self.live.newest()) {
            let follow = Arc::clone(self);
            workers.push(tokio::spawn(async move { follow.follow(news).await }));
        }
        workers
    }

    async fn keep_time(&self) {
        self.heed_what_failed_before().await;
        loop {
            if let Err(error) = self.move_overdue().await {
                tracing::error!(%error, "deadlines could not be kept; trying again");
                tokio::time::sleep(AFTER_FAILURE).await;
                continue;
            }
            // Forget what was expected before asking the store: what is committed from here on says so itself.
            self.timekeeper.next.store(i64::MAX, Ordering::SeqCst);
            match self.store.next_due().await {
                Ok(Some(due)) => self.timekeeper.expect(due),
                Ok(None) => {}
                Err(error) => {
                    tracing::error!(%error, "the next deadline could not be read; trying again");
                    tokio::time::sleep(AFTER_FAILURE).await;
                    continue;
                }
            }
            self.timekeeper.asleep.store(true, Ordering::SeqCst);
            let due = Timestamp::from_micros(self.timekeeper.next.load(Ordering::SeqCst));
            let sleep = due.since(self.clock.now()).min(LONGEST_SLEEP);
            tokio::select! {
                () = tokio::time::sleep(sleep) => {}
                () = self.timekeeper.earlier.notified() => {}
            }
            self.timekeeper.asleep.store(false, Ordering::SeqCst);
        }
    }

    /// Moves everything that is due by now.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub async fn move_overdue(&self) -> Result<usize, EngineError> {
        let mut moved = 0;
        loop {
            let overdue = self.store.due(self.clock.now(), AT_A_TIME).await?;
            if overdue.is_empty() {
                return Ok(moved);
            }
            moved += overdue.len();
            let steps = overdue.into_iter().map(|id| self.pass_time(id));
            for result in futures_util::future::join_all(steps).await {
                result?;
            }
        }
    }

    /// Lets time do its work on one action, if it is due.
    pub(crate) async fn pass_time(&self, id: ActionId) -> Result<(), EngineError> {
        let moved = self
            .advance(id, None, House::Ignored, |scene| {
                step(scene.case, Command::PassTime, &scene.moment())
                    .map(Into::into)
                    .map_err(|refusal| scene.refuse(refusal))
            })
            .await;
        match moved {
            Ok(case) => {
                self.heed_outcome(&case).await;
                Ok(())
            }
            // Someone decided, claimed or reported in the meantime.
            Err(EngineError::Refused { refusal: Refusal::NotDue { .. }, .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
