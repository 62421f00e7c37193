//! Running what was authorised: once, and with a record of how it ended.

use std::time::Duration;

use super::{ClaimRequest, Moment, Outcome, Transition, moved};
use crate::audit::Fact;
use crate::json::{CanonicalJson, Json, Object};
use crate::redact::Hidden;
use crate::{Actor, Case, Claim, Refusal, State, Status, Timestamp};

/// Takes the one claim.
pub(super) fn claim(case: &Case, request: &ClaimRequest, moment: &Moment<'_>) -> Result<Transition, Refusal> {
    if request.digest != case.submission.digest {
        return Err(Refusal::DigestMismatch { current: case.submission.digest });
    }
    let now = moment.now;
    let authority = match &case.state {
        State::Authorised { lapses_at, .. } if *lapses_at <= now => {
            return Err(Refusal::Lapsed { at: *lapses_at });
        }
        State::Authorised { authority, .. } => authority.clone(),
        State::Lapsed { at } => return Err(Refusal::Lapsed { at: *at }),
        State::Executing { claim, .. }
        | State::Succeeded { claim, .. }
        | State::Failed { claim, .. }
        | State::Unknown { claim, .. } => return Err(Refusal::AlreadyClaimed { at: claim.at }),
        State::Blocked { .. }
        | State::Pending { .. }
        | State::Denied { .. }
        | State::Expired { .. }
        | State::Cancelled { .. }
        | State::Revoked { .. } => return Err(Refusal::NotAuthorised { status: case.status() }),
    };
    if let Some(freeze) = moment.freeze {
        return Err(Refusal::Frozen { freeze: freeze.id, reason: freeze.reason.clone() });
    }
    let changed =
        changed_preconditions(case.submission.action.preconditions.as_ref(), request.preconditions.as_ref());
    if !changed.is_empty() {
        return Err(Refusal::PreconditionFailed { names: changed });
    }
    let lease = Duration::from_secs(case.submission.verdict.lease_seconds);
    let claim = Claim { at: now, lease_expires_at: now.after(lease) };
    let fact = Fact::Claimed { lease_expires_at: claim.lease_expires_at };
    let state = State::Executing { authority, claim };
    Ok(moved(case.clone(), state, now, executor(case), fact, Vec::new()))
}

/// The names of the facts that the reviewers relied on and that the executor does not see as they were, and of those that
/// the executor relies on and nobody declared: it would take them for checked. One that it says nothing about counts as
/// changed.
fn changed_preconditions(relied_on: Option<&CanonicalJson>, seen: Option<&CanonicalJson>) -> Vec<String> {
    let (relied_on, seen) = match (facts(relied_on), facts(seen)) {
        (Some(relied_on), Some(seen)) => (relied_on, seen),
        // Not an object, or not readable: nothing can be rechecked, so nothing may run.
        (None, _) | (_, None) => return vec!["preconditions".into()],
    };
    let changed = relied_on.iter().filter(|(name, value)| seen.get(name) != Some(value));
    let undeclared = seen.iter().filter(|(name, _)| relied_on.get(name).is_none());
    changed.chain(undeclared).map(|(name, _)| name.to_owned()).collect()
}

/// Facts by their names; none, if nothing is said.
fn facts(said: Option<&CanonicalJson>) -> Option<Object> {
    match said.map(CanonicalJson::to_json) {
        None => Some(Object::default()),
        Some(Ok(Json::Object(facts))) => Some(facts),
        Some(Ok(_) | Err(_)) => None,
    }
}

/// Records how it ended. Saying the same again is answered by the engine from the case; here it is refused.
pub(super) fn report(case: &Case, outcome: Outcome, moment: &Moment<'_>) -> Result<Transition, Refusal> {
    let now = moment.now;
    match &case.state {
        State::Executing { authority, claim } => {
            let late = claim.lease_expires_at <= now;
            Ok(finished(case, outcome, authority.clone(), claim.clone(), now, late))
        }
        // A report that comes after the lease is still the truth about what happened.
        State::Unknown { authority, claim, .. } => {
            Ok(finished(case, outcome, authority.clone(), claim.clone(), now, true))
        }
        State::Succeeded { .. } | State::Failed { .. } => {
            Err(Refusal::AlreadyRecorded { status: case.status() })
        }
        State::Blocked { .. }
        | State::Pending { .. }
        | State::Authorised { .. }
        | State::Denied { .. }
        | State::Expired { .. }
        | State::Cancelled { .. }
        | State::Lapsed { .. }
        | State::Revoked { .. } => Err(Refusal::NotClaimed { status: case.status() }),
    }
}

fn finished(
    case: &Case,
    outcome: Outcome,
    authority: crate::Authority,
    claim: Claim,
    at: Timestamp,
    late: bool,
) -> Transition {
    let (state, error) = match outcome {
        Outcome::Succeeded { result } => (State::Succeeded { authority, claim, at, result }, None),
        Outcome::Failed { error, result } => {
            // The log is for people: what policy hides from them is not said there in other words.
            let hidden = Hidden::of_case(case, result.as_ref());
            let told = error.as_deref().map(|error| hidden.veiled(error));
            (State::Failed { authority, claim, at, error, result }, told)
        }
    };
    moved(case.clone(), state, at, executor(case), Fact::Finished { late, error }, Vec::new())
}

fn executor(case: &Case) -> Actor {
    Actor::Agent { name: case.agent.clone() }
}

impl Outcome {
    /// The status that this outcome leads to.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            Self::Succeeded { .. } => Status::Succeeded,
            Self::Failed { .. } => Status::Failed,
        }
    }
}
