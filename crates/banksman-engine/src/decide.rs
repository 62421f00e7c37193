//! Decide: a person approves, denies or responds. Edits are next door.

use std::sync::Arc;

use banksman_core::audit::{Event, Fact};
use banksman_core::wire::DecisionRequest;
use banksman_core::{
    ActionId, Actor, Ballot, Case, Command, Decision, Effect, Principal, Remember, Status, StepUp, step,
};
use banksman_store::ControlChange;

use crate::advance::{House, Plan, Scene};
use crate::grants::{remembered, revoke_denied};
use crate::{Engine, EngineError};

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
        self.decide_via(None, reviewer, id, request, None).await
    }

    /// The same, by a channel that the audit log names. Who it is has been found out by what the channel's provider says.
    ///
    /// # Errors
    /// As [`Engine::decide`].
    pub async fn decide_by_channel(
        &self,
        channel: &str,
        reviewer: &Principal,
        id: ActionId,
        request: DecisionRequest,
    ) -> Result<Arc<Case>, EngineError> {
        self.decide_via(Some(channel), reviewer, id, request, None).await
    }

    /// The same, by a channel if it came in by one, and with what a passkey signed.
    pub(crate) async fn decide_via(
        &self,
        channel: Option<&str>,
        reviewer: &Principal,
        id: ActionId,
        request: DecisionRequest,
        step_up: Option<StepUp>,
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
            lent: Vec::new(),
            brought_by: None,
            decision,
            version,
            digest,
            reason,
            message,
            remember: remember.is_some(),
            step_up,
        };
        if decision == Decision::Modify {
            // On the heap: it is rare, and would make every decision's future larger.
            return Box::pin(self.edit(channel, reviewer, id, &ballot, args.as_ref())).await;
        }
        self.advance(id, Some(reviewer), House::Guarded, |scene| {
            plan_decision(scene, self.seated(&ballot, scene), remember.as_ref())
                .map(|plan| plan.by_way_of(channel))
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
    if plan.transition.case.status() == Status::Denied {
        revoke_denied(scene, &reviewer, &mut plan);
    }
    if let Some(remember) = remember.filter(|_| plan.transition.effects.contains(&Effect::Remember)) {
        let grant = remembered(scene, remember, &reviewer)?;
        plan.events.push(Event::general(scene.now, reviewer, Fact::Granted { grant: grant.clone() }));
        plan.control.push(ControlChange::Grant(grant));
    }
    Ok(plan)
}
