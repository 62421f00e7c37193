//! A policy that only observes: what would be held runs, on the record; blocks and freezes hold.

use banksman_core::{FreezeScope, Status, Tier};
use banksman_store::{EventQuery, Store};

use crate::world::World;

async fn observed(world: &World) -> usize {
    let query = EventQuery { observed_only: true, ..EventQuery::following(0, 1_000) };
    world.store.events(query).await.unwrap().len()
}

#[tokio::test]
async fn what_would_be_held_runs_at_once_with_its_true_tier() {
    let world = World::with_policy("enforcement: observe\n").await;
    for (tool, tier, status, is_observed) in [
        ("read", Tier::Auto, Status::Authorised, false),
        ("mail", Tier::Notify, Status::Authorised, false),
        ("refund", Tier::Approve, Status::Authorised, true),
        ("payout", Tier::Escalate, Status::Authorised, true),
        ("unheard_of", Tier::Approve, Status::Authorised, true),
        ("wipe", Tier::Block, Status::Blocked, false),
    ] {
        let before = observed(&world).await;
        let case = world.propose(&world.riley, tool, "{}").await;
        assert_eq!((case.submission.verdict.tier, case.status()), (tier, status), "{tool}");
        assert_eq!(case.was_observed(), is_observed, "{tool}");
        assert_eq!(observed(&world).await - before, usize::from(is_observed), "{tool}");
        if status == Status::Authorised {
            world.claim(&world.riley, &case).await.unwrap();
        }
    }
    world.close().await;
}

#[tokio::test]
async fn a_freeze_holds_all_the_same() {
    let world = World::with_policy("enforcement: observe\n").await;
    let before = world.propose(&world.riley, "refund", "{}").await;
    world.engine.freeze(&world.cem, FreezeScope::Everything, "drill".into()).await.unwrap();
    assert_eq!(world.propose(&world.riley, "refund", r#"{"n":1}"#).await.status(), Status::Blocked);
    assert!(world.claim(&world.riley, &before).await.is_err());
    assert_eq!(observed(&world).await, 1);
    world.close().await;
}

#[tokio::test]
async fn two_equal_calls_are_two_calls() {
    let world = World::with_policy("enforcement: observe\n").await;
    let (one, two) = (world.held().await, world.held().await);
    assert_ne!(one.id, two.id);
    world.close().await;
}
