//! Claiming and reporting: once, by the agent itself, for exactly what was authorised.

use banksman_core::{ClaimRequest, Digest, Outcome, Refusal, State, Status};
use banksman_engine::EngineError;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signature, VerifyingKey};
use serde_json::Value;

use crate::world::{World, body, claim_of, error, json, refusal};

fn succeeded() -> Outcome {
    Outcome::Succeeded { result: Some(json(r#"{"n":9007199254740993}"#)) }
}

fn failed() -> Outcome {
    Outcome::Failed { error: Some("no such order".into()), result: None }
}

/// What a token says, if its signature is that of the published key.
fn verified(world: &World, token: &str) -> Value {
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let decoded = |text: &str| URL_SAFE_NO_PAD.decode(text).unwrap();
    let jwks = world.engine.jwks();
    let key: [u8; 32] = decoded(jwks["keys"][0]["x"].as_str().unwrap()).try_into().unwrap();
    let signature = Signature::from_slice(&decoded(signature)).unwrap();
    VerifyingKey::from_bytes(&key).unwrap().verify_strict(signed.as_bytes(), &signature).unwrap();
    serde_json::from_slice(&decoded(signed.split_once('.').unwrap().1)).unwrap()
}

#[tokio::test]
async fn a_claim_is_proved_by_a_token_for_exactly_what_runs() {
    let world = World::new().await;
    let case = world.approved().await;
    let offered = verified(&world, &world.engine.authorization(&case).unwrap().unwrap());
    assert_eq!(offered["claimed"], false);
    let claimed = world.claim(&world.riley, &case).await.unwrap();
    let token = verified(&world, &claimed.authorization);
    assert_eq!(token["claimed"], true);
    assert_eq!(token["digest"], case.submission.digest.to_string());
    assert_eq!(
        (&token["sub"], &token["tool"], &token["version"]),
        (&"riley".into(), &"refund".into(), &1.into())
    );
    assert_eq!(token["exp"], claimed.lease_expires_at.as_micros() / 1_000_000);
    // What is claimed offers nothing any more.
    assert!(world.engine.authorization(&claimed.case).unwrap().is_none());
    world.close().await;
}

#[tokio::test]
async fn only_the_agent_that_asked_claims_and_reports() {
    let world = World::new().await;
    let case = world.approved().await;
    for other in [&world.bo, &world.olga, &world.ada] {
        let refused = error(world.claim(other, &case).await);
        assert!(matches!(refused, EngineError::NotFound), "{}: {refused:?}", other.name);
    }
    world.claim(&world.riley, &case).await.unwrap();
    for other in [&world.bo, &world.ada] {
        let refused = error(world.engine.record_outcome(other, case.id, succeeded()).await);
        assert!(matches!(refused, EngineError::NotFound), "{}: {refused:?}", other.name);
    }
    assert!(matches!(error(world.engine.action(&world.bo, case.id).await), EngineError::NotFound));
    world.close().await;
}

#[tokio::test]
async fn a_claim_names_what_would_run() {
    let world = World::new().await;
    let case = world.approved().await;
    let other = ClaimRequest { digest: Digest::of(b"something else"), preconditions: None };
    let current = case.submission.digest;
    let refused = world.engine.claim(&world.riley, case.id, other).await;
    assert_eq!(refusal(refused), Refusal::DigestMismatch { current });
    world.claim(&world.riley, &case).await.unwrap();
    world.close().await;
}

#[tokio::test]
async fn what_the_reviewers_relied_on_must_still_hold() {
    let world = World::new().await;
    let text =
        r#"{"tool":"refund","args":{},"preconditions":{"order.version":4,"balance":9007199254740993}}"#;
    let case = world.engine.propose(&world.riley, body(text, None)).await.unwrap().case;
    let case = world.approve(&world.ann, &case).await.unwrap();
    let claim = |seen: Option<&str>| {
        let request = ClaimRequest { preconditions: seen.map(json), ..claim_of(&case) };
        world.engine.claim(&world.riley, case.id, request)
    };
    for (seen, names) in [
        (None, vec!["balance", "order.version"]),
        (Some(r#"{"order.version":4}"#), vec!["balance"]),
        (Some(r#"{"order.version":5,"balance":9007199254740993}"#), vec!["order.version"]),
        (Some(r#"{"order.version":4,"balance":9007199254740992}"#), vec!["balance"]),
        // Nobody declared it, so nobody would check it.
        (Some(r#"{"order.version":4,"balance":9007199254740993,"else":1}"#), vec!["else"]),
    ] {
        let names = names.into_iter().map(Into::into).collect();
        assert_eq!(refusal(claim(seen).await), Refusal::PreconditionFailed { names }, "{seen:?}");
    }
    // It is refused, not used up.
    claim(Some(r#"{"order.version":4.0,"balance":9007199254740993}"#)).await.unwrap();
    world.close().await;
}

#[tokio::test]
async fn an_outcome_is_recorded_once_and_said_as_often_as_one_likes() {
    let world = World::new().await;
    let case = world.approved().await;
    let early = world.engine.record_outcome(&world.riley, case.id, succeeded()).await;
    assert_eq!(refusal(early).code(), "not_claimed");
    world.claim(&world.riley, &case).await.unwrap();
    let first = world.engine.record_outcome(&world.riley, case.id, succeeded()).await.unwrap();
    let State::Succeeded { result, .. } = &first.state else { panic!("{first:?}") };
    assert_eq!(result.as_ref().unwrap().as_str(), r#"{"n":9007199254740993}"#);
    for _ in 0..3 {
        let again = world.engine.record_outcome(&world.riley, case.id, succeeded()).await.unwrap();
        assert_eq!(again, first);
    }
    let otherwise = world.engine.record_outcome(&world.riley, case.id, failed()).await;
    assert_eq!(refusal(otherwise), Refusal::AlreadyRecorded { status: Status::Succeeded });
    assert_eq!(world.story(case.id).await, ["proposed", "decided", "claimed", "finished"]);
    world.close().await;
}

#[tokio::test]
async fn a_failure_says_why() {
    let world = World::new().await;
    let case = world.approved().await;
    world.claim(&world.riley, &case).await.unwrap();
    let case = world.engine.record_outcome(&world.riley, case.id, failed()).await.unwrap();
    assert!(matches!(&case.state, State::Failed { error: Some(why), .. } if why == "no such order"));
    world.close().await;
}
