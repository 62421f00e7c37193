//! A provider that is down for an hour and then back: what still matters is delivered, once; the rest is not sent.

use std::collections::BTreeMap;

use banksman_core::{Decision, DeliveryStatus, Purpose};

use crate::world::{MINUTE, World, later};

#[tokio::test]
async fn after_a_bad_hour_each_message_that_still_matters_arrives_once() {
    let mut world = World::new().await;
    world.chat.set_down(Some(later("connection refused")));
    let mut waiting = Vec::new();
    let mut settled = Vec::new();
    let mut expired = Vec::new();
    for minute in 0..60 {
        if minute % 10 == 0 {
            waiting.push(world.hold("payout", minute).await.id);
            settled.push(world.hold("payout", 1_000 + minute).await);
            let brief = format!(
                r#"{{"tool":"payout","args":{{"number":{}}},"timeout_seconds":300}}"#,
                2_000 + minute
            );
            expired.push(world.propose(&brief).await.id);
        }
        if minute == 55 {
            for case in &settled {
                world.decide(case, Decision::Approve).await;
            }
        }
        if minute == 30 {
            world.restart();
        }
        world.work().await;
        world.pass(MINUTE);
    }
    assert_eq!(world.chat.take(), [], "it is down");
    // Push is not held up by chat: everything went there at once.
    assert!(world.push.take().iter().map(|(_, _, cards)| cards).sum::<usize>() >= 18);
    let tried = world.chat.tried();
    assert!(tried < 60 * 18, "a provider in trouble is not hammered: {tried}");

    world.chat.set_down(None);
    let mut told: BTreeMap<_, usize> = BTreeMap::new();
    for _ in 0..30 {
        world.work().await;
        for message in std::mem::take(&mut *world.chat.sent.lock().unwrap()) {
            for card in &message.cards {
                *told.entry(card.action).or_default() += 1;
            }
        }
        world.pass(MINUTE);
    }
    for id in &waiting {
        let rows = world.deliveries(*id).await;
        let sent: Vec<_> =
            rows.iter().filter(|row| row.channel == "chat" && row.status == DeliveryStatus::Sent).collect();
        assert_eq!(sent.iter().filter(|row| row.purpose == Purpose::Ask).count(), 1, "{rows:?}");
        // Asked once; and the reminder, which is a message of its own, once.
        assert_eq!(told.get(id), Some(&sent.len()), "{rows:?}");
        assert!(sent.len() <= 2);
    }
    for id in settled.iter().map(|case| &case.id).chain(&expired) {
        assert_eq!(told.get(id), None, "nobody needs to hear of it any more");
    }
}
