//! What people decide.

use std::time::Duration;

use super::seats::{acting, behind, people};
use super::{Ballot, Edit, Effect, Moment, Notice, Transition, hold, moved};
use crate::audit::Fact;
use crate::grant::can_be_remembered;
use crate::{
    Actor, Assertion, Authority, Case, ChainProgress, Decision, PrincipalKind, Refusal, Review, Signed,
    State, Status, Tier, Timestamp,
};

/// A hold that is open for decisions.
#[derive(Clone, Copy)]
struct Open {
    deadline: Timestamp,
    chain: ChainProgress,
}

/// Approve, deny or respond.
pub(super) fn decide(case: &Case, ballot: Ballot, moment: &Moment<'_>) -> Result<Transition, Refusal> {
    let now = moment.now;
    let open = admit(case, &ballot, moment)?;
    let actor = Actor::from(&ballot.reviewer);
    let review = review(case, &ballot, case.version, now);
    if ballot.decision == Decision::Approve {
        refuse_if_frozen(moment)?;
        refuse_if_unable(case, &review)?;
    }
    // Last: nobody is sent for their key to hear then that they may not decide.
    let step_up = stepped_up(case, &ballot)?;
    let fact = Fact::Decided {
        decision: ballot.decision,
        reason: ballot.reason.clone(),
        message: ballot.message.clone(),
        acting: review.acting.clone(),
        solo_operator: review.solo_operator,
        step_up,
    };
    match ballot.decision {
        Decision::Approve => {
            if ballot.remember && !can_be_remembered(&case.submission.verdict) {
                return Err(Refusal::RememberNotAllowed { why: "policy does not allow it for this action" });
            }
            let remember = ballot.remember;
            let mut case = case.clone();
            case.reviews.push(review);
            let state = after_approval(&case, open, now);
            let effects = if remember { vec![Effect::Remember] } else { Vec::new() };
            Ok(moved(case, state, now, actor, fact, effects))
        }
        Decision::Deny | Decision::Respond => {
            let mut case = case.clone();
            case.reviews.push(review);
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
    let open = admit(case, &ballot, moment)?;
    if ballot.decision != Decision::Modify {
        return Err(Refusal::WrongDecision { decision: ballot.decision });
    }
    refuse_if_frozen(moment)?;
    let old = &case.submission.verdict;
    let verdict = submission.verdict.clone();
    match verdict.tier {
        Tier::Block => return Err(Refusal::ModificationBlocked { rule: verdict.rule.clone() }),
        Tier::Auto | Tier::Notify | Tier::Approve | Tier::Escalate => {}
    }
    let demands_more = verdict.tier > old.tier
        || verdict.quorum != old.quorum
        || (verdict.require_passkey && !old.require_passkey);
    // A chain that is another one begins again; one that goes on keeps those in who have stepped in already.
    let goes_on = verdict.escalation == old.escalation;
    let mut next = case.clone();
    next.version += 1;
    next.submission = submission;
    if verdict.require_reason && is_blank(ballot.reason.as_deref()) && is_blank(ballot.message.as_deref()) {
        return Err(Refusal::ReasonRequired);
    }
    let step_up = if old.require_passkey { stepped_up(&next, &ballot)? } else { None };
    let from = case.submission.digest;
    let (review, open) = if demands_more {
        // The author said what to run, not that it may run under demands they had not seen: their word stands with
        // the version they edited, and the new one waits for everyone it needs, them included.
        (review(case, &ballot, case.version, now), None)
    } else {
        let chain = if goes_on { open.chain } else { ChainProgress::begin(&verdict.escalation, now) };
        let open = Open { chain, ..open };
        next.state = open.into();
        let review = review(&next, &ballot, next.version, now);
        refuse_if_unable(&next, &review)?;
        (review, Some(open))
    };
    let fact = Fact::Modified {
        from,
        assessment: next.submission.assessment.clone(),
        verdict,
        reason: ballot.reason.clone(),
        message: ballot.message.clone(),
        acting: review.acting.clone(),
        solo_operator: review.solo_operator,
        step_up,
    };
    next.reviews.push(review);
    let state = match open {
        Some(open) => after_approval(&next, open, now),
        None => hold::begin(&next.submission, now),
    };
    let held_again = state.status() == Status::Pending;
    let effects = if held_again { vec![Effect::Notify(Notice::Held)] } else { Vec::new() };
    Ok(moved(next, state, now, Actor::from(&ballot.reviewer), fact, effects))
}

/// Whether the decision is about what is on the table, in time, by someone who may. The order is part of the
/// contract: stale version, digest, expiry, already decided, and only then who asks.
fn admit(case: &Case, ballot: &Ballot, moment: &Moment<'_>) -> Result<Open, Refusal> {
    let now = moment.now;
    if ballot.version != case.version {
        return Err(Refusal::StaleVersion { current: case.version });
    }
    if ballot.digest != case.submission.digest {
        return Err(Refusal::DigestMismatch { current: case.submission.digest });
    }
    let open = match &case.state {
        State::Pending { deadline, chain } if now < *deadline => Open { deadline: *deadline, chain: *chain },
        State::Pending { deadline, .. } => return Err(Refusal::Expired { at: *deadline }),
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
    let name = &ballot.reviewer.name;
    if ballot.decision.approves() && case.is_of(name) && moment.solo_operator != Some(name) {
        return Err(Refusal::SelfApproval);
    }
    if let Some(sponsor) = ballot.brought_by.as_deref()
        && ballot.decision.approves()
        && case.is_of(sponsor)
        && moment.solo_operator != Some(sponsor)
    {
        return Err(Refusal::NotIndependent { by: name.clone(), other: sponsor.to_owned() });
    }
    if verdict.require_reason && is_blank(ballot.reason.as_deref()) && is_blank(ballot.message.as_deref()) {
        return Err(Refusal::ReasonRequired);
    }
    if ballot.decision == Decision::Respond && is_blank(ballot.message.as_deref()) {
        return Err(Refusal::MessageRequired);
    }
    Ok(open)
}

/// What a passkey signed, if policy asks for that: exactly this decision on exactly this version, by this person.
///
/// A denial needs none. It lets nothing run, and whoever wants to stop something should not have to look for a key.
fn stepped_up(case: &Case, ballot: &Ballot) -> Result<Option<Assertion>, Refusal> {
    if !case.submission.verdict.require_passkey || !ballot.decision.approves() {
        return Ok(None);
    }
    let step_up = ballot.step_up.as_ref().ok_or(Refusal::StepUpRequired)?;
    let signed = Signed {
        action: case.id,
        digest: case.submission.digest,
        version: case.version,
        decision: ballot.decision,
        by: &ballot.reviewer.name,
    };
    if signed.challenge(&step_up.assertion.nonce) != step_up.challenge {
        return Err(Refusal::StepUpMismatch);
    }
    Ok(Some(step_up.assertion.clone()))
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
fn refuse_if_unable(case: &Case, review: &Review) -> Result<(), Refusal> {
    let mut approvals: Vec<&Review> = case.approvals().collect();
    if let Some(earlier) = approvals.iter().find(|earlier| earlier.by == review.by) {
        return Err(Refusal::AlreadyVoted { by: earlier.by.clone() });
    }
    if let Some(earlier) = approvals.iter().find(|earlier| behind(earlier) == behind(review)) {
        return Err(Refusal::NotIndependent { by: review.by.clone(), other: earlier.by.clone() });
    }
    let before = progress(case, &approvals);
    approvals.push(review);
    if progress(case, &approvals) > before {
        Ok(())
    } else {
        Err(Refusal::MissingRole { needed: case.submission.verdict.quorum.roles().to_vec() })
    }
}

fn progress(case: &Case, approvals: &[&Review]) -> u32 {
    let people = people(approvals);
    let people: Vec<&[String]> = people.iter().map(Vec::as_slice).collect();
    case.submission.verdict.quorum.progress(&people)
}

fn review(case: &Case, ballot: &Ballot, version: u32, at: Timestamp) -> Review {
    let approves = ballot.decision.approves();
    Review {
        by: ballot.reviewer.name.clone(),
        roles: ballot.reviewer.roles.clone(),
        acting: if approves { acting(case, ballot) } else { Vec::new() },
        brought_by: ballot.brought_by.clone(),
        solo_operator: approves && case.is_of(&ballot.reviewer.name),
        decision: ballot.decision,
        version,
        at,
        reason: ballot.reason.clone(),
        message: ballot.message.clone(),
    }
}

fn after_approval(case: &Case, open: Open, now: Timestamp) -> State {
    let verdict = &case.submission.verdict;
    if progress(case, &case.approvals().collect::<Vec<_>>()) >= verdict.quorum.count() {
        State::Authorised {
            authority: Authority::Reviewers,
            at: now,
            lapses_at: now.after(Duration::from_secs(verdict.claim_within_seconds)),
        }
    } else {
        open.into()
    }
}

impl From<Open> for State {
    fn from(open: Open) -> Self {
        Self::Pending { deadline: open.deadline, chain: open.chain }
    }
}
