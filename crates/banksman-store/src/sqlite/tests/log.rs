//! The log beside the database file: it is copied while commits go on, and starts again instead of growing.

use std::sync::Arc;

use banksman_core::Tier;
use tokio::task::JoinSet;

use super::{File, number, opening, proposed};
use crate::Store;

const COMMITS: u64 = 600;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_log_stays_small_under_constant_traffic() {
    let file = File::new();
    let store = Arc::new(file.store());
    let mut clients = JoinSet::new();
    for client in 0..4 {
        let store = Arc::clone(&store);
        clients.spawn(async move {
            for commit in 0..COMMITS / 4 {
                let commit = opening(proposed(client * COMMITS + commit, Tier::Approve));
                store.commit(commit).await.unwrap();
            }
        });
    }
    clients.join_all().await;
    // Each commit of its own writes some ten pages; a log that never started again would hold thousands.
    let log = std::fs::metadata(format!("{}-wal", file.path().display())).unwrap().len();
    assert!(log < 1500 * 4096, "the log has {log} bytes");
    assert_eq!(number(&file.connect(), "SELECT count(*) FROM audit"), 600);
}

#[tokio::test]
async fn a_clean_end_leaves_everything_in_the_main_file() {
    let file = File::new();
    let store = file.store();
    for commit in 0..50 {
        store.commit(opening(proposed(commit, Tier::Approve))).await.unwrap();
    }
    drop(store);
    let log = std::fs::metadata(format!("{}-wal", file.path().display()));
    assert!(log.map_or(0, |log| log.len()) == 0);
    assert_eq!(number(&file.connect(), "SELECT count(*) FROM actions"), 50);
}
