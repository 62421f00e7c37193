//! Routes and preferences: who is told, by which channel.

use banksman_notify::Purpose as Shown;

use crate::world::{World, contact, directory};

async fn told(policy: &str, tool: &str) -> (Vec<String>, Vec<String>) {
    let mut directory = directory();
    directory.places.insert("room".into(), contact(&[("chat", "#room")]));
    directory.people.get_mut("ann").unwrap().prefers = vec!["push".into()];
    let world = World::with(directory, policy).await;
    world.hold(tool, 1).await;
    world.work().await;
    let names = |told: Vec<(String, Shown, usize)>| told.into_iter().map(|(to, _, _)| to).collect();
    (names(world.chat.take()), names(world.push.take()))
}

fn all(chat: &[&str], push: &[&str]) -> (Vec<String>, Vec<String>) {
    let texts = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    (texts(chat), texts(push))
}

#[tokio::test]
async fn without_routes_those_who_can_answer_hear_of_it_as_they_like_it() {
    assert_eq!(told("", "refund").await, all(&["#room", "@bea"], &["+ann"]));
    assert_eq!(told("", "payout").await, all(&["#room"], &["+ann"]));
}

#[tokio::test]
async fn a_route_says_who_and_how() {
    for (legs, expected) in [
        ("[{roles: [support]}]", all(&["@bea"], &[])),
        ("[{people: [room]}]", all(&["#room"], &[])),
        ("[{people: [ann], channels: [chat]}]", all(&["@ann"], &[])),
        ("[{channels: [push]}]", all(&[], &["+ann"])),
        ("[{roles: [finance]}, {people: [room, bea]}]", all(&["#room", "@bea"], &["+ann"])),
        ("[{people: [bea], tiers: [escalate]}, {people: [ann]}]", all(&[], &["+ann"])),
        ("[{people: [bea], match: {tool: 'pay*'}}, {people: [ann]}]", all(&[], &["+ann"])),
        ("[{people: [bea], match: {time: {from: '22:00', to: '23:00'}}}]", all(&["@bea"], &[])),
    ] {
        assert_eq!(told(&format!("routes: {{default: {legs}}}"), "refund").await, expected, "{legs}");
    }
}

#[tokio::test]
async fn a_route_that_leads_nowhere_tells_everyone_rather_than_nobody() {
    for legs in [
        "[{people: [bea], match: {time: {from: '03:00', to: '04:00'}}}]",
        "[{people: [nobody]}]",
        "[{roles: [pilots]}]",
        "[{people: [bea], channels: [push]}]",
    ] {
        let (chat, push) = told(&format!("routes: {{default: {legs}}}"), "refund").await;
        assert!(chat.contains(&"@bea".into()) && push.contains(&"+ann".into()), "{legs}: {chat:?} {push:?}");
    }
}

#[tokio::test]
async fn a_leg_that_only_tells_offers_no_decision() {
    let legs = "routes: {default: [{people: [bea], channels: [chat], decide: false}, {people: [ann], channels: [push]}]}";
    let world = World::with(directory(), legs).await;
    let case = world.hold("refund", 1).await;
    world.work().await;
    assert!(!world.chat.sent.lock().unwrap()[0].cards[0].may_decide);
    assert!(world.push.sent.lock().unwrap()[0].cards[0].may_decide);
    assert!(!world.outbox.may_decide("chat", &case) && world.outbox.may_decide("push", &case));
    assert!(!world.outbox.may_decide("elsewhere", &case));
}
