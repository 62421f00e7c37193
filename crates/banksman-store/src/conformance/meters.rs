//! Meters: what was added is shown, guarded, and given back.

use std::sync::Arc;

use banksman_core::meter::{Charge, Measure, MeterId, MeterQuery, ONE, Reading};
use banksman_core::{ActionId, Digest, Timestamp};

use super::Harness;
use super::bench::{Bench, Snapshot};
use super::fixture::{
    Proposal, advance, advancing, approve, at_once, claim, conflict, deny, edit, hold, id, opening,
    pass_time, second, succeed, tally,
};
use crate::{Commit, Conflict, Store};

const RACERS: u64 = 64;

fn meter() -> MeterId {
    MeterId::of("refunds of one customer")
}

fn sum_since(since: Timestamp) -> MeterQuery {
    MeterQuery { meter: meter(), since, measure: Measure::Sum, except: None }
}

fn charge(action: ActionId, amount: i64, at: Timestamp) -> Charge {
    Charge { meter: meter(), action, at, amount, value: None, forget_before: Timestamp::from_micros(0) }
}

async fn shown(store: &Arc<dyn Store>, query: MeterQuery) -> i64 {
    let readings = store.readings(vec![query.clone()]).await.unwrap();
    assert_eq!(readings.len(), 1);
    assert_eq!(readings[0].query, query);
    readings[0].total
}

/// A new action that adds to the meter.
fn charged(number: u64, amount: i64) -> Commit {
    let charges = vec![charge(id(number), amount, second(0))];
    Commit { charges, ..opening(Proposal::number(number).open()) }
}

/// A meter shows what was added from a moment on, that moment included, and nothing of other meters.
pub async fn a_meter_shows_what_was_added_within_its_window<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    assert_eq!(shown(bench.store(), sum_since(second(0))).await, 0);
    for number in 1..=4u32 {
        let case = hold(bench.store(), Proposal::number(u64::from(number))).await;
        let charges = vec![
            charge(case.id, i64::from(number) * ONE, second(i64::from(number))),
            Charge { meter: MeterId::of("another"), ..charge(case.id, 7, second(1)) },
        ];
        bench.store().commit(Commit { charges, ..Commit::default() }).await.unwrap();
    }
    for (since, total) in [(0, 10), (1, 10), (2, 9), (4, 4), (5, 0)] {
        assert_eq!(shown(bench.store(), sum_since(second(since))).await, total * ONE, "since {since}");
    }
    let without = MeterQuery { except: Some(id(3)), ..sum_since(second(0)) };
    assert_eq!(shown(bench.store(), without).await, 7 * ONE);
    bench.finish().await;
}

/// Different values are counted once each, besides those that were named.
pub async fn different_values_are_counted_once<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let value = |name: &str| Digest::of(name.as_bytes());
    for (number, name) in [(1, "ann"), (2, "bob"), (3, "ann"), (4, "cem")] {
        let case = hold(bench.store(), Proposal::number(number)).await;
        let charges = vec![Charge { value: Some(value(name)), ..charge(case.id, 0, second(1)) }];
        bench.store().commit(Commit { charges, ..Commit::default() }).await.unwrap();
    }
    for (besides, count) in [(vec![], 3), (vec!["ann"], 2), (vec!["ann", "cem"], 1), (vec!["eve"], 3)] {
        let besides: Vec<_> = besides.into_iter().map(value).collect();
        let query = MeterQuery { measure: Measure::Distinct { besides }, ..sum_since(second(0)) };
        assert_eq!(shown(bench.store(), query).await, count * ONE);
    }
    bench.finish().await;
}

/// What was judged by an old reading is not stored, and leaves no trace.
pub async fn a_meter_that_moved_writes_nothing<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let reading = Reading { query: sum_since(second(0)), total: 0 };
    bench.store().commit(charged(1, 49)).await.unwrap();
    let before = Snapshot::of(bench.store()).await;
    let stale = Commit { readings: vec![reading.clone()], ..charged(2, 49) };
    assert_eq!(conflict(bench.store().commit(stale).await), Conflict::MetersMoved);
    assert_eq!(Snapshot::of(bench.store()).await, before);
    assert_eq!(shown(bench.store(), sum_since(second(0))).await, 49);
    let fresh = Commit { readings: vec![Reading { total: 49, ..reading }], ..charged(2, 49) };
    bench.store().commit(fresh).await.unwrap();
    assert_eq!(shown(bench.store(), sum_since(second(0))).await, 98);
    bench.finish().await;
}

/// Of many proposals that were judged by the same reading, exactly one is stored.
pub async fn one_of_many_that_read_the_same_succeeds<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let readings = vec![Reading { query: sum_since(second(0)), total: 0 }];
    let commits = (1..=RACERS).map(|number| Commit { readings: readings.clone(), ..charged(number, 49) });
    let (won, conflicts) = tally(at_once(bench.store(), commits.collect()).await);
    assert_eq!(won, 1);
    assert!(conflicts.iter().all(|conflict| *conflict == Conflict::MetersMoved), "{conflicts:?}");
    assert_eq!(shown(bench.store(), sum_since(second(0))).await, 49);
    bench.finish().await;
}

/// An action that ends without having run gives back what it added; one that runs does not.
pub async fn what_never_ran_is_given_back<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    for number in 1..=4 {
        bench.store().commit(charged(number, 10)).await.unwrap();
    }
    let case = |number| Proposal::number(number).open().case;
    advance(bench.store(), deny(&case(1), second(1))).await;
    assert_eq!(shown(bench.store(), sum_since(second(0))).await, 30);
    advance(bench.store(), pass_time(&case(2), Timestamp::MAX)).await;
    assert_eq!(shown(bench.store(), sum_since(second(0))).await, 20);
    let approved = advance(bench.store(), approve(&case(3), second(1))).await;
    let claimed = advance(bench.store(), claim(&approved, second(2))).await;
    advance(bench.store(), succeed(&claimed, second(3))).await;
    assert_eq!(shown(bench.store(), sum_since(second(0))).await, 20);
    bench.finish().await;
}

/// An edit adds what the new version adds, in place of what the old one did.
pub async fn an_edit_replaces_what_was_added<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    bench.store().commit(charged(1, 100)).await.unwrap();
    let edited = advancing(edit(&Proposal::number(1).open().case, 7, second(1)));
    let commit = Commit { charges: vec![charge(id(1), 7, second(1))], ..edited };
    bench.store().commit(commit).await.unwrap();
    assert_eq!(shown(bench.store(), sum_since(second(0))).await, 7);
    bench.finish().await;
}

/// What no longer matters to a meter goes when something is added to it; other meters keep theirs.
pub async fn what_is_too_old_to_matter_goes<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let other = MeterId::of("another");
    let first = vec![charge(id(1), 5, second(0)), Charge { meter: other, ..charge(id(1), 5, second(0)) }];
    bench.store().commit(Commit { charges: first, ..opening(Proposal::number(1).open()) }).await.unwrap();
    let second_one = Charge { forget_before: second(10), ..charge(id(2), 6, second(20)) };
    let commit = Commit { charges: vec![second_one], ..opening(Proposal::number(2).open()) };
    bench.store().commit(commit).await.unwrap();
    assert_eq!(shown(bench.store(), sum_since(second(0))).await, 6);
    assert_eq!(shown(bench.store(), MeterQuery { meter: other, ..sum_since(second(0)) }).await, 5);
    bench.finish().await;
}

/// The action that the same proposal would join is found as long as it can be joined.
pub async fn what_can_be_joined_is_found<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let case = hold(bench.store(), Proposal::number(1)).await;
    let (agent, digest) = (case.agent.clone(), case.submission.digest);
    assert_eq!(bench.store().joinable(&agent, digest).await.unwrap(), Some(case.id));
    assert_eq!(bench.store().joinable("someone else", digest).await.unwrap(), None);
    assert_eq!(bench.store().joinable(&agent, Digest::of(b"other")).await.unwrap(), None);
    advance(bench.store(), deny(&case, second(1))).await;
    assert_eq!(bench.store().joinable(&agent, digest).await.unwrap(), None);
    bench.finish().await;
}
