//! Edit: a person changes what would run.
//!
//! An edit is a new proposal by another hand: validated, assessed and judged like one, and never judged more mildly than
//! what it replaces.

use std::sync::Arc;

use banksman_core::json::{CanonicalJson, Json};
use banksman_core::meter::{Charge, Reading};
use banksman_core::redact::restore;
use banksman_core::{
    Action, ActionId, Ballot, Case, Command, Digest, Edit, Principal, Refusal, Submission, step,
};

use crate::advance::{House, Plan, Scene, TRIES};
use crate::consider::{Surroundings, Tab};
use crate::schema::{Objection, objection};
use crate::{Engine, EngineError};

/// A new version that was judged, and what it was judged by.
struct Draft {
    submission: Arc<Submission>,
    readings: Vec<Reading>,
    /// What it adds to meters if it may run.
    charges: Vec<Charge>,
    /// The epoch of the house rules.
    epoch: u64,
}

impl Engine {
    pub(crate) async fn edit(
        &self,
        channel: Option<&str>,
        reviewer: &Principal,
        id: ActionId,
        ballot: &Ballot,
        args: Option<&CanonicalJson>,
    ) -> Result<Arc<Case>, EngineError> {
        for _ in 0..TRIES {
            let mut draft = self.draft(id, ballot, args).await;
            let edited = self
                .advance(id, Some(reviewer), House::Guarded, |scene| {
                    plan(scene, &self.seated(ballot, scene), &mut draft).map(|plan| plan.by_way_of(channel))
                })
                .await;
            match edited {
                Err(EngineError::Overtaken) => {}
                done => return done,
            }
        }
        Err(EngineError::Internal("what the edit is judged by kept changing".into()))
    }

    /// Judges what a reviewer makes of the action.
    async fn draft(
        &self,
        id: ActionId,
        ballot: &Ballot,
        args: Option<&CanonicalJson>,
    ) -> Result<Draft, EngineError> {
        let case = self.fetch(id).await?;
        let current = &case.submission;
        if current.digest != ballot.digest {
            // The lifecycle will say that the edit is about something else. If not, it has moved meanwhile.
            return Err(EngineError::Overtaken);
        }
        let action = edited(current, args)?;
        admit_edited(&action, args).await?;
        let control = self.control.load_full();
        let now = self.clock.now();
        let around = Surroundings { agent: &case.agent, control: &control, now, itself: Some(id) };
        let mut tab = Tab::default();
        let hidden = &current.verdict.redact;
        let (submission, metered) = self.consider_hiding(hidden, action, &around, &mut tab).await?;
        Ok(Draft {
            submission: Arc::new(submission.at_least(&current.verdict)),
            readings: tab.readings,
            charges: metered.charges(id),
            epoch: control.epoch,
        })
    }
}

/// The digest of what would run after an edit.
pub(crate) fn edited_digest(case: &Case, args: Option<&CanonicalJson>) -> Result<Digest, EngineError> {
    edited(&case.submission, args).map(|action| action.digest())
}

/// The action with other arguments, if they can be its arguments. Where the reviewer left a blackened value alone, it
/// stays what it is.
fn edited(current: &Submission, args: Option<&CanonicalJson>) -> Result<Action, EngineError> {
    let Submission { action, verdict, .. } = current;
    let picture = args.ok_or_else(|| EngineError::InvalidArgs("to modify, give args".into()))?;
    let args = restore(picture, &action.args, &verdict.redact)
        .map_err(|error| EngineError::InvalidArgs(error.to_string()))?;
    match args.to_json() {
        Ok(Json::Object(_)) => {}
        Ok(other) => {
            let problem = format!("expected an object, got {}", other.kind_name());
            return Err(EngineError::InvalidArgs(problem));
        }
        Err(error) => return Err(EngineError::InvalidArgs(error.to_string())),
    }
    if args == action.args {
        return Err(EngineError::InvalidArgs("the arguments are unchanged: approve instead".into()));
    }
    Ok(action.with_args(args))
}

/// Refuses edited arguments that do not follow the action's schema. If that is the server's own and nobody can tell, it is
/// for the server to say: neither the agent nor the reviewer chose it.
async fn admit_edited(action: &Action, picture: Option<&CanonicalJson>) -> Result<(), EngineError> {
    let problem = match objection(action).await? {
        None => return Ok(()),
        Some(Objection::Unclear(_)) if action.forwarded => return Ok(()),
        // What is wrong may quote what is hidden.
        Some(Objection::Misfit(_)) if picture != Some(&action.args) => {
            "they do not follow the schema of the action; where is not said, because a part of them is hidden"
                .into()
        }
        Some(Objection::Misfit(problem) | Objection::Unclear(problem)) => problem,
    };
    Err(EngineError::InvalidArgs(problem))
}

fn plan(
    scene: &Scene<'_>,
    ballot: &Ballot,
    draft: &mut Result<Draft, EngineError>,
) -> Result<Plan, EngineError> {
    let edit = |submission: &Arc<Submission>| {
        let edit = Edit { ballot: ballot.clone(), submission: Arc::clone(submission) };
        step(scene.case, Command::Edit(edit), &scene.moment()).map_err(|refusal| scene.refuse(refusal))
    };
    // A stale or late edit is refused as such before anything is said about its arguments. What a passkey signed is the
    // edited version, so that is not asked yet.
    match edit(&scene.case.submission) {
        Ok(_) | Err(EngineError::Refused { refusal: Refusal::StepUpMismatch, .. }) => {}
        Err(refused) => return Err(refused),
    }
    let draft = match draft {
        Ok(draft) if draft.epoch == scene.control.epoch => draft,
        Ok(_) => return Err(EngineError::Overtaken),
        Err(problem) => return Err(std::mem::replace(problem, EngineError::Overtaken)),
    };
    let transition = edit(&draft.submission)?;
    let charges = if transition.case.status().never_ran() { Vec::new() } else { draft.charges.clone() };
    Ok(Plan {
        new_submission: true,
        readings: draft.readings.clone(),
        charges,
        ..Plan::from(transition).in_time(scene)
    })
}
