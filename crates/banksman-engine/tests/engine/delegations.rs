//! Someone else decides in a person's place: for a while, as one person, and never for what neither may.

use std::time::Duration;

use banksman_core::PrincipalKind;
use banksman_core::wire::DelegationBody;
use banksman_core::{ActingSource, Actor, Principal, Status, Timestamp};
use banksman_engine::{EngineError, NewToken};

use crate::faulty::Fault;
use crate::world::{HOUR, INSTANT, World, error, refusal};

/// One of finance, or two of them.
const TOOLS: &str = "
  invoice:  {tier: approve, roles: [finance]}
  contract: {tier: escalate, roles: [finance, finance]}
";

fn to(name: &str) -> DelegationBody {
    DelegationBody {
        from: None,
        to: name.into(),
        roles: Vec::new(),
        starts_at: None,
        ends_at: None,
        for_seconds: Some(3_600),
        reason: None,
    }
}

fn from(name: &str, body: DelegationBody) -> DelegationBody {
    DelegationBody { from: Some(name.into()), ..body }
}

#[tokio::test]
async fn a_delegate_decides_on_behalf_and_the_record_says_so() {
    let world = World::with_policy(TOOLS).await;
    let case = world.propose(&world.riley, "invoice", "{}").await;
    assert_eq!(refusal(world.approve(&world.cem, &case).await).code(), "missing_role");
    let delegation = world.engine.delegate(&world.ann, to("cem")).await.unwrap();
    let approved = world.approve(&world.cem, &case).await.unwrap();
    assert_eq!(approved.status(), Status::Authorised);
    let expected = ActingSource::Delegation { delegation: delegation.id, on_behalf_of: "ann".into() };
    assert_eq!(approved.reviews[0].acting[0].source, expected);
    assert_eq!(approved.reviews[0].by, "cem");
    world.close().await;
}

#[tokio::test]
async fn what_is_lent_by_someone_whom_the_agents_owner_brought_in_does_not_count() {
    let world = World::with_policy(TOOLS).await;
    world.engine.delegate(&world.ann, to("cem")).await.unwrap();
    let case = world.propose(&world.riley, "invoice", "{}").await;
    world.bring_in("ann", &["finance"], "olga").await;
    assert_eq!(refusal(world.approve(&world.cem, &case).await).code(), "missing_role");
    let other = world.propose(&world.bo, "invoice", "{}").await;
    assert_eq!(world.approve(&world.cem, &other).await.unwrap().status(), Status::Authorised);
    world.close().await;
}

#[tokio::test]
async fn it_holds_from_its_first_instant_to_its_last() {
    let world = World::with_policy(TOOLS).await;
    let now = Timestamp::from_micros(1_700_000_000_000_000);
    let period = DelegationBody {
        starts_at: Some(now.after(HOUR)),
        ends_at: Some(now.after(2 * HOUR)),
        for_seconds: None,
        ..to("cem")
    };
    world.engine.delegate(&world.ann, period).await.unwrap();
    for (wait, may) in [(HOUR - INSTANT, false), (INSTANT, true), (HOUR - INSTANT, true), (INSTANT, false)] {
        world.clock.pass(wait);
        let case = world.propose(&world.bo, "invoice", "{}").await;
        let decided = world.approve(&world.cem, &case).await;
        assert_eq!(decided.is_ok(), may, "{wait:?}");
        world.engine.cancel(&world.ada, case.id, None).await.unwrap();
    }
    assert!(world.engine.delegations().await.unwrap().is_empty());
    world.close().await;
}

#[tokio::test]
async fn a_lent_role_counts_once() {
    let world = World::with_policy(TOOLS).await;
    world.engine.delegate(&world.ann, to("cem")).await.unwrap();
    world.engine.delegate(&world.ann, to("bea")).await.unwrap();
    let case = world.propose(&world.bo, "contract", "{}").await;
    assert_eq!(world.approve(&world.cem, &case).await.unwrap().status(), Status::Pending);
    assert_eq!(refusal(world.approve(&world.ann, &case).await).code(), "missing_role", "the lender herself");
    assert_eq!(refusal(world.approve(&world.bea, &case).await).code(), "missing_role", "her other delegate");
    assert_eq!(refusal(world.approve(&world.cem, &case).await).code(), "already_voted");
    assert_eq!(world.approve(&world.olga, &case).await.unwrap().status(), Status::Authorised);
    world.close().await;
}

#[tokio::test]
async fn what_was_lent_cannot_be_lent_on() {
    let world = World::with_policy(TOOLS).await;
    world.engine.delegate(&world.ann, to("bea")).await.unwrap();
    let onward = DelegationBody { roles: vec!["finance".into()], ..to("cem") };
    let refused = error(world.engine.delegate(&world.bea, onward).await);
    assert!(matches!(refused, EngineError::MissingRole { .. }), "{refused:?}");
    // All that Bea has is support, whatever she was lent.
    world.engine.delegate(&world.bea, to("cem")).await.unwrap();
    let case = world.propose(&world.bo, "invoice", "{}").await;
    assert_eq!(refusal(world.approve(&world.cem, &case).await).code(), "missing_role");
    world.close().await;
}

#[tokio::test]
async fn nobody_approves_their_own_by_another_hand() {
    let world = World::with_policy(TOOLS).await;
    // Riley is Olga's.
    world.engine.delegate(&world.olga, to("cem")).await.unwrap();
    world.engine.delegate(&world.ann, to("olga")).await.unwrap();
    let case = world.propose(&world.riley, "invoice", "{}").await;
    assert_eq!(refusal(world.approve(&world.cem, &case).await).code(), "missing_role");
    assert_eq!(refusal(world.approve(&world.olga, &case).await).code(), "self_approval");
    let others = world.propose(&world.bo, "invoice", "{}").await;
    assert_eq!(world.approve(&world.cem, &others).await.unwrap().status(), Status::Authorised);
    world.close().await;
}

#[tokio::test]
async fn a_revoked_delegation_and_a_lender_who_is_gone_lend_nothing() {
    let world = World::with_policy(TOOLS).await;
    let delegation = world.engine.delegate(&world.ann, to("cem")).await.unwrap();
    let case = world.propose(&world.bo, "invoice", "{}").await;
    let stranger = error(world.engine.revoke_delegation(&world.bea, delegation.id).await);
    assert!(matches!(stranger, EngineError::NotYours(_)), "{stranger:?}");
    world.engine.revoke_delegation(&world.cem, delegation.id).await.unwrap();
    assert_eq!(refusal(world.approve(&world.cem, &case).await).code(), "missing_role");
    let again = error(world.engine.revoke_delegation(&world.ann, delegation.id).await);
    assert!(matches!(again, EngineError::NotFound));

    world.engine.delegate(&world.ann, to("cem")).await.unwrap();
    world.engine.revoke_token(world.ann.token, Actor::Operator).await.unwrap();
    assert_eq!(refusal(world.approve(&world.cem, &case).await).code(), "missing_role");
    world.close().await;
}

#[tokio::test]
async fn another_process_that_revokes_is_heard_at_once() {
    let world = World::with_policy(TOOLS).await;
    let delegation = world.engine.delegate(&world.ann, to("cem")).await.unwrap();
    let case = world.propose(&world.bo, "invoice", "{}").await;
    let neighbour = world.neighbour().await;
    neighbour.revoke_delegation(&world.ada, delegation.id).await.unwrap();
    assert_eq!(refusal(world.approve(&world.cem, &case).await).code(), "missing_role");
    world.close().await;
}

#[tokio::test]
async fn only_what_makes_sense_is_lent_and_only_by_whose_it_is() {
    let world = World::with_policy(TOOLS).await;
    let lent = |by: std::sync::Arc<Principal>, body: DelegationBody| {
        let engine = std::sync::Arc::clone(&world.engine);
        async move { error(engine.delegate(&by, body).await) }
    };
    let past = Timestamp::from_micros(1_600_000_000_000_000);
    for (by, body) in [
        (&world.ann, to("ann")),
        (&world.ann, to("nobody")),
        (&world.ann, to("riley")),
        (&world.ann, to("")),
        (&world.cem, to("bea")),
        (&world.ann, DelegationBody { for_seconds: None, ..to("cem") }),
        (&world.ann, DelegationBody { for_seconds: Some(0), ..to("cem") }),
        (&world.ann, DelegationBody { for_seconds: Some(u64::MAX), ..to("cem") }),
        (&world.ann, DelegationBody { ends_at: Some(past), ..to("cem") }),
        (&world.ann, DelegationBody { ends_at: Some(past), for_seconds: None, ..to("cem") }),
        (&world.ann, DelegationBody { starts_at: Some(Timestamp::MAX), ..to("cem") }),
        (&world.ada, from("riley", to("cem"))),
    ] {
        let refused = lent(std::sync::Arc::clone(by), body.clone()).await;
        assert!(matches!(refused, EngineError::Invalid(_)), "{body:?}: {refused:?}");
    }
    let roles = DelegationBody { roles: vec!["finance".into(), "vault".into()], ..to("cem") };
    let refused = lent(std::sync::Arc::clone(&world.ann), roles).await;
    assert!(matches!(&refused, EngineError::MissingRole { needed } if needed == &["vault"]), "{refused:?}");
    for (by, body) in [(&world.bea, from("ann", to("cem"))), (&world.ada, from("ann", to("ada")))] {
        let refused = lent(std::sync::Arc::clone(by), body).await;
        assert!(matches!(refused, EngineError::NotYours(_)), "{refused:?}");
    }
    assert!(world.engine.delegations().await.unwrap().is_empty());
    world.engine.delegate(&world.ada, from("ann", to("cem"))).await.unwrap();
    assert_eq!(world.engine.delegations().await.unwrap()[0].by, "ada");
    world.close().await;
}

/// A person's roles are those of all their live credentials; an expired one lends nothing more.
#[tokio::test]
async fn roles_end_with_the_credential_that_has_them() {
    let world = World::with_policy(TOOLS).await;
    let new = NewToken {
        kind: PrincipalKind::Reviewer,
        name: "dora".into(),
        owner: None,
        roles: vec!["finance".into()],
        lifetime: Some(Duration::from_secs(60)),
    };
    let issued = world.engine.issue_token(new, Actor::Operator).await.unwrap();
    let dora = world.engine.authenticate(&issued.secret).await.unwrap();
    world.engine.delegate(&dora, to("cem")).await.unwrap();
    let case = world.propose(&world.bo, "invoice", "{}").await;
    world.clock.pass(Duration::from_secs(60));
    assert_eq!(refusal(world.approve(&world.cem, &case).await).code(), "missing_role");
    world.close().await;
}

#[tokio::test]
async fn a_delegation_whose_commit_was_lost_holds_only_if_it_was_stored() {
    for fault in Fault::PAIR {
        let mut world = World::with_policy(TOOLS).await;
        let case = world.propose(&world.bo, "invoice", "{}").await;
        world.store.next([Some(fault)]);
        assert!(matches!(error(world.engine.delegate(&world.ann, to("cem")).await), EngineError::Store(_)));
        world.restart().await;
        let held = world.engine.delegations().await.unwrap().len();
        assert_eq!(held, usize::from(fault == Fault::Stored));
        assert_eq!(world.approve(&world.cem, &case).await.is_ok(), fault == Fault::Stored);
        world.close().await;
    }
}
