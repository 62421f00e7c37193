//! Remembered approvals: as far as they reach, as long as they last, and never instead of more than one person.

use std::sync::Arc;
use std::time::Duration;

use banksman_core::wire::{DecisionRequest, GrantBody};
use banksman_core::{
    Authority, Case, Decision, Grant, GrantMatch, GrantReach, Refusal, Remember, State, Status,
};
use banksman_engine::EngineError;

use crate::world::{INSTANT, World, ballot, body, error, refusal};

const EXACT: Remember =
    Remember { matches: GrantMatch::Exact, all_sessions: false, expires_in_seconds: 8 * 3600 };

/// A deployment of Riley's, in a session or in none.
async fn deploy(world: &World, to: &str, session: Option<&str>) -> Arc<Case> {
    let session = session.map(|name| format!(r#","session":"{name}""#)).unwrap_or_default();
    let text = format!(r#"{{"tool":"deploy","args":{{"to":"{to}"}}{session}}}"#);
    world.engine.propose(&world.riley, body(&text, None)).await.unwrap().case
}

fn remembering(case: &Case, remember: Remember) -> DecisionRequest {
    DecisionRequest { remember: Some(remember), ..ballot(case, Decision::Approve) }
}

/// Approves, remembers, and uses up what was approved, so that the next one is not joined with it.
async fn approve_and_remember(world: &World, case: &Case, remember: Remember) -> Grant {
    let request = remembering(case, remember);
    let approved = world.engine.decide(&world.ann, case.id, request).await.unwrap();
    world.claim(&world.riley, &approved).await.unwrap();
    world.engine.house().await.unwrap().grants.last().unwrap().clone()
}

#[tokio::test]
async fn by_default_exactly_this_is_remembered_in_this_session() {
    let world = World::new().await;
    let case = deploy(&world, "staging", Some("monday")).await;
    let grant = approve_and_remember(&world, &case, EXACT).await;
    assert_eq!(grant.reach, GrantReach::Session { session: "monday".into() });
    assert_eq!((grant.digest, grant.by.as_str()), (Some(case.submission.digest), "ann"));

    let again = deploy(&world, "staging", Some("monday")).await;
    assert!(
        matches!(&again.state, State::Authorised { authority: Authority::Grant { grant: by }, .. } if *by == grant.id)
    );
    assert_eq!(world.notices().await, ["held", "let_through"]);
    assert_eq!(deploy(&world, "production", Some("monday")).await.status(), Status::Pending);
    assert_eq!(deploy(&world, "staging", Some("tuesday")).await.status(), Status::Pending);
    world.engine.cancel(&world.ann, deploy(&world, "staging", Some("tuesday")).await.id, None).await.unwrap();
    assert_eq!(deploy(&world, "staging", None).await.status(), Status::Pending);
    world.close().await;
}

#[tokio::test]
async fn a_whole_tool_can_be_remembered_in_all_sessions() {
    let world = World::new().await;
    let case = deploy(&world, "staging", None).await;
    let wide = Remember { matches: GrantMatch::Tool, all_sessions: true, ..EXACT };
    approve_and_remember(&world, &case, wide).await;
    for (to, session) in [("staging", None), ("production", None), ("staging", Some("tuesday"))] {
        assert_eq!(deploy(&world, to, session).await.status(), Status::Authorised, "{to} {session:?}");
    }
    // But only for this agent, and only this tool.
    assert_eq!(world.propose(&world.bo, "deploy", r#"{"to":"staging"}"#).await.status(), Status::Pending);
    assert_eq!(world.held().await.status(), Status::Pending);
    world.close().await;
}

#[tokio::test]
async fn without_a_session_there_is_none_to_remember_it_in() {
    let world = World::new().await;
    let case = deploy(&world, "staging", None).await;
    let refused = world.engine.decide(&world.ann, case.id, remembering(&case, EXACT)).await;
    assert_eq!(refusal(refused), Refusal::RememberNotAllowed);
    // Nothing of it happened: neither the approval nor the grant.
    assert_eq!(world.stored(case.id).await.status(), Status::Pending);
    assert!(world.engine.house().await.unwrap().grants.is_empty());
    world.close().await;
}

#[tokio::test]
async fn a_grant_ends_at_its_moment() {
    let world = World::new().await;
    let case = deploy(&world, "staging", Some("monday")).await;
    let short = Remember { expires_in_seconds: 60, ..EXACT };
    approve_and_remember(&world, &case, short).await;
    world.clock.pass(Duration::from_secs(60) - INSTANT);
    assert_eq!(deploy(&world, "staging", Some("monday")).await.status(), Status::Authorised);
    world.clock.pass(INSTANT);
    assert_eq!(deploy(&world, "staging", Some("monday")).await.status(), Status::Pending);
    for seconds in [0, 90 * 24 * 3600 + 1, u64::MAX] {
        let case = deploy(&world, "staging", Some("monday")).await;
        let odd = remembering(&case, Remember { expires_in_seconds: seconds, ..EXACT });
        assert!(matches!(
            error(world.engine.decide(&world.ann, case.id, odd).await),
            EngineError::Invalid(_)
        ));
    }
    world.close().await;
}

#[tokio::test]
async fn a_revoked_grant_lets_nothing_through() {
    let world = World::new().await;
    let case = deploy(&world, "staging", Some("monday")).await;
    let grant = approve_and_remember(&world, &case, EXACT).await;
    world.engine.revoke_grant(&world.bea, grant.id).await.unwrap();
    assert_eq!(deploy(&world, "staging", Some("monday")).await.status(), Status::Pending);
    assert!(matches!(error(world.engine.revoke_grant(&world.bea, grant.id).await), EngineError::NotFound));
    world.close().await;
}

#[tokio::test]
async fn where_more_than_one_person_is_needed_nothing_is_remembered() {
    let world = World::new().await;
    let wide = Remember { matches: GrantMatch::Tool, all_sessions: true, ..EXACT };
    for tool in ["drop", "payout", "refund"] {
        let case = world.propose(&world.riley, tool, "{}").await;
        let refused = world.engine.decide(&world.ann, case.id, remembering(&case, wide.clone())).await;
        assert_eq!(refusal(refused), Refusal::RememberNotAllowed, "{tool}");
        assert_eq!(world.stored(case.id).await.revision, 1, "{tool}");
        world.engine.cancel(&world.riley, case.id, None).await.unwrap();
        // Not even if it is granted by hand.
        world.engine.grant(&world.ada, by_hand("riley", tool)).await.unwrap();
        assert_eq!(world.propose(&world.riley, tool, "{}").await.status(), Status::Pending, "{tool}");
    }
    world.close().await;
}

fn by_hand(agent: &str, tool: &str) -> GrantBody {
    GrantBody { agent: agent.into(), tool: tool.into(), digest: None, session: None, expires_in_seconds: 60 }
}

#[tokio::test]
async fn a_grant_by_hand_is_checked_and_holds_at_once() {
    let world = World::new().await;
    for odd in [
        GrantBody { expires_in_seconds: 0, ..by_hand("riley", "deploy") },
        by_hand(" ", "deploy"),
        by_hand("riley", ""),
        by_hand("ada", "deploy"),
    ] {
        assert!(matches!(error(world.engine.grant(&world.ada, odd).await), EngineError::Invalid(_)));
    }
    let session = Some("monday".to_owned());
    let body = GrantBody { session, ..by_hand("riley", "deploy") };
    world.engine.grant(&world.ada, body).await.unwrap();
    assert_eq!(deploy(&world, "staging", Some("monday")).await.status(), Status::Authorised);
    assert_eq!(deploy(&world, "staging", None).await.status(), Status::Pending);
    world.close().await;
}
