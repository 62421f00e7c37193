//! The log beside the database file: it is copied while commits go on, and starts again instead of growing.

use std::sync::Arc;

use banksman_core::Tier;
use tokio::task::JoinSet;

use super::{File, number, opening, proposed};
use crate::Store;
use crate::sqlite::SqliteStore;

const COMMITS: u64 = 600;

/// How often at the most: where others take the processor, copying may not get its turn for a while.
const ROUNDS: u64 = 20;

async fn traffic(store: &Arc<SqliteStore>, round: u64) {
    let mut clients = JoinSet::new();
    for client in 0..4 {
        let store = Arc::clone(store);
        clients.spawn(async move {
            for commit in 0..COMMITS / 4 {
                let number = (round * 4 + client) * COMMITS + commit;
                store.commit(opening(proposed(number, Tier::Approve))).await.unwrap();
                store.last_seq().await.unwrap();
            }
        });
    }
    clients.join_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_log_starts_again_under_constant_traffic() {
    let file = File::new();
    let store = Arc::new(file.store());
    // Everyone who looks makes SQLite commit, which writes some ten pages; a log that never started again would grow by
    // thousands each time.
    let mut sizes = vec![0];
    let mut has_started_again = false;
    for round in 0..ROUNDS {
        traffic(&store, round).await;
        let size = std::fs::metadata(format!("{}-wal", file.path().display())).unwrap().len();
        has_started_again = size < sizes.last().unwrap() + 1500 * 4096;
        sizes.push(size);
        if has_started_again {
            break;
        }
    }
    assert!(has_started_again, "the log had {sizes:?} bytes");
    let rounds = i64::try_from(sizes.len() - 1).unwrap();
    store.last_seq().await.unwrap();
    assert_eq!(number(&file.connect(), "SELECT count(*) FROM audit"), 600 * rounds);
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
