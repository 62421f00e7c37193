//! Joining: what was asked before stands in for what is asked now only if no less was asked then.

use std::sync::Arc;

use banksman_core::{Case, Refusal, Status, Tier};
use banksman_engine::Proposed;
use banksman_policy::Policy;

use crate::world::{World, body, joined, refusal};

/// Sessions in which policy demands more of a refund.
const SESSIONS: &str = "
rules:
  - {id: prod, match: {tool: refund, session: prod}, tier: escalate}
  - {id: finance, match: {tool: refund, session: books}, tier: approve, roles: [finance]}
  - {id: support, match: {tool: refund, session: desk}, tier: approve, roles: [support]}
  - {id: why, match: {tool: refund, session: audit}, tier: approve, require_reason: true}
  - {id: touch, match: {tool: refund, session: vault}, tier: approve, require_passkey: true}
  - {id: never, match: {tool: refund, session: closed}, tier: block}
";

async fn refund(world: &World, more: &str) -> Proposed {
    let text = format!(r#"{{"tool":"refund","args":{{"amount":5}}{more}}}"#);
    world.engine.propose(&world.riley, body(&text, None)).await.unwrap()
}

async fn in_session(world: &World, session: &str) -> Proposed {
    refund(world, &format!(r#","session":"{session}""#)).await
}

/// A second hold with demands of its own, in place of the first.
async fn assert_replaced(world: &World, first: &Case, second: &Proposed, first_is: Status) {
    assert!(!second.joined && second.case.id != first.id, "{:?}", second.case);
    assert_eq!(second.case.status(), Status::Pending);
    assert!(second.case.submission.verdict.demands_more_than(&first.submission.verdict));
    assert_eq!(world.stored(first.id).await.status(), first_is);
}

#[tokio::test]
async fn what_is_judged_more_strictly_does_not_join_what_waits() {
    for session in ["prod", "books", "audit", "vault"] {
        let world = World::with_policy(SESSIONS).await;
        let mild = in_session(&world, "dev").await.case;
        let strict = in_session(&world, session).await;
        assert_replaced(&world, &mild, &strict, Status::Cancelled).await;
        // Whoever asks again, on either terms, finds the one hold.
        for again in ["dev", session] {
            assert_eq!(joined(&in_session(&world, again).await), (true, strict.case.id), "{again}");
        }
        world.close().await;
    }
}

#[tokio::test]
async fn what_is_judged_more_strictly_is_not_let_through_by_a_milder_yes() {
    for session in ["prod", "books", "audit", "vault"] {
        let world = World::with_policy(SESSIONS).await;
        let mild = in_session(&world, "dev").await.case;
        let mild = world.approve(&world.cem, &mild).await.unwrap();
        assert_eq!(joined(&in_session(&world, "dev").await), (true, mild.id));
        let strict = in_session(&world, session).await;
        assert_replaced(&world, &mild, &strict, Status::Revoked).await;
        assert_eq!(refusal(world.claim(&world.riley, &mild).await).code(), "not_authorised");
        world.close().await;
    }
}

#[tokio::test]
async fn demands_of_two_sessions_add_up_and_do_not_push_each_other_out() {
    let world = World::with_policy(SESSIONS).await;
    in_session(&world, "books").await;
    let both = in_session(&world, "desk").await.case;
    assert_eq!(both.submission.verdict.quorum.roles().len(), 2, "{:?}", both.submission.verdict.quorum);
    for again in ["books", "desk", "dev"] {
        assert_eq!(joined(&in_session(&world, again).await), (true, both.id), "{again}");
    }
    assert_eq!(world.approve(&world.ann, &both).await.unwrap().status(), Status::Pending);
    assert_eq!(world.approve(&world.bea, &both).await.unwrap().status(), Status::Authorised);
    // Enough for each of them.
    for again in ["books", "desk", "dev"] {
        assert_eq!(joined(&in_session(&world, again).await), (true, both.id), "{again}");
    }
    world.close().await;
}

#[tokio::test]
async fn what_is_blocked_joins_nothing_and_ends_nothing() {
    let world = World::with_policy(SESSIONS).await;
    let mild = in_session(&world, "dev").await.case;
    assert_eq!(in_session(&world, "closed").await.case.status(), Status::Blocked);
    assert_eq!(world.stored(mild.id).await.status(), Status::Pending);
    world.close().await;
}

#[tokio::test]
async fn a_policy_that_was_tightened_holds_for_what_is_asked_again() {
    let world = World::new().await;
    let mild = world.approved().await;
    let tightened = Policy::parse("policy.yaml", "version: 1\ntools: {refund: {tier: escalate}}").unwrap();
    world.engine.load_policy(Arc::new(tightened), "policy.yaml").await.unwrap();
    let strict = refund(&world, "").await;
    assert_replaced(&world, &mild, &strict, Status::Revoked).await;
    assert_eq!(world.approve(&world.ann, &strict.case).await.unwrap().status(), Status::Pending);
    assert_eq!(world.approve(&world.cem, &strict.case).await.unwrap().status(), Status::Authorised);
    world.close().await;
}

#[tokio::test]
async fn a_higher_estimate_is_asked_anew() {
    let world = World::with_policy(
        "rules: [{id: dear, match: {tool: refund}, when: 'action.estimate.cost_usd > 10.0', tier: escalate}]",
    )
    .await;
    let cheap = refund(&world, r#","estimate":{"cost_usd":1}"#).await.case;
    let cheap = world.approve(&world.ann, &cheap).await.unwrap();
    let dear = refund(&world, r#","estimate":{"cost_usd":100}"#).await;
    assert_replaced(&world, &cheap, &dear, Status::Revoked).await;
    world.close().await;
}

/// Also where meters are read first: what waits has added to them, and is not counted against itself.
#[tokio::test]
async fn what_meters_are_asked_about_joins_by_the_same_rule() {
    let world = World::with_policy(
        "windows: {refunds: {match: {tool: refund}, count: proposals, per: agent, over: 1h}}
rules:
  - {id: many, match: {tool: refund, window: {refunds: {gt: 1}}}, tier: escalate}
  - {id: finance, match: {tool: refund, session: books}, tier: approve, roles: [finance]}
",
    )
    .await;
    let mild = in_session(&world, "dev").await.case;
    assert_eq!(mild.submission.verdict.tier, Tier::Approve);
    assert_eq!(joined(&in_session(&world, "dev").await), (true, mild.id));
    let mild = world.approve(&world.cem, &mild).await.unwrap();
    assert_eq!(joined(&in_session(&world, "dev").await), (true, mild.id));
    let strict = in_session(&world, "books").await;
    assert_replaced(&world, &mild, &strict, Status::Revoked).await;
    world.close().await;
}

#[tokio::test]
async fn a_key_leads_to_what_it_led_to_whatever_policy_says_since() {
    let world = World::new().await;
    let text = r#"{"tool":"refund","args":{"amount":5}}"#;
    let case = world.engine.propose(&world.riley, body(text, Some("k"))).await.unwrap().case;
    let tightened = Policy::parse("policy.yaml", "version: 1\ntools: {refund: {tier: escalate}}").unwrap();
    world.engine.load_policy(Arc::new(tightened), "policy.yaml").await.unwrap();
    let again = world.engine.propose(&world.riley, body(text, Some("k"))).await.unwrap();
    assert_eq!((joined(&again), again.case.status()), ((true, case.id), Status::Pending));
    world.close().await;
}

#[tokio::test]
async fn what_relies_on_other_facts_is_not_joined() {
    let world = World::new().await;
    let plain = refund(&world, "").await.case;
    let relying = r#"{"tool":"refund","args":{"amount":5},"preconditions":{"etag":"2"}}"#;
    let propose = |text: &'static str| world.engine.propose(&world.riley, body(text, None));
    assert_eq!(refusal(propose(relying).await), Refusal::OtherPreconditions);
    assert_eq!(joined(&refund(&world, r#","preconditions":{}"#).await), (true, plain.id));
    let plain = world.approve(&world.ann, &plain).await.unwrap();
    assert_eq!(refusal(propose(relying).await), Refusal::OtherPreconditions);
    assert_eq!(world.stored(plain.id).await.status(), Status::Authorised, "still the agent's to use");

    world.engine.cancel(&world.riley, plain.id, None).await.unwrap();
    let first = propose(relying).await.unwrap();
    assert!(!first.joined);
    assert_eq!(joined(&propose(relying).await.unwrap()), (true, first.case.id));
    let plain = r#"{"tool":"refund","args":{"amount":5}}"#;
    assert_eq!(refusal(propose(plain).await), Refusal::OtherPreconditions);
    world.close().await;
}
