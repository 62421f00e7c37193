//! The house rules: freezes, and what all changes of the rules share. Each change holds at once, because every verb that lets something
//! through guards the epoch that a change raises.

use std::sync::Arc;

use banksman_core::audit::{Event, Fact};
use banksman_core::{Actor, Freeze, FreezeId, FreezeScope, Principal};
use banksman_store::{Commit, CommitError, Conflict, Control, ControlChange};

use crate::{Engine, EngineError, Judge, ids};

impl Engine {
    /// The house rules as they are.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn house(&self) -> Result<Arc<Control>, EngineError> {
        self.reload_control().await?;
        Ok(self.control.load_full())
    }

    /// Freezes an agent, a tool or everything.
    ///
    /// # Errors
    /// If it cannot be recorded.
    pub async fn freeze(
        &self,
        by: &Principal,
        scope: FreezeScope,
        reason: String,
    ) -> Result<Freeze, EngineError> {
        self.freeze_by(by.name.clone(), Actor::from(by), scope, reason).await
    }

    async fn freeze_by(
        &self,
        by: String,
        actor: Actor,
        scope: FreezeScope,
        reason: String,
    ) -> Result<Freeze, EngineError> {
        let now = self.clock.now();
        let (millis, entropy) = ids::fresh(now)?;
        let freeze = Freeze { id: FreezeId::from_parts(millis, entropy), scope, reason, by, at: now };
        let event = Event::general(now, actor, Fact::Frozen { freeze: freeze.clone() });
        self.change_house(ControlChange::Freeze(freeze.clone()), event).await?;
        Ok(freeze)
    }

    /// Freezes everything because of what the server itself has found, until a person lifts it.
    ///
    /// # Errors
    /// If it cannot be recorded.
    pub async fn freeze_everything(&self, reason: String) -> Result<Freeze, EngineError> {
        self.freeze_by("banksman".to_owned(), Actor::System, FreezeScope::Everything, reason).await
    }

    /// Lifts a freeze.
    ///
    /// # Errors
    /// If there is none such.
    pub async fn unfreeze(&self, by: &Principal, id: FreezeId) -> Result<(), EngineError> {
        self.amend_house(by, |control| {
            control.freezes.iter().find(|freeze| freeze.id == id).ok_or(EngineError::NotFound)?;
            Ok((ControlChange::Unfreeze(id), Fact::Unfrozen { freeze: id }))
        })
        .await
    }

    /// Writes down which policy is in force from now on.
    ///
    /// # Errors
    /// If it cannot be recorded; then the policy is not in force.
    pub async fn load_policy(&self, judge: Arc<dyn Judge>, source: &str) -> Result<(), EngineError> {
        let now = self.clock.now();
        let digest = judge.digest();
        let fact = Fact::PolicyLoaded { digest, source: source.to_owned() };
        let commit = Commit { events: vec![Event::general(now, Actor::System, fact)], ..Commit::default() };
        let committed = self.commit(commit).await.map_err(EngineError::unguarded)?;
        self.live.advance(committed.last_seq);
        for warning in judge.house().warnings() {
            tracing::warn!("the policy says {warning}");
        }
        self.judge.store(Arc::new(judge));
        self.put_in_force(digest, source, now);
        Ok(())
    }

    /// A change that depends on what the rules are, and on who may change them: computed on the newest, and again
    /// if they change meanwhile.
    pub(crate) async fn amend_house(
        &self,
        by: &Principal,
        change: impl Fn(&Control) -> Result<(ControlChange, Fact), EngineError> + Send + Sync,
    ) -> Result<(), EngineError> {
        for _ in 0..100 {
            let control = self.house().await?;
            self.confirm(by, control.epoch).await?;
            let (change, fact) = change(&control)?;
            let now = self.clock.now();
            let commit = Commit {
                control_epoch: Some(control.epoch),
                control: vec![change],
                events: vec![Event::general(now, Actor::from(by), fact)],
                ..Commit::default()
            };
            match self.commit(commit).await {
                Ok(committed) => {
                    self.live.advance(committed.last_seq);
                    return self.reload_control().await;
                }
                Err(CommitError::Conflict(Conflict::ControlMoved)) => {}
                Err(error) => return Err(EngineError::unguarded(error)),
            }
        }
        Err(EngineError::Internal("the house rules kept changing".into()))
    }
}
