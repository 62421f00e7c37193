//! Triage: someone outside looks first, and can make nothing milder.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use banksman_core::{Case, Risk, Status, Tier, Triage};
use banksman_engine::{Evaluator, TriageQuestion};
use banksman_policy::{Policy, TriagePlan};

use crate::world::World;

const POLICY: &str = "
version: 1
triage: {command: [triage], timeout: 1s, tiers: [notify, approve, escalate], match: {tool: [pay, mail, drop]}}
tools:
  pay: {risk: medium, tier: approve}
  mail: {risk: low, tier: notify}
  drop: {risk: critical, tier: escalate}
  read: {tier: auto}
  wipe: {tier: block}
";

/// Says what the action's note says, and counts how often it was asked.
#[derive(Default)]
struct Parrot(AtomicUsize);

#[async_trait::async_trait]
impl Evaluator for Parrot {
    async fn evaluate(&self, _: &TriagePlan, question: &TriageQuestion) -> Result<Triage, String> {
        self.0.fetch_add(1, Ordering::SeqCst);
        let said = |text: &str| question.action.args.as_str().contains(text);
        if said("sleep") {
            tokio::time::sleep(Duration::from_secs(3600)).await;
        }
        if said("fail") {
            return Err("it is ill".into());
        }
        Ok(Triage {
            tier: said("soft").then_some(Tier::Auto).or(said("hard").then_some(Tier::Escalate)),
            risk: said("soft").then_some(Risk::None).or(said("hard").then_some(Risk::Critical)),
            denied: said("veto"),
            priority: Some(255),
            rationale: Some("ä".repeat(5_000)),
            problem: None,
        })
    }
}

async fn world() -> (World, Arc<Parrot>) {
    let world = World::with_judge(Policy::parse("policy.yaml", POLICY).unwrap()).await;
    let parrot = Arc::new(Parrot::default());
    world.engine.staff_triage(Arc::clone(&parrot) as _);
    (world, parrot)
}

async fn propose(world: &World, tool: &str, note: &str) -> Arc<Case> {
    world.propose(&world.bo, tool, &format!(r#"{{"note":"{note}"}}"#)).await
}

#[tokio::test]
async fn it_raises_denies_and_explains() {
    let (world, _) = world().await;
    let verdict = |case: &Case| (case.submission.verdict.tier, case.submission.verdict.risk);
    let plain = propose(&world, "pay", "plain").await;
    assert_eq!(verdict(&plain), (Tier::Approve, Risk::Medium));
    let said = plain.submission.assessment.triage.clone().unwrap();
    assert_eq!(said.priority, Some(100));
    assert!(said.rationale.unwrap().len() < 2_010);
    let hard = propose(&world, "pay", "hard").await;
    assert_eq!(verdict(&hard), (Tier::Escalate, Risk::Critical));
    assert_eq!(hard.submission.verdict.rule, "triage.raised");
    assert_eq!(hard.submission.verdict.quorum.count(), 2);
    let denied = propose(&world, "mail", "veto").await;
    assert_eq!(
        (denied.status(), denied.submission.verdict.rule.as_str()),
        (Status::Blocked, "triage.denied")
    );
    world.close().await;
}

#[tokio::test]
async fn it_lowers_nothing() {
    let (world, parrot) = world().await;
    for (tool, tier, risk) in [
        ("pay", Tier::Approve, Risk::Medium),
        ("drop", Tier::Escalate, Risk::Critical),
        ("mail", Tier::Notify, Risk::Low),
    ] {
        let case = propose(&world, tool, "soft").await;
        assert_eq!((case.submission.verdict.tier, case.submission.verdict.risk), (tier, risk), "{tool}");
    }
    // What runs anyway and what never runs is none of its business.
    let before = parrot.0.load(Ordering::SeqCst);
    assert_eq!(propose(&world, "read", "soft").await.status(), Status::Authorised);
    assert_eq!(propose(&world, "wipe", "soft").await.status(), Status::Blocked);
    assert_eq!(parrot.0.load(Ordering::SeqCst), before);
    world.close().await;
}

#[tokio::test]
async fn without_an_answer_a_person_looks() {
    let (world, _) = world().await;
    for note in ["fail", "sleep"] {
        let case = propose(&world, "mail", note).await;
        assert_eq!(case.status(), Status::Pending, "{note}");
        assert_eq!(case.submission.verdict.rule, "triage.failed");
        assert!(case.submission.assessment.triage.as_ref().unwrap().problem.is_some());
    }
    world.close().await;
    let unstaffed = World::with_judge(Policy::parse("policy.yaml", POLICY).unwrap()).await;
    assert_eq!(propose(&unstaffed, "mail", "plain").await.status(), Status::Pending);
    unstaffed.close().await;
}

#[tokio::test]
async fn asking_again_gets_no_second_opinion() {
    let (world, parrot) = world().await;
    for _ in 0..3 {
        assert_eq!(propose(&world, "mail", "veto").await.status(), Status::Blocked);
    }
    assert_eq!(parrot.0.load(Ordering::SeqCst), 1);
    world.clock.pass(Duration::from_secs(601));
    propose(&world, "mail", "veto").await;
    assert_eq!(parrot.0.load(Ordering::SeqCst), 2);
    world.close().await;
}
