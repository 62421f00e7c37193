//! A message that may have been taken is repeated as it was, under the same name, so that a repetition is told from
//! something new.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use banksman_core::{ActionId, Decision, DeliveryStatus, Purpose};
use banksman_notify::{MessageId, SendError, Trouble};
use banksman_store::Delivery;

use crate::world::{MINUTE, World, later};

async fn held(world: &World, numbers: std::ops::Range<u32>) -> Vec<ActionId> {
    let mut ids = Vec::new();
    for number in numbers {
        ids.push(world.hold("payout", number).await.id);
    }
    ids
}

#[tokio::test]
async fn a_digest_that_nobody_answered_for_comes_back_as_the_same_digest() {
    let world = World::new().await;
    world.chat.fail_next("@ann", [SendError::unsure("took too long"), SendError::unsure("hung up")]);
    let first = held(&world, 0..5).await;
    world.work().await;
    // Meanwhile there is more to tell, and one of the five needs nobody any more.
    let more = held(&world, 5..10).await;
    let settled = world.engine.case(first[2]).await.unwrap();
    world.decide(&settled, Decision::Deny).await;
    for _ in 0..8 {
        world.pass(MINUTE);
        world.work().await;
    }
    let names = world.chat.names();
    let repeated: Vec<_> = names.iter().filter(|(name, _)| *name == names[0].0).collect();
    assert_eq!(repeated.len(), 3, "{names:?}");
    assert!(repeated.iter().all(|(_, about)| *about == first), "{names:?}");
    // Nothing else has that name, and what came later went by itself.
    let other = names.iter().find(|(_, about)| about.contains(&more[0])).unwrap();
    assert_eq!(other.1, more);
    for id in first.iter().chain(&more) {
        let rows = world.deliveries(*id).await;
        let asks = rows.iter().filter(|row| row.channel == "chat" && row.status == DeliveryStatus::Sent);
        assert!(asks.count() >= 1, "{rows:?}");
    }
}

#[tokio::test]
async fn a_digest_that_a_crash_left_unrecorded_comes_back_as_the_same_digest() {
    let mut world = World::new().await;
    let first = held(&world, 0..5).await;
    world.engine.dispatch_once(&*world.outbox).await.unwrap();
    world.chat.panics.store(true, Ordering::SeqCst);
    let outbox = Arc::clone(&world.outbox);
    assert!(tokio::spawn(async move { outbox.carry_once("chat").await }).await.is_err(), "it broke down");
    let more = held(&world, 5..7).await;
    world.restart();
    world.work().await;
    let names = world.chat.names();
    assert_eq!(names[0], names[1]);
    assert_eq!(names[0].1, first);
    assert!(names[2..].iter().all(|(_, about)| about.len() == 1 && more.contains(&about[0])), "{names:?}");
}

#[tokio::test]
async fn what_was_not_taken_goes_with_what_there_is_by_then_under_another_name() {
    let world = World::new().await;
    world.chat.fail_next("@ann", [later("answered 503")]);
    let mut all = held(&world, 0..5).await;
    world.work().await;
    all.extend(held(&world, 5..7).await);
    world.pass(MINUTE);
    world.work().await;
    let names = world.chat.names();
    assert_eq!((names.len(), &names[1].1), (2, &all), "{names:?}");
    assert_ne!(names[0].0, names[1].0);
}

#[tokio::test]
async fn a_part_that_a_person_has_sent_again_is_a_message_of_its_own() {
    let world = World::new().await;
    world.chat.fail_next("@ann", [SendError::never("no such channel")]);
    let ids = held(&world, 0..5).await;
    world.work().await;
    let rows = world.deliveries(ids[0]).await;
    let failed = rows.iter().find(|row| row.status == DeliveryStatus::Failed).unwrap();
    world.engine.retry_delivery(&world.ann, failed.id).await.unwrap();
    world.work().await;
    let names = world.chat.names();
    assert_eq!((names[1].0.to_string(), names[1].1.as_slice()), (failed.id.to_string(), &ids[..1]));
    assert_ne!(names[0].0, names[1].0);
}

#[tokio::test]
async fn a_provider_that_has_too_much_to_do_costs_no_tries() {
    let world = World::new().await;
    let busy = || SendError::Later {
        trouble: Trouble::Busy,
        after: Some(std::time::Duration::from_secs(30)),
        why: "answered 429".into(),
    };
    world.chat.fail_next("@ann", (0..6).map(|_| busy()));
    let case = world.hold("refund", 1).await;
    for minute in 0..7 {
        world.work().await;
        // Bea is served all the while.
        world.propose(&format!(r#"{{"tool":"mail","args":{{"minute":{minute}}}}}"#)).await;
        world.pass(MINUTE);
    }
    world.work().await;
    let rows = world.deliveries(case.id).await;
    let asks: Vec<_> = rows.iter().filter(|row| row.channel == "chat").collect();
    assert!(asks.iter().all(|row| row.status == DeliveryStatus::Sent || row.status.is_open()), "{asks:?}");
    let ann = asks.iter().find(|row| row.recipient == "ann").unwrap();
    assert_eq!((ann.status, ann.attempt), (DeliveryStatus::Sent, 1), "{ann:?}");
}

/// A question that is asked during an hour in which nobody says whether they took anything.
async fn asked_in_silence(world: &World) -> ActionId {
    world.chat.set_down(Some(SendError::unsure("took too long")));
    let case = world.hold("wire", 1).await;
    for _ in 0..60 {
        world.work().await;
        world.pass(MINUTE);
    }
    case.id
}

async fn asks(world: &World, about: ActionId) -> Vec<Delivery> {
    let mut rows = world.deliveries(about).await;
    rows.retain(|row| row.channel == "chat" && row.purpose == Purpose::Ask);
    rows
}

#[tokio::test]
async fn a_provider_that_never_says_that_it_took_a_message_gets_no_more_than_its_tries() {
    let world = World::new().await;
    let id = asked_in_silence(&world).await;
    let mut copies: BTreeMap<MessageId, u32> = BTreeMap::new();
    for (name, _) in world.chat.names() {
        *copies.entry(name).or_default() += 1;
    }
    assert!(!copies.is_empty() && copies.values().all(|tries| *tries == 3), "{copies:?}");
    let asks = asks(&world, id).await;
    assert!(asks.iter().all(|row| row.status == DeliveryStatus::Failed), "{asks:?}");
}

#[tokio::test]
async fn whoever_tells_a_repetition_is_asked_until_they_answer() {
    let world = World::new().await;
    world.chat.tells_repetition.store(true, Ordering::SeqCst);
    let id = asked_in_silence(&world).await;
    world.chat.set_down(None);
    world.pass(10 * MINUTE);
    world.work().await;
    let asks = asks(&world, id).await;
    let sent = |row: &Delivery| row.status == DeliveryStatus::Sent && row.attempt > 3;
    assert!(!asks.is_empty() && asks.iter().all(sent), "{asks:?}");
}

#[tokio::test]
async fn what_a_slow_channel_leaves_no_time_for_is_left_to_whoever_takes_it_next() {
    let world = World::new().await;
    // Ann of finance alone is asked, three times.
    let ids = held(&world, 0..3).await;
    world.engine.dispatch_once(&*world.outbox).await.unwrap();
    let on_the_way = world.chat.way.lock().await;
    let outbox = Arc::clone(&world.outbox);
    let carrying = tokio::spawn(async move { outbox.carry_once("chat").await });
    while world.chat.tried() == 0 {
        tokio::task::yield_now().await;
    }
    world.pass(9 * MINUTE);
    drop(on_the_way);
    carrying.await.unwrap().unwrap();
    assert_eq!(world.chat.tried(), 1, "another node may take the others a minute from now");
    world.pass(2 * MINUTE);
    world.work().await;
    let told: Vec<_> = world.chat.names().into_iter().flat_map(|(_, about)| about).collect();
    assert_eq!(told, ids);
}
