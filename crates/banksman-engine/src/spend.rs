//! What works once: whoever uses it first, on whichever node, has used it.

use banksman_core::{Digest, Timestamp};
use banksman_store::{Commit, CommitError, ControlChange};

use crate::{Engine, EngineError};

impl Engine {
    /// Uses up what works once. Of all who try, on all nodes and after any restart, at most one is told `true`; if the
    /// store's answer to that one is lost, nobody is. It is remembered until `until`; by then it must have become of no
    /// use otherwise.
    ///
    /// # Errors
    /// If the store cannot be used. Then nobody knows, and whoever asked must not go on.
    pub async fn spend_once(&self, key: Digest, until: Timestamp) -> Result<bool, EngineError> {
        if self.store.is_spent(key).await? {
            return Ok(false);
        }
        let spend = ControlChange::Spend { key, at: self.clock.now(), until };
        match self.store.commit(Commit { control: vec![spend], ..Commit::default() }).await {
            Ok(_) => Ok(true),
            // Two at the same instant: the second cannot be written, and that looks like any other failure.
            Err(CommitError::Unavailable(error)) => {
                if self.store.is_spent(key).await? {
                    Ok(false)
                } else {
                    Err(error.into())
                }
            }
            Err(error @ CommitError::Conflict(_)) => Err(EngineError::unexpected_conflict(error)),
        }
    }
}
