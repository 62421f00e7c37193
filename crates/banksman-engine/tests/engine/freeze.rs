//! The kill switch: while it is on, nothing is let through, whatever anyone decided before.

use banksman_core::{Decision, FreezeId, FreezeScope, Outcome, Refusal, Status};
use banksman_engine::EngineError;
use banksman_store::Store;

use crate::faulty::Fault;
use crate::world::{World, ballot, edit, error, refusal};

#[tokio::test]
async fn while_everything_is_frozen_nothing_opens_passes_or_runs() {
    let world = World::new().await;
    let waiting = world.held().await;
    let approved = world.propose(&world.riley, "refund", r#"{"amount":7}"#).await;
    let approved = world.approve(&world.ann, &approved).await.unwrap();
    let allowed = world.propose(&world.riley, "read", "{}").await;
    let freeze = world.engine.freeze(&world.cem, FreezeScope::Everything, "drill".into()).await.unwrap();

    let frozen = Refusal::Frozen { freeze: freeze.id, reason: "drill".into() };
    assert_eq!(refusal(world.approve(&world.ann, &waiting).await), frozen);
    let edited = world.engine.decide(&world.ann, waiting.id, edit(&waiting, "{}")).await;
    assert_eq!(refusal(edited), frozen);
    assert_eq!(refusal(world.claim(&world.riley, &approved).await), frozen);
    assert_eq!(refusal(world.claim(&world.riley, &allowed).await), frozen);
    for tool in ["read", "mail", "deploy", "drop", "wipe"] {
        let case = world.propose(&world.riley, tool, r#"{"while":"frozen"}"#).await;
        assert_eq!(case.status(), Status::Blocked, "{tool}");
    }

    world.engine.unfreeze(&world.cem, freeze.id).await.unwrap();
    world.approve(&world.ann, &waiting).await.unwrap();
    world.claim(&world.riley, &approved).await.unwrap();
    world.claim(&world.riley, &allowed).await.unwrap();
    // What was blocked stays blocked; it has to be asked again.
    assert_eq!(
        world.propose(&world.riley, "mail", r#"{"while":"frozen"}"#).await.status(),
        Status::Authorised
    );
    world.close().await;
}

#[tokio::test]
async fn a_freeze_that_another_node_has_lifted_refuses_nothing() {
    let world = World::new().await;
    let case = world.held().await;
    let freeze = world.engine.freeze(&world.cem, FreezeScope::Everything, "drill".into()).await.unwrap();
    // This node remembers the action as pending and the freeze as in force. Both are over.
    let other = world.restarted().await;
    other.unfreeze(&world.cem, freeze.id).await.unwrap();
    other.decide(&world.ann, case.id, ballot(&case, Decision::Approve)).await.unwrap();
    world.claim(&world.riley, &case).await.unwrap();
    world.close().await;
}

#[tokio::test]
async fn saying_no_and_telling_the_truth_work_while_frozen() {
    let world = World::new().await;
    let running = world.approved().await;
    world.claim(&world.riley, &running).await.unwrap();
    let waiting = world.held().await;
    let unused = world.propose(&world.riley, "read", "{}").await;
    world.engine.freeze(&world.ada, FreezeScope::Everything, "drill".into()).await.unwrap();
    assert_eq!(world.decide(&world.ann, &waiting, Decision::Deny).await.unwrap().status(), Status::Denied);
    assert_eq!(world.engine.cancel(&world.ann, unused.id, None).await.unwrap().status(), Status::Revoked);
    let done = Outcome::Succeeded { result: None };
    let done = world.engine.record_outcome(&world.riley, running.id, done).await.unwrap();
    assert_eq!(done.status(), Status::Succeeded);
    world.close().await;
}

#[tokio::test]
async fn a_freeze_covers_its_agent_or_its_tool_and_no_other() {
    let world = World::new().await;
    let agent = FreezeScope::Agent("riley".into());
    let freeze = world.engine.freeze(&world.ada, agent, "odd behaviour".into()).await.unwrap();
    assert_eq!(world.propose(&world.riley, "read", "{}").await.status(), Status::Blocked);
    assert_eq!(world.propose(&world.bo, "read", "{}").await.status(), Status::Authorised);
    world.engine.unfreeze(&world.ada, freeze.id).await.unwrap();

    let tool = FreezeScope::Tool("mail".into());
    world.engine.freeze(&world.ada, tool, "wrong template".into()).await.unwrap();
    assert_eq!(world.propose(&world.bo, "mail", "{}").await.status(), Status::Blocked);
    assert_eq!(world.propose(&world.bo, "read", "{}").await.status(), Status::Authorised);
    world.close().await;
}

#[tokio::test]
async fn two_freezes_have_to_be_lifted_twice() {
    let world = World::new().await;
    let everything = || world.engine.freeze(&world.ada, FreezeScope::Everything, "drill".into());
    let (one, two) = (everything().await.unwrap(), everything().await.unwrap());
    world.engine.unfreeze(&world.ada, one.id).await.unwrap();
    assert_eq!(world.propose(&world.bo, "read", "{}").await.status(), Status::Blocked);
    world.engine.unfreeze(&world.ada, two.id).await.unwrap();
    assert_eq!(world.propose(&world.bo, "read", "{}").await.status(), Status::Authorised);
    for gone in [one.id, FreezeId::from_parts(1, 1)] {
        assert!(matches!(error(world.engine.unfreeze(&world.ada, gone).await), EngineError::NotFound));
    }
    world.close().await;
}

#[tokio::test]
async fn a_freeze_by_a_neighbour_holds_at_once() {
    let world = World::new().await;
    let case = world.approved().await;
    let waiting = world.held_other().await;
    let neighbour = world.neighbour().await;
    let freeze = neighbour.freeze(&world.ada, FreezeScope::Everything, "drill".into()).await.unwrap();
    // This engine has not been told; the store tells it when it tries.
    assert_eq!(refusal(world.claim(&world.riley, &case).await).code(), "frozen");
    assert_eq!(refusal(world.approve(&world.ann, &waiting).await).code(), "frozen");
    assert_eq!(world.propose(&world.riley, "read", "{}").await.status(), Status::Blocked);
    // And the same when it is lifted: a refusal is only given on what is stored.
    neighbour.unfreeze(&world.ada, freeze.id).await.unwrap();
    world.claim(&world.riley, &case).await.unwrap();
    world.approve(&world.ann, &waiting).await.unwrap();
    world.close().await;
}

#[tokio::test]
async fn a_freeze_whose_answer_was_lost_holds_all_the_same() {
    let world = World::new().await;
    let case = world.approved().await;
    world.store.next([Some(Fault::Stored)]);
    let lost = error(world.engine.freeze(&world.ada, FreezeScope::Everything, "drill".into()).await);
    assert!(matches!(lost, EngineError::Store(_)), "{lost:?}");
    assert_eq!(refusal(world.claim(&world.riley, &case).await).code(), "frozen");
    // Lifted, and the answer lost again.
    let freeze = world.store.control().await.unwrap().freezes[0].id;
    world.store.next([Some(Fault::Stored)]);
    assert!(matches!(error(world.engine.unfreeze(&world.ada, freeze).await), EngineError::Store(_)));
    world.claim(&world.riley, &case).await.unwrap();
    world.close().await;
}
