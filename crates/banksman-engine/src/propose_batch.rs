//! Propose a batch: many actions at once, to be reviewed together.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use banksman_core::audit::{Event, Fact};
use banksman_core::{Action, ActionId, Actor, BatchId, Case, Digest, Principal, Status, batch_digest};
use banksman_store::{BatchRecord, Commit, CommitError, Conflict, Control, ControlChange};

use crate::admission::{Scope, Visit};
use crate::advance::notices;
use crate::consider::Tab;
use crate::grants::spent_grant;
use crate::propose::{OpeningScene, idempotency_row};
use crate::retry::RetryBudget;
use crate::schema::admit_args;
use crate::{Engine, EngineError, ids};

/// More than this many would not be reviewed but waved through.
const MAX_ITEMS: usize = 500;

/// A batch as it came in.
#[derive(Debug, Clone)]
pub struct BatchRequest {
    /// What the agent wants to do.
    pub actions: Vec<Action>,
    /// A key by which the agent can send the same request again.
    pub idempotency: Option<(String, Digest)>,
    /// How long to wait for room, if the house is full; as configured, if the agent did not say.
    pub patience: Option<Duration>,
}

impl BatchRequest {
    /// A request for actions, with nothing special about it.
    #[must_use]
    pub fn of(actions: Vec<Action>) -> Self {
        Self { actions, idempotency: None, patience: None }
    }
}

/// A batch and its items, in order.
#[derive(Debug)]
pub struct ProposedBatch {
    /// The batch.
    pub record: BatchRecord,
    /// Its items.
    pub cases: Vec<Arc<Case>>,
    /// Whether it was there before.
    pub joined: bool,
}

/// What came of one try.
enum Attempt {
    Done(ProposedBatch),
    /// Another commit came first. The same once more, on what is true by now.
    Retry(Conflict),
    /// So many of its items would be held, and there is no room for all of them.
    Queue(Scope, u64),
}

impl Engine {
    /// Takes a batch, whole or not at all, or joins it with the same one that already waits. Each item is judged alone
    /// and has its own state.
    ///
    /// # Errors
    /// If it is empty or too long, has the same item twice or one that already waits elsewhere, its key was used for
    /// something else, or it cannot be recorded.
    pub async fn propose_batch(
        &self,
        agent: &Principal,
        request: BatchRequest,
    ) -> Result<ProposedBatch, EngineError> {
        self.admit_batch(&request.actions).await?;
        let mut visit = self.admission.visit(&agent.name, self.config.limits, request.patience);
        let mut budget = RetryBudget::new();
        loop {
            match self.attempt_batch(agent, &request, &mut visit).await? {
                Attempt::Done(batch) => return Ok(batch),
                Attempt::Retry(met) => budget.spend(&met)?,
                // It waits until there is room for all of it, and those behind it wait with it: else it would never.
                Attempt::Queue(full, held) => visit.wait(full, held).await?,
            }
        }
    }

    /// Whether these make a batch at all.
    async fn admit_batch(&self, actions: &[Action]) -> Result<(), EngineError> {
        if actions.is_empty() || actions.len() > MAX_ITEMS {
            return Err(EngineError::Invalid(format!("a batch has 1 to {MAX_ITEMS} items")));
        }
        let mut seen = HashSet::new();
        for (position, action) in actions.iter().enumerate() {
            admit_args(action).await.map_err(|error| match error {
                EngineError::InvalidArgs(problem) => {
                    EngineError::InvalidArgs(format!("item {position}: {problem}"))
                }
                other => other,
            })?;
            self.check_resume(action)?;
            if !seen.insert(action.digest()) {
                return Err(EngineError::Invalid(format!(
                    "item {position} is there twice: one decision cannot be two"
                )));
            }
        }
        Ok(())
    }

    /// One try: opens every item by what is true at this moment, and commits them if that is still so.
    async fn attempt_batch(
        &self,
        agent: &Principal,
        request: &BatchRequest,
        visit: &mut Visit<'_>,
    ) -> Result<Attempt, EngineError> {
        let control = self.control.load_full();
        self.confirm(agent, control.epoch).await?;
        let (record, opened) = self.open_batch(agent, request, &control).await?;
        let commit = Commit { limits: Some(visit.limits()), ..opened };
        let cases = commit.opened.clone();
        let spends = !commit.control.is_empty();
        match self.commit(commit).await {
            Ok(committed) => {
                self.publish(&cases, committed.last_seq);
                self.dispatcher.nudge();
                if spends {
                    self.notice_new_rules().await;
                }
                Ok(Attempt::Done(ProposedBatch { record, cases, joined: false }))
            }
            Err(CommitError::Conflict(met)) => {
                self.after_conflict_of_batch(agent, request.idempotency.as_ref(), met, &cases).await
            }
            Err(CommitError::Unavailable(error)) => Err(error.into()),
        }
    }

    /// What there is to write of a batch, each item judged as if those before it had been let through.
    async fn open_batch(
        &self,
        agent: &Principal,
        request: &BatchRequest,
        control: &Control,
    ) -> Result<(BatchRecord, Commit), EngineError> {
        let now = self.clock.now();
        let (millis, entropy) = ids::fresh(now)?;
        let id = BatchId::from_parts(millis, entropy);
        let mut commit = Commit { control_epoch: Some(control.epoch), ..Commit::default() };
        let mut tab = Tab::default();
        let mut left = Control::clone(control);
        for action in &request.actions {
            let scene = OpeningScene { batch: Some(id), twin: None, floor: None, control: &left, now };
            let transition = self.open_case(agent, action.clone(), &scene, &mut tab).await?;
            let case = Arc::new(transition.case);
            // The next item finds one use less.
            if let Some(spent) = spent_grant(&left, &case) {
                left.grants.retain(|grant| grant.id != spent.id);
                left.grants.push(spent.clone());
                commit.control.push(ControlChange::UseGrant(spent));
            }
            commit.notices.extend(notices(&case, &transition.effects, now));
            commit.events.push(*transition.event);
            commit.opened.push(case);
        }
        commit.readings = tab.readings;
        commit.charges = tab.charges;
        let items: Vec<_> = commit.opened.iter().map(|case| case.id).collect();
        let digest = batch_digest(commit.opened.iter().map(|case| (&case.id, &case.submission.digest)));
        let record = BatchRecord { id, agent: agent.name.clone(), created_at: now, items: items.clone() };
        let fact = Fact::BatchProposed { batch: id, digest, items };
        commit.events.push(Event::general(now, Actor::from(agent), fact));
        commit.batch = Some(record.clone());
        // Of all that a key may lead to, an item leads on to its batch.
        let keyed = request.idempotency.as_ref().zip(record.items.first());
        commit.idempotency =
            keyed.map(|((key, request), item)| idempotency_row(agent, key, *request, *item, now));
        Ok((record, commit))
    }

    /// What a conflict means for a batch.
    async fn after_conflict_of_batch(
        &self,
        agent: &Principal,
        idempotency: Option<&(String, Digest)>,
        met: Conflict,
        cases: &[Arc<Case>],
    ) -> Result<Attempt, EngineError> {
        match &met {
            Conflict::MetersMoved => {}
            Conflict::ControlMoved => self.reload_control().await?,
            Conflict::Joinable(other) => {
                if let Some(waiting) = self.still_waits(*other).await? {
                    return match self.same_batch(agent, &waiting, cases).await? {
                        Some(batch) => self.join_batch(agent, batch, idempotency).await.map(Attempt::Done),
                        None => Err(EngineError::Invalid(format!(
                            "an item already waits as {other}: leave it out"
                        ))),
                    };
                }
            }
            Conflict::IdempotencyKeyUsed { request, action } => {
                let batch = self.batch_of_key(agent, idempotency, *request, *action).await?;
                return Ok(Attempt::Done(batch));
            }
            Conflict::TooManyPending | Conflict::TooManyPendingForAgent => {
                if let Some(full) = Scope::of(&met) {
                    let held = cases.iter().filter(|case| case.status() == Status::Pending).count();
                    return Ok(Attempt::Queue(full, u64::try_from(held).unwrap_or(u64::MAX)));
                }
            }
            Conflict::CaseMoved(_)
            | Conflict::TooLate(_)
            | Conflict::PeopleMoved
            | Conflict::ReadOn
            | Conflict::EventSeen => {
                return Err(EngineError::Internal(format!("a new batch cannot meet {met:?} here")));
            }
        }
        Ok(Attempt::Retry(met))
    }

    /// The batch that an action waits in, if it is of exactly these items.
    async fn same_batch(
        &self,
        agent: &Principal,
        waiting: &Case,
        asked: &[Arc<Case>],
    ) -> Result<Option<ProposedBatch>, EngineError> {
        let Some(id) = waiting.batch else { return Ok(None) };
        let batch = self.batch(agent, id).await?;
        let mut pairs = asked.iter().zip(&batch.cases);
        // A batch on milder terms, or by other facts, is another one.
        let is_same = asked.len() == batch.cases.len()
            && pairs.all(|(asked, there)| asked.submission.may_join(&there.submission));
        Ok(is_same.then_some(batch))
    }

    /// Joins a batch that waits already. The key leads to it from now on, also when it has been decided and run.
    async fn join_batch(
        &self,
        agent: &Principal,
        batch: ProposedBatch,
        idempotency: Option<&(String, Digest)>,
    ) -> Result<ProposedBatch, EngineError> {
        let joined = ProposedBatch { joined: true, ..batch };
        let Some(((key, request), item)) = idempotency.zip(joined.record.items.first()) else {
            return Ok(joined);
        };
        let row = idempotency_row(agent, key, *request, *item, self.clock.now());
        match self.commit(Commit { idempotency: Some(row), ..Commit::default() }).await {
            Ok(_) => Ok(joined),
            Err(CommitError::Conflict(Conflict::IdempotencyKeyUsed { request, action })) => {
                self.batch_of_key(agent, idempotency, request, action).await
            }
            Err(error) => Err(EngineError::unexpected_conflict(error)),
        }
    }

    /// What came of the request that a key was used for, if it is the same one.
    async fn batch_of_key(
        &self,
        agent: &Principal,
        idempotency: Option<&(String, Digest)>,
        used_for: Digest,
        action: ActionId,
    ) -> Result<ProposedBatch, EngineError> {
        if idempotency.is_none_or(|(_, asked)| *asked != used_for) {
            return Err(EngineError::IdempotencyKeyReused);
        }
        let id = self.recall(action).await?.batch.ok_or(EngineError::IdempotencyKeyReused)?;
        Ok(ProposedBatch { joined: true, ..self.batch(agent, id).await? })
    }

    /// A batch and its items as they stand. Agents see only their own.
    ///
    /// # Errors
    /// If there is none such for this caller.
    pub async fn batch(&self, caller: &Principal, id: BatchId) -> Result<ProposedBatch, EngineError> {
        let record = self.store.batch(id).await?.ok_or(EngineError::NotFound)?;
        if !caller.kind.decides() && record.agent != caller.name {
            return Err(EngineError::NotFound);
        }
        let mut cases = Vec::with_capacity(record.items.len());
        for item in &record.items {
            cases.push(self.recall(*item).await?);
        }
        Ok(ProposedBatch { record, cases, joined: false })
    }
}
