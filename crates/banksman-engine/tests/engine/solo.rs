//! The solo operator: one person, named by policy, on the record.

use banksman_core::audit::{Event, Fact};
use banksman_core::{Decision, Refusal, Status};
use banksman_policy::Policy;
use banksman_store::{EventQuery, Store};

use crate::world::{World, edit, refusal};

#[tokio::test]
async fn nobody_approves_their_own_unless_policy_names_them() {
    let world = World::new().await;
    let case = world.held().await;
    assert_eq!(refusal(world.approve(&world.olga, &case).await), Refusal::SelfApproval);
    let edited = world.engine.decide(&world.olga, case.id, edit(&case, r#"{"amount":4}"#)).await;
    assert_eq!(refusal(edited), Refusal::SelfApproval);
    assert_eq!(world.decide(&world.olga, &case, Decision::Deny).await.unwrap().status(), Status::Denied);
    world.close().await;
}

#[tokio::test]
async fn the_solo_operator_may_and_the_log_says_it_each_time() {
    let world = World::with_policy("solo_operator: olga\n").await;
    let case = world.held().await;
    let approved = world.approve(&world.olga, &case).await.unwrap();
    assert_eq!(approved.status(), Status::Authorised);
    let other = world.held_other().await;
    world.engine.decide(&world.olga, other.id, edit(&other, r#"{"amount":4}"#)).await.unwrap();
    let events = world.store.events(EventQuery::following(0, 1_000)).await.unwrap();
    let said: Vec<bool> = events
        .iter()
        .filter_map(|stored| match Event::from_bytes(stored.body.as_bytes()).unwrap().fact {
            Fact::Decided { solo_operator, .. } | Fact::Modified { solo_operator, .. } => Some(solo_operator),
            _ => None,
        })
        .collect();
    assert_eq!(said, [true, true]);
    // Others are as they were, and one person is still not two.
    let two = world.propose(&world.riley, "drop", "{}").await;
    assert_eq!(world.approve(&world.olga, &two).await.unwrap().status(), Status::Pending);
    assert_eq!(refusal(world.approve(&world.olga, &two).await).code(), "already_voted");
    world.close().await;
}

#[tokio::test]
async fn it_ends_with_the_policy_that_says_so() {
    let world = World::with_policy("solo_operator: olga\n").await;
    let case = world.held().await;
    let strict = Policy::parse("policy.yaml", "version: 1\ntools: {refund: {tier: approve}}").unwrap();
    world.engine.load_policy(std::sync::Arc::new(strict), "test").await.unwrap();
    assert_eq!(refusal(world.approve(&world.olga, &case).await), Refusal::SelfApproval);
    world.close().await;
}
