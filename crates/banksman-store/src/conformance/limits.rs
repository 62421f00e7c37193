//! No more actions are pending than allowed, counted exactly.

use banksman_core::{Case, Tier, Transition};

use super::Harness;
use super::bench::{Bench, Snapshot};
use super::fixture::{
    Proposal, advance, advancing, approve, at_once, cancel, conflict, deny, edit, hold, opening, pass_time,
    second, tally, together,
};
use crate::{Commit, Conflict, PendingLimits};

const RACERS: u64 = 64;

fn limited(per_agent: u64, total: u64, proposal: Proposal) -> Commit {
    Commit { limits: Some(PendingLimits { per_agent, total }), ..opening(proposal.open()) }
}

/// Of many proposals of one agent at once, exactly as many are held as it may have.
pub async fn an_agents_limit_is_exact_in_a_rush<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let rush = (1..=RACERS).map(|number| limited(10, 1_000, Proposal::number(number))).collect();
    let (won, conflicts) = tally(at_once(bench.store(), rush).await);
    assert_eq!((won, bench.store().pending_count().await.unwrap()), (10, 10));
    assert!(conflicts.iter().all(|conflict| *conflict == Conflict::TooManyPendingForAgent), "{conflicts:?}");
    // Another agent's are not counted.
    bench.store().commit(limited(10, 1_000, Proposal::number(100).by("bo"))).await.unwrap();
    bench.finish().await;
}

/// Of many proposals of many agents at once, exactly as many are held as there may be.
pub async fn the_total_limit_is_exact_in_a_rush<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let rush = (1..=RACERS)
        .map(|number| limited(1_000, 10, Proposal::number(number).by(&format!("agent {}", number % 7))));
    let (won, conflicts) = tally(at_once(bench.store(), rush.collect()).await);
    assert_eq!((won, bench.store().pending_count().await.unwrap()), (10, 10));
    assert!(conflicts.iter().all(|conflict| *conflict == Conflict::TooManyPending), "{conflicts:?}");
    bench.finish().await;
}

/// What nobody has to decide does not count, and is not held back either.
pub async fn what_waits_for_nobody_does_not_count<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    for (number, tier) in [(1, Tier::Auto), (2, Tier::Notify), (3, Tier::Block)] {
        let proposal = Proposal { tier, ..Proposal::number(number) };
        bench.store().commit(limited(0, 0, proposal)).await.unwrap();
    }
    bench.store().commit(limited(1, 1, Proposal::number(4))).await.unwrap();
    let held = conflict(bench.store().commit(limited(1, 1_000, Proposal::number(5))).await);
    assert_eq!(held, Conflict::TooManyPendingForAgent);
    bench.finish().await;
}

/// A full queue refuses without a trace.
pub async fn a_full_queue_writes_nothing<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    hold(bench.store(), Proposal::number(1)).await;
    let before = Snapshot::of(bench.store()).await;
    let mut late = limited(1, 1_000, Proposal::number(2));
    late.idempotency = Some(super::fixture::key("k", "r", super::fixture::id(2)));
    assert_eq!(conflict(bench.store().commit(late).await), Conflict::TooManyPendingForAgent);
    let late = limited(1_000, 1, Proposal::number(2));
    assert_eq!(conflict(bench.store().commit(late).await), Conflict::TooManyPending);
    assert_eq!(Snapshot::of(bench.store()).await, before);
    bench.finish().await;
}

/// Several at once count together, and are refused together.
pub async fn several_at_once_count_together<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    hold(bench.store(), Proposal::number(1)).await;
    let three = || together((2..=4).map(|number| opening(Proposal::number(number).open())));
    let before = Snapshot::of(bench.store()).await;
    let limits = |per_agent| Some(PendingLimits { per_agent, total: 1_000 });
    let refused = bench.store().commit(Commit { limits: limits(3), ..three() }).await;
    assert_eq!(conflict(refused), Conflict::TooManyPendingForAgent);
    assert_eq!(Snapshot::of(bench.store()).await, before);
    bench.store().commit(Commit { limits: limits(4), ..three() }).await.unwrap();
    bench.finish().await;
}

/// However an action stops being pending, its place is free again; and the counts survive a restart.
pub async fn every_way_out_frees_a_place<H: Harness>() {
    type WayOut = fn(&Case, u64) -> Transition;
    let ways: [(&str, WayOut); 5] = [
        ("approve", |case, _| approve(case, second(1))),
        ("deny", |case, _| deny(case, second(1))),
        ("edit", |case, number| edit(case, 7_000 + number, second(1))),
        ("cancel", |case, _| cancel(case, second(1))),
        ("expire", |case, _| pass_time(case, second(1_000_000))),
    ];
    let mut bench = Bench::<H>::set_up().await;
    hold(bench.store(), Proposal::number(1)).await;
    let mut number = 1;
    for reopened in [false, true] {
        for (way, leave) in ways {
            number += 2;
            let held = Proposal::number(number).open().case;
            bench.store().commit(limited(2, 2, Proposal::number(number))).await.unwrap();
            if reopened {
                bench.reopen().await;
            }
            let full = bench.store().commit(limited(2, 2, Proposal::number(number + 1))).await;
            assert_eq!(conflict(full), Conflict::TooManyPendingForAgent, "before {way}");
            advance(bench.store(), leave(&held, number)).await;
            assert_eq!(bench.store().pending_count().await.unwrap(), 1, "after {way}");
        }
    }
    bench.finish().await;
}

/// A move that is refused, or cannot be written, does not change what is counted.
pub async fn a_refused_move_does_not_count<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let case = hold(bench.store(), Proposal::number(1)).await;
    advance(bench.store(), deny(&case, second(1))).await;
    hold(bench.store(), Proposal::number(2)).await;
    for _ in 0..3 {
        conflict(bench.store().commit(advancing(approve(&case, second(2)))).await);
        // The same id again: no store can keep two.
        let twice = Proposal { amount: 77, ..Proposal::number(2) };
        assert!(bench.store().commit(opening(twice.open())).await.is_err());
    }
    bench.store().commit(limited(2, 2, Proposal::number(3))).await.unwrap();
    let full = bench.store().commit(limited(2, 1_000, Proposal::number(4))).await;
    assert_eq!(conflict(full), Conflict::TooManyPendingForAgent);
    bench.finish().await;
}
