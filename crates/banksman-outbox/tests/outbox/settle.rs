//! After a decision anywhere, the messages that are out say so.

use banksman_core::{Decision, Purpose};
use banksman_notify::{Purpose as Shown, Standing};

use crate::world::{HOUR, MINUTE, World};

#[tokio::test]
async fn messages_that_can_be_changed_say_what_became_of_it() {
    let world = World::new().await;
    let case = world.hold("refund", 1).await;
    world.work().await;
    world.chat.take();
    world.push.take();
    world.decide(&case, Decision::Approve).await;
    world.work().await;
    world.work().await;
    let updates = std::mem::take(&mut *world.chat.sent.lock().unwrap());
    assert_eq!(updates.len(), 2, "Ann's and Bea's");
    for update in &updates {
        assert_eq!(update.purpose, Shown::Settled);
        assert!(update.earlier.as_deref().is_some_and(|earlier| earlier.starts_with('m')), "{update:?}");
        assert!(matches!(update.cards[0].standing, Standing::Settled { .. }));
    }
    assert_eq!(world.push.take(), [], "push cannot change what it sent");
    world.pass(HOUR);
    world.work().await;
    assert_eq!(world.chat.take(), [], "and no reminder comes after it");
}

#[tokio::test]
async fn expiry_and_withdrawal_are_told_too_and_what_was_never_shown_is_not_corrected() {
    let world = World::new().await;
    let expired = world.propose(r#"{"tool":"refund","args":{"number":1},"timeout_seconds":600}"#).await;
    let cancelled = world.hold("refund", 2).await;
    world.work().await;
    world.chat.take();
    world.engine.cancel(&world.riley, cancelled.id, None).await.unwrap();
    world.pass(11 * MINUTE);
    let unseen = world.hold("refund", 3).await;
    world.decide(&unseen, Decision::Deny).await;
    world.work().await;
    let told = std::mem::take(&mut *world.chat.sent.lock().unwrap());
    let about: Vec<_> = told.iter().map(|message| (message.cards[0].action, message.purpose)).collect();
    assert_eq!(about.iter().filter(|(id, _)| *id == expired.id).count(), 2);
    assert_eq!(about.iter().filter(|(id, _)| *id == unseen.id).count(), 0);
    assert!(about.iter().all(|(_, purpose)| *purpose == Shown::Settled));
}

#[tokio::test]
async fn a_message_about_several_keeps_showing_all_of_them() {
    let world = World::new().await;
    let mut cases = Vec::new();
    for number in 0..5 {
        cases.push(world.hold("payout", number).await);
    }
    world.work().await;
    assert_eq!(world.chat.take(), [("@ann".into(), Shown::Digest, 5)]);
    world.decide(&cases[2], Decision::Deny).await;
    world.work().await;
    let told = std::mem::take(&mut *world.chat.sent.lock().unwrap());
    assert_eq!(told.len(), 1);
    let waiting = told[0].cards.iter().filter(|card| card.standing == Standing::Waiting).count();
    assert_eq!((told[0].cards.len(), waiting), (5, 4));
}

#[tokio::test]
async fn two_nodes_that_read_the_same_correct_it_once() {
    let mut world = World::new().await;
    let case = world.hold("payout", 1).await;
    world.work().await;
    world.decide(&case, Decision::Approve).await;
    let one = std::sync::Arc::clone(&world.outbox);
    world.restart();
    let (first, second) = tokio::join!(one.read_once(), world.outbox.read_once());
    first.unwrap();
    second.unwrap();
    let rows = world.deliveries(case.id).await;
    assert_eq!(rows.iter().filter(|row| row.purpose == Purpose::Settled).count(), 1, "{rows:?}");
}
