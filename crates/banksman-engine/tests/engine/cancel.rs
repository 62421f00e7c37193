//! Withdrawing what waits, and taking back what was allowed and not used.

use banksman_core::{Decision, Refusal, State, Status};
use banksman_engine::EngineError;

use crate::world::{World, error, refusal};

#[tokio::test]
async fn an_agent_withdraws_and_a_reviewer_takes_off_the_table() {
    let world = World::new().await;
    for (caller, by) in [(&world.riley, "riley"), (&world.cem, "cem")] {
        let case = world.held().await;
        let case = world.engine.cancel(caller, case.id, Some("never mind".into())).await.unwrap();
        let State::Cancelled { by: who, reason, .. } = &case.state else { panic!("{case:?}") };
        assert_eq!((who.as_str(), reason.as_deref()), (by, Some("never mind")));
        assert_eq!(refusal(world.approve(&world.ann, &case).await).code(), "already_decided");
        assert_eq!(refusal(world.claim(&world.riley, &case).await).code(), "not_authorised");
        assert_eq!(refusal(world.engine.cancel(caller, case.id, None).await).code(), "already_decided");
    }
    world.close().await;
}

#[tokio::test]
async fn another_agent_does_not_even_see_it() {
    let world = World::new().await;
    let case = world.held().await;
    let refused = error(world.engine.cancel(&world.bo, case.id, None).await);
    assert!(matches!(refused, EngineError::NotFound), "{refused:?}");
    world.close().await;
}

#[tokio::test]
async fn what_is_taken_back_cannot_be_claimed() {
    let world = World::new().await;
    let by_people = world.approved().await;
    let by_policy = world.propose(&world.riley, "read", "{}").await;
    for case in [by_people, by_policy] {
        let revoked = world.engine.cancel(&world.ann, case.id, None).await.unwrap();
        assert_eq!(revoked.status(), Status::Revoked);
        assert_eq!(
            refusal(world.claim(&world.riley, &case).await),
            Refusal::NotAuthorised { status: Status::Revoked }
        );
        assert!(world.engine.authorization(&revoked).unwrap().is_none());
    }
    // The question can be asked again.
    assert_eq!(world.held().await.status(), Status::Pending);
    world.close().await;
}

#[tokio::test]
async fn what_runs_or_is_over_is_not_cancelled() {
    let world = World::new().await;
    let running = world.approved().await;
    world.claim(&world.riley, &running).await.unwrap();
    assert_eq!(refusal(world.engine.cancel(&world.ann, running.id, None).await).code(), "already_claimed");
    let denied = world.held().await;
    world.decide(&world.ann, &denied, Decision::Deny).await.unwrap();
    assert_eq!(refusal(world.engine.cancel(&world.riley, denied.id, None).await).code(), "already_decided");
    world.close().await;
}
