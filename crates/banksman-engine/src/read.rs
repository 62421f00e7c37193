//! Read: one action, a page of them, the audit log.

use std::sync::Arc;

use banksman_core::{ActionId, Case, Principal, Submission};
use banksman_store::{CaseQuery, EventQuery, StoredEvent};

use crate::{Engine, EngineError};

impl Engine {
    /// One action, for someone who may see it: its own agent, or anyone who decides.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] also for what the caller may not see, so that ids cannot be probed.
    pub async fn action(&self, caller: &Principal, id: ActionId) -> Result<Arc<Case>, EngineError> {
        let case = self.recall(id).await?;
        visible_to(caller, &case)?;
        Ok(case)
    }

    /// The same as it is stored now: what is remembered here may be old.
    ///
    /// # Errors
    /// As [`Engine::action`].
    pub async fn action_as_stored(&self, caller: &Principal, id: ActionId) -> Result<Arc<Case>, EngineError> {
        let case = self.fetch(id).await?;
        visible_to(caller, &case)?;
        Ok(case)
    }

    /// A page of actions.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn actions(&self, query: CaseQuery) -> Result<Vec<Case>, EngineError> {
        Ok(self.store.cases(query).await?)
    }

    /// Of what is pending: the action so many places further in a list.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn place(&self, query: CaseQuery, steps: usize) -> Result<Option<ActionId>, EngineError> {
        Ok(self.store.place(query, steps).await?)
    }

    /// A page of the audit log.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn events(&self, query: EventQuery) -> Result<Vec<StoredEvent>, EngineError> {
        Ok(self.store.events(query).await?)
    }

    /// What would have run by an earlier version of an action, for someone who may see the action.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] if there is no such version, or the caller may not see it.
    pub async fn earlier_version(
        &self,
        caller: &Principal,
        id: ActionId,
        version: u32,
    ) -> Result<Submission, EngineError> {
        self.action(caller, id).await?;
        self.store.submission(id, version).await?.ok_or(EngineError::NotFound)
    }

    /// An action from memory, or else from the store.
    pub(crate) async fn recall(&self, id: ActionId) -> Result<Arc<Case>, EngineError> {
        match self.memory.get(id) {
            Some(case) => Ok(case),
            None => self.fetch(id).await,
        }
    }

    /// An action from the store.
    pub(crate) async fn fetch(&self, id: ActionId) -> Result<Arc<Case>, EngineError> {
        let before = self.live.newest();
        let case = Arc::new(self.store.case(id).await?.ok_or(EngineError::NotFound)?);
        // If anything was committed meanwhile, this may already be old: then it is used, but not kept.
        self.memory.keep_if(&case, || self.live.newest() == before);
        Ok(case)
    }
}

/// Agents see their own actions only.
pub(crate) fn visible_to(caller: &Principal, case: &Case) -> Result<(), EngineError> {
    if caller.kind.decides() || case.agent == caller.name { Ok(()) } else { Err(EngineError::NotFound) }
}

/// What an agent does, it does to its own actions only; people's credentials do not act as agents.
pub(crate) fn own(caller: &Principal, case: &Case) -> Result<(), EngineError> {
    if !caller.kind.decides() && case.agent == caller.name { Ok(()) } else { Err(EngineError::NotFound) }
}
