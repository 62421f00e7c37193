//! Wait: until people have decided, or patience ends.

use std::sync::Arc;
use std::time::Duration;

use banksman_core::{ActionId, Case, Principal, Status};

use crate::read::visible_to;
use crate::{Engine, EngineError};

impl Engine {
    /// How many clients of this node wait for people to decide.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.live.waiting()
    }

    /// The action as soon as it is no longer pending, or as it stands when `patience` ends.
    ///
    /// # Errors
    /// As [`Engine::action`].
    pub fn wait(
        &self,
        caller: &Principal,
        id: ActionId,
        patience: Duration,
    ) -> impl Future<Output = Result<Arc<Case>, EngineError>> {
        self.wait_until(caller, id, patience, |case| case.status() != Status::Pending)
    }

    /// The action as soon as it is `there`, or as it stands when `patience` ends.
    ///
    /// # Errors
    /// As [`Engine::action`].
    pub async fn wait_until(
        &self,
        caller: &Principal,
        id: ActionId,
        patience: Duration,
        there: fn(&Case) -> bool,
    ) -> Result<Arc<Case>, EngineError> {
        // Thousands wait at a time, and each should hold as little as possible: what looks is on the heap, so that there is
        // no room for it while nobody looks, and what it saw is dropped early.
        let case = Box::pin(self.action(caller, id)).await?;
        if there(&case) || patience.is_zero() {
            return Ok(case);
        }
        drop(case);
        let deadline = tokio::time::Instant::now() + patience;
        let waiter = self.live.wait_for(id);
        while let Some(notify) = waiter.notify() {
            let mut changed = std::pin::pin!(notify.notified());
            // Registered before looking: a change between the look and the wait is not missed.
            changed.as_mut().enable();
            let case = Box::pin(self.recall(id)).await?;
            visible_to(caller, &case)?;
            if there(&case) {
                // Their credential may have been revoked while they waited, which can be long.
                Box::pin(self.confirm(caller, self.control.load().epoch)).await?;
                return Ok(case);
            }
            drop(case);
            if tokio::time::timeout_at(deadline, changed).await.is_err() {
                break;
            }
        }
        Box::pin(self.action(caller, id)).await
    }
}
