//! The ledger takes in what happened, whoever asks and whatever fails, and proves it.

use banksman_core::Digest;
use banksman_engine::EngineError;
use banksman_ledger::{Checkpoint, Frontier, PAGE, holds, leaf};
use banksman_store::{EventQuery, Store as _};

use crate::faulty::Fault;
use crate::world::World;

/// What the log comes to, read from its beginning.
async fn root(world: &World, size: u64) -> Digest {
    let events = world.store.events(EventQuery::following(0, usize::try_from(size).unwrap())).await.unwrap();
    let mut log = Frontier::default();
    events.iter().for_each(|event| log.push(leaf(event.body.as_bytes())));
    assert_eq!(log.size(), size);
    log.root()
}

async fn proposals(world: &World, from: u32, count: u32) {
    for number in from..from + count {
        world.propose(&world.riley, "read", &format!(r#"{{"n":{number}}}"#)).await;
    }
}

#[tokio::test]
async fn a_checkpoint_is_of_all_that_happened_and_comes_once() {
    let world = World::new().await;
    proposals(&world, 0, 3).await;
    let first = world.engine.checkpoint().await.unwrap();
    let opened = Checkpoint::open(&first.note, &world.engine.note_key()).unwrap();
    assert_eq!(opened.size, world.store.last_seq().await.unwrap());
    assert_eq!(opened.root, root(&world, opened.size).await);
    assert_eq!(world.engine.checkpoint().await.unwrap(), first, "nothing has happened since");
    proposals(&world, 3, 1).await;
    let second = world.engine.checkpoint().await.unwrap();
    assert!(second.size > first.size);
    assert_eq!(world.store.checkpoints(0, 10).await.unwrap(), [first, second]);
    world.close().await;
}

#[tokio::test]
async fn every_event_is_proved_across_pages_and_starts_and_nodes() {
    let mut world = World::new().await;
    proposals(&world, 0, 300).await;
    world.engine.checkpoint().await.unwrap();
    // Another has nothing in memory, and goes on where this one stopped.
    let neighbour = world.neighbour().await;
    proposals(&world, 300, 300).await;
    neighbour.checkpoint().await.unwrap();
    proposals(&world, 600, 10).await;
    let last = world.engine.checkpoint().await.unwrap();
    assert_eq!(
        Checkpoint::open(&last.note, &world.engine.note_key()).unwrap().root,
        root(&world, last.size).await
    );
    assert_eq!(world.store.ledger_pages(0).await.unwrap().len() as u64, last.size / PAGE);
    world.restart().await;
    for seq in [1, 2, PAGE, PAGE + 1, 2 * PAGE, 2 * PAGE + 1, last.size] {
        let proof = world.engine.prove_event(seq).await.unwrap();
        let signed = Checkpoint::open(&proof.checkpoint.note, &world.engine.note_key()).unwrap();
        let hash = leaf(proof.event.body.as_bytes());
        assert!(holds(&hash, seq - 1, signed.size, &proof.path, &signed.root), "{seq}");
    }
    for seq in [0, last.size + 1, u64::MAX] {
        assert!(matches!(world.engine.prove_event(seq).await, Err(EngineError::NotFound)), "{seq}");
    }
    world.close().await;
}

#[tokio::test]
async fn a_checkpoint_that_could_not_be_stored_loses_no_page() {
    let world = World::new().await;
    proposals(&world, 0, 280).await;
    for fault in [Fault::NotStored, Fault::Stored] {
        world.store.next([Some(fault)]);
        assert!(world.engine.checkpoint().await.is_err());
        proposals(&world, 1000, 1).await;
    }
    proposals(&world, 2000, 280).await;
    let last = world.engine.checkpoint().await.unwrap();
    let signed = Checkpoint::open(&last.note, &world.engine.note_key()).unwrap();
    assert_eq!(signed.root, root(&world, last.size).await);
    assert_eq!(world.store.ledger_pages(0).await.unwrap().len() as u64, last.size / PAGE);
    world.engine.prove_event(1).await.unwrap();
    world.close().await;
}
