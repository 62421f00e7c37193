//! Propose a batch: many actions at once, to be reviewed together.

use std::collections::HashSet;
use std::sync::Arc;

use banksman_core::audit::{Event, Fact};
use banksman_core::{Action, Actor, BatchId, Case, Principal, Status, batch_digest};
use banksman_store::{BatchRecord, Commit, CommitError, Conflict, Control, ControlChange};

use crate::admission::Scope;
use crate::advance::notices;
use crate::consider::Tab;
use crate::grants::spent_grant;
use crate::propose::OpeningScene;
use crate::schema::admit_args;
use crate::{Engine, EngineError, ids};

/// More than this many would not be reviewed but waved through.
const MAX_ITEMS: usize = 500;

/// A batch and its items, in order.
#[derive(Debug)]
pub struct ProposedBatch {
    /// The batch.
    pub record: BatchRecord,
    /// Its items.
    pub cases: Vec<Arc<Case>>,
}

impl Engine {
    /// Takes a batch, whole or not at all. Each item is judged alone and has its own state.
    ///
    /// # Errors
    /// If it is empty or too long, has the same item twice or one that already waits, or cannot be recorded.
    pub async fn propose_batch(
        &self,
        agent: &Principal,
        actions: Vec<Action>,
    ) -> Result<ProposedBatch, EngineError> {
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
        let mut visit = self.admission.visit(&agent.name, self.config.limits, None);
        let mut tries = 0..100;
        while !tries.is_empty() {
            let now = self.clock.now();
            let control = self.control.load_full();
            self.confirm(agent, control.epoch).await?;
            let (millis, entropy) = ids::fresh(now)?;
            let id = BatchId::from_parts(millis, entropy);
            let mut commit = Commit {
                control_epoch: Some(control.epoch),
                limits: Some(visit.limits()),
                ..Commit::default()
            };
            // Each item is judged as if those before it had been let through.
            let mut tab = Tab::default();
            let mut left = Control::clone(&control);
            for action in &actions {
                let scene = OpeningScene { batch: Some(id), floor: None, control: &left, now };
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
            let cases = commit.opened.clone();
            let items: Vec<_> = cases.iter().map(|case| case.id).collect();
            let digest = batch_digest(cases.iter().map(|case| (&case.id, &case.submission.digest)));
            let record = BatchRecord { id, agent: agent.name.clone(), created_at: now, items: items.clone() };
            let fact = Fact::BatchProposed { batch: id, digest, items };
            commit.events.push(Event::general(now, Actor::from(agent), fact));
            commit.batch = Some(record.clone());
            let spends = !commit.control.is_empty();
            let conflict = match self.commit(commit).await {
                Ok(committed) => {
                    self.publish(&cases, committed.last_seq);
                    self.dispatcher.nudge();
                    if spends {
                        self.notice_new_rules().await;
                    }
                    return Ok(ProposedBatch { record, cases });
                }
                Err(CommitError::Conflict(conflict)) => conflict,
                Err(CommitError::Unavailable(error)) => return Err(error.into()),
            };
            if let Some(full) = Scope::of(&conflict) {
                // It waits until there is room for all of it, and those behind it wait with it: else it would never.
                let held = cases.iter().filter(|case| case.status() == Status::Pending).count();
                drop(cases);
                visit.wait(full, u64::try_from(held).unwrap_or(u64::MAX)).await?;
                continue;
            }
            if conflict == Conflict::MetersMoved {
                continue;
            }
            tries.next();
            match conflict {
                Conflict::ControlMoved => self.reload_control().await?,
                Conflict::Joinable(other) => {
                    if self.still_waits(other).await?.is_some() {
                        return Err(EngineError::Invalid(format!(
                            "an item already waits as {other}: leave it out"
                        )));
                    }
                }
                Conflict::CaseMoved(_)
                | Conflict::TooLate(_)
                | Conflict::MetersMoved
                | Conflict::PeopleMoved
                | Conflict::ReadOn
                | Conflict::EventSeen
                | Conflict::IdempotencyKeyUsed { .. }
                | Conflict::TooManyPending
                | Conflict::TooManyPendingForAgent => {
                    return Err(EngineError::Internal(format!("a new batch cannot meet {conflict:?} here")));
                }
            }
        }
        Err(EngineError::Internal("the house rules kept changing".into()))
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
        Ok(ProposedBatch { record, cases })
    }
}
