//! Waiting for an answer: woken by it, and by nothing else.

use std::sync::Arc;
use std::time::Duration;

use banksman_core::{ActionId, Actor, Case, Decision, Principal, PrincipalKind, Status};
use banksman_engine::{EngineError, LogSink};
use banksman_store::Store as _;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::faulty::Fault;
use crate::world::{HOUR, World, ballot, error};

const LONG: Duration = Duration::from_secs(60);

/// Someone who waits, with a lot of patience.
fn waiting(world: &World, who: &Arc<Principal>, id: ActionId) -> JoinHandle<Arc<Case>> {
    let (engine, who) = (Arc::clone(&world.engine), Arc::clone(who));
    tokio::spawn(async move { engine.wait(&who, id, LONG).await.unwrap() })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn everyone_who_waits_is_woken_by_the_decision() {
    let world = World::new().await;
    let case = world.held().await;
    let began = Instant::now();
    let waiters: Vec<_> = (0..32)
        .map(|place| waiting(&world, if place % 2 == 0 { &world.riley } else { &world.ann }, case.id))
        .collect();
    tokio::time::sleep(Duration::from_millis(50)).await;
    world.decide(&world.ann, &case, Decision::Deny).await.unwrap();
    for waiter in waiters {
        assert_eq!(waiter.await.unwrap().status(), Status::Denied);
    }
    assert!(began.elapsed() < LONG / 2, "they waited for the end of their patience");
    world.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_decision_falls_between_looking_and_waiting() {
    let world = World::new().await;
    let began = Instant::now();
    for round in 0..50 {
        let case = world.propose(&world.riley, "refund", &format!(r#"{{"round":{round}}}"#)).await;
        let waiter = waiting(&world, &world.riley, case.id);
        // No pause: the decision comes before, while or after the other registers.
        world.approve(&world.ann, &case).await.unwrap();
        assert_eq!(waiter.await.unwrap().status(), Status::Authorised);
    }
    assert!(began.elapsed() < LONG / 2);
    world.close().await;
}

#[tokio::test]
async fn who_is_revoked_while_they_wait_is_told_nothing() {
    let world = World::new().await;
    let issued = world.issue(PrincipalKind::Agent, "dot").await;
    let dot = world.engine.authenticate(&issued.secret).await.unwrap();
    let case = world.propose(&dot, "refund", "{}").await;
    let (engine, id) = (Arc::clone(&world.engine), case.id);
    let waiter = tokio::spawn(async move { engine.wait(&dot, id, LONG).await });
    tokio::time::sleep(Duration::from_millis(50)).await;
    world.engine.revoke_token(issued.id, Actor::Operator).await.unwrap();
    world.approve(&world.ann, &case).await.unwrap();
    assert!(matches!(error(waiter.await.unwrap()), EngineError::Unauthenticated));
    world.close().await;
}

#[tokio::test]
async fn patience_ends_and_what_is_answered_needs_none() {
    let world = World::new().await;
    let case = world.held().await;
    for patience in [Duration::ZERO, Duration::from_millis(20)] {
        let waited = world.engine.wait(&world.riley, case.id, patience).await.unwrap();
        assert_eq!(waited.status(), Status::Pending);
    }
    world.approve(&world.ann, &case).await.unwrap();
    let waited = world.engine.wait(&world.riley, case.id, LONG).await.unwrap();
    assert_eq!(waited.status(), Status::Authorised);
    assert!(matches!(error(world.engine.wait(&world.bo, case.id, LONG).await), EngineError::NotFound));
    world.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_vote_that_is_not_an_answer_wakes_nobody_for_good() {
    let world = World::new().await;
    let case = world.propose(&world.riley, "drop", "{}").await;
    let waiter = waiting(&world, &world.riley, case.id);
    tokio::time::sleep(Duration::from_millis(20)).await;
    world.approve(&world.ann, &case).await.unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(!waiter.is_finished());
    world.approve(&world.bea, &case).await.unwrap();
    assert_eq!(waiter.await.unwrap().status(), Status::Authorised);
    world.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_end_of_time_is_an_answer_too() {
    let world = World::new().await;
    let case = world.held().await;
    let waiter = waiting(&world, &world.riley, case.id);
    tokio::time::sleep(Duration::from_millis(20)).await;
    world.clock.pass(HOUR);
    world.engine.move_overdue().await.unwrap();
    assert_eq!(waiter.await.unwrap().status(), Status::Expired);
    world.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_decision_whose_answer_was_lost_still_reaches_those_who_wait() {
    let world = World::new().await;
    let case = world.held().await;
    let waiter = waiting(&world, &world.riley, case.id);
    tokio::time::sleep(Duration::from_millis(20)).await;
    world.store.next([Some(Fault::Stored)]);
    assert!(matches!(error(world.approve(&world.ann, &case).await), EngineError::Store(_)));
    assert_eq!(waiter.await.unwrap().status(), Status::Authorised);
    world.close().await;
}

#[tokio::test]
async fn streams_learn_of_every_event() {
    let world = World::new().await;
    let mut newest = world.engine.newest_event();
    let before = *newest.borrow_and_update();
    let case = world.held().await;
    world.approve(&world.ann, &case).await.unwrap();
    newest.changed().await.unwrap();
    assert_eq!(*newest.borrow(), before + 2);
    world.close().await;
}

/// A reviewer who decides and hangs up while the store is slow.
async fn decide_and_hang_up(world: &World, case: &Case, fault: Option<Fault>) {
    let closed = world.store.gate.write().await;
    world.store.next([fault]);
    let (engine, ann, id) = (Arc::clone(&world.engine), Arc::clone(&world.ann), case.id);
    let request = ballot(case, Decision::Approve);
    let deciding = tokio::spawn(async move { engine.decide(&ann, id, request).await });
    while world.store.waiting() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    deciding.abort();
    assert!(deciding.await.unwrap_err().is_cancelled());
    drop(closed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_decision_is_heard_of_although_whoever_decided_hung_up() {
    for fault in [None, Some(Fault::Stored)] {
        let world = World::new().await;
        let workers = world.engine.start_workers(Arc::new(LogSink));
        let case = world.held().await;
        while !world.store.notices(1).await.unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let began = Instant::now();
        let waiter = waiting(&world, &world.riley, case.id);
        tokio::time::sleep(Duration::from_millis(20)).await;
        decide_and_hang_up(&world, &case, fault).await;
        assert_eq!(waiter.await.unwrap().status(), Status::Authorised, "{fault:?}");
        assert!(began.elapsed() < LONG / 2, "it waited for the end of its patience");
        let shown = world.engine.case(case.id).await.unwrap();
        assert_eq!(shown.status(), Status::Authorised, "and what is remembered is not old");
        workers.into_iter().for_each(|worker| worker.abort());
        world.close().await;
    }
}
