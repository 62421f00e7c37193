//! Decide over a batch: all of it, some of it, or none, but only as it was seen.

use std::collections::HashSet;
use std::sync::Arc;

use banksman_core::wire::BatchDecisionRequest;
use banksman_core::{ActionId, Ballot, BatchId, Case, Decision, Principal, batch_digest};

use crate::advance::House;
use crate::decide::plan_decision;
use crate::{Engine, EngineError};

/// What became of the decision about one item.
#[derive(Debug)]
pub struct ItemAnswer {
    /// The item.
    pub id: ActionId,
    /// The item afterwards, or why it was not moved.
    pub answer: Result<Arc<Case>, EngineError>,
}

impl Engine {
    /// Takes decisions about items of a batch, bound to the digest of the exact ordered items.
    ///
    /// Each item is its own action: one that cannot be decided (any more) does not hold up the others.
    ///
    /// # Errors
    /// If the batch is not as the reviewer saw it, or a decision is about something that is not in it.
    pub async fn decide_batch(
        &self,
        reviewer: &Principal,
        id: BatchId,
        request: BatchDecisionRequest,
    ) -> Result<Vec<ItemAnswer>, EngineError> {
        let batch = self.batch(reviewer, id).await?;
        let current = batch_digest(batch.cases.iter().map(|case| (&case.id, &case.submission.digest)));
        if current != request.digest {
            return Err(EngineError::BatchChanged { current });
        }
        let mut seen = HashSet::new();
        let mut ballots = Vec::with_capacity(request.decisions.len());
        for item in request.decisions {
            let Some(case) = batch.cases.iter().find(|case| case.id == item.id) else {
                return Err(EngineError::Invalid(format!("{} is not in this batch", item.id)));
            };
            if !seen.insert(item.id) {
                return Err(EngineError::Invalid(format!("{} is decided twice", item.id)));
            }
            if item.decision == Decision::Modify {
                return Err(EngineError::Invalid("to modify an item, decide about it alone".into()));
            }
            // What binds the decision is the item as it was when the digest was checked.
            let ballot = Ballot {
                reviewer: reviewer.clone(),
                lent: Vec::new(),
                brought_by: None,
                decision: item.decision,
                version: case.version,
                digest: case.submission.digest,
                reason: item.reason,
                message: item.message,
                remember: false,
                step_up: None,
            };
            ballots.push((item.id, ballot));
        }
        let answers = ballots.into_iter().map(|(id, ballot)| async move {
            let answer = self
                .advance(id, Some(reviewer), House::Guarded, |scene| {
                    plan_decision(scene, self.seated(&ballot, scene), None)
                })
                .await;
            ItemAnswer { id, answer }
        });
        // All at once: the writer groups them into one fsync.
        Ok(futures_util::future::join_all(answers).await)
    }
}
