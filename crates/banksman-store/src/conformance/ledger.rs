//! The ledger: what is known of the log stays as it was first written.

use banksman_core::{Digest, Timestamp};

use super::Harness;
use super::bench::Bench;
use crate::{Commit, ControlChange, Seal, SignedCheckpoint};

fn checkpoint(size: u64, note: &str) -> SignedCheckpoint {
    SignedCheckpoint { size, at: Timestamp::from_micros(1_000_000), note: note.to_owned() }
}

fn sealing(first_page: u64, pages: &[&str], checkpoint: SignedCheckpoint) -> Commit {
    let pages = pages.iter().map(|page| Digest::of(page.as_bytes())).collect();
    let seal = ControlChange::Seal(Box::new(Seal { first_page, pages, checkpoint }));
    Commit { control: vec![seal], ..Commit::default() }
}

/// Pages and checkpoints come back in their order, from wherever one asks.
pub async fn pages_and_checkpoints_are_read_back<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let store = bench.store();
    assert_eq!(store.last_checkpoint().await.unwrap(), None);
    assert!(store.ledger_pages(0).await.unwrap().is_empty());
    store.commit(sealing(0, &["a", "b"], checkpoint(600, "first"))).await.unwrap();
    store.commit(sealing(2, &[], checkpoint(601, "second"))).await.unwrap();
    store.commit(sealing(2, &["c"], checkpoint(800, "third"))).await.unwrap();
    let digests = ["a", "b", "c"].map(|page| Digest::of(page.as_bytes()));
    assert_eq!(store.ledger_pages(0).await.unwrap(), digests);
    assert_eq!(store.ledger_pages(2).await.unwrap(), digests[2..]);
    assert!(store.ledger_pages(3).await.unwrap().is_empty());
    assert_eq!(store.last_checkpoint().await.unwrap(), Some(checkpoint(800, "third")));
    let notes = async |beyond, limit| {
        let found = store.checkpoints(beyond, limit).await.unwrap();
        found.into_iter().map(|found| found.note).collect::<Vec<_>>()
    };
    assert_eq!(notes(0, 10).await, ["first", "second", "third"]);
    assert_eq!(notes(600, 1).await, ["second"]);
    assert!(notes(800, 10).await.is_empty());
    bench.finish().await;
}

/// Two nodes may look at the same log at once. The second changes nothing, and nothing fails.
pub async fn what_was_sealed_stays_as_it_was<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let store = bench.store();
    store.commit(sealing(0, &["a"], checkpoint(300, "first"))).await.unwrap();
    store.commit(sealing(0, &["forged", "b"], checkpoint(300, "forged"))).await.unwrap();
    let digests = ["a", "b"].map(|page| Digest::of(page.as_bytes()));
    assert_eq!(store.ledger_pages(0).await.unwrap(), digests);
    assert_eq!(store.last_checkpoint().await.unwrap(), Some(checkpoint(300, "first")));
    let epoch = store.control().await.unwrap().epoch;
    store.commit(sealing(2, &[], checkpoint(301, "second"))).await.unwrap();
    assert_eq!(store.control().await.unwrap().epoch, epoch, "nobody has to look at the house rules again");
    bench.finish().await;
}
