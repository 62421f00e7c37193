//! While nobody answers: people are told again, others may step in, and no step is taken twice or forgotten.

use std::time::Duration;

use banksman_core::{Case, Status};
use banksman_engine::EngineError;
use futures_util::future::join_all;

use crate::faulty::Fault;
use crate::world::{HOUR, INSTANT, World, error, refusal};

/// Ann is of finance, Bea of support.
const CHAIN: &str = "
  transfer:
    tier: approve
    roles: [finance]
    timeout: 1h
    escalation:
      - {after: 10m, notify: again}
      - {after: 30m, hand_to: support}
";

const TEN: Duration = Duration::from_secs(600);
const TWENTY: Duration = Duration::from_secs(1_200);

async fn transfer(world: &World) -> std::sync::Arc<Case> {
    world.propose(&world.riley, "transfer", r#"{"amount":5}"#).await
}

#[tokio::test]
async fn people_are_told_again_then_others_may_answer_then_it_expires() {
    let world = World::with_policy(CHAIN).await;
    let case = transfer(&world).await;
    assert_eq!(case.state.ends_at(), Some(case.created_at.after(HOUR)));
    world.clock.pass(TEN - INSTANT);
    assert_eq!(world.engine.move_overdue().await.unwrap(), 0);
    world.clock.pass(INSTANT);
    assert_eq!(world.engine.move_overdue().await.unwrap(), 1);
    assert_eq!(world.engine.move_overdue().await.unwrap(), 0);
    assert_eq!(world.notices().await, ["held", "reminder"]);
    assert_eq!(refusal(world.approve(&world.bea, &case).await).code(), "missing_role");
    world.clock.pass(TWENTY);
    assert_eq!(world.engine.move_overdue().await.unwrap(), 1);
    assert_eq!(world.notices().await, ["held", "reminder", "handed_over"]);
    assert_eq!(refusal(world.approve(&world.cem, &case).await).code(), "missing_role");
    world.clock.pass(HOUR);
    assert_eq!(world.engine.move_overdue().await.unwrap(), 1);
    assert_eq!(world.story(case.id).await, ["proposed", "escalated", "escalated", "expired"]);
    world.close().await;
}

#[tokio::test]
async fn whoever_it_was_handed_to_may_approve_and_those_before_still_may() {
    for approver in ["ann", "bea"] {
        let world = World::with_policy(CHAIN).await;
        let case = transfer(&world).await;
        world.clock.pass(TEN + TWENTY);
        world.engine.move_overdue().await.unwrap();
        let who = if approver == "ann" { &world.ann } else { &world.bea };
        let approved = world.approve(who, &case).await.unwrap();
        assert_eq!(approved.status(), Status::Authorised);
        assert_eq!(approved.reviews[0].acting.is_empty(), approver == "ann");
        world.claim(&world.riley, &approved).await.unwrap();
        world.close().await;
    }
}

/// The decision is guarded by the deadline, not by the next step of the chain.
#[tokio::test]
async fn a_step_that_is_due_does_not_stand_in_the_way_of_a_decision_or_of_joining() {
    let world = World::with_policy(CHAIN).await;
    let case = transfer(&world).await;
    world.clock.pass(TEN);
    assert_eq!(transfer(&world).await.id, case.id, "joined, although a reminder is due");
    let approved = world.approve(&world.ann, &case).await.unwrap();
    assert_eq!(approved.status(), Status::Authorised);
    assert_eq!(world.engine.move_overdue().await.unwrap(), 0);
    world.close().await;
}

#[tokio::test]
async fn two_timekeepers_at_once_take_each_step_once() {
    let world = World::with_policy(CHAIN).await;
    let cases = join_all((0..20).map(|amount| {
        let args = format!(r#"{{"amount":{amount}}}"#);
        let world = &world;
        async move { world.propose(&world.bo, "transfer", &args).await }
    }))
    .await;
    let other = world.restarted().await;
    world.clock.pass(TEN + TWENTY);
    let (one, two) = tokio::join!(world.engine.move_overdue(), other.move_overdue());
    one.unwrap();
    two.unwrap();
    for case in &cases {
        assert_eq!(world.story(case.id).await, ["proposed", "escalated", "escalated"]);
    }
    let told = world.notices().await;
    assert_eq!(told.iter().filter(|notice| *notice == "handed_over").count(), 20);
    assert_eq!(told.iter().filter(|notice| *notice == "reminder").count(), 0, "overtaken");
    // The first engine may remember what the other has moved on.
    for case in &cases {
        assert_eq!(world.approve(&world.bea, case).await.unwrap().status(), Status::Authorised);
    }
    world.close().await;
}

#[tokio::test]
async fn a_restart_in_the_middle_goes_on_where_it_was() {
    let mut world = World::with_policy(CHAIN).await;
    let case = transfer(&world).await;
    world.clock.pass(TEN);
    world.engine.move_overdue().await.unwrap();
    world.clock.pass(TWENTY);
    world.restart().await;
    assert_eq!(world.engine.move_overdue().await.unwrap(), 1);
    assert_eq!(world.story(case.id).await, ["proposed", "escalated", "escalated"]);
    assert_eq!(world.approve(&world.bea, &case).await.unwrap().status(), Status::Authorised);
    world.close().await;
}

/// As if killed just before, or just after, the commit.
#[tokio::test]
async fn a_step_whose_commit_was_lost_is_taken_once() {
    for fault in Fault::PAIR {
        let mut world = World::with_policy(CHAIN).await;
        let case = transfer(&world).await;
        world.clock.pass(TEN);
        world.store.next([Some(fault)]);
        assert!(matches!(error(world.engine.move_overdue().await), EngineError::Store(_)));
        world.restart().await;
        world.engine.move_overdue().await.unwrap();
        assert_eq!(world.story(case.id).await, ["proposed", "escalated"], "{fault:?}");
        assert_eq!(world.notices().await, ["held", "reminder"], "{fault:?}");
        world.close().await;
    }
}
