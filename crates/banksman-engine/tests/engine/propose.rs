//! Proposing: held once, joined when it already waits, and found again by its key.

use std::time::Duration;

use banksman_core::{Decision, Outcome, Status};
use banksman_engine::EngineError;
use banksman_store::{PendingLimits, Store};

use crate::world::{HOUR, QUARTER, World, body, error, joined, request};

#[tokio::test]
async fn what_needs_approval_waits_and_people_are_told_once() {
    let world = World::new().await;
    let case = world.held().await;
    assert_eq!(
        (case.status(), case.agent.as_str(), case.owner.as_deref()),
        (Status::Pending, "riley", Some("olga"))
    );
    assert_eq!(world.notices().await, ["held"]);
    assert_eq!(world.engine.pending_count().await.unwrap(), 1);
    world.close().await;
}

#[tokio::test]
async fn the_same_proposal_joins_what_waits_and_what_people_allowed() {
    let world = World::new().await;
    let case = world.held().await;
    // Spelled otherwise, worded otherwise: it would run the same.
    let again = body(r#"{"args":{"amount":5.0},"tool":"refund","description":"please"}"#, None);
    let proposed = world.engine.propose(&world.riley, again.clone()).await.unwrap();
    assert_eq!(joined(&proposed), (true, case.id));

    world.approve(&world.ann, &case).await.unwrap();
    let proposed = world.engine.propose(&world.riley, again.clone()).await.unwrap();
    assert_eq!((joined(&proposed), proposed.case.status()), ((true, case.id), Status::Authorised));

    // Once it is used, the same question is a new one.
    world.claim(&world.riley, &case).await.unwrap();
    let proposed = world.engine.propose(&world.riley, again).await.unwrap();
    assert!(!proposed.joined && proposed.case.status() == Status::Pending);
    assert_eq!(world.notices().await, ["held", "held"]);
    world.close().await;
}

#[tokio::test]
async fn only_ones_own_question_is_joined() {
    let world = World::new().await;
    let case = world.held().await;
    let other = world.engine.propose(&world.bo, request("refund", r#"{"amount":5}"#)).await.unwrap();
    assert!(!other.joined);
    assert_ne!(other.case.id, case.id);
    // And what nobody is asked about is never joined: two equal calls are two calls.
    let first = world.engine.propose(&world.riley, request("read", "{}")).await.unwrap();
    let second = world.engine.propose(&world.riley, request("read", "{}")).await.unwrap();
    assert!(!first.joined && !second.joined);
    world.close().await;
}

#[tokio::test]
async fn a_key_leads_to_the_same_action_for_all_its_life() {
    let world = World::new().await;
    let text = r#"{"tool":"refund","args":{"amount":5,"to":"x"}}"#;
    // The same request in another spelling is the same request.
    let again = r#"{ "args": {"to": "x", "amount": 5.00}, "tool": "refund" }"#;
    let case = world.engine.propose(&world.riley, body(text, Some("k"))).await.unwrap().case;
    let retry = || async {
        let proposed = world.engine.propose(&world.riley, body(again, Some("k"))).await.unwrap();
        assert_eq!(joined(&proposed), (true, case.id));
        proposed.case.status()
    };
    assert_eq!(retry().await, Status::Pending);
    world.approve(&world.ann, &case).await.unwrap();
    assert_eq!(retry().await, Status::Authorised);
    world.claim(&world.riley, &case).await.unwrap();
    assert_eq!(retry().await, Status::Executing);
    let done = Outcome::Succeeded { result: None };
    world.engine.record_outcome(&world.riley, case.id, done).await.unwrap();
    assert_eq!(retry().await, Status::Succeeded);
    assert_eq!(world.all_cases().await.len(), 1);
    // Also to an engine that remembers nothing.
    let restarted = world.restarted().await;
    let proposed = restarted.propose(&world.riley, body(text, Some("k"))).await.unwrap();
    assert_eq!(joined(&proposed), (true, case.id));
    world.close().await;
}

#[tokio::test]
async fn a_key_is_good_for_one_request_of_one_agent() {
    let world = World::new().await;
    let text = r#"{"tool":"refund","args":{"amount":5}}"#;
    let case = world.engine.propose(&world.riley, body(text, Some("k"))).await.unwrap().case;
    for other in [
        r#"{"tool":"refund","args":{"amount":6}}"#,
        r#"{"tool":"read","args":{"amount":5}}"#,
        // Nothing else would run, but something else is asked.
        r#"{"tool":"refund","args":{"amount":5},"description":"new"}"#,
    ] {
        let refused = error(world.engine.propose(&world.riley, body(other, Some("k"))).await);
        assert!(matches!(refused, EngineError::IdempotencyKeyReused), "{refused:?}");
    }
    let other = world.engine.propose(&world.bo, body(text, Some("k"))).await.unwrap();
    assert!(!other.joined && other.case.id != case.id);
    world.close().await;
}

#[tokio::test]
async fn a_key_makes_one_call_of_two_equal_ones() {
    let world = World::new().await;
    let text = r#"{"tool":"read","args":{}}"#;
    let first = world.engine.propose(&world.riley, body(text, Some("k"))).await.unwrap();
    let second = world.engine.propose(&world.riley, body(text, Some("k"))).await.unwrap();
    let third = world.engine.propose(&world.riley, body(text, Some("l"))).await.unwrap();
    assert_eq!(first.case.id, second.case.id);
    assert_ne!(first.case.id, third.case.id);
    world.close().await;
}

#[tokio::test]
async fn the_key_of_a_proposal_that_joined_leads_to_what_it_joined() {
    let world = World::new().await;
    let case = world.held().await;
    let text = r#"{"tool":"refund","args":{"amount":5}}"#;
    let proposed = world.engine.propose(&world.riley, body(text, Some("k"))).await.unwrap();
    assert_eq!(joined(&proposed), (true, case.id));
    world.decide(&world.ann, &case, Decision::Deny).await.unwrap();
    // Without the key it is a new question; with it, it is the old one and its answer.
    let proposed = world.engine.propose(&world.riley, body(text, Some("k"))).await.unwrap();
    assert_eq!((joined(&proposed), proposed.case.status()), ((true, case.id), Status::Denied));
    let other = body(r#"{"tool":"refund","args":{"amount":9}}"#, Some("k"));
    assert!(matches!(
        error(world.engine.propose(&world.riley, other).await),
        EngineError::IdempotencyKeyReused
    ));
    world.close().await;
}

#[tokio::test]
async fn what_is_overdue_is_expired_and_asked_anew() {
    let world = World::new().await;
    let old = world.held().await;
    world.clock.pass(HOUR);
    // The timekeeper has not come by; nobody may join a question that can no longer be answered.
    let proposed = world.engine.propose(&world.riley, request("refund", r#"{"amount":5}"#)).await.unwrap();
    assert!(!proposed.joined && proposed.case.id != old.id);
    assert_eq!(world.stored(old.id).await.status(), Status::Expired);

    let approved = world.approve(&world.ann, &proposed.case).await.unwrap();
    world.clock.pass(QUARTER);
    let keyed = body(r#"{"tool":"refund","args":{"amount":5}}"#, Some("k"));
    let proposed = world.engine.propose(&world.riley, keyed).await.unwrap();
    assert!(!proposed.joined);
    assert_eq!(world.stored(approved.id).await.status(), Status::Lapsed);
    world.close().await;
}

#[tokio::test]
async fn arguments_follow_the_schema_that_comes_with_them() {
    let world = World::new().await;
    let propose = |args: &str| {
        let schema = r#"{"type":"object","required":["amount"],"properties":{"amount":{"type":"integer"}}}"#;
        let text = format!(r#"{{"tool":"refund","args":{args},"args_schema":{schema}}}"#);
        world.engine.propose(&world.riley, body(&text, None))
    };
    for args in ["{}", r#"{"amount":"5"}"#, r#"{"amount":1.5}"#] {
        let refused = error(propose(args).await);
        assert!(matches!(refused, EngineError::InvalidArgs(_)), "{args}: {refused:?}");
    }
    let broken = r#"{"tool":"refund","args":{},"args_schema":{"type":"nonsense"}}"#;
    let refused = error(world.engine.propose(&world.riley, body(broken, None)).await);
    assert!(matches!(refused, EngineError::InvalidArgs(_)), "{refused:?}");
    assert!(world.all_cases().await.is_empty());
    propose(r#"{"amount":5}"#).await.unwrap();
    world.close().await;
}

#[tokio::test]
async fn an_agent_may_wait_less_long_than_policy_allows_but_not_longer() {
    let world = World::new().await;
    for (wish, granted) in [(60, 60), (7_200, 3_600)] {
        let text = format!(r#"{{"tool":"refund","args":{{"wish":{wish}}},"timeout_seconds":{wish}}}"#);
        let case = world.engine.propose(&world.riley, body(&text, None)).await.unwrap().case;
        let deadline = case.state.wakes_at().unwrap();
        assert_eq!(deadline.since(case.created_at), Duration::from_secs(granted));
    }
    world.close().await;
}

#[tokio::test]
async fn a_full_queue_takes_nothing_new_but_still_joins() {
    let world = World::with_limits(PendingLimits { per_agent: 2, total: 3 }).await;
    let refund = |amount: u32| request("refund", &format!(r#"{{"amount":{amount}}}"#));
    let first = world.engine.propose(&world.riley, refund(1)).await.unwrap().case;
    world.engine.propose(&world.riley, refund(2)).await.unwrap();
    let full = error(world.engine.propose(&world.riley, refund(3)).await);
    assert!(matches!(full, EngineError::TooManyPending { scope: "for this agent", .. }), "{full:?}");
    let said = full.to_string();
    assert!(said.contains("at most 2 ") && said.contains("--max-pending-per-agent"), "{said}");
    assert!(world.engine.propose(&world.riley, refund(1)).await.unwrap().joined);
    // What nobody has to look at is not held back.
    world.propose(&world.riley, "read", "{}").await;

    world.engine.propose(&world.bo, refund(1)).await.unwrap();
    let full = error(world.engine.propose(&world.bo, refund(2)).await);
    assert!(matches!(full, EngineError::TooManyPending { scope: "altogether", .. }), "{full:?}");
    let said = full.to_string();
    assert!(said.contains("at most 3 ") && said.contains("--max-pending`"), "{said}");
    world.decide(&world.ann, &first, Decision::Deny).await.unwrap();
    world.engine.propose(&world.riley, refund(3)).await.unwrap();
    assert_eq!(world.store.pending_count().await.unwrap(), 3);
    world.close().await;
}

#[tokio::test]
async fn a_proposal_under_way_takes_little_memory() {
    let world = World::new().await;
    let proposing = world.engine.propose(&world.riley, request("read", "{}"));
    // Thousands wait at a time. What is rare is on the heap, or each of them would have room for it.
    let taken = size_of_val(&proposing);
    assert!(taken <= 5 * 1024, "{taken} bytes");
    drop(proposing);
    world.close().await;
}
