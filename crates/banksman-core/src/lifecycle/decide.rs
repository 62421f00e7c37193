//! What people decide.

use std::time::Duration;

use super::{Ballot, Edit, Effect, Moment, Notice, Transition, moved};
use crate::audit::Fact;
use crate::{
    Actor, Authority, Case, Decision, PrincipalKind, Quorum, Refusal, Review, State, Status, Tier, Timestamp,
    Verdict,
};

/// Approve, deny or respond.
pub(super) fn decide(case: &Case, ballot: Ballot, moment: &Moment<'_>) -> Result<Transition, Refusal> {
    let now = moment.now;
    let deadline = admit(case, &ballot, now)?;
    let verdict = &case.submission.verdict;
    let actor = Actor::from(&ballot.reviewer);
    let fact = Fact::Decided {
        decision: ballot.decision,
        reason: ballot.reason.clone(),
        message: ballot.message.clone(),
    };
    match ballot.decision {
        Decision::Approve => {
            refuse_if_frozen(moment)?;
            refuse_if_unable(case, &ballot)?;
            if ballot.remember && !can_be_remembered(verdict) {
                return Err(Refusal::RememberNotAllowed);
            }
            let remember = ballot.remember;
            let mut case = case.clone();
            case.reviews.push(review(&ballot, case.version, now));
            let state = after_approval(&case, verdict, deadline, now);
            let effects = if remember { vec![Effect::Remember] } else { Vec::new() };
            Ok(moved(case, state, now, actor, fact, effects))
        }
        Decision::Deny | Decision::Respond => {
            let mut case = case.clone();
            case.reviews.push(review(&ballot, case.version, now));
            let state = State::Denied { at: now, by: ballot.reviewer.name };
            Ok(moved(case, state, now, actor, fact, Vec::new()))
        }
        Decision::Modify => Err(Refusal::WrongDecision { decision: ballot.decision }),
    }
}

/// An edit makes the next version. Its author's approval counts for it; nobody else's approval of the old one
/// does. A version that demands more than the old one is held anew, with nobody's approval yet.
pub(super) fn edit(case: &Case, edit: Edit, moment: &Moment<'_>) -> Result<Transition, Refusal> {
    let Edit { ballot, submission } = edit;
    let now = moment.now;
    let deadline = admit(case, &ballot, now)?;
    if ballot.decision != Decision::Modify {
        return Err(Refusal::WrongDecision { decision: ballot.decision });
    }
    refuse_if_frozen(moment)?;
    let old = &case.submission.verdict;
    let verdict = submission.verdict.clone();
    match verdict.tier {
        Tier::Block => return Err(Refusal::ModificationBlocked { rule: verdict.rule }),
        Tier::Auto | Tier::Notify | Tier::Approve | Tier::Escalate => {}
    }
    let demands_more = verdict.tier > old.tier || verdict.quorum != old.quorum;
    let fact = Fact::Modified {
        from: case.submission.digest,
        assessment: submission.assessment.clone(),
        verdict: verdict.clone(),
        reason: ballot.reason.clone(),
    };
    let mut next = case.clone();
    next.version += 1;
    next.submission = submission;
    if verdict.require_reason && is_blank(ballot.reason.as_deref()) && is_blank(ballot.message.as_deref()) {
        return Err(Refusal::ReasonRequired);
    }
    let state = if demands_more {
        // The author said what to run, not that it may run under demands they had not seen: their word stands with
        // the version they edited, and the new one waits for everyone it needs, them included.
        next.reviews.push(review(&ballot, case.version, now));
        State::Pending { deadline: now.after(verdict.hold_for(next.submission.action.timeout_seconds)) }
    } else {
        refuse_if_unable(&next, &ballot)?;
        next.reviews.push(review(&ballot, next.version, now));
        after_approval(&next, &verdict, deadline, now)
    };
    let held_again = state.status() == Status::Pending;
    let effects = if held_again { vec![Effect::Notify(Notice::Held)] } else { Vec::new() };
    Ok(moved(next, state, now, Actor::from(&ballot.reviewer), fact, effects))
}

/// Whether the decision is about what is on the table, in time, by someone who may. The order is part of the
/// contract: stale version, digest, expiry, already decided, and only then who asks.
fn admit(case: &Case, ballot: &Ballot, now: Timestamp) -> Result<Timestamp, Refusal> {
    if ballot.version != case.version {
        return Err(Refusal::StaleVersion { current: case.version });
    }
    if ballot.digest != case.submission.digest {
        return Err(Refusal::DigestMismatch { current: case.submission.digest });
    }
    let deadline = match &case.state {
        State::Pending { deadline } if now < *deadline => *deadline,
        State::Pending { deadline } => return Err(Refusal::Expired { at: *deadline }),
        State::Expired { at } => return Err(Refusal::Expired { at: *at }),
        State::Denied { by, .. } | State::Cancelled { by, .. } | State::Revoked { by, .. } => {
            return Err(Refusal::AlreadyDecided { status: case.status(), by: Some(by.clone()) });
        }
        State::Blocked { .. }
        | State::Authorised { .. }
        | State::Executing { .. }
        | State::Succeeded { .. }
        | State::Failed { .. }
        | State::Unknown { .. }
        | State::Lapsed { .. } => {
            let by = case.approvals().last().map(|review| review.by.clone());
            return Err(Refusal::AlreadyDecided { status: case.status(), by });
        }
    };
    match ballot.reviewer.kind {
        // Surfaces never let an agent's credential come this far; if one does, it decides nothing.
        PrincipalKind::Agent => return Err(Refusal::MissingRole { needed: vec!["reviewer".into()] }),
        PrincipalKind::Reviewer | PrincipalKind::Admin => {}
    }
    let verdict = &case.submission.verdict;
    if ballot.decision.approves() && is_own(case, &ballot.reviewer.name) {
        return Err(Refusal::SelfApproval);
    }
    if verdict.require_reason && is_blank(ballot.reason.as_deref()) && is_blank(ballot.message.as_deref()) {
        return Err(Refusal::ReasonRequired);
    }
    if ballot.decision == Decision::Respond && is_blank(ballot.message.as_deref()) {
        return Err(Refusal::MessageRequired);
    }
    Ok(deadline)
}

fn is_own(case: &Case, reviewer: &str) -> bool {
    case.agent == reviewer || case.owner.as_deref() == Some(reviewer)
}

fn is_blank(text: Option<&str>) -> bool {
    text.is_none_or(|text| text.trim().is_empty())
}

fn refuse_if_frozen(moment: &Moment<'_>) -> Result<(), Refusal> {
    match moment.freeze {
        Some(freeze) => Err(Refusal::Frozen { freeze: freeze.id, reason: freeze.reason.clone() }),
        None => Ok(()),
    }
}

/// Refuses an approval that would not bring the quorum any closer.
fn refuse_if_unable(case: &Case, ballot: &Ballot) -> Result<(), Refusal> {
    let mut people: Vec<&[String]> = Vec::new();
    for review in case.approvals() {
        if review.by == ballot.reviewer.name {
            return Err(Refusal::AlreadyVoted { by: review.by.clone() });
        }
        people.push(&review.roles);
    }
    let quorum = &case.submission.verdict.quorum;
    let before = quorum.progress(&people);
    people.push(&ballot.reviewer.roles);
    if quorum.progress(&people) > before {
        Ok(())
    } else {
        Err(Refusal::MissingRole { needed: quorum.roles().to_vec() })
    }
}

/// A remembered approval stands in for one person's, so it is only offered where one person's is enough.
fn can_be_remembered(verdict: &Verdict) -> bool {
    verdict.allow_remember && verdict.tier == Tier::Approve && verdict.quorum == Quorum::one()
}

fn review(ballot: &Ballot, version: u32, at: Timestamp) -> Review {
    Review {
        by: ballot.reviewer.name.clone(),
        roles: ballot.reviewer.roles.clone(),
        decision: ballot.decision,
        version,
        at,
        reason: ballot.reason.clone(),
        message: ballot.message.clone(),
    }
}

fn after_approval(case: &Case, verdict: &Verdict, deadline: Timestamp, now: Timestamp) -> State {
    let people: Vec<&[String]> = case.approvals().map(|review| review.roles.as_slice()).collect();
    if verdict.quorum.is_met(&people) {
        State::Authorised {
            authority: Authority::Reviewers,
            at: now,
            lapses_at: now.after(Duration::from_secs(verdict.claim_within_seconds)),
        }
    } else {
        State::Pending { deadline }
    }
}
