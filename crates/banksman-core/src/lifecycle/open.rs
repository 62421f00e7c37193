//! How an action's life begins.

use std::sync::Arc;

use super::{Effect, Moment, Notice, Transition, hold};
use crate::audit::{Event, Fact, FreezeRef};
use crate::{ActionId, Actor, Authority, BatchId, Case, GrantId, Principal, State, Submission, Tier};

/// A proposal, assessed and judged, with the id that it will have.
#[derive(Debug, Clone)]
pub struct Opening {
    /// The id.
    pub id: ActionId,
    /// The agent that asks.
    pub agent: Principal,
    /// The batch that it is part of.
    pub batch: Option<BatchId>,
    /// What is asked for.
    pub submission: Arc<Submission>,
    /// A remembered approval that covers it.
    pub grant: Option<GrantId>,
}

/// Begins an action's life: blocked, authorised at once, or pending.
#[must_use]
pub fn open(opening: Opening, moment: &Moment<'_>) -> Transition {
    let Opening { id, agent, batch, submission, grant } = opening;
    let now = moment.now;
    let verdict = &submission.verdict;
    let authorised = |authority| State::Authorised {
        authority,
        at: now,
        lapses_at: now.after(std::time::Duration::from_secs(verdict.claim_within_seconds)),
    };
    let (state, effects) = match (moment.freeze, verdict.tier) {
        (_, Tier::Block) => {
            (State::Blocked { at: now, reason: format!("policy blocks it ({})", verdict.rule) }, Vec::new())
        }
        (Some(freeze), Tier::Auto | Tier::Notify | Tier::Approve | Tier::Escalate) => (
            State::Blocked { at: now, reason: format!("frozen by {}: {}", freeze.id, freeze.reason) },
            Vec::new(),
        ),
        (None, Tier::Auto) => (authorised(Authority::Policy), Vec::new()),
        (None, Tier::Notify) => (authorised(Authority::Policy), vec![Effect::Notify(Notice::LetThrough)]),
        (None, Tier::Approve | Tier::Escalate) => {
            match (grant.filter(|_| verdict.tier == Tier::Approve), &verdict.approved_by_preset) {
                (Some(grant), _) => {
                    (authorised(Authority::Grant { grant }), vec![Effect::Notify(Notice::LetThrough)])
                }
                (None, _) if verdict.observed => {
                    (authorised(Authority::Observation), vec![Effect::Notify(Notice::LetThrough)])
                }
                (None, Some(preset)) => {
                    let preset = preset.clone();
                    (authorised(Authority::Preset { preset }), vec![Effect::Notify(Notice::LetThrough)])
                }
                (None, None) => (hold::begin(&submission, now), vec![Effect::Notify(Notice::Held)]),
            }
        }
    };
    let fact = Fact::Proposed {
        assessment: submission.assessment.clone(),
        verdict: verdict.clone(),
        grant,
        // What policy blocks is blocked by policy, frozen or not.
        freeze: moment.freeze.filter(|_| verdict.tier != Tier::Block).map(FreezeRef::from),
    };
    let actor = Actor::from(&agent);
    let case = Case {
        id,
        agent: agent.name,
        owner: agent.owner,
        batch,
        created_at: now,
        revision: 1,
        version: 1,
        submission,
        reviews: Vec::new(),
        state,
    };
    let event = Event::about(&case, now, actor, fact);
    Transition { case, event: Box::new(event), effects }
}
