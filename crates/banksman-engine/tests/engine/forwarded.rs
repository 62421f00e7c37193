//! Actions that Banksman itself runs: claimed with the proposal, and written down whoever asks.

use banksman_core::json::CanonicalJson;
use banksman_core::wire::GrantBody;
use banksman_core::{Action, ClaimRequest, Kind, Outcome, Risk, Status, Tier, Verdict};
use banksman_engine::{EngineError, ProposeRequest};

use crate::world::{LEASE, World};

fn forwarded(tool: &str, server: &str) -> ProposeRequest {
    let mut action = Action::bare(tool, Kind::Tool, CanonicalJson::parse(b"{}").unwrap());
    action.server = Some(server.to_owned());
    action.forwarded = true;
    ProposeRequest { claims: true, ..ProposeRequest::of(action) }
}

#[tokio::test]
async fn what_nobody_has_to_be_asked_about_is_claimed_with_the_proposal() {
    let world = World::new().await;
    let proposed = world.engine.propose(&world.riley, forwarded("read", "files")).await.unwrap();
    assert_eq!(proposed.case.status(), Status::Executing);
    assert_eq!(proposed.case.revision, 2, "an event for each step, though they were committed together");
    let done = Outcome::Succeeded { result: None };
    let case = world.engine.record_forwarded(proposed.case.id, done).await.unwrap();
    assert_eq!(case.status(), Status::Succeeded);
    // Two equal calls are two calls.
    let again = world.engine.propose(&world.riley, forwarded("read", "files")).await.unwrap();
    assert!(!again.joined && again.case.id != case.id);
    world.close().await;
}

#[tokio::test]
async fn what_is_held_is_not_claimed_and_the_same_tool_of_another_server_is_another_action() {
    let world = World::new().await;
    let one = world.engine.propose(&world.riley, forwarded("refund", "work")).await.unwrap();
    let same = world.engine.propose(&world.riley, forwarded("refund", "work")).await.unwrap();
    let other = world.engine.propose(&world.riley, forwarded("refund", "home")).await.unwrap();
    assert_eq!(one.case.status(), Status::Pending);
    assert!(same.joined && same.case.id == one.case.id);
    assert!(!other.joined);
    world.close().await;
}

#[tokio::test]
async fn a_counted_grant_is_used_up_by_what_is_claimed_with_the_proposal() {
    let world = World::new().await;
    let once = GrantBody {
        agent: "riley".into(),
        tool: "deploy".into(),
        digest: None,
        args: None,
        session: None,
        expires_in_seconds: 60,
        uses: Some(1),
    };
    world.engine.grant(&world.ada, once).await.unwrap();
    let first = world.engine.propose(&world.riley, forwarded("deploy", "work")).await.unwrap();
    assert_eq!(first.case.status(), Status::Executing);
    let second = world.engine.propose(&world.riley, forwarded("deploy", "work")).await.unwrap();
    assert_eq!(second.case.status(), Status::Pending);
    world.close().await;
}

#[tokio::test]
async fn a_floor_holds_what_policy_would_let_run_and_lowers_nothing() {
    let world = World::new().await;
    let floor = Some(Verdict::new(Tier::Approve, Risk::High, "the tool has changed"));
    let request = ProposeRequest { floor: floor.clone(), ..forwarded("read", "files") };
    let held = world.engine.propose(&world.riley, request).await.unwrap();
    assert_eq!(held.case.status(), Status::Pending);
    assert_eq!(held.case.submission.verdict.rule, "the tool has changed");
    let request = ProposeRequest { floor, ..forwarded("wipe", "files") };
    assert_eq!(world.engine.propose(&world.riley, request).await.unwrap().case.status(), Status::Blocked);
    world.close().await;
}

#[tokio::test]
async fn a_schema_for_reviewers_is_kept_with_what_is_held_only() {
    let world = World::new().await;
    let schema = Some(CanonicalJson::parse(br#"{"type":"object"}"#).unwrap());
    for (tool, kept) in [("read", false), ("refund", true)] {
        let request = ProposeRequest { schema_if_held: schema.clone(), ..forwarded(tool, "files") };
        let case = world.engine.propose(&world.riley, request).await.unwrap().case;
        assert_eq!(case.submission.action.args_schema.is_some(), kept, "{tool}");
    }
    world.close().await;
}

#[tokio::test]
async fn nobody_records_for_an_agent_what_the_agent_runs_itself() {
    let world = World::new().await;
    let action = Action::bare("read", Kind::Tool, CanonicalJson::parse(b"{}").unwrap());
    let case = world.engine.propose(&world.riley, ProposeRequest::of(action)).await.unwrap().case;
    let refused = world.engine.record_forwarded(case.id, Outcome::Succeeded { result: None }).await;
    assert!(matches!(refused, Err(EngineError::NotFound)), "{refused:?}");
    world.close().await;
}

#[tokio::test]
async fn an_agent_neither_reports_nor_claims_what_the_gateway_runs() {
    let world = World::new().await;
    // Under way at the gateway: the agent is faster, and says that it failed.
    let running = world.engine.propose(&world.riley, forwarded("read", "files")).await.unwrap().case;
    for outcome in [Outcome::Failed { error: None, result: None }, Outcome::Succeeded { result: None }] {
        let refused = world.engine.record_outcome(&world.riley, running.id, outcome).await;
        assert!(matches!(refused, Err(EngineError::RunByGateway(_))), "{refused:?}");
    }
    let done = world.engine.record_forwarded(running.id, Outcome::Succeeded { result: None }).await.unwrap();
    assert_eq!(done.status(), Status::Succeeded, "the gateway's word is what is on record");

    // Held and approved: the agent would take the claim, and nothing would run.
    let held = world.engine.propose(&world.riley, forwarded("refund", "work")).await.unwrap().case;
    let approved = world.approve(&world.ann, &held).await.unwrap();
    let request = || ClaimRequest { digest: approved.submission.digest, preconditions: None };
    let refused = world.engine.claim_own(&world.riley, held.id, request()).await;
    assert!(matches!(refused, Err(EngineError::RunByGateway(_))), "{refused:?}");
    world.engine.claim(&world.riley, held.id, request()).await.unwrap();

    // Nobody heard how it ended: people have to see that, and the agent cannot tidy it away.
    world.clock.pass(LEASE);
    world.engine.move_overdue().await.unwrap();
    let said = Outcome::Succeeded { result: None };
    let refused = world.engine.record_outcome(&world.riley, held.id, said).await;
    assert!(matches!(refused, Err(EngineError::RunByGateway(_))), "{refused:?}");
    assert_eq!(world.stored(held.id).await.status(), Status::Unknown);
    // Whoever is not its agent learns nothing by the refusal.
    let said = Outcome::Succeeded { result: None };
    let other = world.engine.record_outcome(&world.bo, held.id, said).await;
    assert!(matches!(other, Err(EngineError::NotFound)), "{other:?}");
    world.close().await;
}
