//! Holding: how a hold begins, and what time does to it.

use super::{Effect, Moment, Notice, Transition, moved};
use crate::audit::Fact;
use crate::{Actor, Case, ChainProgress, Escalation, Refusal, State, Submission, Timestamp};

/// A hold that begins now.
pub(super) fn begin(submission: &Submission, now: Timestamp) -> State {
    let verdict = &submission.verdict;
    State::Pending {
        deadline: now.after(verdict.hold_for(submission.action.timeout_seconds)),
        chain: ChainProgress::begin(&verdict.escalation, now),
    }
}

/// Takes the step of the chain that is due.
///
/// One step, one transition, one event: whoever is second finds the revision changed, so no step is taken twice.
pub(super) fn escalate(
    case: &Case,
    deadline: Timestamp,
    chain: ChainProgress,
    moment: &Moment<'_>,
) -> Result<Transition, Refusal> {
    let now = moment.now;
    let Some((step, next)) = chain.advance(&case.submission.verdict.escalation) else {
        return Err(Refusal::NotDue { status: case.status() });
    };
    let notice = match &step.then {
        // After a while without a server several may be due at once. People need one reminder, not all of them.
        Escalation::NotifyAgain if next.next_at.is_some_and(|at| at <= now) => None,
        Escalation::NotifyAgain => Some(Notice::Reminder),
        Escalation::HandTo { .. } => Some(Notice::HandedOver),
    };
    let fact = Fact::Escalated { number: next.taken, step: step.clone() };
    let effects = notice.map(Effect::Notify).into_iter().collect();
    let state = State::Pending { deadline, chain: next };
    Ok(moved(case.clone(), state, now, Actor::System, fact, effects))
}
