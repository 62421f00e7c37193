//! What people are to be told, until they have been.

use std::sync::Arc;

use banksman_core::{Notice, Tier};

use super::Harness;
use super::bench::Bench;
use super::fixture::{Proposal, advance, claim, hold, id, opening, pass_time, second};
use crate::{Commit, CommitError, Store, StoredNotice};

async fn settle(store: &Arc<dyn Store>, notices: &[StoredNotice]) {
    let settled_notices = notices.iter().map(|notice| notice.id).collect();
    store.commit(Commit { settled_notices, ..Commit::default() }).await.unwrap();
}

/// Notices come in the order of their commits, until they are settled.
pub async fn notices_come_in_order_until_settled<H: Harness>() {
    let mut bench = Bench::<H>::set_up().await;
    hold(bench.store(), Proposal::number(3)).await;
    hold(bench.store(), Proposal { tier: Tier::Notify, at: second(1), ..Proposal::number(1) }).await;
    let ran = hold(bench.store(), Proposal { tier: Tier::Auto, ..Proposal::number(2) }).await;
    let ran = advance(bench.store(), claim(&ran, second(2))).await;
    advance(bench.store(), pass_time(&ran, second(5_000))).await;

    bench.reopen().await;
    let store = bench.store();
    let all = store.notices(10).await.unwrap();
    let shown: Vec<_> = all.iter().map(|notice| (notice.action, notice.notice.as_str(), notice.at)).collect();
    assert_eq!(
        shown,
        [
            (id(3), Notice::Held.as_str(), second(0)),
            (id(1), Notice::LetThrough.as_str(), second(1)),
            (id(2), Notice::OutcomeUnknown.as_str(), second(5_000)),
        ]
    );
    assert_eq!(store.notices(2).await.unwrap(), all[..2]);
    assert_eq!(store.notices(0).await.unwrap(), Vec::new());
    assert_eq!(store.notices(usize::MAX).await.unwrap(), all);

    settle(store, &all[1..2]).await;
    assert_eq!(store.notices(10).await.unwrap(), [all[0].clone(), all[2].clone()]);
    // Two dispatchers may have told the same: settling it again is no harm.
    settle(store, &all).await;
    assert_eq!(store.notices(10).await.unwrap(), Vec::new());
    bench.finish().await;
}

/// A notice that nothing happened for is refused, and with it the rest of its commit.
pub async fn a_notice_without_an_event_is_refused<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let mut commit = opening(Proposal::number(1).open());
    commit.notices.extend(commit.notices.clone());
    assert!(matches!(bench.store().commit(commit).await, Err(CommitError::Unavailable(_))));
    assert_eq!(bench.store().case(id(1)).await.unwrap(), None);
    assert_eq!(bench.store().notices(10).await.unwrap(), Vec::new());
    bench.finish().await;
}

/// A notice that comes after others were settled is not taken for one of them.
pub async fn places_in_the_outbox_are_not_used_again<H: Harness>() {
    let mut bench = Bench::<H>::set_up().await;
    hold(bench.store(), Proposal::number(1)).await;
    let told = bench.store().notices(10).await.unwrap();
    settle(bench.store(), &told).await;
    bench.reopen().await;
    hold(bench.store(), Proposal::number(2)).await;
    // A second dispatcher is late and settles what it told long ago.
    settle(bench.store(), &told).await;
    let left = bench.store().notices(10).await.unwrap();
    assert_eq!(left.iter().map(|notice| notice.action).collect::<Vec<_>>(), [id(2)]);
    bench.finish().await;
}
