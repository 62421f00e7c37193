//! Resolutions: what an agent learns on its next turn.

use std::sync::Arc;

use banksman_core::audit::{ActionRef, Event};
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
        let mut resolved: Vec<ActionRef> = Vec::new();
        for stored in self.store.events(query).await? {
            next_since = stored.seq;
            let event = Event::from_bytes(stored.body.as_bytes())
                .map_err(|error| StoreError::Corrupt(format!("event {}: {error}", stored.seq)))?;
            if let Some(action) = event.action {
                resolved.retain(|known| known.id != action.id);
                resolved.push(action);
            }
        }
        let mut cases = Vec::with_capacity(resolved.len());
        for action in resolved {
            let case = self.recall(action.id).await?;
            // What is remembered may be from before another node's answer, which is not told a second time.
            let is_old = case.revision < action.revision;
            cases.push(if is_old { self.fetch(action.id).await? } else { case });
        }
        Ok(Resolutions { cases, next_since })
    }
}
