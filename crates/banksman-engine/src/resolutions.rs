//! Resolutions: what an agent learns on its next turn.

use std::sync::Arc;

use banksman_core::audit::Event;
use banksman_core::{Case, Principal};
use banksman_store::{EventQuery, StoreError};

use crate::{Engine, EngineError};

/// What was resolved since the agent last asked.
#[derive(Debug)]
pub struct Resolutions {
    /// Each action once, in the order of its last resolution, as it stands now.
    pub cases: Vec<Arc<Case>>,
    /// Where to continue.
    pub next_since: u64,
}

impl Engine {
    /// The agent's actions that were answered behind `since` in the log.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn resolutions(
        &self,
        agent: &Principal,
        since: u64,
        limit: usize,
    ) -> Result<Resolutions, EngineError> {
        let query = EventQuery {
            agent: Some(agent.name.clone()),
            resolutions_only: true,
            ..EventQuery::following(since, limit)
        };
        let mut next_since = since;
        let mut ids = Vec::new();
        for stored in self.store.events(query).await? {
            next_since = stored.seq;
            let event = Event::from_bytes(stored.body.as_bytes())
                .map_err(|error| StoreError::Corrupt(format!("event {}: {error}", stored.seq)))?;
            if let Some(action) = event.action {
                ids.retain(|id| *id != action.id);
                ids.push(action.id);
            }
        }
        let mut cases = Vec::with_capacity(ids.len());
        for id in ids {
            cases.push(self.recall(id).await?);
        }
        Ok(Resolutions { cases, next_since })
    }
}
