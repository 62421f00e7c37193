//! Endings that are nobody's yes or no: withdrawn, taken back, too late.

use super::{Effect, Moment, Notice, Transition, hold, moved};
use crate::audit::Fact;
use crate::redact::Hidden;
use crate::{Actor, Case, Refusal, State};

/// Withdraws what nobody has decided yet, and takes back an authorisation that nobody has used.
pub(super) fn cancel(
    case: &Case,
    by: Actor,
    reason: Option<String>,
    moment: &Moment<'_>,
) -> Result<Transition, Refusal> {
    let now = moment.now;
    match &case.state {
        State::Pending { deadline, .. } if *deadline <= now => Err(Refusal::Expired { at: *deadline }),
        State::Pending { .. } => {
            let told = discreet(case, reason.as_deref());
            let state = State::Cancelled { at: now, by: who(&by), reason };
            Ok(moved(case.clone(), state, now, by, Fact::Cancelled { reason: told }, Vec::new()))
        }
        State::Authorised { lapses_at, .. } if *lapses_at <= now => Err(Refusal::Lapsed { at: *lapses_at }),
        State::Authorised { .. } => {
            let told = discreet(case, reason.as_deref());
            let state = State::Revoked { at: now, by: who(&by), reason };
            Ok(moved(case.clone(), state, now, by, Fact::Revoked { reason: told }, Vec::new()))
        }
        State::Expired { at } => Err(Refusal::Expired { at: *at }),
        State::Lapsed { at } => Err(Refusal::Lapsed { at: *at }),
        State::Executing { claim, .. }
        | State::Succeeded { claim, .. }
        | State::Failed { claim, .. }
        | State::Unknown { claim, .. } => Err(Refusal::AlreadyClaimed { at: claim.at }),
        State::Blocked { .. } | State::Denied { .. } | State::Cancelled { .. } | State::Revoked { .. } => {
            Err(Refusal::AlreadyDecided { status: case.status(), by: None })
        }
    }
}

/// A reason for the log, which is for people: an agent may say in it what policy hides from them.
fn discreet(case: &Case, reason: Option<&str>) -> Option<String> {
    reason.map(|reason| Hidden::of_case(case, None).veiled(reason))
}

fn who(actor: &Actor) -> String {
    actor.name().unwrap_or(actor.kind()).to_owned()
}

/// What is due by now: a hold escalates or expires, an authorisation lapses, a lease ends.
pub(super) fn pass_time(case: &Case, moment: &Moment<'_>) -> Result<Transition, Refusal> {
    let now = moment.now;
    if case.state.wakes_at().is_none_or(|due| now < due) {
        return Err(Refusal::NotDue { status: case.status() });
    }
    let (state, fact, effects) = match &case.state {
        State::Pending { deadline, chain } if now < *deadline => {
            return hold::escalate(case, *deadline, *chain, moment);
        }
        State::Pending { .. } => (State::Expired { at: now }, Fact::Expired, Vec::new()),
        State::Authorised { .. } => (State::Lapsed { at: now }, Fact::Lapsed, Vec::new()),
        State::Executing { authority, claim } => (
            State::Unknown { authority: authority.clone(), claim: claim.clone(), at: now },
            Fact::LeaseEnded,
            vec![Effect::Notify(Notice::OutcomeUnknown)],
        ),
        State::Blocked { .. }
        | State::Denied { .. }
        | State::Expired { .. }
        | State::Cancelled { .. }
        | State::Succeeded { .. }
        | State::Failed { .. }
        | State::Unknown { .. }
        | State::Lapsed { .. }
        | State::Revoked { .. } => return Err(Refusal::NotDue { status: case.status() }),
    };
    Ok(moved(case.clone(), state, now, Actor::System, fact, effects))
}
