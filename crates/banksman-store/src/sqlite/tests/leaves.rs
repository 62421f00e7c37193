//! The hashes that the ledger is given are those of what is stored, in the order in which it is stored.

use std::sync::Arc;

use banksman_core::{Digest, Tier};
use tokio::task::JoinSet;

use super::{File, opening, proposed};
use crate::sqlite::SqliteStore;
use crate::{EventQuery, Store};

async fn stored(store: &SqliteStore, after: u64) -> Vec<Digest> {
    let events = store.events(EventQuery::following(after, 10_000)).await.unwrap();
    events.iter().map(|event| Digest::of_leaf(event.body.as_bytes())).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn hashes_at_hand_are_those_of_what_happened_and_of_nothing_else() {
    let file = File::new();
    let store = Arc::new(file.store());
    let mut clients = JoinSet::new();
    for number in 0..400 {
        let store = Arc::clone(&store);
        // Every other one is the same as the one before, and is refused.
        clients
            .spawn(async move { store.commit(opening(proposed(number / 2, Tier::Approve))).await.is_ok() });
    }
    let happened = clients.join_all().await.into_iter().filter(|happened| *happened).count();
    assert_eq!(happened, 200);
    assert_eq!(store.leaves_at_hand(0), stored(&store, 0).await);
    assert_eq!(store.leaves_at_hand(150), stored(&store, 150).await);
}

#[tokio::test]
async fn a_group_that_failed_leaves_no_hash() {
    let file = File::new();
    let store = file.store();
    store.commit(opening(proposed(1, Tier::Approve))).await.unwrap();
    let other = file.connect();
    let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'not now'); END";
    other.execute_batch(refuse).unwrap();
    assert!(store.commit(opening(proposed(2, Tier::Approve))).await.is_err());
    other.execute_batch("DROP TRIGGER refuse").unwrap();
    store.commit(opening(proposed(3, Tier::Approve))).await.unwrap();
    assert_eq!(store.leaves_at_hand(0), stored(&store, 0).await);
}

#[tokio::test]
async fn what_a_neighbour_wrote_has_to_be_read() {
    let file = File::new();
    let (store, neighbour) = (file.store(), file.store());
    store.commit(opening(proposed(1, Tier::Approve))).await.unwrap();
    neighbour.commit(opening(proposed(2, Tier::Approve))).await.unwrap();
    store.commit(opening(proposed(3, Tier::Approve))).await.unwrap();
    assert_eq!(store.leaves_at_hand(0), [], "there is a gap before what is at hand");
    assert_eq!(store.leaves_at_hand(2), stored(&store, 2).await);
}
