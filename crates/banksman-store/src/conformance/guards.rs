//! A guard that does not hold is a conflict, and a conflict leaves no trace.

use banksman_core::{Digest, Mode, Tier, Timestamp};

use super::Harness;
use super::bench::{Bench, Snapshot};
use super::fixture::{
    Proposal, advance, advancing, approve, at_once, claim, conflict, deny, edit, hold, id, key, opening,
    pass_time, second, tally,
};
use crate::{Commit, Conflict, ControlChange, PendingLimits};

const RACERS: u64 = 64;

/// A move that was computed from an older revision is refused, and writes nothing at all.
pub async fn a_stale_revision_writes_nothing<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let seen = hold(bench.store(), Proposal::number(1)).await;
    advance(bench.store(), deny(&seen, second(1))).await;
    let before = Snapshot::of(bench.store()).await;

    // The approval notifies nobody, so it is given a notice; and a key, to see that it is not used up.
    let stale = || {
        let mut commit = advancing(approve(&seen, second(2)));
        commit.notices = opening(Proposal::number(1).open()).notices;
        commit
    };
    let with_key = Commit { idempotency: Some(key("k", "r", id(1))), ..stale() };
    for commit in [stale(), with_key] {
        assert_eq!(conflict(bench.store().commit(commit).await), Conflict::CaseMoved(id(1)));
        assert_eq!(Snapshot::of(bench.store()).await, before);
    }
    let free = Commit { idempotency: Some(key("k", "r", id(1))), ..Commit::default() };
    bench.store().commit(free).await.unwrap();
    bench.finish().await;
}

/// A move that has to happen before a moment does not happen after it, by the store's own clock.
pub async fn what_comes_too_late_writes_nothing<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let case = hold(bench.store(), Proposal::number(1)).await;
    let before = Snapshot::of(bench.store()).await;
    let until = |end: Timestamp| {
        let mut commit = advancing(approve(&case, second(1)));
        commit.advanced.iter_mut().for_each(|moved| moved.before = Some(end));
        commit
    };
    // 1970 is over everywhere; the year 9999 is not.
    let late = bench.store().commit(until(Timestamp::from_micros(1))).await;
    assert_eq!(conflict(late), Conflict::TooLate(id(1)));
    assert_eq!(Snapshot::of(bench.store()).await, before);
    bench.store().commit(until(Timestamp::MAX)).await.unwrap();
    // Whoever is both late and beaten hears of having been beaten.
    let both = bench.store().commit(until(Timestamp::from_micros(1))).await;
    assert_eq!(conflict(both), Conflict::CaseMoved(id(1)));
    bench.finish().await;
}

/// A move of an action that is not there is refused like one that came too late.
pub async fn an_unknown_action_cannot_move<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let never_stored = Proposal::number(1).open().case;
    let result = bench.store().commit(advancing(approve(&never_stored, second(1)))).await;
    assert_eq!(conflict(result), Conflict::CaseMoved(id(1)));
    assert_eq!(bench.store().last_seq().await.unwrap(), 0);
    bench.finish().await;
}

/// Of many moves that guard the same revision, exactly one happens.
pub async fn one_of_many_moves_of_a_revision_succeeds<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let case = hold(bench.store(), Proposal::number(1)).await;
    let verdicts = (0..RACERS).map(|racer| {
        let at = second(1 + i64::try_from(racer).unwrap());
        advancing(if racer % 2 == 0 { approve(&case, at) } else { deny(&case, at) })
    });
    let (won, conflicts) = tally(at_once(bench.store(), verdicts.collect()).await);
    assert_eq!(won, 1);
    assert!(conflicts.iter().all(|conflict| *conflict == Conflict::CaseMoved(case.id)), "{conflicts:?}");
    assert_eq!(bench.store().case(case.id).await.unwrap().unwrap().revision, 2);
    assert_eq!(bench.store().last_seq().await.unwrap(), 2);
    bench.finish().await;
}

/// Of many claims, exactly one happens.
pub async fn an_action_is_claimed_once<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let case = hold(bench.store(), Proposal { tier: Tier::Auto, ..Proposal::number(1) }).await;
    let claims = (0..RACERS).map(|_| advancing(claim(&case, second(1)))).collect();
    let (won, _) = tally(at_once(bench.store(), claims).await);
    assert_eq!(won, 1);
    bench.finish().await;
}

/// What was computed under other house rules is refused, and writes nothing.
pub async fn moved_house_rules_write_nothing<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let seen = bench.store().control().await.unwrap().epoch;
    let change = Commit { control: vec![ControlChange::SetMode(Mode::Shadow)], ..Commit::default() };
    bench.store().commit(change).await.unwrap();
    let before = Snapshot::of(bench.store()).await;
    let mut stale = opening(Proposal::number(1).open());
    stale.control_epoch = Some(seen);
    stale.idempotency = Some(key("k", "r", id(1)));
    assert_eq!(conflict(bench.store().commit(stale).await), Conflict::ControlMoved);
    assert_eq!(Snapshot::of(bench.store()).await, before);

    let mut current = opening(Proposal::number(1).open());
    current.control_epoch = Some(before.control.epoch);
    current.idempotency = Some(key("k", "r", id(1)));
    bench.store().commit(current).await.unwrap();
    bench.finish().await;
}

/// Of many changes that guard the same house rules, exactly one happens.
pub async fn one_of_many_changes_of_an_epoch_succeeds<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let epoch = bench.store().control().await.unwrap().epoch;
    let change = || Commit {
        control_epoch: Some(epoch),
        control: vec![ControlChange::SetMode(Mode::Shadow)],
        ..Commit::default()
    };
    let (won, conflicts) = tally(at_once(bench.store(), (0..RACERS).map(|_| change()).collect()).await);
    assert_eq!(won, 1);
    assert!(conflicts.iter().all(|conflict| *conflict == Conflict::ControlMoved), "{conflicts:?}");
    bench.finish().await;
}

/// What already waits is joined; also with a key, also at the limit.
pub async fn what_waits_is_joined_whatever_else_is_asked<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    hold(bench.store(), Proposal::number(1)).await;
    let before = Snapshot::of(bench.store()).await;
    let again = || opening(Proposal { amount: 1, ..Proposal::number(2) }.open());
    let limits = Some(PendingLimits { per_agent: 1, total: 1 });
    let keyed = Some(key("k", "r", id(2)));
    for commit in [
        again(),
        Commit { idempotency: keyed.clone(), ..again() },
        Commit { limits, ..again() },
        Commit { idempotency: keyed.clone(), limits, ..again() },
    ] {
        assert_eq!(conflict(bench.store().commit(commit).await), Conflict::Joinable(id(1)));
        assert_eq!(Snapshot::of(bench.store()).await, before);
    }
    // None of them used up the key.
    bench.store().commit(Commit { idempotency: keyed, ..Commit::default() }).await.unwrap();
    bench.finish().await;
}

/// Of many equal proposals, one is held and the others are told of it.
pub async fn equal_proposals_at_once_are_one<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let equal = (1..=RACERS).map(|number| opening(Proposal { amount: 1, ..Proposal::number(number) }.open()));
    let (won, conflicts) = tally(at_once(bench.store(), equal.collect()).await);
    assert_eq!((won, bench.store().pending_count().await.unwrap()), (1, 1));
    let held = Snapshot::of(bench.store()).await.cases.remove(0).id;
    assert!(conflicts.iter().all(|conflict| *conflict == Conflict::Joinable(held)), "{conflicts:?}");
    bench.finish().await;
}

/// What is joined is what people are asked or have allowed, of the same agent, until it is used or over.
pub async fn only_open_questions_of_the_same_agent_are_joined<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let store = bench.store();
    let again = |number| Proposal { amount: 1, ..Proposal::number(number) };
    let first = hold(store, again(1)).await;
    hold(store, again(2).by("bo")).await;
    hold(store, Proposal { tool: "other".into(), ..again(3) }).await;

    let approved = advance(store, approve(&first, second(1))).await;
    assert_eq!(conflict(store.commit(opening(again(4).open())).await), Conflict::Joinable(first.id));
    advance(store, claim(&approved, second(2))).await;

    let denied = hold(store, again(5)).await;
    advance(store, deny(&denied, second(3))).await;
    let expired = hold(store, again(6)).await;
    advance(store, pass_time(&expired, second(1_000_000))).await;

    // Two equal calls that nobody is asked about are two calls.
    hold(store, Proposal { tier: Tier::Auto, ..again(7) }).await;
    hold(store, Proposal { tier: Tier::Auto, ..again(8) }).await;
    hold(store, Proposal { tier: Tier::Block, ..again(9) }).await;
    hold(store, again(10)).await;
    bench.finish().await;
}

/// An edit that makes an action the same as one that already waits is refused, and writes nothing: otherwise a
/// repeated proposal would not know which of the two it joins.
pub async fn an_edit_into_what_waits_is_refused<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let first = hold(bench.store(), Proposal::number(1)).await;
    let second_one = hold(bench.store(), Proposal::number(2)).await;
    hold(bench.store(), Proposal::number(3).by("bo")).await;
    let before = Snapshot::of(bench.store()).await;
    let twin = || advancing(edit(&second_one, 1, second(1)));
    let with_key = Commit { idempotency: Some(key("k", "r", id(2))), ..twin() };
    for commit in [twin(), with_key] {
        assert_eq!(conflict(bench.store().commit(commit).await), Conflict::Joinable(first.id));
        assert_eq!(Snapshot::of(bench.store()).await, before);
    }
    // Another agent's action is no obstacle.
    advance(bench.store(), edit(&second_one, 3, second(1))).await;
    bench.finish().await;
}

/// A key leads to what it was first used for.
pub async fn a_used_key_leads_to_its_first_use<H: Harness>() {
    let mut bench = Bench::<H>::set_up().await;
    let mut first = opening(Proposal::number(1).open());
    first.idempotency = Some(key("k", "first request", id(1)));
    bench.store().commit(first).await.unwrap();
    let before = Snapshot::of(bench.store()).await;
    bench.reopen().await;
    let expected = Conflict::IdempotencyKeyUsed { request: Digest::of(b"first request"), action: id(1) };
    for (number, request) in [(2, "first request"), (3, "another request")] {
        let mut again = opening(Proposal::number(number).open());
        again.idempotency = Some(key("k", request, id(number)));
        assert_eq!(conflict(bench.store().commit(again).await), expected);
    }
    // The key comes before joining: who asks again is led to what came of it, not to what waits now.
    let mut joining = opening(Proposal { amount: 1, ..Proposal::number(4) }.open());
    joining.idempotency = Some(key("k", "first request", id(4)));
    assert_eq!(conflict(bench.store().commit(joining).await), expected);
    assert_eq!(Snapshot::of(bench.store()).await, before);
    bench.finish().await;
}

/// Keys belong to the agent that chose them, to the letter.
pub async fn keys_belong_to_their_agent<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    for agent in ["riley", "Riley", "riley ", "bo"] {
        for text in ["k", "K", "k ", ""] {
            let row = crate::IdempotencyKey { agent: agent.into(), ..key(text, "r", id(1)) };
            let commit = Commit { idempotency: Some(row), ..Commit::default() };
            bench.store().commit(commit).await.unwrap_or_else(|error| panic!("{agent:?} {text:?}: {error}"));
        }
    }
    bench.finish().await;
}

/// Of many requests with one key, one happens and the others are led to it.
pub async fn one_of_many_requests_with_a_key_succeeds<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let requests = (1..=RACERS).map(|number| {
        let mut commit = opening(Proposal { tier: Tier::Auto, ..Proposal::number(number) }.open());
        commit.idempotency = Some(key("k", "r", id(number)));
        commit
    });
    let (won, conflicts) = tally(at_once(bench.store(), requests.collect()).await);
    assert_eq!(won, 1);
    let action = Snapshot::of(bench.store()).await.cases.remove(0).id;
    let expected = Conflict::IdempotencyKeyUsed { request: Digest::of(b"r"), action };
    assert!(conflicts.iter().all(|conflict| *conflict == expected), "{conflicts:?}");
    bench.finish().await;
}
