//! A full house: proposals wait in line, in order, until there is room or their patience ends.

use std::sync::Arc;
use std::time::Duration;

use banksman_core::{Case, Decision, Principal, Status};
use banksman_engine::{EngineError, LogSink, ProposeRequest, QueueLimits};
use banksman_store::{News, NewsOf, PendingLimits, Store};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::world::{HOUR, World, error, request};

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(40);

/// Long enough for those who were woken to get in, if they can.
const SETTLED: Duration = Duration::from_millis(60);

async fn world(per_agent: u64, total: u64) -> World {
    let queue = QueueLimits { per_agent: 3, total: 4, patience: LONG };
    World::with_queue(PendingLimits { per_agent, total }, queue).await
}

fn refund(amount: u64) -> ProposeRequest {
    request("refund", &format!(r#"{{"amount":{amount}}}"#))
}

type InLine = JoinHandle<Result<Arc<Case>, EngineError>>;

/// Proposes, and is in line when this returns.
async fn stands(world: &World, agent: &Arc<Principal>, request: ProposeRequest) -> InLine {
    let (engine, agent) = (Arc::clone(&world.engine), Arc::clone(agent));
    let proposal = tokio::spawn(async move { engine.propose(&agent, request).await.map(|done| done.case) });
    tokio::time::sleep(SETTLED).await;
    assert!(!proposal.is_finished(), "it did not have to wait");
    proposal
}

async fn is_in(proposal: InLine) -> Arc<Case> {
    tokio::time::timeout(LONG, proposal).await.unwrap().unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slot_that_comes_free_is_for_the_first_in_line() {
    let world = world(2, 100).await;
    let held = [world.held().await, world.held_other().await];
    let first = stands(&world, &world.riley, refund(11)).await;
    let second = stands(&world, &world.riley, refund(12)).await;
    // Another agent has room of its own.
    world.engine.propose(&world.bo, refund(1)).await.unwrap();

    world.decide(&world.ann, &held[0], Decision::Deny).await.unwrap();
    let case = is_in(first).await;
    assert_eq!(case.status(), Status::Pending);
    tokio::time::sleep(SETTLED).await;
    assert!(!second.is_finished(), "one slot came free, and two got in");

    world.engine.cancel(&world.riley, case.id, None).await.unwrap();
    is_in(second).await;
    assert_eq!(world.store.pending_count().await.unwrap(), 3);
    world.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slot_that_comes_free_on_another_node_is_for_the_first_in_line_too() {
    let world = world(2, 100).await;
    let news = world.store.broadcast();
    let workers = world.engine.start_workers(Arc::new(LogSink));
    let held = [world.held().await, world.held_other().await];
    let first = stands(&world, &world.riley, refund(11)).await;
    let second = stands(&world, &world.riley, refund(12)).await;
    // Another node over the same store: this one's engine does not notice by itself.
    let other = world.restarted().await;
    other.cancel(&world.riley, held[0].id, None).await.unwrap();
    tokio::time::sleep(SETTLED).await;
    assert!(!first.is_finished(), "then this test is none");
    let makes_room_for = Some("riley".to_owned());
    let of = vec![NewsOf::Action { id: held[0].id, wakes_at: None, makes_room_for }];
    news.send(News { last_seq: world.store.last_seq().await.unwrap(), of }).await.unwrap();
    is_in(first).await;
    tokio::time::sleep(SETTLED).await;
    assert!(!second.is_finished(), "one slot came free, and two got in");
    workers.iter().for_each(tokio::task::JoinHandle::abort);
    second.abort();
    world.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_line_for_the_house_keeps_its_order_across_agents() {
    let world = world(100, 2).await;
    let held = [world.held().await, world.held_other().await];
    let bo = stands(&world, &world.bo, refund(1)).await;
    let riley = stands(&world, &world.riley, refund(2)).await;
    world.approve(&world.ann, &held[0]).await.unwrap();
    is_in(bo).await;
    assert!(!riley.is_finished());
    // Time makes room too.
    world.clock.pass(HOUR);
    world.engine.move_overdue().await.unwrap();
    is_in(riley).await;
    world.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn newcomers_do_not_overtake_but_join_and_pass_what_needs_nobody() {
    let world = world(1, 100).await;
    let held = world.held().await;
    let first = stands(&world, &world.riley, refund(11)).await;
    assert!(world.engine.propose(&world.riley, refund(5)).await.unwrap().joined);
    world.propose(&world.riley, "read", "{}").await;
    let newcomer = ProposeRequest { patience: Some(SHORT), ..refund(12) };
    let full = error(world.engine.propose(&world.riley, newcomer).await);
    assert!(matches!(full, EngineError::TooManyPending { scope: "for this agent", .. }), "{full:?}");
    world.approve(&world.ann, &held).await.unwrap();
    is_in(first).await;
    world.close().await;
}

#[tokio::test]
async fn patience_ends_and_nothing_was_recorded() {
    let world = world(1, 100).await;
    world.held().await;
    let before = world.store.last_seq().await.unwrap();
    for patience in [Duration::ZERO, SHORT] {
        let began = Instant::now();
        let request = ProposeRequest { patience: Some(patience), ..refund(11) };
        let full = error(world.engine.propose(&world.riley, request).await);
        assert!(matches!(full, EngineError::TooManyPending { .. }), "{full:?}");
        assert!(began.elapsed() >= patience && began.elapsed() < LONG / 2);
    }
    assert_eq!(world.store.last_seq().await.unwrap(), before);
    world.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_line_refuses_at_once_and_one_agent_cannot_fill_it() {
    let world = world(1, 100).await;
    let held = world.held().await;
    let bos = world.engine.propose(&world.bo, refund(5)).await.unwrap().case;
    let mut line = Vec::new();
    for amount in 11..14 {
        line.push(stands(&world, &world.riley, refund(amount)).await);
    }
    let full = error(world.engine.propose(&world.riley, refund(14)).await);
    assert!(matches!(full, EngineError::TooManyPending { .. }), "its own part is full: {full:?}");
    let bo = stands(&world, &world.bo, refund(11)).await;
    let full = error(world.engine.propose(&world.bo, refund(12)).await);
    assert!(matches!(full, EngineError::TooManyPending { .. }), "all of it is full: {full:?}");
    // Riley's long line is not before Bo's.
    world.approve(&world.ann, &bos).await.unwrap();
    is_in(bo).await;
    world.approve(&world.ann, &held).await.unwrap();
    is_in(line.remove(0)).await;
    // A server that stops sends the rest away.
    world.engine.stop_queueing();
    for proposal in line {
        assert!(matches!(proposal.await.unwrap(), Err(EngineError::TooManyPending { .. })));
    }
    world.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_hangs_up_leaves_the_line() {
    let world = world(1, 100).await;
    let held = world.held().await;
    let gone = stands(&world, &world.riley, refund(11)).await;
    let next = stands(&world, &world.riley, refund(12)).await;
    gone.abort();
    assert!(gone.await.unwrap_err().is_cancelled());
    world.decide(&world.ann, &held, Decision::Deny).await.unwrap();
    let case = is_in(next).await;
    assert_eq!(case.submission.action.args.as_str(), r#"{"amount":12}"#);
    assert_eq!(world.store.pending_count().await.unwrap(), 1);
    world.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_waits_until_all_of_it_has_room() {
    let world = world(2, 100).await;
    let held = [world.held().await, world.held_other().await];
    let (engine, riley) = (Arc::clone(&world.engine), Arc::clone(&world.riley));
    let items = vec![refund(21).action, refund(22).action];
    let batch =
        tokio::spawn(
            async move { engine.propose_batch(&riley, banksman_engine::BatchRequest::of(items)).await },
        );
    tokio::time::sleep(SETTLED).await;
    let behind = stands(&world, &world.riley, refund(11)).await;
    world.approve(&world.ann, &held[0]).await.unwrap();
    tokio::time::sleep(SETTLED).await;
    assert!(!batch.is_finished() && !behind.is_finished(), "room for one of two, and nobody overtakes");
    world.approve(&world.ann, &held[1]).await.unwrap();
    assert_eq!(batch.await.unwrap().unwrap().cases.len(), 2);
    assert!(!behind.is_finished());
    // What could never be held need not wait for it.
    let three = (31..34).map(|amount| refund(amount).action).collect();
    let never =
        error(world.engine.propose_batch(&world.riley, banksman_engine::BatchRequest::of(three)).await);
    assert!(matches!(never, EngineError::TooManyPending { .. }), "{never:?}");
    behind.abort();
    world.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_slot_is_used_and_never_more_than_there_are() {
    let queue = QueueLimits { per_agent: 64, total: 128, patience: LONG };
    let world = World::with_queue(PendingLimits { per_agent: 3, total: 4 }, queue).await;
    let mut proposals = Vec::new();
    for number in 0..60 {
        let agent = Arc::clone(if number % 3 == 0 { &world.bo } else { &world.riley });
        let engine = Arc::clone(&world.engine);
        proposals.push(tokio::spawn(async move { engine.propose(&agent, refund(number)).await.map(drop) }));
    }
    // People who decide as fast as things come in; without room that is found at once, this would take minutes.
    let began = Instant::now();
    let mut decided = 0;
    while decided < 60 {
        let pending = world.all_cases().await.into_iter().filter(|case| case.status() == Status::Pending);
        let pending: Vec<_> = pending.collect();
        assert!(pending.len() <= 4);
        for case in &pending {
            world.decide(&world.ann, case, Decision::Deny).await.unwrap();
            decided += 1;
        }
        tokio::task::yield_now().await;
    }
    for proposal in proposals {
        proposal.await.unwrap().unwrap();
    }
    assert!(began.elapsed() < LONG / 2, "some slot was found by the end of patience only");
    world.close().await;
}
