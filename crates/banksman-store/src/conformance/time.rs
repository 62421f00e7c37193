//! What time itself moves on: exactly what is due, the most overdue first.

use banksman_core::{Case, Tier, Timestamp};

use super::Harness;
use super::bench::Bench;
use super::fixture::{Proposal, advance, approve, claim, deny, hold, id, pass_time, second};

fn just_before(moment: Timestamp) -> Timestamp {
    Timestamp::from_micros(moment.as_micros() - 1)
}

/// A hold, an authorisation and a lease are due from their very moment on, and not a microsecond before.
pub async fn due_means_from_that_very_moment<H: Harness>() {
    let mut bench = Bench::<H>::set_up().await;
    let held = hold(bench.store(), Proposal::number(1)).await;
    let authorised = hold(bench.store(), Proposal::number(2)).await;
    let authorised = advance(bench.store(), approve(&authorised, second(1))).await;
    let claimed = hold(bench.store(), Proposal { tier: Tier::Auto, ..Proposal::number(3) }).await;
    let claimed = advance(bench.store(), claim(&claimed, second(2))).await;
    for reopened in [false, true] {
        if reopened {
            bench.reopen().await;
        }
        for case in [&held, &authorised, &claimed] {
            let due = case.state.wakes_at().unwrap();
            assert!(bench.store().due(due, 10).await.unwrap().contains(&case.id), "{:?}", case.state);
            let early = bench.store().due(just_before(due), 10).await.unwrap();
            assert!(!early.contains(&case.id), "{:?}", case.state);
        }
        assert_eq!(bench.store().next_due().await.unwrap(), claimed.state.wakes_at());
    }
    bench.finish().await;
}

/// The most overdue come first, and no more than asked for.
pub async fn the_most_overdue_come_first<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    // Ids ascend while deadlines descend.
    for number in 1..=9 {
        let at = second(100 - i64::try_from(number).unwrap());
        hold(bench.store(), Proposal { at, ..Proposal::number(number) }).await;
    }
    let far = second(1_000_000);
    let all = bench.store().due(far, 100).await.unwrap();
    assert_eq!(all, (1..=9).rev().map(id).collect::<Vec<_>>());
    assert_eq!(bench.store().due(far, 3).await.unwrap(), all[..3]);
    assert_eq!(bench.store().due(far, 0).await.unwrap(), Vec::new());
    assert_eq!(bench.store().due(far, usize::MAX).await.unwrap(), all);
    // Between two deadlines: those that are over by then.
    let between = second(100 - 7 + 3_600);
    assert_eq!(bench.store().due(between, 100).await.unwrap(), [9, 8, 7].map(id));
    assert_eq!(bench.store().next_due().await.unwrap(), Some(second(100 - 9 + 3_600)));
    bench.finish().await;
}

/// With every move the moment moves too, until nothing is left to wait for.
pub async fn what_has_moved_is_due_at_its_new_moment<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let store = bench.store();
    let wakes = |case: &Case| case.state.wakes_at();
    let case = hold(store, Proposal::number(1)).await;
    assert_eq!(store.next_due().await.unwrap(), Some(second(3_600)));
    let case = advance(store, approve(&case, second(10))).await;
    assert_eq!(store.next_due().await.unwrap(), Some(second(910)));
    let case = advance(store, claim(&case, second(20))).await;
    assert_eq!((store.next_due().await.unwrap(), wakes(&case)), (Some(second(620)), Some(second(620))));
    let case = advance(store, pass_time(&case, second(620))).await;
    assert_eq!((store.next_due().await.unwrap(), wakes(&case)), (None, None));

    let denied = hold(store, Proposal::number(2)).await;
    advance(store, deny(&denied, second(1))).await;
    hold(store, Proposal { tier: Tier::Block, ..Proposal::number(3) }).await;
    assert_eq!(store.next_due().await.unwrap(), None);
    assert_eq!(store.due(second(1_000_000), 10).await.unwrap(), Vec::new());
    bench.finish().await;
}
