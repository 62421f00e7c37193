//! What works once, however many try, wherever they do.

use std::sync::Arc;

use banksman_core::Digest;
use banksman_engine::{Clock as _, Engine, EngineError};
use tokio::task::JoinSet;

use crate::faulty::Fault;
use crate::world::{HOUR, INSTANT, World};

fn key(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}

async fn spend(world: &World, engine: &Arc<Engine>, text: &str) -> Result<bool, EngineError> {
    engine.spend_once(key(text), world.clock.now().after(HOUR)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_at_once_on_two_nodes_one_is_told_that_it_was_first() {
    let world = World::new().await;
    let neighbour = world.neighbour().await;
    let until = world.clock.now().after(HOUR);
    let mut tasks = JoinSet::new();
    for number in 0..16 {
        let engine = Arc::clone(if number % 2 == 0 { &world.engine } else { &neighbour });
        tasks.spawn(async move { engine.spend_once(key("one"), until).await.unwrap() });
    }
    let firsts = tasks.join_all().await.into_iter().filter(|first| *first).count();
    assert_eq!(firsts, 1);
    assert!(spend(&world, &world.engine, "another").await.unwrap());
    assert!(!spend(&world, &neighbour, "another").await.unwrap());
    world.close().await;
}

#[tokio::test]
async fn what_was_used_before_a_restart_is_used_until_it_would_be_of_no_use() {
    let mut world = World::new().await;
    assert!(spend(&world, &world.engine, "one").await.unwrap());
    world.restart().await;
    world.clock.pass(HOUR - INSTANT);
    assert!(spend(&world, &world.engine, "another").await.unwrap(), "which clears away what is over");
    assert!(!spend(&world, &world.engine, "one").await.unwrap());
    world.close().await;
}

#[tokio::test]
async fn nobody_is_first_whose_use_is_not_known_to_be_stored() {
    for fault in Fault::PAIR {
        let world = World::new().await;
        world.store.next([Some(fault)]);
        let told = spend(&world, &world.engine, "one").await;
        match fault {
            Fault::NotStored => assert!(matches!(told, Err(EngineError::Store(_))), "{told:?}"),
            Fault::Stored => assert!(matches!(told, Ok(false)), "{told:?}"),
        }
        assert_eq!(spend(&world, &world.engine, "one").await.unwrap(), fault == Fault::NotStored);
        world.close().await;
    }
}
