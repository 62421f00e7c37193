//! Decide: a person approves, denies, edits or responds.

use std::sync::Arc;

use banksman_core::audit::{Event, Fact};
use banksman_core::json::{CanonicalJson, Json};
use banksman_core::wire::DecisionRequest;
use banksman_core::{
    ActionId, Actor, Ballot, Case, Command, Decision, Edit, Effect, Principal, Remember, Status, step,
};
use banksman_policy::Facts;
use banksman_store::ControlChange;

use crate::advance::{House, Plan, Scene};
use crate::grants::{remembered, revoke_denied};
use crate::propose::check_args;
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
            decision,
            version,
            digest,
            reason,
            message,
            remember: remember.is_some(),
        };
        self.advance(id, Some(reviewer), House::Guarded, |scene| {
            let ballot = Ballot { lent: self.lent_to(&reviewer.name, scene), ..ballot.clone() };
            match decision {
                Decision::Modify => self.plan_edit(scene, &ballot, args.as_ref()),
                Decision::Approve | Decision::Deny | Decision::Respond => {
                    plan_decision(scene, ballot, remember.as_ref())
                }
            }
        })
        .await
    }

    /// An edit is a new proposal by another hand: validated, assessed and judged like one, and never judged more
    /// mildly than what it replaces.
    fn plan_edit(
        &self,
        scene: &Scene<'_>,
        ballot: &Ballot,
        args: Option<&CanonicalJson>,
    ) -> Result<Plan, EngineError> {
        // A stale or late edit is refused as such before its arguments are looked at.
        let current = Arc::clone(&scene.case.submission);
        let probe = Edit { ballot: ballot.clone(), submission: Arc::clone(&current) };
        let probed = step(scene.case, Command::Edit(probe), &scene.moment());
        probed.map_err(|refusal| scene.refuse(refusal))?;

        let args = args.ok_or_else(|| EngineError::InvalidArgs("to modify, give args".into()))?;
        match args.to_json() {
            Ok(Json::Object(_)) => {}
            Ok(other) => {
                return Err(EngineError::InvalidArgs(format!(
                    "expected an object, got {}",
                    other.kind_name()
                )));
            }
            Err(error) => return Err(EngineError::InvalidArgs(error.to_string())),
        }
        if *args == current.action.args {
            return Err(EngineError::InvalidArgs("the arguments are unchanged: approve instead".into()));
        }
        let action = current.action.with_args(args.clone());
        if let Some(problem) = check_args(&action) {
            return Err(EngineError::InvalidArgs(problem));
        }
        let facts = Facts { now: scene.now, mode: scene.control.mode, agent: &scene.case.agent };
        let mut submission = self.consider(action, &facts);
        submission.verdict = submission.verdict.at_least(&current.verdict);
        let edit = Edit { ballot: ballot.clone(), submission: Arc::new(submission) };
        let transition = step(scene.case, Command::Edit(edit), &scene.moment())
            .map_err(|refusal| scene.refuse(refusal))?;
        Ok(Plan { new_submission: true, ..Plan::from(transition).in_time(scene) })
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
