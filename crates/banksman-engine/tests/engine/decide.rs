//! Deciding: about what was seen, in time, by someone who may, and once.

use banksman_core::wire::DecisionRequest;
use banksman_core::{Decision, Digest, Refusal, Status};
use banksman_engine::EngineError;

use crate::world::{World, ballot, error, refusal};

#[tokio::test]
async fn an_approval_authorises_and_a_denial_ends() {
    let world = World::new().await;
    let case = world.approved().await;
    assert_eq!(case.status(), Status::Authorised);
    assert_eq!(case.reviews[0].by, "ann");
    let other = world.propose(&world.riley, "refund", r#"{"amount":6}"#).await;
    let denied = world.decide(&world.ann, &other, Decision::Deny).await.unwrap();
    assert_eq!(denied.status(), Status::Denied);
    assert_eq!(refusal(world.claim(&world.riley, &denied).await).code(), "not_authorised");
    assert_eq!(world.story(other.id).await, ["proposed", "decided"]);
    world.close().await;
}

#[tokio::test]
async fn what_is_decided_stays_decided() {
    let world = World::new().await;
    let case = world.approved().await;
    for decision in [Decision::Approve, Decision::Deny, Decision::Respond, Decision::Modify] {
        let again = refusal(world.decide(&world.bea, &case, decision).await);
        let expected = Refusal::AlreadyDecided { status: Status::Authorised, by: Some("ann".into()) };
        assert_eq!(again, expected, "{decision}");
    }
    world.close().await;
}

#[tokio::test]
async fn a_decision_is_about_the_version_and_the_digest_that_were_seen() {
    let world = World::new().await;
    let case = world.held().await;
    let seen = ballot(&case, Decision::Approve);
    let stale = DecisionRequest { version: 2, ..seen.clone() };
    let stale = world.engine.decide(&world.ann, case.id, stale).await;
    assert_eq!(refusal(stale), Refusal::StaleVersion { current: 1 });
    let other = DecisionRequest { digest: Digest::of(b"something else"), ..seen };
    assert_eq!(refusal(world.engine.decide(&world.ann, case.id, other).await).code(), "digest_mismatch");
    assert_eq!(world.stored(case.id).await.revision, 1);
    world.close().await;
}

#[tokio::test]
async fn to_respond_is_to_deny_with_words_for_the_agent() {
    let world = World::new().await;
    let case = world.held().await;
    for message in [None, Some(String::new()), Some(" \n".into())] {
        let silent = DecisionRequest { message, ..ballot(&case, Decision::Respond) };
        let silent = world.engine.decide(&world.ann, case.id, silent).await;
        assert_eq!(refusal(silent), Refusal::MessageRequired);
    }
    let words = Some("ask the customer first".to_owned());
    let request = DecisionRequest { message: words.clone(), ..ballot(&case, Decision::Respond) };
    let case = world.engine.decide(&world.ann, case.id, request).await.unwrap();
    assert_eq!((case.status(), &case.reviews[0].message), (Status::Denied, &words));
    world.close().await;
}

#[tokio::test]
async fn where_policy_wants_a_reason_a_decision_needs_one() {
    let world = World::new().await;
    for decision in [Decision::Approve, Decision::Deny] {
        let case = world.propose(&world.riley, "explain", "{}").await;
        assert_eq!(refusal(world.decide(&world.ann, &case, decision).await), Refusal::ReasonRequired);
        let request = DecisionRequest { reason: Some("checked".into()), ..ballot(&case, decision) };
        let decided = world.engine.decide(&world.ann, case.id, request).await.unwrap();
        assert_eq!(decided.reviews[0].reason.as_deref(), Some("checked"));
        if decided.status() == Status::Authorised {
            world.engine.cancel(&world.ann, case.id, None).await.unwrap();
        }
    }
    world.close().await;
}

#[tokio::test]
async fn no_agent_decides_and_nobody_approves_their_own() {
    let world = World::new().await;
    let case = world.held().await;
    for agent in [&world.bo, &world.riley] {
        assert_eq!(refusal(world.approve(agent, &case).await).code(), "missing_role");
        assert_eq!(refusal(world.decide(agent, &case, Decision::Deny).await).code(), "missing_role");
    }
    assert_eq!(refusal(world.approve(&world.olga, &case).await), Refusal::SelfApproval);
    let edited = DecisionRequest {
        args: Some(crate::world::json(r#"{"amount":1}"#)),
        ..ballot(&case, Decision::Modify)
    };
    assert_eq!(refusal(world.engine.decide(&world.olga, case.id, edited).await), Refusal::SelfApproval);
    // A person who has the agent's own name is taken for the same.
    let issued = world.issue(banksman_core::PrincipalKind::Reviewer, "riley").await;
    let namesake = world.engine.authenticate(&issued.secret).await.unwrap();
    assert_eq!(refusal(world.approve(&namesake, &case).await), Refusal::SelfApproval);
    assert_eq!(world.stored(case.id).await.revision, 1);
    // To deny it is another matter.
    assert_eq!(world.decide(&world.olga, &case, Decision::Deny).await.unwrap().status(), Status::Denied);
    world.close().await;
}

#[tokio::test]
async fn two_people_are_two_people() {
    let world = World::new().await;
    let case = world.propose(&world.riley, "drop", "{}").await;
    let once = world.approve(&world.ann, &case).await.unwrap();
    assert_eq!((once.status(), once.reviews.len()), (Status::Pending, 1));
    assert_eq!(refusal(world.approve(&world.ann, &case).await), Refusal::AlreadyVoted { by: "ann".into() });
    // Another credential of the same person is the same person.
    let issued = world.issue(banksman_core::PrincipalKind::Admin, "ann").await;
    let same = world.engine.authenticate(&issued.secret).await.unwrap();
    assert_eq!(refusal(world.approve(&same, &case).await).code(), "already_voted");
    assert_eq!(refusal(world.claim(&world.riley, &once).await).code(), "not_authorised");
    let twice = world.approve(&world.cem, &case).await.unwrap();
    assert_eq!(twice.status(), Status::Authorised);
    world.close().await;
}

#[tokio::test]
async fn one_no_ends_what_others_have_approved() {
    let world = World::new().await;
    let case = world.propose(&world.riley, "drop", "{}").await;
    world.approve(&world.ann, &case).await.unwrap();
    let denied = world.decide(&world.bea, &case, Decision::Deny).await.unwrap();
    assert_eq!(denied.status(), Status::Denied);
    assert_eq!(refusal(world.approve(&world.cem, &case).await).code(), "already_decided");
    world.close().await;
}

#[tokio::test]
async fn each_role_needs_a_person_of_its_own() {
    let world = World::new().await;
    let case = world.propose(&world.bo, "payout", "{}").await;
    assert_eq!(refusal(world.approve(&world.cem, &case).await).code(), "missing_role");
    // Olga has both roles, and is one person all the same; but she leaves either place to whoever comes next.
    let once = world.approve(&world.olga, &case).await.unwrap();
    assert_eq!(once.status(), Status::Pending);
    assert_eq!(world.approve(&world.bea, &case).await.unwrap().status(), Status::Authorised);

    let case = world.propose(&world.bo, "payout", r#"{"n":2}"#).await;
    world.approve(&world.ann, &case).await.unwrap();
    assert_eq!(refusal(world.approve(&world.cem, &case).await).code(), "missing_role");
    assert_eq!(world.approve(&world.bea, &case).await.unwrap().status(), Status::Authorised);
    world.close().await;
}

#[tokio::test]
async fn what_does_not_go_together_is_refused_before_anything_happens() {
    let world = World::new().await;
    let case = world.held().await;
    let args = Some(crate::world::json("{}"));
    let with_args = DecisionRequest { args, ..ballot(&case, Decision::Approve) };
    let remember = serde_json::from_str(r#"{"all_sessions":true}"#).unwrap();
    let with_memory = DecisionRequest { remember: Some(remember), ..ballot(&case, Decision::Deny) };
    for request in [with_args, with_memory] {
        let refused = error(world.engine.decide(&world.ann, case.id, request).await);
        assert!(matches!(refused, EngineError::Invalid(_)), "{refused:?}");
    }
    let unknown = banksman_core::ActionId::from_parts(1, 1);
    let lost = error(world.engine.decide(&world.ann, unknown, ballot(&case, Decision::Approve)).await);
    assert!(matches!(lost, EngineError::NotFound));
    assert_eq!(world.stored(case.id).await.revision, 1);
    world.close().await;
}
