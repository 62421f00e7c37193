//! What policy demands of each tool is what happens.

use banksman_core::{Authority, Decision, Mode, Risk, State, Status, Tier};
use banksman_engine::EngineError;
use banksman_policy::Policy;

use crate::world::{World, error, refusal, request};

#[tokio::test]
async fn each_tier_does_what_it_says() {
    let world = World::new().await;
    for (tool, tier, status, told) in [
        ("read", Tier::Auto, Status::Authorised, None),
        ("mail", Tier::Notify, Status::Authorised, Some("let_through")),
        ("refund", Tier::Approve, Status::Pending, Some("held")),
        ("drop", Tier::Escalate, Status::Pending, Some("held")),
        ("wipe", Tier::Block, Status::Blocked, None),
    ] {
        let before = world.notices().await.len();
        let case = world.propose(&world.riley, tool, "{}").await;
        assert_eq!((case.submission.verdict.tier, case.status()), (tier, status), "{tool}");
        assert_eq!(world.notices().await.get(before).map(String::as_str), told, "{tool}");
    }
    world.close().await;
}

#[tokio::test]
async fn what_policy_lets_through_can_be_claimed_at_once_and_only_once() {
    let world = World::new().await;
    let case = world.propose(&world.riley, "read", "{}").await;
    assert!(matches!(&case.state, State::Authorised { authority: Authority::Policy, .. }));
    assert!(world.engine.authorization(&case).unwrap().is_some());
    let claimed = world.claim(&world.riley, &case).await.unwrap();
    assert_eq!(claimed.case.status(), Status::Executing);
    assert_eq!(refusal(world.claim(&world.riley, &case).await).code(), "already_claimed");
    world.close().await;
}

#[tokio::test]
async fn nobody_overrides_a_block() {
    let world = World::new().await;
    let case = world.propose(&world.riley, "wipe", "{}").await;
    for decision in [Decision::Approve, Decision::Deny, Decision::Modify] {
        assert_eq!(refusal(world.decide(&world.ada, &case, decision).await).code(), "already_decided");
    }
    assert_eq!(refusal(world.claim(&world.riley, &case).await).code(), "not_authorised");
    assert!(world.engine.authorization(&case).unwrap().is_none());
    let cancelled = world.engine.cancel(&world.ada, case.id, None).await;
    assert_eq!(refusal(cancelled).code(), "already_decided");
    // Neither a mode nor a grant changes that for the next one.
    world.engine.change_mode(&world.ada, Mode::Shadow, None).await.unwrap();
    world.engine.change_mode(&world.ada, Mode::Lab, None).await.unwrap();
    let exact = case.submission.digest;
    let body =
        serde_json::json!({"agent": "riley", "tool": "wipe", "digest": exact, "expires_in_seconds": 60});
    world.engine.grant(&world.ada, serde_json::from_value(body).unwrap()).await.unwrap();
    assert_eq!(world.propose(&world.riley, "wipe", "{}").await.status(), Status::Blocked);
    world.close().await;
}

#[tokio::test]
async fn what_policy_does_not_know_is_high_risk_and_held() {
    let world = World::new().await;
    for tool in ["unheard_of", "Read", "read ", "unknown"] {
        let case = world.propose(&world.riley, tool, "{}").await;
        assert_eq!((case.status(), case.submission.verdict.risk), (Status::Pending, Risk::High), "{tool:?}");
    }
    world.close().await;
}

#[tokio::test]
async fn a_new_policy_holds_for_what_comes_after_it() {
    let world = World::new().await;
    let before = world.propose(&world.riley, "read", "{}").await;
    let stricter =
        Policy::parse("policy.yaml", "version: 1\ntools: {read: {risk: low, tier: block}}").unwrap();
    world.engine.load_policy(std::sync::Arc::new(stricter), "test").await.unwrap();
    assert_eq!(world.propose(&world.riley, "read", "{}").await.status(), Status::Blocked);
    world.claim(&world.riley, &before).await.unwrap();
    world.close().await;
}

#[tokio::test]
async fn the_mode_changes_one_step_at_a_time() {
    let world = World::new().await;
    let skipped = error(world.engine.change_mode(&world.ada, Mode::Lab, None).await);
    assert!(matches!(skipped, EngineError::IllegalModeChange(_)), "{skipped:?}");
    world.engine.change_mode(&world.ada, Mode::Shadow, None).await.unwrap();
    assert_eq!(world.engine.house_rules().await.unwrap().mode, Mode::Shadow);
    world.engine.propose(&world.riley, request("read", "{}")).await.unwrap();
    world.close().await;
}
