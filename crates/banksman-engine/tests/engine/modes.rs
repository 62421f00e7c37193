//! The operating mode: who changes it, and when it falls back by itself.

use std::time::Duration;

use banksman_core::{Mode, Outcome, Status, Tier};
use banksman_engine::{Engine, EngineError};

use crate::faulty::Fault;
use crate::world::{LEASE, World, body, claim_of, error, request};

/// Bea is of support; two failures within a minute are too many.
const MODES: &str = "
modes:
  change_to:
    production: {roles: [support], require_reason: true}
  fallback: {failures: 2, within: 1m}
";

async fn fail(world: &World) {
    fail_at(world, &world.engine).await;
}

async fn fail_at(world: &World, engine: &Engine) {
    let case = engine.propose(&world.riley, request("read", "{}")).await.unwrap().case;
    engine.claim(&world.riley, case.id, claim_of(&case)).await.unwrap();
    let failed = Outcome::Failed { error: Some("no".into()), result: None };
    engine.record_outcome(&world.riley, case.id, failed).await.unwrap();
}

async fn mode(world: &World) -> (Mode, Option<Mode>) {
    let mode = world.engine.mode().await.unwrap();
    (mode.mode, mode.fell_back_from)
}

#[tokio::test]
async fn policy_says_who_changes_to_a_mode() {
    let world = World::with_policy(MODES).await;
    let engine = &world.engine;
    let why = || Some("all is well".to_owned());
    let reviewer = error(engine.change_mode(&world.bea, Mode::Shadow, None).await);
    assert!(matches!(reviewer, EngineError::NotYours(_)), "{reviewer:?}");
    engine.change_mode(&world.ada, Mode::Shadow, None).await.unwrap();
    let admin = error(engine.change_mode(&world.ada, Mode::Production, why()).await);
    assert!(matches!(admin, EngineError::MissingRole { .. }), "an administrator without the role: {admin:?}");
    let silent = error(engine.change_mode(&world.bea, Mode::Production, Some(" ".into())).await);
    assert!(matches!(silent, EngineError::ReasonRequired), "{silent:?}");
    engine.change_mode(&world.bea, Mode::Production, why()).await.unwrap();
    assert_eq!(mode(&world).await, (Mode::Production, None));
    world.close().await;
}

#[tokio::test]
async fn so_many_failures_within_so_long_fall_back_to_shadow() {
    let world = World::with_policy(MODES).await;
    fail(&world).await;
    world.clock.pass(Duration::from_secs(60));
    fail(&world).await;
    assert_eq!(mode(&world).await, (Mode::Production, None), "a minute apart");
    world.clock.pass(Duration::from_secs(59));
    fail(&world).await;
    assert_eq!(mode(&world).await, (Mode::Shadow, Some(Mode::Production)));
    assert_eq!(world.notices().await, ["mode_fell_back"]);
    // Whoever goes back begins with a clean slate.
    world.engine.change_mode(&world.bea, Mode::Production, Some("mended".into())).await.unwrap();
    fail(&world).await;
    assert_eq!(mode(&world).await, (Mode::Production, None));
    world.close().await;
}

#[tokio::test]
async fn an_outcome_that_never_came_counts_and_one_action_counts_once() {
    let world = World::with_policy("modes: {fallback: {failures: 2, within: 1h}}\n").await;
    let case = world.propose(&world.riley, "read", "{}").await;
    world.claim(&world.riley, &case).await.unwrap();
    world.clock.pass(LEASE);
    world.engine.move_overdue().await.unwrap();
    let failed = Outcome::Failed { error: None, result: None };
    world.engine.record_outcome(&world.riley, case.id, failed.clone()).await.unwrap();
    world.engine.record_outcome(&world.riley, case.id, failed).await.unwrap();
    assert_eq!(mode(&world).await.0, Mode::Production);
    fail(&world).await;
    assert_eq!(mode(&world).await.0, Mode::Shadow);
    world.close().await;
}

/// An agent that fails on purpose must not get anything for it: shadow asks less than production.
#[tokio::test]
async fn a_fallback_never_lowers_what_is_demanded() {
    let world = World::with_policy(MODES).await;
    let risky = || body(r#"{"tool":"read","args":{},"predicted_severity":"S2"}"#, None);
    let before = world.engine.propose(&world.riley, risky()).await.unwrap().case;
    assert_eq!(before.status(), Status::Pending);
    world.engine.cancel(&world.riley, before.id, None).await.unwrap();
    fail(&world).await;
    fail(&world).await;
    let after = world.engine.propose(&world.riley, risky()).await.unwrap().case;
    assert_eq!((after.status(), after.submission.verdict.tier), (Status::Pending, Tier::Approve));
    world.engine.cancel(&world.riley, after.id, None).await.unwrap();
    // A person who sets the mode means it.
    world.engine.change_mode(&world.ada, Mode::Shadow, None).await.unwrap();
    let set = world.engine.propose(&world.riley, risky()).await.unwrap().case;
    assert_eq!(set.status(), Status::Authorised);
    world.close().await;
}

#[tokio::test]
async fn anyone_who_decides_may_call_for_it_and_in_other_modes_nothing_happens() {
    let world = World::new().await;
    assert!(matches!(error(world.engine.fall_back(&world.cem, " ").await), EngineError::ReasonRequired));
    world.engine.fall_back(&world.cem, "the numbers look odd").await.unwrap();
    assert_eq!(mode(&world).await, (Mode::Shadow, Some(Mode::Production)));
    world.engine.fall_back(&world.cem, "again").await.unwrap();
    world.engine.change_mode(&world.ada, Mode::Lab, None).await.unwrap();
    world.engine.fall_back(&world.cem, "in the lab").await.unwrap();
    assert_eq!(mode(&world).await, (Mode::Lab, None));
    world.close().await;
}

/// Killed between the last failure and the fallback: the next start makes up for it.
#[tokio::test]
async fn a_fallback_that_was_lost_is_made_up_for() {
    for fault in Fault::PAIR {
        let world = World::with_policy(MODES).await;
        fail(&world).await;
        let case = world.propose(&world.riley, "read", "{}").await;
        world.claim(&world.riley, &case).await.unwrap();
        world.store.next([None, Some(fault)]);
        let failed = Outcome::Failed { error: None, result: None };
        world.engine.record_outcome(&world.riley, case.id, failed).await.unwrap();
        let restarted = world.restarted().await;
        let workers = restarted.start_workers(std::sync::Arc::new(banksman_engine::LogSink));
        let fallen = async {
            while restarted.mode().await.unwrap().mode != Mode::Shadow {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), fallen).await.unwrap();
        for worker in workers {
            worker.abort();
        }
        assert_eq!(mode(&world).await, (Mode::Shadow, Some(Mode::Production)), "{fault:?}");
        world.close().await;
    }
}

#[tokio::test]
async fn what_fails_on_all_nodes_together_counts() {
    let world = World::with_policy("modes: {fallback: {failures: 4, within: 1m}}\n").await;
    let other = world.restarted().await;
    for engine in [&world.engine, &other, &world.engine] {
        fail_at(&world, engine).await;
        assert_eq!(mode(&world).await, (Mode::Production, None));
    }
    fail_at(&world, &other).await;
    assert_eq!(other.mode().await.unwrap().mode, Mode::Shadow);
    world.close().await;
}

/// Whoever changes the mode has seen what failed before.
#[tokio::test]
async fn what_failed_before_the_mode_was_changed_by_hand_does_not_count() {
    let world = World::with_policy("modes: {fallback: {failures: 3, within: 1h}}\n").await;
    fail(&world).await;
    fail(&world).await;
    world.engine.change_mode(&world.ada, Mode::Shadow, None).await.unwrap();
    // In shadow, failures are what one looks for.
    for _ in 0..3 {
        fail(&world).await;
    }
    world.engine.change_mode(&world.ada, Mode::Production, None).await.unwrap();
    fail(&world).await;
    fail(&world).await;
    assert_eq!(mode(&world).await, (Mode::Production, None));
    fail(&world).await;
    assert_eq!(mode(&world).await, (Mode::Shadow, Some(Mode::Production)));
    world.close().await;
}
