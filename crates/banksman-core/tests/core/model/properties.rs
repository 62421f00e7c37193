//! What must hold in every state of the house, and what must be possible in some.

use std::collections::BTreeSet;

use banksman_core::{Case, Decision, Escalation, PrincipalKind, Review, State, Status, Tier};
use stateright::{Model as _, Property};

use super::House;
use super::world::World;

/// Strict only where the store guards the moment as well; see the tests that show why.
pub(super) const NO_LATE_CLAIM: &str = "nothing begins to run while frozen or after its authorisation lapsed";
pub(super) const ONE_CLAIM: &str = "at most one claim, ever";
pub(super) const AUDITED: &str = "state and audit never diverge";

fn always(name: &'static str, holds: fn(&House, &World) -> bool) -> Property<House> {
    Property::always(name, holds)
}

fn sometimes(name: &'static str, holds: fn(&House, &World) -> bool) -> Property<House> {
    Property::sometimes(name, holds)
}

pub(super) fn all(house: &House) -> Vec<Property<House>> {
    let mut all = vec![
        always("nothing runs without a live authorisation for exactly its digest", |_, world| {
            runs_only_what_was_authorised(world)
        }),
        always(ONE_CLAIM, |_, world| world.book.runs.len() <= 1),
        always("a decision counts only on what the reviewer saw", |_, world| {
            world.book.votes.iter().all(|vote| vote.seen == vote.met)
        }),
        always("a decision counts only before the deadline", |_, world| {
            world.book.votes.iter().all(|vote| vote.deadline.is_some_and(|deadline| vote.at < deadline))
        }),
        always("no agent's credential decides", |house, world| {
            world.book.votes.iter().all(|vote| house.people[vote.by].kind != PrincipalKind::Agent)
        }),
        always("nobody approves their own agent's action", |_, world| {
            let own = |name: &str| name == world.case.agent || Some(name) == world.case.owner.as_deref();
            world.case.reviews.iter().all(|review| !review.decision.approves() || !own(&review.by))
        }),
        always("only enough different people of the right roles authorise", |_, world| {
            !was_let_through(world.case.status()) || enough_people(&world.case)
        }),
        always("every vote is on record, once", |_, world| {
            let votes = world.book.votes.iter().map(|vote| vote.decision);
            votes.eq(world.case.reviews.iter().map(|review| review.decision))
        }),
        always("what is over stays over", |_, world| stays_over(&world.book.been)),
        always(AUDITED, |_, world| {
            let case = &world.case;
            let standing = (case.revision, case.version, case.submission.digest, case.status());
            world.book.events == case.revision && world.book.last == Some(standing)
        }),
        always("a timeout is expired, and a denial is a person's", |_, world| timeout_is_no_denial(world)),
        always("an outcome is one that was reported", |_, world| match world.case.status() {
            Status::Succeeded | Status::Failed => world.book.reports == 1,
            _ => world.book.reports == 0,
        }),
        always(
            "what comes to rest is settled, and unknown if it was claimed and not reported",
            rests_settled,
        ),
        sometimes("an action succeeds", |_, world| world.case.status() == Status::Succeeded),
        sometimes("an executor dies and the outcome is unknown", |_, world| is(world, Status::Unknown)),
        sometimes("a late report corrects an unknown outcome", |_, world| {
            world.book.been.ends_with(&[Status::Unknown, Status::Succeeded])
        }),
        sometimes("an authorisation lapses", |_, world| is(world, Status::Lapsed)),
        sometimes("a hold expires", |_, world| is(world, Status::Expired)),
        sometimes("a freeze blocks", |_, world| is(world, Status::Blocked)),
    ];
    if house.tries.deny {
        all.push(sometimes("a person denies", |_, world| is(world, Status::Denied)));
        all.push(sometimes("the owner denies", |house, world| {
            world.book.votes.iter().any(|vote| house.people[vote.by].name == "olga")
        }));
    }
    if house.tries.cancel {
        all.push(sometimes("the agent cancels", |_, world| is(world, Status::Cancelled)));
    }
    if house.tries.revoke {
        all.push(sometimes("an authorisation is revoked", |_, world| is(world, Status::Revoked)));
    }
    if house.submissions.len() > 1 {
        all.push(sometimes("an edited action runs", |_, world| {
            world.case.version == 2 && is(world, Status::Executing)
        }));
    }
    let steps = house.submissions[0].verdict.escalation.len();
    if steps > 0 {
        all.push(always("no step of a chain is taken twice, or early", |house, world| {
            let State::Pending { chain, .. } = &world.case.state else { return true };
            let due = house.submissions[0].verdict.escalation.iter().filter(|step| {
                world.case.created_at.after(std::time::Duration::from_secs(step.after_seconds)) <= world.now()
            });
            chain.taken as usize <= due.count()
        }));
        all.push(sometimes("someone steps in", |_, world| {
            world.case.reviews.iter().any(|review| review.by == "bob" && !review.acting.is_empty())
        }));
        all.push(sometimes("the one it was meant for decides after all", |_, world| {
            world.case.reviews.iter().any(|review| {
                review.by == "ann" && review.decision.approves() && review.at > world.case.created_at
            })
        }));
    }
    let demand = |index: usize| house.submissions[index].verdict.tier;
    if (1..house.submissions.len()).any(|index| demand(index) > demand(0)) {
        all.push(sometimes("an edit that demands more is held again", |_, world| {
            world.case.version == 2
                && is(world, Status::Pending)
                && world.book.deadline > Some(first_deadline())
        }));
        all.push(sometimes("an action that was held again runs", |_, world| {
            world.case.submission.verdict.tier == Tier::Escalate && is(world, Status::Succeeded)
        }));
    }
    if house.commit == super::Commit::IfMomentUnchangedToo || house.shows_late_claims {
        all.push(always(NO_LATE_CLAIM, |_, world| {
            let in_time =
                |run: &super::world::Run| run.lapses_at.is_some_and(|lapse| run.committed_at < lapse);
            world.book.runs.iter().all(|run| !run.while_frozen && in_time(run))
        }));
    }
    all
}

fn is(world: &World, status: Status) -> bool {
    world.case.status() == status
}

fn first_deadline() -> banksman_core::Timestamp {
    crate::fixture::second(i64::try_from(super::TICKS[0]).unwrap())
}

fn runs_only_what_was_authorised(world: &World) -> bool {
    world.book.runs.iter().all(|run| {
        let live = run.lapses_at.is_some_and(|lapses_at| run.at < lapses_at);
        live && run.authorised == Some(run.digest) && run.digest == world.case.submission.digest
    })
}

/// Statuses that only an authorised action has.
fn was_let_through(status: Status) -> bool {
    match status {
        Status::Authorised
        | Status::Executing
        | Status::Succeeded
        | Status::Failed
        | Status::Unknown
        | Status::Lapsed
        | Status::Revoked => true,
        Status::Blocked | Status::Pending | Status::Denied | Status::Expired | Status::Cancelled => false,
    }
}

/// Counted again without the core's help: so many different names, and a different one for each role.
fn enough_people(case: &Case) -> bool {
    fn seats(roles: &[String], free: &[(&str, &[String])]) -> bool {
        let Some((role, others)) = roles.split_first() else { return true };
        (0..free.len()).any(|chosen| {
            let mut rest = free.to_vec();
            rest.remove(chosen).1.contains(role) && seats(others, &rest)
        })
    }
    let approvals = case.reviews.iter().filter(|review| {
        review.version == case.version && matches!(review.decision, Decision::Approve | Decision::Modify)
    });
    let standing: Vec<(&str, Vec<String>)> =
        approvals.map(|review| (review.by.as_str(), roles_at_the_time(case, review))).collect();
    let people: Vec<(&str, &[String])> =
        standing.iter().map(|(name, roles)| (*name, roles.as_slice())).collect();
    let names: BTreeSet<&str> = people.iter().map(|(name, _)| *name).collect();
    let quorum = &case.submission.verdict.quorum;
    names.len() == people.len() && names.len() >= quorum.count() as usize && seats(quorum.roles(), &people)
}

/// Their own roles, and those that they could take by then: worked out from the chain and the clock alone.
fn roles_at_the_time(case: &Case, review: &Review) -> Vec<String> {
    let mut roles = review.roles.clone();
    for step in &case.submission.verdict.escalation {
        let taken = review.at >= case.created_at.after(std::time::Duration::from_secs(step.after_seconds));
        match &step.then {
            Escalation::HandTo { role, instead_of } if taken && review.roles.contains(role) => {
                roles.extend(instead_of.iter().cloned());
            }
            Escalation::HandTo { .. } | Escalation::NotifyAgain => {}
        }
    }
    roles
}

/// What was blocked, denied, expired, cancelled, lapsed or revoked is nothing else afterwards; an unknown outcome
/// becomes known at most, and what ran does not run again.
fn stays_over(been: &[Status]) -> bool {
    been.windows(2).all(|pair| {
        let after: &[Status] = match pair[0] {
            Status::Pending => &[Status::Authorised, Status::Denied, Status::Expired, Status::Cancelled],
            Status::Authorised => &[Status::Executing, Status::Lapsed, Status::Revoked],
            Status::Executing => &[Status::Succeeded, Status::Failed, Status::Unknown],
            Status::Unknown => &[Status::Succeeded, Status::Failed],
            Status::Blocked
            | Status::Denied
            | Status::Expired
            | Status::Cancelled
            | Status::Succeeded
            | Status::Failed
            | Status::Lapsed
            | Status::Revoked => &[],
        };
        after.contains(&pair[1])
    })
}

fn timeout_is_no_denial(world: &World) -> bool {
    let denial =
        world.book.votes.iter().find(|vote| matches!(vote.decision, Decision::Deny | Decision::Respond));
    match (&world.case.state, denial) {
        (State::Denied { at, .. }, Some(vote)) => vote.at == *at,
        (State::Denied { .. }, None) | (State::Expired { .. }, Some(_)) => false,
        (State::Expired { at }, None) => world.book.deadline.is_some_and(|deadline| deadline <= *at),
        (_, denial) => denial.is_none(),
    }
}

/// When nobody can do anything any more, nothing hangs in the air.
fn rests_settled(house: &House, world: &World) -> bool {
    let hangs = match world.case.status() {
        Status::Pending | Status::Authorised | Status::Executing => true,
        Status::Unknown => false,
        Status::Blocked
        | Status::Denied
        | Status::Expired
        | Status::Cancelled
        | Status::Succeeded
        | Status::Failed
        | Status::Lapsed
        | Status::Revoked => !world.book.runs.is_empty() && world.book.reports == 0,
    };
    !(hangs && world.tick == house.ends && house.next_states(world).is_empty())
}
