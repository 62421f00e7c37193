//! Decide: a person approves, denies or responds. Edits are next door.

use std::sync::Arc;
use std::time::Duration;

use banksman_core::audit::{Event, Fact};
use banksman_core::wire::DecisionRequest;
use banksman_core::{
    ActionId, Actor, Ballot, Case, Command, Decision, Effect, Grant, GrantId, GrantMatch, GrantReach,
    Principal, Refusal, Remember, step,
};
use banksman_store::ControlChange;

use crate::advance::{House, Plan, Scene};
use crate::{Engine, EngineError, ids};

/// The longest that an approval may be remembered.
const MAX_GRANT_SECONDS: u64 = 90 * 24 * 3600;

impl Engine {
    /// Takes a decision on the version that the reviewer saw.
    ///
    /// # Errors
    /// A refusal if the decision is stale, late, or not this person's to take; invalid arguments for an edit.
    pub async fn decide(
        &self,
        reviewer: &Principal,
        id: ActionId,
        request: DecisionRequest,
    ) -> Result<Arc<Case>, EngineError> {
        let DecisionRequest { decision, version, digest, reason, args, message, remember } = request;
        if args.is_some() && decision != Decision::Modify {
            return Err(EngineError::Invalid("args go only with the decision modify".into()));
        }
        if remember.is_some() && decision != Decision::Approve {
            return Err(EngineError::Invalid("remember goes only with the decision approve".into()));
        }
        let ballot = Ballot {
            reviewer: reviewer.clone(),
            decision,
            version,
            digest,
            reason,
            message,
            remember: remember.is_some(),
        };
        if decision == Decision::Modify {
            return self.edit(reviewer, id, &ballot, args.as_ref()).await;
        }
        self.advance(id, Some(reviewer), House::Guarded, |scene| {
            plan_decision(scene, ballot.clone(), remember.as_ref())
        })
        .await
    }
}

pub(crate) fn plan_decision(
    scene: &Scene<'_>,
    ballot: Ballot,
    remember: Option<&Remember>,
) -> Result<Plan, EngineError> {
    let reviewer = Actor::from(&ballot.reviewer);
    let transition = step(scene.case, Command::Decide(ballot), &scene.moment())
        .map_err(|refusal| scene.refuse(refusal))?;
    let mut plan = Plan::from(transition).in_time(scene);
    if let Some(remember) = remember.filter(|_| plan.transition.effects.contains(&Effect::Remember)) {
        let grant = grant(scene, remember, &reviewer)?;
        plan.events.push(Event::general(scene.now, reviewer, Fact::Granted { grant: grant.clone() }));
        plan.control.push(ControlChange::Grant(grant));
    }
    Ok(plan)
}

/// The grant that an approval asks for, within the session unless it says otherwise.
fn grant(scene: &Scene<'_>, remember: &Remember, by: &Actor) -> Result<Grant, EngineError> {
    if !(1..=MAX_GRANT_SECONDS).contains(&remember.expires_in_seconds) {
        return Err(EngineError::Invalid(format!("a grant lasts 1 to {MAX_GRANT_SECONDS} seconds")));
    }
    let submission = &scene.case.submission;
    let reach = match (&submission.action.session, remember.all_sessions) {
        (_, true) => GrantReach::Agent,
        (Some(session), false) => GrantReach::Session { session: session.clone() },
        (None, false) => return Err(scene.refuse(Refusal::RememberNotAllowed)),
    };
    let (millis, entropy) = ids::fresh(scene.now)?;
    Ok(Grant {
        id: GrantId::from_parts(millis, entropy),
        agent: scene.case.agent.clone(),
        tool: submission.action.tool.clone(),
        digest: match remember.matches {
            GrantMatch::Exact => Some(submission.digest),
            GrantMatch::Tool => None,
        },
        reach,
        by: by.name().unwrap_or_default().to_owned(),
        at: scene.now,
        expires_at: scene.now.after(Duration::from_secs(remember.expires_in_seconds)),
    })
}
