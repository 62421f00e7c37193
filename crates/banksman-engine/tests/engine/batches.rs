//! Batches: many actions under one pair of eyes, bound to exactly what was shown.

use banksman_core::wire::{BatchDecisionRequest, ItemDecision};
use banksman_core::{Action, ActionId, Case, Decision, Digest, Kind, Status, batch_digest};
use banksman_engine::{BatchRequest, EngineError, ItemAnswer, ProposedBatch};
use banksman_store::PendingLimits;

use crate::world::{HOUR, World, edit, error, json, refusal};

fn refund(amount: u32) -> Action {
    Action::bare("refund", Kind::Tool, json(&format!(r#"{{"amount":{amount}}}"#)))
}

async fn proposed(world: &World, amounts: impl IntoIterator<Item = u32>) -> ProposedBatch {
    let actions = amounts.into_iter().map(refund).collect();
    world.engine.propose_batch(&world.riley, BatchRequest::of(actions)).await.unwrap()
}

fn digest<'a>(cases: impl IntoIterator<Item = &'a std::sync::Arc<Case>>) -> Digest {
    batch_digest(cases.into_iter().map(|case| (&case.id, &case.submission.digest)))
}

fn item(id: ActionId, decision: Decision) -> ItemDecision {
    ItemDecision { id, decision, reason: None, message: Some("see the wiki".into()) }
}

async fn decide(
    world: &World,
    batch: &ProposedBatch,
    decisions: Vec<ItemDecision>,
) -> Result<Vec<ItemAnswer>, EngineError> {
    let request = BatchDecisionRequest { digest: digest(&batch.cases), decisions };
    world.engine.decide_batch(&world.ann, batch.record.id, request).await
}

#[tokio::test]
async fn a_batch_is_held_and_read_back_in_order() {
    let world = World::new().await;
    let batch = proposed(&world, [5, 3, 9]).await;
    let read = world.engine.batch(&world.riley, batch.record.id).await.unwrap();
    assert_eq!(read.record, batch.record);
    let args: Vec<_> = read.cases.iter().map(|case| case.submission.action.args.as_str()).collect();
    assert_eq!(args, [r#"{"amount":5}"#, r#"{"amount":3}"#, r#"{"amount":9}"#]);
    assert!(read.cases.iter().all(|case| case.batch == Some(batch.record.id)));
    assert!(matches!(error(world.engine.batch(&world.bo, batch.record.id).await), EngineError::NotFound));
    world.close().await;
}

#[tokio::test]
async fn each_item_is_judged_alone() {
    let world = World::new().await;
    let tool = |name: &str| Action::bare(name, Kind::Tool, json("{}"));
    let actions = ["read", "refund", "wipe", "drop"].map(tool).to_vec();
    let batch = world.engine.propose_batch(&world.riley, BatchRequest::of(actions)).await.unwrap();
    let statuses: Vec<_> = batch.cases.iter().map(|case| case.status()).collect();
    assert_eq!(statuses, [Status::Authorised, Status::Pending, Status::Blocked, Status::Pending]);
    world.close().await;
}

#[tokio::test]
async fn a_batch_that_makes_no_sense_is_refused_whole() {
    let world = World::new().await;
    let waiting = world.held().await;
    let strict = Action { args_schema: Some(json(r#"{"required":["to"]}"#)), ..refund(1) };
    for (what, actions) in [
        ("empty", Vec::new()),
        ("too long", (0..501).map(refund).collect()),
        ("the same twice", vec![refund(1), refund(2), refund(1)]),
        ("one that waits already", vec![refund(1), refund(5)]),
        ("one with wrong arguments", vec![refund(2), strict]),
    ] {
        let refused = error(world.engine.propose_batch(&world.riley, BatchRequest::of(actions)).await);
        assert!(
            matches!(refused, EngineError::Invalid(_) | EngineError::InvalidArgs(_)),
            "{what}: {refused:?}"
        );
    }
    assert_eq!(world.all_cases().await.len(), 1);
    // What waited too long is no obstacle.
    world.clock.pass(HOUR);
    proposed(&world, [1, 5]).await;
    assert_eq!(world.stored(waiting.id).await.status(), Status::Expired);
    world.close().await;
}

#[tokio::test]
async fn a_batch_that_does_not_fit_is_refused_whole() {
    let world = World::with_limits(PendingLimits { per_agent: 3, total: 4 }).await;
    let four =
        world.engine.propose_batch(&world.riley, BatchRequest::of((1..=4).map(refund).collect())).await;
    assert!(matches!(error(four), EngineError::TooManyPending { scope: "for this agent", .. }));
    proposed(&world, 1..=3).await;
    let two = world.engine.propose_batch(&world.bo, BatchRequest::of((1..=2).map(refund).collect())).await;
    assert!(matches!(error(two), EngineError::TooManyPending { scope: "altogether", .. }));
    assert_eq!(world.all_cases().await.len(), 3);
    world.close().await;
}

#[tokio::test]
async fn some_can_be_decided_and_the_rest_left() {
    let world = World::new().await;
    let batch = proposed(&world, 1..=4).await;
    let ids: Vec<_> = batch.cases.iter().map(|case| case.id).collect();
    let decisions =
        vec![item(ids[3], Decision::Respond), item(ids[0], Decision::Approve), item(ids[1], Decision::Deny)];
    let answers = decide(&world, &batch, decisions).await.unwrap();
    let shown: Vec<_> = answers.iter().map(|one| (one.id, one.answer.as_ref().unwrap().status())).collect();
    assert_eq!(
        shown,
        [(ids[3], Status::Denied), (ids[0], Status::Authorised), (ids[1], Status::Denied)],
        "in the order of the request"
    );
    let read = world.engine.batch(&world.ann, batch.record.id).await.unwrap();
    assert_eq!(read.cases[2].status(), Status::Pending);
    world.close().await;
}

#[tokio::test]
async fn an_item_that_was_decided_elsewhere_says_so_and_holds_up_nobody() {
    let world = World::new().await;
    let batch = proposed(&world, 1..=3).await;
    world.decide(&world.bea, &batch.cases[1], Decision::Deny).await.unwrap();
    let decisions = batch.cases.iter().map(|case| item(case.id, Decision::Approve)).collect();
    let mut answers = decide(&world, &batch, decisions).await.unwrap();
    assert_eq!(refusal(answers.remove(1).answer).code(), "already_decided");
    for answer in answers {
        assert_eq!(answer.answer.unwrap().status(), Status::Authorised);
    }
    assert_eq!(world.stored(batch.cases[1].id).await.reviews[0].by, "bea");
    world.close().await;
}

#[tokio::test]
async fn a_decision_is_bound_to_the_items_that_were_shown() {
    let world = World::new().await;
    let batch = proposed(&world, 1..=3).await;
    let shown = digest(&batch.cases);
    let request =
        |digest| BatchDecisionRequest { digest, decisions: vec![item(batch.cases[0].id, Decision::Approve)] };
    let reordered = digest(batch.cases.iter().rev());
    let shorter = digest(&batch.cases[..2]);
    for other in [reordered, shorter, Digest::of(b"something else")] {
        let refused = error(world.engine.decide_batch(&world.ann, batch.record.id, request(other)).await);
        assert!(matches!(refused, EngineError::BatchChanged { current } if current == shown), "{refused:?}");
    }
    // Someone edits an item after the reviewer looked.
    let edited = &batch.cases[2];
    world.engine.decide(&world.bea, edited.id, edit(edited, r#"{"amount":77}"#)).await.unwrap();
    let refused = error(world.engine.decide_batch(&world.ann, batch.record.id, request(shown)).await);
    let EngineError::BatchChanged { current } = refused else { panic!("{refused:?}") };
    assert_ne!(current, shown);
    assert_eq!(world.stored(batch.cases[0].id).await.status(), Status::Pending);
    // Shown again, it can be decided.
    let read = world.engine.batch(&world.ann, batch.record.id).await.unwrap();
    assert_eq!(digest(&read.cases), current);
    world.engine.decide_batch(&world.ann, batch.record.id, request(current)).await.unwrap();
    world.close().await;
}

#[tokio::test]
async fn decisions_that_make_no_sense_are_refused_whole() {
    let world = World::new().await;
    let batch = proposed(&world, 1..=2).await;
    let stranger = world.held().await;
    let first = batch.cases[0].id;
    for (what, decisions) in [
        ("not in it", vec![item(first, Decision::Approve), item(stranger.id, Decision::Approve)]),
        ("twice", vec![item(first, Decision::Approve), item(first, Decision::Deny)]),
        ("edited", vec![item(first, Decision::Modify)]),
    ] {
        let refused = error(decide(&world, &batch, decisions).await);
        assert!(matches!(refused, EngineError::Invalid(_)), "{what}: {refused:?}");
    }
    assert_eq!(world.stored(first).await.revision, 1);
    let nobody = error(world.engine.batch(&world.ann, banksman_core::BatchId::from_parts(1, 1)).await);
    assert!(matches!(nobody, EngineError::NotFound));
    world.close().await;
}

fn keyed(key: &str, request: &str, actions: Vec<Action>) -> BatchRequest {
    let idempotency = Some((key.to_owned(), Digest::of(request.as_bytes())));
    BatchRequest { idempotency, ..BatchRequest::of(actions) }
}

#[tokio::test]
async fn a_batch_that_is_sent_again_with_its_key_is_the_same_batch() {
    let world = World::new().await;
    let read = |n: u32| Action::bare("read", Kind::Tool, json(&format!(r#"{{"n":{n}}}"#)));
    let request = || keyed("k", "one", vec![read(1), read(2), refund(1)]);
    let first = world.engine.propose_batch(&world.riley, request()).await.unwrap();
    assert!(!first.joined);
    let case = &first.cases[0];
    let claim = banksman_core::ClaimRequest { digest: case.submission.digest, preconditions: None };
    world.engine.claim(&world.riley, case.id, claim).await.unwrap();
    decide(&world, &first, vec![item(first.cases[2].id, Decision::Deny)]).await.unwrap();
    let again = world.engine.propose_batch(&world.riley, request()).await.unwrap();
    assert_eq!((again.joined, &again.record), (true, &first.record));
    let statuses: Vec<_> = again.cases.iter().map(|case| case.status()).collect();
    assert_eq!(statuses, [Status::Executing, Status::Authorised, Status::Denied]);
    assert_eq!(world.all_cases().await.len(), 3, "nothing new may run");
    // Keys are an agent's own, and lead to what they were first used for.
    let other = keyed("k", "two", vec![read(3)]);
    let reused = error(world.engine.propose_batch(&world.riley, other).await);
    assert!(matches!(reused, EngineError::IdempotencyKeyReused), "{reused:?}");
    assert!(!world.engine.propose_batch(&world.bo, request()).await.unwrap().joined);
    world.close().await;
}

#[tokio::test]
async fn a_key_of_one_action_is_no_key_of_a_batch() {
    let world = World::new().await;
    let digest = Digest::of(b"one");
    let mut single = banksman_engine::ProposeRequest::of(refund(1));
    single.idempotency = Some(("k".into(), digest));
    world.engine.propose(&world.riley, single).await.unwrap();
    for request in ["one", "two"] {
        let batch = keyed("k", request, vec![refund(2)]);
        let reused = error(world.engine.propose_batch(&world.riley, batch).await);
        assert!(matches!(reused, EngineError::IdempotencyKeyReused), "{reused:?}");
    }
    world.close().await;
}

#[tokio::test]
async fn a_batch_of_exactly_what_waits_as_a_batch_is_that_batch() {
    let world = World::new().await;
    let first = proposed(&world, [1, 2]).await;
    let request = || keyed("k", "one", vec![refund(1), refund(2)]);
    let joined = world.engine.propose_batch(&world.riley, request()).await.unwrap();
    assert_eq!((joined.joined, &joined.record), (true, &first.record));
    for other in [vec![refund(1)], vec![refund(2), refund(1)], vec![refund(1), refund(2), refund(3)]] {
        let refused = error(world.engine.propose_batch(&world.riley, BatchRequest::of(other)).await);
        assert!(matches!(refused, EngineError::Invalid(_)), "{refused:?}");
    }
    // Its key leads there also when it no longer waits.
    let denied = first.cases.iter().map(|case| item(case.id, Decision::Deny)).collect();
    decide(&world, &first, denied).await.unwrap();
    let later = world.engine.propose_batch(&world.riley, request()).await.unwrap();
    assert_eq!((later.joined, &later.record), (true, &first.record));
    world.close().await;
}
