//! The house rules: freezes, and what all changes of the rules share. Each change holds at once, because every verb that lets something
//! through guards the epoch that a change raises.

use std::sync::Arc;

use banksman_core::audit::{Event, Fact};
use banksman_core::{Actor, Freeze, FreezeId, FreezeScope, Principal};
use banksman_store::{Commit, CommitError, Conflict, Control, ControlChange};

use crate::retry::RetryBudget;
use crate::{Engine, EngineError, Judge, ids};

impl Engine {
    /// The house rules as they are.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn house_rules(&self) -> Result<Arc<Control>, EngineError> {
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
        self.record_events(vec![Event::general(now, Actor::System, fact)]).await?;
        for warning in judge.house().warnings() {
            tracing::warn!("the policy says {warning}");
        }
        self.judge.store(Arc::new(judge));
        self.put_in_force(digest, source, now);
        Ok(())
    }

    /// A change that depends on what the rules are, and on who may change them.
    pub(crate) async fn amend_house(
        &self,
        by: &Principal,
        change: impl Fn(&Control) -> Result<(ControlChange, Fact), EngineError> + Send + Sync,
    ) -> Result<(), EngineError> {
        let change = &change;
        self.commit_under_rules(Some(by), move |rules| async move {
            let (change, fact) = change(&rules)?;
            let commit = Commit {
                control_epoch: Some(rules.epoch),
                control: vec![change],
                events: vec![Event::general(self.clock.now(), Actor::from(by), fact)],
                ..Commit::default()
            };
            Ok(UnderRules::Write(Box::new(commit), ()))
        })
        .await
    }

    /// Writes what depends on the rules, or on what `plan` reads after them: computed under the newest, for someone who
    /// may still do that, and again if another commit comes first.
    pub(crate) async fn commit_under_rules<T, F>(
        &self,
        by: Option<&Principal>,
        plan: impl Fn(Arc<Control>) -> F + Send + Sync,
    ) -> Result<T, EngineError>
    where
        T: Send,
        F: Future<Output = Result<UnderRules<T>, EngineError>> + Send,
    {
        let mut budget = RetryBudget::new();
        loop {
            // The epochs before everything else: whoever changes something in between raises one, and the guard fails.
            let rules = self.house_rules().await?;
            if let Some(person) = by {
                self.confirm(person, rules.epoch).await?;
            }
            let (commit, answer) = match plan(rules).await? {
                UnderRules::Write(commit, answer) => (*commit, answer),
                UnderRules::Nothing(answer) => return Ok(answer),
            };
            let changes_rules = commit.control.iter().any(ControlChange::raises_epoch);
            let tells = !commit.notices.is_empty();
            match self.commit(commit).await {
                Ok(committed) => {
                    self.live.advance(committed.last_seq);
                    if tells {
                        self.dispatcher.nudge();
                    }
                    if changes_rules {
                        self.credentials.forget_all();
                        // It holds from here on, whether the rules can be read again now or not.
                        self.notice_new_rules().await;
                    }
                    return Ok(answer);
                }
                Err(CommitError::Conflict(met @ (Conflict::ControlMoved | Conflict::PeopleMoved))) => {
                    budget.spend(&met)?;
                }
                Err(error) => return Err(EngineError::unexpected_conflict(error)),
            }
        }
    }
}

/// What is to be written under the rules that were just read.
pub(crate) enum UnderRules<T> {
    /// This, which guards the epochs that it was computed at; and the answer once it is written.
    Write(Box<Commit>, T),
    /// Nothing. This is the answer already.
    Nothing(T),
}
