//! A commit happens whole or not at all.

use banksman_core::audit::{Event, Fact};
use banksman_core::{Actor, Mode};

use super::Harness;
use super::bench::{Bench, Snapshot};
use super::fixture::{
    Proposal, advance, advancing, approve, at_once, batch_id, claim, conflict, deny, hold, id, key, opening,
    second, together,
};
use crate::{BatchRecord, Commit, CommitError, Conflict, ControlChange};

/// A commit that has everything in it.
fn laden(commits: impl IntoIterator<Item = Commit>) -> Commit {
    let mut commit = together(commits);
    commit.idempotency = Some(key("k", "r", id(1)));
    commit.batch = Some(BatchRecord {
        id: batch_id(1),
        agent: "riley".into(),
        created_at: second(0),
        items: vec![id(1), id(2)],
    });
    commit.control = vec![ControlChange::SetMode(Mode::Shadow)];
    let fact = Fact::ModeChanged { from: Mode::Production, to: Mode::Shadow, reason: None, fallback: false };
    commit.events.push(Event::general(second(0), Actor::System, fact));
    commit
}

fn batch_of(numbers: impl IntoIterator<Item = u64>) -> Commit {
    together(numbers.into_iter().map(|number| opening(Proposal::number(number).open())))
}

/// Many new and many moved actions, a key, a batch, a change of the rules, events and notices: all of it.
pub async fn a_laden_commit_happens_whole<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let (a, b) =
        (hold(bench.store(), Proposal::number(1)).await, hold(bench.store(), Proposal::number(2)).await);
    let epoch = bench.store().control().await.unwrap().epoch;
    let moves = [advancing(approve(&a, second(1))), advancing(deny(&b, second(1))), batch_of(3..=5)];
    let committed = bench.store().commit(laden(moves)).await.unwrap();
    assert_eq!(committed.last_seq, 2 + 6);
    let all = Snapshot::of(bench.store()).await;
    assert_eq!((all.cases.len(), all.notices.len(), all.events.len()), (5, 5, 8));
    assert_eq!(all.control.mode, Mode::Shadow);
    assert!(all.control.epoch > epoch);
    assert!(bench.store().batch(batch_id(1)).await.unwrap().is_some());
    let again = Commit { idempotency: Some(key("k", "r", id(9))), ..Commit::default() };
    assert!(matches!(conflict(bench.store().commit(again).await), Conflict::IdempotencyKeyUsed { .. }));
    bench.finish().await;
}

/// One guard among many that does not hold: nothing of the rest happens, wherever it stands.
pub async fn one_failed_guard_fails_the_whole<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let waiting = hold(bench.store(), Proposal::number(1)).await;
    let other = hold(bench.store(), Proposal::number(2)).await;
    let moved = hold(bench.store(), Proposal::number(3)).await;
    advance(bench.store(), deny(&moved, second(1))).await;
    let before = Snapshot::of(bench.store()).await;

    let twin = || opening(Proposal { amount: 1, ..Proposal::number(50) }.open());
    let stale = || advancing(approve(&moved, second(2)));
    let good = || advancing(approve(&other, second(2)));
    let new = |number| opening(Proposal::number(number).open());
    for (commits, expected) in [
        (vec![twin(), new(10), new(11)], Conflict::Joinable(waiting.id)),
        (vec![new(10), new(11), twin()], Conflict::Joinable(waiting.id)),
        (vec![new(10), good(), twin()], Conflict::Joinable(waiting.id)),
        (vec![good(), stale()], Conflict::CaseMoved(moved.id)),
        (vec![stale(), good()], Conflict::CaseMoved(moved.id)),
        (vec![new(10), stale()], Conflict::CaseMoved(moved.id)),
    ] {
        assert_eq!(conflict(bench.store().commit(together(commits)).await), expected);
        assert_eq!(Snapshot::of(bench.store()).await, before);
    }
    let everything_but_one = laden([good(), new(10), stale()]);
    assert_eq!(conflict(bench.store().commit(everything_but_one).await), Conflict::CaseMoved(moved.id));
    assert_eq!(Snapshot::of(bench.store()).await, before);
    assert_eq!(bench.store().batch(batch_id(1)).await.unwrap(), None);
    let free = Commit { idempotency: Some(key("k", "r", id(1))), ..Commit::default() };
    bench.store().commit(free).await.unwrap();
    bench.finish().await;
}

/// What no store can keep, such as two actions by one id, fails whole; the store goes on working.
pub async fn what_cannot_be_written_fails_whole<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let first = hold(bench.store(), Proposal::number(1)).await;
    let before = Snapshot::of(bench.store()).await;
    let impostor = || opening(Proposal { amount: 99, ..Proposal::number(1) }.open());
    for commit in [
        impostor(),
        laden([opening(Proposal::number(2).open()), impostor()]),
        laden([impostor(), opening(Proposal::number(2).open())]),
        laden([advancing(approve(&first, second(1))), impostor()]),
        batch_of([7, 8, 7]),
    ] {
        let result = bench.store().commit(commit).await;
        assert!(matches!(result, Err(CommitError::Unavailable(_))), "{result:?}");
        assert_eq!(Snapshot::of(bench.store()).await, before);
        assert_eq!(bench.store().batch(batch_id(1)).await.unwrap(), None);
    }
    advance(bench.store(), approve(&first, second(1))).await;
    bench.finish().await;
}

/// In a rush of good and bad commits, the good ones happen and only they.
pub async fn bad_commits_do_not_harm_good_ones_in_a_rush<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let first = hold(bench.store(), Proposal::number(1)).await;
    let moved = advance(bench.store(), approve(&first, second(1))).await;
    let rush = (0..96).map(|place| match place % 3 {
        0 => opening(Proposal::number(100 + place).open()),
        1 => opening(Proposal { amount: 1_000 + place, ..Proposal::number(1) }.open()),
        _ => advancing(approve(&first, second(2))),
    });
    let results = at_once(bench.store(), rush.collect()).await;
    for (place, result) in results.into_iter().enumerate() {
        match place % 3 {
            0 => drop(result.unwrap()),
            1 => assert!(matches!(result, Err(CommitError::Unavailable(_))), "{result:?}"),
            _ => assert_eq!(conflict(result), Conflict::CaseMoved(first.id)),
        }
    }
    assert_eq!(bench.store().pending_count().await.unwrap(), 32);
    assert_eq!(bench.store().last_seq().await.unwrap(), 2 + 32);
    advance(bench.store(), claim(&moved, second(3))).await;
    bench.finish().await;
}
