//! After a decision anywhere, the messages that are out say so.

use std::sync::Arc;

use banksman_core::json::CanonicalJson;
use banksman_core::wire::DecisionRequest;
use banksman_core::{Decision, DeliveryStatus, Purpose};
use banksman_notify::{Purpose as Shown, SendError, Standing};

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

#[tokio::test]
async fn what_is_decided_while_it_is_being_sent_is_corrected_once_it_is_there() {
    let world = World::new().await;
    let case = world.hold("payout", 1).await;
    world.engine.dispatch_once(&*world.outbox).await.unwrap();
    let on_the_way = world.chat.way.lock().await;
    let outbox = Arc::clone(&world.outbox);
    let carrying = tokio::spawn(async move { outbox.carry_once("chat").await });
    while world.chat.tried() == 0 {
        tokio::task::yield_now().await;
    }
    world.decide(&case, Decision::Deny).await;
    while world.outbox.read_once().await.unwrap() > 0 {}
    drop(on_the_way);
    carrying.await.unwrap().unwrap();
    for _ in 0..3 {
        world.work().await;
        world.pass(MINUTE);
    }
    let sent: Vec<_> =
        world.chat.sent.lock().unwrap().iter().map(|sent| (sent.purpose, sent.earlier.clone())).collect();
    let [(Shown::Ask, None), (Shown::Settled, Some(_))] = sent.as_slice() else { panic!("{sent:?}") };
}

#[tokio::test]
async fn what_nobody_answered_for_is_corrected_and_what_was_refused_is_not() {
    for (error, corrected) in [(SendError::unsure("took too long"), 1), (SendError::later("answered 503"), 0)]
    {
        let world = World::new().await;
        world.chat.fail_next("@ann", [error]);
        let case = world.hold("payout", 1).await;
        world.work().await;
        world.decide(&case, Decision::Deny).await;
        for _ in 0..3 {
            world.work().await;
            world.pass(MINUTE);
        }
        assert_eq!(world.chat.take(), vec![("@ann".into(), Shown::Settled, 1); corrected]);
        let rows = world.deliveries(case.id).await;
        let asked = rows.iter().find(|row| row.channel == "chat" && row.purpose == Purpose::Ask).unwrap();
        assert_eq!(asked.status, DeliveryStatus::Skipped, "{rows:?}");
    }
}

#[tokio::test]
async fn a_card_of_what_was_edited_since_offers_nothing_any_more() {
    let world = World::new().await;
    let case = world.hold("pair", 1).await;
    world.work().await;
    world.chat.take();
    let request = DecisionRequest {
        decision: Decision::Modify,
        version: case.version,
        digest: case.submission.digest,
        reason: Some("less".into()),
        args: Some(CanonicalJson::parse(br#"{"number":2}"#).unwrap()),
        message: None,
        remember: None,
    };
    let edited = world.engine.decide(&world.ann, case.id, request).await.unwrap();
    assert_eq!((edited.status().as_str(), edited.version), ("pending", 2));
    world.work().await;
    let sent = std::mem::take(&mut *world.chat.sent.lock().unwrap());
    let old: Vec<_> = sent.iter().filter(|sent| sent.purpose == Shown::Settled).collect();
    assert_eq!(old.len(), 2, "Ann's and Bea's: {sent:?}");
    for old in old {
        assert_eq!(old.cards[0].standing, Standing::Changed);
        assert!(!old.cards[0].offers_decision() && old.earlier.is_some());
    }
}

#[tokio::test]
async fn several_that_are_settled_at_once_change_their_message_once() {
    let world = World::new().await;
    let mut cases = Vec::new();
    for number in 0..5 {
        cases.push(world.hold("payout", number).await);
    }
    world.work().await;
    world.chat.take();
    for case in &cases {
        world.decide(case, Decision::Deny).await;
    }
    world.work().await;
    assert_eq!(world.chat.take(), [("@ann".into(), Shown::Settled, 5)]);
    for case in cases {
        let rows = world.deliveries(case.id).await;
        let settled = rows.iter().find(|row| row.purpose == Purpose::Settled).unwrap();
        assert_eq!(settled.status, DeliveryStatus::Sent);
    }
}
