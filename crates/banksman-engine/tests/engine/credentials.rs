//! Who comes in, and from when on no longer.

use std::sync::Arc;
use std::time::Duration;

use banksman_core::{Actor, Decision, FreezeScope, Mode, Outcome, PrincipalKind, Status, TokenId};
use banksman_engine::{EngineError, NewToken};
use banksman_store::Store;

use crate::faulty::Fault;
use crate::world::{INSTANT, World, error, newcomers, request};

fn gone<T>(result: Result<T, EngineError>) -> bool {
    matches!(error(result), EngineError::Unauthenticated)
}

#[tokio::test]
async fn a_secret_says_who_someone_is() {
    let world = World::new().await;
    let new = NewToken {
        kind: PrincipalKind::Reviewer,
        name: "dora".into(),
        owner: None,
        roles: vec!["finance".into()],
        lifetime: None,
    };
    let issued = world.engine.issue_token(new, Actor::Operator).await.unwrap();
    let dora = world.engine.authenticate(&issued.secret).await.unwrap();
    assert_eq!((dora.token, dora.name.as_str(), dora.kind), (issued.id, "dora", PrincipalKind::Reviewer));
    assert_eq!(dora.roles, ["finance"]);
    assert!(issued.secret.starts_with("bkm_reviewer_"));
    for wrong in ["", "bkm_reviewer_", &issued.secret[1..], &format!("{}x", issued.secret)] {
        assert!(gone(world.engine.authenticate(wrong).await), "{wrong:?}");
    }
    // Only its hash is stored, and it is not shown by accident.
    let all = format!("{:?} {:?}", world.engine.tokens().await.unwrap(), issued);
    assert!(!all.contains(&issued.secret["bkm_reviewer_".len()..]));
    world.close().await;
}

#[tokio::test]
async fn a_credential_that_makes_no_sense_is_not_issued() {
    let world = World::new().await;
    let new = |kind, name: &str, owner: Option<&str>, roles: &[&str]| NewToken {
        kind,
        name: name.into(),
        owner: owner.map(Into::into),
        roles: roles.iter().map(ToString::to_string).collect(),
        lifetime: None,
    };
    let before = world.engine.tokens().await.unwrap().len();
    for odd in [
        new(PrincipalKind::Agent, " ", None, &[]),
        new(PrincipalKind::Agent, "a\nb", None, &[]),
        new(PrincipalKind::Agent, &"x".repeat(129), None, &[]),
        new(PrincipalKind::Agent, "a", None, &["finance"]),
        new(PrincipalKind::Agent, "a", Some(""), &[]),
        new(PrincipalKind::Reviewer, "r", Some("olga"), &[]),
        new(PrincipalKind::Reviewer, "r", None, &[""]),
    ] {
        let shown = format!("{odd:?}");
        let refused = error(world.engine.issue_token(odd, Actor::Operator).await);
        assert!(matches!(refused, EngineError::Invalid(_)), "{shown}: {refused:?}");
    }
    assert_eq!(world.engine.tokens().await.unwrap().len(), before);
    world.close().await;
}

#[tokio::test]
async fn a_revoked_reviewer_decides_nothing_from_that_moment_on() {
    let world = World::new().await;
    let (case, other) = (world.held().await, world.propose(&world.riley, "drop", "{}").await);
    let issued = world.issue(PrincipalKind::Admin, "dora").await;
    // Authenticated before, and used before: nothing that is remembered may help.
    let dora = world.engine.authenticate(&issued.secret).await.unwrap();
    world.approve(&dora, &other).await.unwrap();
    world.engine.revoke_token(issued.id, Actor::Operator).await.unwrap();

    for decision in [Decision::Approve, Decision::Deny] {
        assert!(gone(world.decide(&dora, &case, decision).await), "{decision}");
    }
    assert!(gone(world.engine.cancel(&dora, case.id, None).await));
    let grant = serde_json::json!({"agent": "riley", "tool": "deploy", "expires_in_seconds": 60});
    assert!(gone(world.engine.grant(&dora, serde_json::from_value(grant).unwrap()).await));
    assert!(gone(world.engine.change_mode(&dora, Mode::Shadow, None).await));
    let freeze = world.engine.freeze(&world.ada, FreezeScope::Everything, "drill".into()).await.unwrap();
    assert!(gone(world.engine.unfreeze(&dora, freeze.id).await));
    assert!(gone(world.engine.authenticate(&issued.secret).await));
    assert_eq!(world.stored(case.id).await.revision, 1);
    world.close().await;
}

#[tokio::test]
async fn a_revoked_agent_proposes_and_claims_nothing_from_that_moment_on() {
    let world = World::new().await;
    let issued = world.issue(PrincipalKind::Agent, "dot").await;
    let dot = world.engine.authenticate(&issued.secret).await.unwrap();
    let waiting = world.propose(&dot, "refund", "{}").await;
    let allowed = world.propose(&dot, "read", "{}").await;
    let running = world.propose(&dot, "read", "{}").await;
    world.claim(&dot, &running).await.unwrap();
    world.engine.revoke_token(issued.id, Actor::Operator).await.unwrap();

    assert!(gone(world.claim(&dot, &allowed).await));
    assert!(gone(world.engine.propose(&dot, request("read", "{}")).await));
    // Not even what would only be joined.
    assert!(gone(world.engine.propose(&dot, request("refund", "{}")).await));
    let batch = vec![request("read", "{}").action];
    assert!(gone(world.engine.propose_batch(&dot, banksman_engine::BatchRequest::of(batch)).await));
    let done = Outcome::Succeeded { result: None };
    assert!(gone(world.engine.record_outcome(&dot, running.id, done).await));
    assert_eq!(world.all_cases().await.len(), 3);
    assert_eq!(world.stored(waiting.id).await.status(), Status::Pending);
    world.close().await;
}

#[tokio::test]
async fn a_revocation_by_a_neighbour_holds_at_once() {
    let world = World::new().await;
    let case = world.held().await;
    let neighbour = world.neighbour().await;
    neighbour.revoke_token(world.ann.token, Actor::Operator).await.unwrap();
    assert!(gone(world.approve(&world.ann, &case).await));
    world.approve(&world.bea, &case).await.unwrap();
    // And whoever was let in by the neighbour is let in here.
    let new = NewToken {
        kind: PrincipalKind::Agent,
        name: "eve".into(),
        owner: None,
        roles: Vec::new(),
        lifetime: None,
    };
    let issued = neighbour.issue_token(new, Actor::Operator).await.unwrap();
    let eve = world.engine.authenticate(&issued.secret).await.unwrap();
    world.propose(&eve, "read", "{}").await;
    world.close().await;
}

#[tokio::test]
async fn a_credential_ends_at_its_moment() {
    let world = World::new().await;
    let case = world.held().await;
    let new = NewToken {
        kind: PrincipalKind::Reviewer,
        name: "dora".into(),
        owner: None,
        roles: Vec::new(),
        lifetime: Some(Duration::from_secs(60)),
    };
    let issued = world.engine.issue_token(new, Actor::Operator).await.unwrap();
    let dora = world.engine.authenticate(&issued.secret).await.unwrap();
    world.clock.pass(Duration::from_secs(60) - INSTANT);
    world.engine.authenticate(&issued.secret).await.unwrap();
    world.clock.pass(INSTANT);
    assert!(gone(world.approve(&dora, &case).await));
    world.clock.pass(Duration::from_secs(1));
    assert!(gone(world.engine.authenticate(&issued.secret).await));
    world.close().await;
}

#[tokio::test]
async fn revoking_is_recorded_once_and_the_unknown_is_not_found() {
    let world = World::new().await;
    let issued = world.issue(PrincipalKind::Agent, "dot").await;
    for _ in 0..2 {
        world.engine.revoke_token(issued.id, Actor::Operator).await.unwrap();
    }
    let query = banksman_store::EventQuery {
        kind: Some("token_revoked".into()),
        ..banksman_store::EventQuery::following(0, 100)
    };
    assert_eq!(world.store.events(query).await.unwrap().len(), 1);
    let unknown = world.engine.revoke_token(TokenId::from_parts(1, 1), Actor::Operator).await;
    assert!(matches!(error(unknown), EngineError::NotFound));
    world.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_by_a_revoked_credential_is_recorded_behind_its_revocation() {
    let world = World::new().await;
    for round in 0..10 {
        let issued = world.issue(PrincipalKind::Reviewer, "dora").await;
        let dora = world.engine.authenticate(&issued.secret).await.unwrap();
        let mut tasks = tokio::task::JoinSet::new();
        for place in 0..16 {
            let case = world.propose(&world.riley, "refund", &format!(r#"{{"n":[{round},{place}]}}"#)).await;
            let (engine, dora) = (Arc::clone(&world.engine), Arc::clone(&dora));
            tasks.spawn(async move {
                let request = crate::world::ballot(&case, Decision::Approve);
                drop(engine.decide(&dora, case.id, request).await);
            });
        }
        world.engine.revoke_token(issued.id, Actor::Operator).await.unwrap();
        tasks.join_all().await;
        let all = world.store.events(banksman_store::EventQuery::following(0, 100_000)).await.unwrap();
        let revoked = all.iter().rposition(|event| event.kind == "token_revoked").unwrap();
        let late = all[revoked..].iter().filter(|event| event.kind == "decided").count();
        assert_eq!(late, 0, "decided by a credential that had been revoked");
    }
    world.close().await;
}

/// What a new installation begins with.
fn first_tokens() -> [NewToken; 2] {
    [(PrincipalKind::Reviewer, "olga"), (PrincipalKind::Agent, "agent")].map(|(kind, name)| NewToken {
        kind,
        name: name.into(),
        owner: None,
        roles: Vec::new(),
        lifetime: None,
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_nodes_that_start_together_one_is_the_first_and_gets_everything() {
    for _ in 0..10 {
        let (nodes, _, _folder) = newcomers(3).await;
        let first = first_tokens();
        let asks = nodes.iter().map(|node| node.issue_first_tokens(&first, &Actor::Operator));
        let answers = futures_util::future::join_all(asks).await;
        let answers: Vec<_> = answers.into_iter().filter_map(Result::unwrap).collect();
        let [issued] = answers.as_slice() else { panic!("{} first starts", answers.len()) };
        assert_eq!((issued.len(), nodes[0].tokens().await.unwrap().len()), (2, 2));
        for (node, token) in nodes.iter().zip(issued) {
            node.authenticate(&token.secret).await.unwrap();
        }
        assert!(nodes[2].issue_first_tokens(&first, &Actor::Operator).await.unwrap().is_none());
    }
}

#[tokio::test]
async fn a_first_start_that_failed_leaves_all_of_its_tokens_or_none() {
    for fault in Fault::PAIR {
        let (nodes, store, _folder) = newcomers(1).await;
        store.next([Some(fault)]);
        assert!(nodes[0].issue_first_tokens(&first_tokens(), &Actor::Operator).await.is_err());
        let stored = nodes[0].tokens().await.unwrap().len();
        assert_eq!(stored, if fault == Fault::Stored { 2 } else { 0 });
    }
}
