//! What is committed is read back, equal in every part.

use std::collections::HashSet;
use std::sync::Arc;

use banksman_core::{
    Action, Annotations, Assessment, Case, Command, Decision, Escalation, EscalationStep, Estimate, Finding,
    FreezeId, FreezeScope, GrantId, Kind, Moment, Opening, Outcome, Principal, PrincipalKind, Quorum,
    RememberLimits, RememberScope, Resume, Risk, Severity, Status, Submission, Tier, TokenId, Transition,
    Triage, Verdict, open, step,
};

use super::bench::Bench;
use super::fixture::{
    Proposal, advance, advancing, approve, ballot, batch_id, cancel, claim, decide, edit, hold, id, json,
    opening, pass_time, person, report, second, submission, succeed,
};
use super::{Harness, fixture};
use crate::{BatchRecord, Commit};

/// Moves that follow each other.
struct Walk(Vec<Transition>);

impl Walk {
    fn from(first: Transition) -> Self {
        Self(vec![first])
    }

    fn then(mut self, next: impl FnOnce(&Case) -> Transition) -> Self {
        let moved = next(&self.0.last().unwrap().case);
        self.0.push(moved);
        self
    }
}

fn frozen(number: u64) -> Transition {
    let freeze = banksman_core::Freeze {
        id: FreezeId::from_parts(0, 3),
        scope: FreezeScope::Everything,
        reason: "drill".into(),
        by: "ada".into(),
        at: second(0),
    };
    let opening = Opening {
        id: id(number),
        agent: person(PrincipalKind::Agent, "riley"),
        batch: None,
        submission: submission(fixture::refund("refund", number), fixture::verdict(Tier::Auto, Risk::Low)),
        grant: None,
    };
    open(opening, &Moment { freeze: Some(&freeze), ..Moment::at(second(0)) })
}

fn failed(error: Option<&str>, result: Option<&str>) -> Outcome {
    Outcome::Failed { error: error.map(Into::into), result: result.map(json) }
}

/// Every way through the house.
fn walks() -> Vec<Walk> {
    let mut number = 0;
    let mut held = || {
        number += 1;
        Walk::from(Proposal::number(number).open())
    };
    let grant = Some(GrantId::from_parts(1, 2));
    let late = second(1_000_000);
    let silent_cancel = |case: &Case| {
        let by = banksman_core::Actor::Reviewer { name: "ann".into() };
        step(case, Command::Cancel { by, reason: None }, &Moment::at(second(1))).unwrap()
    };
    vec![
        held().then(|case| decide(case, "ann", Decision::Deny, second(1))),
        held().then(|case| decide(case, "ann", Decision::Respond, second(1))),
        held().then(|case| cancel(case, second(1))),
        held().then(silent_cancel),
        held().then(|case| pass_time(case, late)),
        held().then(|case| approve(case, second(1))).then(|case| pass_time(case, late)),
        held().then(|case| approve(case, second(1))).then(|case| cancel(case, second(2))),
        held().then(|case| edit(case, 7_001, second(1))).then(silent_cancel),
        held()
            .then(|case| edit(case, 7_002, second(1)))
            .then(|case| claim(case, second(2)))
            .then(|case| succeed(case, second(3))),
        held()
            .then(|case| approve(case, second(1)))
            .then(|case| claim(case, second(2)))
            .then(|case| report(case, Outcome::Succeeded { result: None }, second(3))),
        held()
            .then(|case| approve(case, second(1)))
            .then(|case| claim(case, second(2)))
            .then(|case| report(case, failed(Some("no such order"), Some("[1,2]")), second(3))),
        held()
            .then(|case| approve(case, second(1)))
            .then(|case| claim(case, second(2)))
            .then(|case| pass_time(case, late))
            .then(|case| report(case, failed(None, None), late)),
        Walk::from(Proposal { tier: Tier::Block, ..Proposal::number(101) }.open()),
        Walk::from(frozen(102)),
        Walk::from(Proposal { tier: Tier::Auto, ..Proposal::number(103) }.open()),
        Walk::from(Proposal { tier: Tier::Notify, ..Proposal::number(104) }.open())
            .then(|case| claim(case, second(1))),
        Walk::from(Proposal { grant, ..Proposal::number(105) }.open()).then(|case| claim(case, second(1))),
    ]
}

/// Every state that an action can be in is read back as it was written, at once and after a restart.
pub async fn every_state_is_read_back<H: Harness>() {
    let mut bench = Bench::<H>::set_up().await;
    let mut seen = HashSet::new();
    let mut last = Vec::new();
    for Walk(steps) in walks() {
        for (place, transition) in steps.iter().enumerate() {
            let expected = transition.case.clone();
            let commit = if place == 0 { opening(transition.clone()) } else { advancing(transition.clone()) };
            bench.store().commit(commit).await.unwrap();
            assert_eq!(bench.store().case(expected.id).await.unwrap().as_ref(), Some(&expected));
            seen.insert(expected.status());
        }
        last.push(steps.last().unwrap().case.clone());
    }
    let missing: Vec<_> = Status::ALL.iter().filter(|status| !seen.contains(status)).collect();
    assert!(missing.is_empty(), "no walk comes by {missing:?}");
    bench.reopen().await;
    for case in last {
        assert_eq!(bench.store().case(case.id).await.unwrap(), Some(case));
    }
    bench.finish().await;
}

/// Every member of an action, of its assessment and of its verdict is read back.
pub async fn every_member_of_a_submission_is_read_back<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    // No `..`: a new member has to be given a value here before this compiles again.
    let action = Action {
        tool: "issue_refund".into(),
        kind: Kind::Sql,
        args: json(r#"{"amount":899.5,"nested":{"list":[null,true,"x"]}}"#),
        description: Some("refund an order".into()),
        rationale: Some("the customer is right".into()),
        evidence: Some(json(r#"[{"ticket":4711}]"#)),
        session: Some("monday".into()),
        thread: Some("thread-1".into()),
        task: Some("task-1".into()),
        action_type: Some("payment".into()),
        predicted_severity: Some(Severity::S3),
        estimate: Estimate { cost_usd: Some(31.245_270_191_439_438), duration_ms: Some(u64::MAX) },
        affected_systems: vec!["billing".into(), "mail".into()],
        reversible: Some(false),
        rollback_plan: Some("charge it again".into()),
        args_schema: Some(json(r#"{"type":"object"}"#)),
        state_before: Some(json(r#"{"balance":"899.50"}"#)),
        preconditions: Some(json(r#"{"order.version":4}"#)),
        checkpoint: Some(json(r#""opaque""#)),
        resume: Some(Resume { url: "https://agents.example.org/resume".into() }),
        server: Some("mail".into()),
        annotations: Some(Annotations {
            read_only_hint: Some(false),
            destructive_hint: Some(true),
            idempotent_hint: None,
            open_world_hint: Some(true),
        }),
        timeout_seconds: Some(1_800),
        forwarded: true,
    };
    let handed_over = Escalation::HandTo { role: "director".into(), instead_of: vec!["finance".into()] };
    let verdict = Verdict {
        tier: Tier::Escalate,
        risk: Risk::Critical,
        rule: "refunds.large".into(),
        matched: vec!["refunds".into(), "refunds.large".into()],
        quorum: Quorum::new(3, vec!["support".into(), "finance".into()]),
        timeout_seconds: 3_600,
        claim_within_seconds: 901,
        lease_seconds: 602,
        require_reason: true,
        require_passkey: true,
        allow_remember: false,
        remember_limits: RememberLimits {
            max_seconds: 60,
            scopes: vec![RememberScope::Exact, RememberScope::Tool],
            uses: Some(7),
        },
        escalation: vec![
            EscalationStep { after_seconds: 600, then: Escalation::NotifyAgain },
            EscalationStep { after_seconds: 1_800, then: handed_over },
        ],
        observed: false,
        messages: vec!["look at the amount".into()],
        routes: vec!["finance".into()],
        redact: vec!["card.number".into()],
        approved_by_preset: None,
    };
    let finding = Finding {
        argument: Some("/amount".into()),
        span: Some(banksman_core::Span { start: 0, end: 3 }),
        ..Finding::new("large", Risk::Critical, "beyond 500")
    };
    let assessment = Assessment {
        resources: vec!["host:example.org".into()],
        reversible: false,
        impact: Some("Grave".into()),
        recommendations: vec!["Ask first.".into()],
        triage: Some(Triage {
            tier: Some(Tier::Escalate),
            risk: Some(Risk::High),
            denied: true,
            priority: Some(90),
            rationale: Some("it looks odd".into()),
            problem: Some("it took too long".into()),
        }),
        ..Assessment::of(vec![finding])
    };
    let submission = Submission::new(action, assessment, verdict);
    let opening_of = |number, tier| {
        let mut submission = submission.clone();
        Arc::make_mut(&mut submission.verdict).tier = tier;
        Opening {
            id: id(number),
            agent: Principal { owner: Some("olga".into()), ..person(PrincipalKind::Agent, "riley") },
            batch: Some(batch_id(9)),
            submission: Arc::new(submission),
            grant: None,
        }
    };
    for (number, tier) in [(1, Tier::Escalate), (2, Tier::Auto)] {
        let transition = open(opening_of(number, tier), &Moment::at(second(0)));
        let case = transition.case.clone();
        bench.store().commit(opening(transition)).await.unwrap();
        assert_eq!(bench.store().case(case.id).await.unwrap(), Some(case));
    }
    bench.finish().await;
}

/// What people said is read back, with their roles, their reasons and their words, in order.
pub async fn reviews_are_read_back_in_order<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let mut proposal = Proposal::number(1).open();
    let mut demanding = Submission::clone(&proposal.case.submission);
    Arc::make_mut(&mut demanding.verdict).quorum = Quorum::new(3, vec!["finance".into()]);
    proposal.case.submission = Arc::new(demanding);
    let mut case = proposal.case.clone();
    bench.store().commit(opening(proposal)).await.unwrap();
    for (by, roles, reason) in [
        ("ann", vec!["finance".to_owned()], Some("checked")),
        ("bea", Vec::new(), None),
        ("cem", Vec::new(), None),
    ] {
        let mut ballot = ballot(&case, by, Decision::Approve);
        ballot.reviewer = Principal { token: TokenId::from_parts(0, 8), roles, ..ballot.reviewer };
        ballot.reason = reason.map(Into::into);
        ballot.message = None;
        let transition = step(&case, Command::Decide(ballot), &Moment::at(second(1))).unwrap();
        case = advance(bench.store(), transition).await;
    }
    let stored = bench.store().case(case.id).await.unwrap().unwrap();
    assert_eq!(
        stored.reviews.iter().map(|review| review.by.as_str()).collect::<Vec<_>>(),
        ["ann", "bea", "cem"]
    );
    assert_eq!(stored, case);
    bench.finish().await;
}

/// An edit replaces what would run, and with it what lists and duplicates are found by.
pub async fn an_edit_is_read_back_whole<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let case = hold(bench.store(), Proposal::number(1)).await;
    let edited = advance(bench.store(), edit(&case, 77, second(1))).await;
    let stored = bench.store().case(case.id).await.unwrap().unwrap();
    assert_eq!((stored.version, stored.submission.action.args.as_str()), (2, r#"{"amount":77}"#));
    assert_eq!(stored, edited);
    // The old arguments are free again: what they asked for no longer waits.
    hold(bench.store(), Proposal { amount: 1, ..Proposal::number(2) }).await;
    bench.finish().await;
}

/// A batch is read back with its items in the order in which they were proposed, whatever their ids.
pub async fn a_batch_is_read_back_in_order<H: Harness>() {
    let mut bench = Bench::<H>::set_up().await;
    let record = BatchRecord {
        id: batch_id(1),
        agent: "riley".into(),
        created_at: second(5),
        items: [3, 1, 5, 2, 4].map(id).to_vec(),
    };
    let items = record.items.iter().zip([3, 1, 5, 2, 4]);
    let mut commit =
        fixture::together(items.map(|(_, number)| {
            opening(Proposal { batch: Some(record.id), ..Proposal::number(number) }.open())
        }));
    commit.batch = Some(record.clone());
    bench.store().commit(commit).await.unwrap();
    let empty = BatchRecord { id: batch_id(2), items: Vec::new(), ..record.clone() };
    bench.store().commit(Commit { batch: Some(empty.clone()), ..Commit::default() }).await.unwrap();
    bench.reopen().await;
    assert_eq!(bench.store().batch(record.id).await.unwrap(), Some(record));
    assert_eq!(bench.store().batch(empty.id).await.unwrap(), Some(empty));
    assert_eq!(bench.store().batch(batch_id(3)).await.unwrap(), None);
    bench.finish().await;
}

/// What was never stored is not found, and an empty store is empty in every way.
pub async fn an_empty_store_is_empty<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let store = bench.store();
    assert_eq!(store.case(id(1)).await.unwrap(), None);
    assert_eq!(store.cases(crate::CaseQuery::newest(10)).await.unwrap(), Vec::new());
    assert_eq!(store.last_seq().await.unwrap(), 0);
    assert_eq!(store.pending_count().await.unwrap(), 0);
    assert_eq!(store.next_due().await.unwrap(), None);
    assert_eq!(store.due(second(1_000_000), 10).await.unwrap(), Vec::new());
    assert_eq!(store.notices(10).await.unwrap(), Vec::new());
    assert_eq!(store.credentials().await.unwrap(), Vec::new());
    // Strict until someone says otherwise.
    assert_eq!(store.control().await.unwrap().mode, banksman_core::Mode::Production);
    // A commit of nothing is a commit.
    assert_eq!(store.commit(Commit::default()).await.unwrap().last_seq, 0);
    bench.finish().await;
}
