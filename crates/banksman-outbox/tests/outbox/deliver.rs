//! What is sent, to whom, how often.

use std::time::Duration;

use banksman_core::{Decision, DeliveryStatus, Purpose, Risk};
use banksman_notify::{Purpose as Shown, SendError, Trouble};

use crate::world::{HOUR, MINUTE, World, directory, later};

#[tokio::test]
async fn everyone_who_can_answer_is_asked_once_and_reminded_once() {
    let world = World::new().await;
    let case = world.hold("refund", 1).await;
    world.work().await;
    assert_eq!(world.chat.take(), [("@ann".into(), Shown::Ask, 1), ("@bea".into(), Shown::Ask, 1)]);
    assert_eq!(world.push.take(), [("+ann".into(), Shown::Ask, 1)]);
    world.work().await;
    world.pass(14 * MINUTE);
    world.work().await;
    assert_eq!((world.chat.take().len(), world.push.take().len()), (0, 0));
    world.pass(MINUTE);
    world.work().await;
    assert_eq!(world.chat.take(), [("@ann".into(), Shown::Again, 1), ("@bea".into(), Shown::Again, 1)]);
    world.pass(HOUR);
    world.work().await;
    assert_eq!(world.chat.take(), []);
    assert!(world.deliveries(case.id).await.iter().all(|delivery| delivery.status == DeliveryStatus::Sent));
    assert_eq!(world.recorded().await, 6);
}

#[tokio::test]
async fn only_those_whose_word_counts_are_asked_and_chains_hand_it_on() {
    let world = World::new().await;
    let case = world.hold("chained", 1).await;
    world.work().await;
    assert_eq!(world.chat.take(), [("@ann".into(), Shown::Ask, 1)]);
    world.push.take();
    world.pass(10 * MINUTE);
    world.work().await;
    assert_eq!(world.chat.take(), [("@ann".into(), Shown::Again, 1)]);
    world.pass(10 * MINUTE);
    world.work().await;
    assert_eq!(world.chat.take(), [("@bea".into(), Shown::Escalated, 1)]);
    world.pass(10 * MINUTE);
    world.work().await;
    // Whoever it was handed to is reminded too, and there is no reminder of ours beside the chain.
    assert_eq!(world.chat.take(), [("@ann".into(), Shown::Again, 1), ("@bea".into(), Shown::Again, 1)]);
    assert_eq!(world.deliveries(case.id).await.iter().filter(|row| row.purpose == Purpose::Again).count(), 5);
}

#[tokio::test]
async fn what_was_decided_or_has_expired_meanwhile_is_not_sent() {
    let world = World::new().await;
    world.chat.set_down(Some(later("down")));
    let decided = world.hold("refund", 1).await;
    let expired = world.propose(r#"{"tool":"refund","args":{"number":2},"timeout_seconds":60}"#).await;
    world.work().await;
    world.decide(&decided, Decision::Deny).await;
    world.chat.set_down(None);
    world.pass(HOUR);
    world.work().await;
    assert_eq!(world.chat.take(), []);
    for (case, why) in [(decided, "it has been settled"), (expired, "it has expired")] {
        for delivery in world.deliveries(case.id).await.iter().filter(|row| row.channel == "chat") {
            assert_eq!((delivery.status, delivery.error.as_deref()), (DeliveryStatus::Skipped, Some(why)));
        }
    }
}

#[tokio::test]
async fn while_a_channel_takes_nothing_its_messages_wait() {
    let world = World::new().await;
    world.push.set_down(Some(later("down")));
    let case = world.hold("payout", 1).await;
    for _ in 0..12 {
        world.work().await;
        world.pass(MINUTE);
    }
    let rows = world.deliveries(case.id).await;
    let push = rows.iter().find(|row| row.channel == "push" && row.purpose == Purpose::Ask).unwrap();
    assert_eq!(push.status, DeliveryStatus::Retrying, "more than three tries, and not given up");
    assert!((4..10).contains(&push.attempt), "{push:?}");
}

#[tokio::test]
async fn a_message_that_fails_while_others_get_through_is_given_up() {
    let world = World::new().await;
    let case = world.hold("refund", 1).await;
    // Ann's fail three times; Bea's go through.
    for _ in 0..3 {
        world.chat.fail_next("@ann", [later("ann's line is dead")]);
        world.engine.dispatch_once(&*world.outbox).await.unwrap();
        world.outbox.carry_once("chat").await.unwrap();
        world.pass(5 * MINUTE);
        world.work_another_message().await;
    }
    let failed = world.deliveries(case.id).await;
    let failed: Vec<_> =
        failed.iter().filter(|row| row.channel == "chat" && row.purpose == Purpose::Ask).collect();
    assert_eq!(failed.iter().filter(|row| row.status == DeliveryStatus::Failed).count(), 1, "{failed:?}");
    let given_up = failed.iter().find(|row| row.status == DeliveryStatus::Failed).unwrap();
    assert_eq!((given_up.attempt, given_up.error.as_deref()), (3, Some("ann's line is dead")));

    // A person has it sent again.
    let again = world.engine.retry_delivery(&world.ann, given_up.id).await.unwrap();
    assert_eq!((again.status, again.attempt), (DeliveryStatus::Queued, 0));
    world.outbox.carry_once("chat").await.unwrap();
    let rows = world.deliveries(case.id).await;
    assert_eq!(rows.iter().find(|row| row.id == given_up.id).unwrap().status, DeliveryStatus::Sent);
    assert!(world.engine.retry_delivery(&world.ann, given_up.id).await.is_err(), "it is there now");
    assert!(world.engine.retry_delivery(&world.ann, 12).await.is_err(), "there is none such");
}

impl World {
    /// Someone else gets a message by chat, so that it is known to work.
    async fn work_another_message(&self) {
        let tool = format!(r#"{{"tool":"mail","args":{{"at":{}}}}}"#, self.now().as_micros());
        self.propose(&tool).await;
        self.engine.dispatch_once(&*self.outbox).await.unwrap();
    }
}

#[tokio::test]
async fn what_never_works_is_not_tried_again() {
    let world = World::new().await;
    world.push.fail_next("+ann", [SendError::never("no such address")]);
    let case = world.hold("payout", 1).await;
    world.work().await;
    let rows = world.deliveries(case.id).await;
    let push = rows.iter().find(|row| row.channel == "push").unwrap();
    assert_eq!(
        (push.status, push.attempt, push.error.as_deref()),
        (DeliveryStatus::Failed, 1, Some("no such address"))
    );
    assert_eq!(world.chat.take().len(), 1, "the other channel is not held up");
}

#[tokio::test]
async fn a_provider_that_wants_to_be_left_alone_is() {
    let world = World::new().await;
    let busy = SendError::Later {
        trouble: Trouble::Busy,
        after: Some(Duration::from_secs(7200)),
        why: "slow down".into(),
    };
    world.push.fail_next("+ann", [busy]);
    let case = world.hold("payout", 1).await;
    world.work().await;
    let rows = world.deliveries(case.id).await;
    let push = rows.iter().find(|row| row.channel == "push" && row.purpose == Purpose::Ask).unwrap();
    assert_eq!(push.status, DeliveryStatus::Retrying);
    assert_eq!(push.next_at, Some(world.now().after(2 * HOUR)));
}

#[tokio::test]
async fn many_at_once_are_one_message_and_too_many_wait() {
    let mut directory = directory();
    directory.limits.messages = 2;
    let world = World::with(directory, "").await;
    for number in 0..30 {
        world.hold("payout", number).await;
    }
    world.work().await;
    let told = world.push.take();
    assert_eq!(told, [("+ann".into(), Shown::Digest, 10), ("+ann".into(), Shown::Digest, 20)]);
    world.hold("payout", 100).await;
    world.hold("payout", 101).await;
    world.work().await;
    assert_eq!(world.push.take(), [], "two messages within ten minutes are enough");
    world.pass(10 * MINUTE);
    world.work().await;
    let told = world.push.take();
    assert_eq!(told.iter().map(|(_, _, cards)| cards).sum::<usize>(), 2, "{told:?}");
}

#[tokio::test]
async fn quiet_hours_are_kept_but_for_what_is_worth_waking() {
    let mut directory = directory();
    let ann = directory.people.get_mut("ann").unwrap();
    ann.quiet_hours = Some(serde_saphyr::from_str("{from: '22:00', to: '23:30'}").unwrap());
    ann.wake_for = Some(Risk::Critical);
    let world = World::with(directory, "").await;
    world.hold("payout", 1).await;
    world.work().await;
    assert_eq!((world.chat.take(), world.push.take()), (vec![], vec![]), "it is 22:13");
    world.hold("wire", 2).await;
    world.work().await;
    assert_eq!(world.push.take(), [("+ann".into(), Shown::Ask, 1)], "critical wakes her");
    world.pass(HOUR);
    world.work().await;
    assert!(
        world.push.take().iter().all(|(_, purpose, _)| *purpose == Shown::Again),
        "23:13, the critical one again"
    );
    world.pass(17 * MINUTE);
    world.work().await;
    assert_eq!(world.push.take().len(), 2, "23:30: asked, and reminded, in one go");
}

#[tokio::test]
async fn what_policy_only_wants_known_is_told_and_asks_for_nothing() {
    let world = World::new().await;
    let case = world.hold("mail", 1).await;
    world.work().await;
    assert!(world.standings(case.id).await.iter().all(|(purpose, _)| *purpose == Purpose::Told));
    let sent = world.chat.sent.lock().unwrap();
    assert_eq!(sent.len(), 2);
    assert!(sent.iter().all(|message| !message.cards[0].offers_decision()));
}

#[tokio::test]
async fn a_restart_between_sending_and_writing_it_down_repeats_it_under_the_same_number() {
    let mut world = World::new().await;
    let case = world.hold("payout", 1).await;
    world.work().await;
    let number = world.chat.sent.lock().unwrap()[0].id.clone();
    world.restart();
    world.work().await;
    assert_eq!(world.chat.sent.lock().unwrap().len(), 1, "it was written down");
    assert_eq!(world.deliveries(case.id).await[0].id.to_string(), number.to_string());
}

#[tokio::test]
async fn what_is_too_grave_for_a_channel_is_shown_there_and_decided_elsewhere() {
    let mut directory = directory();
    directory.channels.get_mut("chat").unwrap().decide_up_to = Some(Risk::High);
    let world = World::with(directory, "").await;
    world.hold("wire", 1).await;
    world.hold("refund", 2).await;
    world.work().await;
    for message in world.chat.sent.lock().unwrap().iter().chain(world.push.sent.lock().unwrap().iter()) {
        let grave = message.cards[0].risk == Risk::Critical && message.to.address.starts_with('@');
        assert_eq!(message.cards[0].may_decide, !grave, "{message:?}");
    }
}

/// With the real workers, in real time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_channel_whose_code_breaks_down_is_started_again_and_holds_up_no_other() {
    let world = World::new().await;
    world.chat.panics.store(true, std::sync::atomic::Ordering::SeqCst);
    let mut workers = world.engine.start_workers(std::sync::Arc::clone(&world.outbox) as _);
    workers.extend(world.outbox.start_workers());
    let case = world.hold("payout", 1).await;
    let asked =
        |row: &&banksman_store::Delivery| row.purpose == Purpose::Ask && row.status == DeliveryStatus::Sent;
    for _ in 0..300 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        if world.deliveries(case.id).await.iter().filter(asked).count() == 2 {
            break;
        }
    }
    workers.iter().for_each(tokio::task::JoinHandle::abort);
    assert_eq!(world.deliveries(case.id).await.iter().filter(asked).count(), 2, "by chat and by push");
}
