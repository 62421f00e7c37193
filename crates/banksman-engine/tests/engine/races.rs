//! Many at once: one of them wins, and the others are told the truth.

use std::sync::Arc;

use banksman_core::{Decision, FreezeScope, Outcome, PrincipalKind, Refusal, Status};
use banksman_engine::EngineError;
use banksman_store::{EventQuery, Store};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::world::{World, ballot, body, claim_of, request};

const RACERS: usize = 64;

/// What became of as many calls at the same time.
async fn race<T, F>(call: impl Fn(usize) -> F) -> Vec<Result<T, EngineError>>
where
    T: Send + 'static,
    F: Future<Output = Result<T, EngineError>> + Send + 'static,
{
    let gate = Arc::new(Barrier::new(RACERS));
    let mut tasks = JoinSet::new();
    for racer in 0..RACERS {
        let (gate, call) = (Arc::clone(&gate), call(racer));
        tasks.spawn(async move {
            gate.wait().await;
            call.await
        });
    }
    tasks.join_all().await
}

/// How many won, and what the others were told.
fn tally<T>(results: Vec<Result<T, EngineError>>) -> (usize, Vec<Refusal>) {
    let (won, lost): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    (won.len(), lost.into_iter().map(crate::world::refusal).collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_decisions_one_is_taken() {
    let world = World::new().await;
    let case = world.held().await;
    let mut people = Vec::new();
    for racer in 0..RACERS {
        let issued = world.issue(PrincipalKind::Reviewer, &format!("reviewer {racer}")).await;
        people.push(world.engine.authenticate(&issued.secret).await.unwrap());
    }
    let results = race(|racer| {
        let (engine, person) = (Arc::clone(&world.engine), Arc::clone(&people[racer]));
        let decision = if racer % 2 == 0 { Decision::Approve } else { Decision::Deny };
        let (id, request) = (case.id, ballot(&case, decision));
        async move { engine.decide(&person, id, request).await }
    })
    .await;
    let (won, lost) = tally(results);
    assert_eq!(won, 1);
    let winner = &world.stored(case.id).await.reviews[0].by;
    for refusal in lost {
        let Refusal::AlreadyDecided { by, .. } = &refusal else { panic!("{refusal:?}") };
        assert_eq!(by.as_ref(), Some(winner));
    }
    assert_eq!(world.story(case.id).await, ["proposed", "decided"]);
    world.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_claims_one_is_taken() {
    let world = World::new().await;
    let case = world.approved().await;
    let results = race(|_| {
        let (engine, riley) = (Arc::clone(&world.engine), Arc::clone(&world.riley));
        let (id, request) = (case.id, claim_of(&case));
        async move { engine.claim(&riley, id, request).await }
    })
    .await;
    let (won, lost) = tally(results);
    assert_eq!((won, lost.len()), (1, RACERS - 1));
    assert!(lost.iter().all(|refusal| refusal.code() == "already_claimed"), "{lost:?}");
    world.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_claims_by_two_engines_one_is_taken() {
    let world = World::new().await;
    let case = world.approved().await;
    let neighbour = world.neighbour().await;
    let results = race(|racer| {
        let engine = Arc::clone(if racer % 2 == 0 { &world.engine } else { &neighbour });
        let (riley, id, request) = (Arc::clone(&world.riley), case.id, claim_of(&case));
        async move { engine.claim(&riley, id, request).await }
    })
    .await;
    let (won, lost) = tally(results);
    assert_eq!((won, lost.len()), (1, RACERS - 1));
    assert!(lost.iter().all(|refusal| refusal.code() == "already_claimed"), "{lost:?}");
    drop(neighbour);
    // This engine may remember the action as authorised; whoever asks it to move is told what is stored.
    assert_eq!(crate::world::refusal(world.claim(&world.riley, &case).await).code(), "already_claimed");
    world.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn equal_proposals_at_once_are_one_question() {
    let world = World::new().await;
    for key in [None, Some("k")] {
        let text = format!(r#"{{"tool":"refund","args":{{"key":{}}}}}"#, key.is_some());
        let results = race(|_| {
            let (engine, riley) = (Arc::clone(&world.engine), Arc::clone(&world.riley));
            let request = body(&text, key);
            async move { engine.propose(&riley, request).await }
        })
        .await;
        let proposed: Vec<_> = results.into_iter().map(Result::unwrap).collect();
        assert_eq!(proposed.iter().filter(|one| !one.joined).count(), 1, "{key:?}");
        assert!(proposed.iter().all(|one| one.case.id == proposed[0].case.id), "{key:?}");
    }
    assert_eq!(world.all_cases().await.len(), 2);
    world.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_quorum_is_filled_by_as_many_as_it_needs() {
    let world = World::new().await;
    let case = world.propose(&world.riley, "drop", "{}").await;
    let mut people = Vec::new();
    for racer in 0..RACERS {
        let issued = world.issue(PrincipalKind::Reviewer, &format!("reviewer {racer}")).await;
        people.push(world.engine.authenticate(&issued.secret).await.unwrap());
    }
    let results = race(|racer| {
        let (engine, person) = (Arc::clone(&world.engine), Arc::clone(&people[racer]));
        let (id, request) = (case.id, ballot(&case, Decision::Approve));
        async move { engine.decide(&person, id, request).await }
    })
    .await;
    let (won, lost) = tally(results);
    assert_eq!((won, lost.len()), (2, RACERS - 2));
    let stored = world.stored(case.id).await;
    assert_eq!((stored.status(), stored.reviews.len()), (Status::Authorised, 2));
    assert_ne!(stored.reviews[0].by, stored.reviews[1].by);
    world.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_approve_cancel_and_expire_at_once_one_happens() {
    let world = World::new().await;
    for round in 0..20 {
        let case = world.propose(&world.riley, "refund", &format!(r#"{{"round":{round}}}"#)).await;
        let results = race(|racer| {
            let engine = Arc::clone(&world.engine);
            let (ann, riley) = (Arc::clone(&world.ann), Arc::clone(&world.riley));
            let (id, request) = (case.id, ballot(&case, Decision::Deny));
            async move {
                match racer % 2 {
                    0 => engine.decide(&ann, id, request).await,
                    _ => engine.cancel(&riley, id, None).await,
                }
            }
        })
        .await;
        assert_eq!(tally(results).0, 1);
        assert_eq!(world.stored(case.id).await.revision, 2);
    }
    world.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_same_outcome_from_many_is_recorded_once() {
    let world = World::new().await;
    let case = world.approved().await;
    world.claim(&world.riley, &case).await.unwrap();
    let results = race(|_| {
        let (engine, riley, id) = (Arc::clone(&world.engine), Arc::clone(&world.riley), case.id);
        async move { engine.record_outcome(&riley, id, Outcome::Succeeded { result: None }).await }
    })
    .await;
    for result in results {
        assert_eq!(result.unwrap().status(), Status::Succeeded);
    }
    assert_eq!(world.story(case.id).await.len(), 4);
    world.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_is_let_through_behind_a_freeze() {
    let world = World::new().await;
    let mut cases = Vec::new();
    for racer in 0..RACERS {
        cases.push(world.propose(&world.riley, "refund", &format!(r#"{{"n":{racer}}}"#)).await);
    }
    let (engine, ada) = (Arc::clone(&world.engine), Arc::clone(&world.ada));
    let freezing =
        tokio::spawn(async move { engine.freeze(&ada, FreezeScope::Everything, "drill".into()).await });
    let results = race(|racer| {
        let engine = Arc::clone(&world.engine);
        let (ann, riley) = (Arc::clone(&world.ann), Arc::clone(&world.riley));
        let case = Arc::clone(&cases[racer]);
        async move {
            engine.propose(&riley, request("read", &format!(r#"{{"n":{racer}}}"#))).await?;
            let case = engine.decide(&ann, case.id, ballot(&case, Decision::Approve)).await?;
            engine.claim(&riley, case.id, claim_of(&case)).await
        }
    })
    .await;
    freezing.await.unwrap().unwrap();
    for result in results {
        assert!(result.is_ok() || crate::world::refusal(result).code() == "frozen");
    }
    let log = world.store.events(EventQuery::following(0, 100_000)).await.unwrap();
    let frozen = log.iter().position(|event| event.kind == "frozen").unwrap();
    for event in &log[frozen..] {
        assert!(event.kind != "decided" && event.kind != "claimed", "{} behind the freeze", event.body);
        assert!(event.kind != "proposed" || event.body.contains(r#""status":"blocked""#), "{}", event.body);
    }
    world.close().await;
}
