//! Editing: a new version by another hand, judged like a proposal and never more mildly than what it replaces.

use std::sync::Arc;
use std::time::Duration;

use banksman_core::json::Json;
use banksman_core::wire::DecisionRequest;
use banksman_core::{
    Action, Assessment, Case, Decision, Digest, Finding, Quorum, Refusal, Risk, Status, Tier, Verdict,
};
use banksman_engine::{EngineError, Judge};
use banksman_policy::Facts;

use crate::world::{World, ballot, body, claim_of, edit, error, json, refusal, request};

/// A policy that looks at the amount: up to 99 one person, up to 999 two, beyond that nobody.
struct ByAmount;

fn amount(action: &Action) -> u64 {
    match action.args.to_json().unwrap().get("amount") {
        Some(Json::Number(number)) => number.as_u64().unwrap(),
        other => panic!("no amount: {other:?}"),
    }
}

impl Judge for ByAmount {
    fn assess(&self, action: &Action) -> Assessment {
        let level = if amount(action) < 100 { Risk::Medium } else { Risk::Critical };
        Assessment::of(vec![Finding::new("amount", level, "so much")])
    }

    fn judge(&self, action: &Action, assessment: &Assessment, _: &Facts<'_>) -> Verdict {
        let (tier, count) = match amount(action) {
            0 => (Tier::Auto, 1),
            1..100 => (Tier::Approve, 1),
            100..1_000 => (Tier::Escalate, 2),
            _ => (Tier::Block, 1),
        };
        Verdict {
            quorum: Quorum::new(count, Vec::new()),
            ..Verdict::new(tier, assessment.level, "by_amount")
        }
    }

    fn digest(&self) -> Digest {
        Digest::of(b"by amount")
    }
}

async fn held(world: &World, amount: u64) -> Arc<Case> {
    let args = format!(r#"{{"amount":{amount}}}"#);
    world.engine.propose(&world.riley, request("refund", &args)).await.unwrap().case
}

#[tokio::test]
async fn an_edit_authorises_what_was_edited_and_nothing_else() {
    let world = World::new().await;
    let case = world.held().await;
    let edited = world.engine.decide(&world.ann, case.id, edit(&case, r#"{"amount":4}"#)).await.unwrap();
    assert_eq!((edited.status(), edited.version), (Status::Authorised, 2));
    assert_eq!(edited.submission.action.args.as_str(), r#"{"amount":4}"#);
    assert_eq!(
        refusal(world.engine.claim(&world.riley, case.id, claim_of(&case)).await).code(),
        "digest_mismatch"
    );
    let claimed = world.claim(&world.riley, &edited).await.unwrap();
    assert_eq!(claimed.idempotency_key, format!("{}.2", case.id));
    assert_eq!(claimed.case.submission.action.args.as_str(), r#"{"amount":4}"#);
    assert_eq!(world.story(case.id).await, ["proposed", "modified", "claimed"]);
    world.close().await;
}

#[tokio::test]
async fn edited_arguments_follow_the_agents_schema() {
    let world = World::new().await;
    let schema = r#"{"type":"object","properties":{"amount":{"type":"integer","maximum":10}}}"#;
    let text = format!(r#"{{"tool":"refund","args":{{"amount":5}},"args_schema":{schema}}}"#);
    let case = world.engine.propose(&world.riley, body(&text, None)).await.unwrap().case;
    let array = DecisionRequest { args: Some(json("[1]")), ..ballot(&case, Decision::Modify) };
    for (what, request) in [
        ("too much", edit(&case, r#"{"amount":11}"#)),
        ("a text", edit(&case, r#"{"amount":"4"}"#)),
        ("unchanged", edit(&case, r#"{"amount":5.0}"#)),
        ("no arguments", ballot(&case, Decision::Modify)),
        ("a list", array),
    ] {
        let refused = error(world.engine.decide(&world.ann, case.id, request).await);
        assert!(matches!(refused, EngineError::InvalidArgs(_)), "{what}: {refused:?}");
    }
    assert_eq!(world.stored(case.id).await.revision, 1);
    world.engine.decide(&world.ann, case.id, edit(&case, r#"{"amount":10}"#)).await.unwrap();
    world.close().await;
}

#[tokio::test]
async fn an_edit_that_demands_more_is_held_anew() {
    let world = World::with_judge(ByAmount).await;
    let case = held(&world, 50).await;
    world.clock.pass(Duration::from_secs(1_800));
    let edited = world.engine.decide(&world.ann, case.id, edit(&case, r#"{"amount":500}"#)).await.unwrap();
    assert_eq!((edited.status(), edited.submission.verdict.tier), (Status::Pending, Tier::Escalate));
    // With a deadline of its own, and for everyone it needs: Ann had not seen what it would demand.
    assert!(edited.state.wakes_at() > case.state.wakes_at());
    assert_eq!(edited.approvals().count(), 0);
    assert_eq!(world.notices().await, ["held", "held"]);
    // A decision about the version before is about something else.
    assert_eq!(refusal(world.approve(&world.bea, &case).await), Refusal::StaleVersion { current: 2 });
    assert_eq!(world.approve(&world.bea, &edited).await.unwrap().status(), Status::Pending);
    assert_eq!(world.approve(&world.ann, &edited).await.unwrap().status(), Status::Authorised);
    world.close().await;
}

#[tokio::test]
async fn an_edit_never_demands_less_than_what_it_replaces() {
    let world = World::with_judge(ByAmount).await;
    let case = held(&world, 500).await;
    let edited = world.engine.decide(&world.ann, case.id, edit(&case, r#"{"amount":1}"#)).await.unwrap();
    assert_eq!(edited.status(), Status::Pending);
    let verdict = &edited.submission.verdict;
    assert_eq!((verdict.tier, verdict.risk, verdict.quorum.count()), (Tier::Escalate, Risk::Critical, 2));
    // Not even what policy would let run by itself.
    let again = world.engine.decide(&world.bea, case.id, edit(&edited, r#"{"amount":0}"#)).await.unwrap();
    assert_eq!((again.status(), again.submission.verdict.tier), (Status::Pending, Tier::Escalate));
    // Ann's edit was of another version; her word about this one still counts.
    assert_eq!(world.approve(&world.ann, &again).await.unwrap().status(), Status::Authorised);
    world.close().await;
}

#[tokio::test]
async fn nobody_edits_an_action_into_a_blocked_one() {
    let world = World::with_judge(ByAmount).await;
    let case = held(&world, 50).await;
    let refused = world.engine.decide(&world.ada, case.id, edit(&case, r#"{"amount":1000}"#)).await;
    assert_eq!(refusal(refused), Refusal::ModificationBlocked { rule: "by_amount".into() });
    assert_eq!(world.stored(case.id).await, *case);
    world.close().await;
}

#[tokio::test]
async fn an_edit_into_what_already_waits_is_refused() {
    let world = World::with_judge(ByAmount).await;
    let (first, second) = (held(&world, 10).await, held(&world, 20).await);
    let twin = edit(&second, r#"{"amount":10}"#);
    let refused = error(world.engine.decide(&world.ann, second.id, twin.clone()).await);
    let EngineError::InvalidArgs(problem) = &refused else { panic!("{refused:?}") };
    assert!(problem.contains(&first.id.to_string()), "{problem}");
    assert_eq!(world.stored(second.id).await, *second);
    // Once the other is out of the way, it is an edit like any other.
    world.decide(&world.ann, &first, Decision::Deny).await.unwrap();
    world.engine.decide(&world.ann, second.id, twin).await.unwrap();
    world.close().await;
}

#[tokio::test]
async fn a_late_or_stale_edit_is_refused_as_such_whatever_its_arguments() {
    let world = World::with_judge(ByAmount).await;
    let case = held(&world, 50).await;
    let stale = DecisionRequest { version: 7, args: Some(json("[]")), ..ballot(&case, Decision::Modify) };
    assert_eq!(refusal(world.engine.decide(&world.ann, case.id, stale).await).code(), "stale_version");
    world.clock.pass(Duration::from_secs(3_600));
    let late = DecisionRequest { args: Some(json("[]")), ..ballot(&case, Decision::Modify) };
    assert_eq!(refusal(world.engine.decide(&world.ann, case.id, late).await).code(), "expired");
    world.engine.move_overdue().await.unwrap();
    world.close().await;
}
