//! A database of several hosts: one is written to, and another takes its place.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use banksman_core::{Decision, Status};
use banksman_faults::{Cluster, Proxy};
use banksman_store::conformance::Database;
use banksman_store::postgres::{Lineage, PostgresStore};
use banksman_store::{CommitError, Store, StoreError};
use tokio::task::JoinSet;

use crate::script::{deciding, id, log_is_whole, node, opening, proposed, until_ok};

/// A store of a process that knows of others before it.
async fn opened(url: &str, lineage: &Lineage) -> Result<PostgresStore, StoreError> {
    PostgresStore::open_as_node(url, "a-key", lineage).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn when_a_standby_takes_over_nothing_is_lost_that_was_acknowledged() {
    let mut primary = Cluster::start().expect("a server");
    let standby = primary.follow().expect("a standby");
    let url = primary.url_with(&standby, "postgres");
    let lineage = Lineage::default();
    let store = Arc::new(opened(&url, &lineage).await.expect("a store"));
    let mut rush = JoinSet::new();
    for number in 1..=200 {
        let store = Arc::clone(&store);
        rush.spawn(async move {
            tokio::time::sleep(Duration::from_millis(number * 4)).await;
            (number, store.commit(opening(proposed(number))).await)
        });
    }
    tokio::time::sleep(Duration::from_millis(400)).await;
    primary.crash().expect("a crash");
    // For a moment there is only somebody who answers and may not write.
    tokio::time::sleep(Duration::from_millis(200)).await;
    standby.promote().expect("a new primary");
    let answers = rush.join_all().await;
    let asking =
        async { until_ok(|| async { store.pending_count().await.err().ok_or(StoreError::Closed) }).await };
    let (why, ()) = tokio::join!(store.over(), async { drop(asking.await) });
    assert!(why.to_string().contains("a standby took over"), "{why}");
    // Whoever remembers what was before gets no answer any more.
    let refused = store.commit(opening(proposed(201))).await;
    assert!(matches!(refused, Err(CommitError::Unavailable(_))), "{refused:?}");
    assert!(store.case(id(1)).await.is_err());

    let store = until_ok(|| opened(&url, &lineage)).await;
    assert_eq!(lineage.lost(), None);
    let mut acknowledged = 0;
    for (number, answer) in answers {
        let stored = store.case(id(number)).await.expect("a look").is_some();
        if answer.is_ok() {
            acknowledged += 1;
            assert!(stored, "{number} was acknowledged and is lost");
        }
    }
    assert!(acknowledged > 20, "hardly anything got through: {acknowledged}");
    assert_eq!(log_is_whole(&store).await, store.pending_count().await.expect("a count"));
    let case = store.case(id(1)).await.expect("a look").expect("an action");
    store.commit(deciding(&case, "ann", Decision::Approve)).await.expect("a decision");
    assert_eq!(store.case(id(1)).await.expect("a look").expect("it").status(), Status::Authorised);

    // Who was written to before is there again, and comes first in the address.
    primary.start_again().expect("the former primary");
    let again = opened(&url, &lineage).await.expect("the new one");
    assert_eq!(again.case(id(1)).await.expect("a look").expect("it").status(), Status::Authorised);
    drop(again);
    let refused = opened(&primary.url(), &lineage).await.err().expect("a refusal").to_string();
    assert!(refused.contains("another took over from it"), "{refused}");
    // Without such knowledge nobody can tell.
    drop(opened(&primary.url(), &Lineage::default()).await.expect("a store"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_takes_connections_and_says_nothing_is_passed_over_once() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = silent.local_addr().expect("its address");
    let met = Arc::<AtomicUsize>::default();
    let meets = Arc::clone(&met);
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for connection in silent.incoming() {
            meets.fetch_add(1, Ordering::Relaxed);
            kept.push(connection);
        }
    });
    let database = Database::fresh();
    let line = Proxy::to(&database.url()).expect("a line");
    let url = line.over(&database.url()).expect("its address");
    let store = PostgresStore::open(&url.replacen('@', &format!("@{address},"), 1)).await.expect("a store");
    store.commit(opening(proposed(1))).await.expect("a proposal");
    assert_eq!(store.pending_count().await.expect("a count"), 1);
    // It is the others' events that are news.
    let mut news = store.follow(1).expect("news");
    node(&database).await.commit(opening(proposed(2))).await.expect("a proposal of another");
    assert_eq!(news.recv().await.expect("news").last_seq, 2);
    assert_eq!(met.load(Ordering::Relaxed), 1, "the silent host is waited for again and again");
}
