//! A provider that is down for an hour and then back: what still matters is delivered, once; the rest is not sent.

use std::collections::BTreeMap;

use banksman_core::{Decision, DeliveryStatus, Purpose};

use crate::world::{HOUR, MINUTE, World, directory, later};

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

#[tokio::test]
async fn what_was_planned_before_a_bad_hour_arrives_once_after_it() {
    let mut directory = directory();
    // Bea is left alone until 22:30, which is within the bad hour; it begins at 22:19.
    let quiet = serde_saphyr::from_str("{from: '22:00', to: '22:30'}").unwrap();
    directory.people.get_mut("bea").unwrap().quiet_hours = Some(quiet);
    let world = World::with(directory, "").await;
    let asked = world.hold("refund", 1).await;
    world.work().await;
    assert_eq!(
        world.chat.take().len(),
        1,
        "Ann was asked; the channel has worked since the reminder was planned"
    );
    world.pass(5 * MINUTE);
    world.work().await;
    let just_before = world.hold("refund", 2).await;
    world.chat.set_down(Some(later("connection refused")));
    for _ in 0..60 {
        world.work().await;
        world.pass(MINUTE);
    }
    world.chat.set_down(None);
    for _ in 0..30 {
        world.work().await;
        world.pass(MINUTE);
    }
    let mut told: BTreeMap<_, usize> = BTreeMap::new();
    for message in world.chat.sent.lock().unwrap().iter() {
        for card in &message.cards {
            *told.entry((card.action, message.to.address.clone())).or_default() += 1;
        }
    }
    // Bea is asked and reminded of both; Ann was asked about the first before it all began.
    let expected = [
        ((asked.id, "@ann".to_owned()), 1),
        ((asked.id, "@bea".to_owned()), 2),
        ((just_before.id, "@ann".to_owned()), 2),
        ((just_before.id, "@bea".to_owned()), 2),
    ];
    assert_eq!(told, expected.into());
    for case in [asked, just_before] {
        let rows = world.deliveries(case.id).await;
        assert!(rows.iter().all(|row| row.status == DeliveryStatus::Sent), "{rows:?}");
    }
}

#[tokio::test]
async fn a_provider_that_is_back_and_stumbles_once_more_loses_nothing() {
    let world = World::new().await;
    let case = world.hold("payout", 1).await;
    world.chat.set_down(Some(later("connection refused")));
    for _ in 0..10 {
        world.work().await;
        world.pass(MINUTE);
    }
    world.chat.set_down(None);
    // Another gets through, and this one fails again: it has been tried often, but never while the channel worked.
    world.chat.fail_next("@ann", [later("502")]);
    world.hold("refund", 2).await;
    for _ in 0..10 {
        world.work().await;
        world.pass(MINUTE);
    }
    let rows = world.deliveries(case.id).await;
    let ask = rows.iter().find(|row| row.channel == "chat" && row.purpose == Purpose::Ask).unwrap();
    assert_eq!(ask.status, DeliveryStatus::Sent, "{ask:?}");
    assert!(ask.attempt > 3);
}

#[tokio::test]
async fn what_is_never_sent_is_on_record_too() {
    let mut directory = directory();
    directory.people.remove("bea");
    let world = World::new().await;
    world.chat.set_down(Some(later("down")));
    let settled = world.hold("refund", 1).await;
    world.work().await;
    world.decide(&settled, Decision::Deny).await;
    world.pass(HOUR);
    world.work().await;
    let skipped: Vec<_> = world
        .events("notified")
        .await
        .into_iter()
        .filter(|event| event["outcome"] == "skipped")
        .map(|event| event["error"].clone())
        .collect();
    // By chat the question and the reminder to Ann and Bea, by push the reminder to Ann.
    assert_eq!(skipped, vec![serde_json::json!("it has been settled"); 5]);

    let world = World::new().await;
    let gone = world.hold("refund", 1).await;
    world.engine.dispatch_once(&*world.outbox).await.unwrap();
    let world = world.with_other_recipients(directory);
    world.work().await;
    let failed =
        world.events("notified").await.into_iter().filter(|event| event["outcome"] == "failed").count();
    assert_eq!(failed, 1, "Bea is no longer there: {:?}", world.deliveries(gone.id).await);
}
