//! Texts and numbers that were chosen to be mangled survive byte by byte.

use std::sync::Arc;

use banksman_core::{
    Action, Case, Kind, Moment, Opening, Outcome, Principal, PrincipalKind, Risk, Tier, open,
};

use super::Harness;
use super::bench::Bench;
use super::fixture::{
    Proposal, advance, advancing, approve, claim, hold, id, json, opening, person, report, second,
    submission, verdict,
};
use crate::{CaseQuery, EventQuery, Store};

/// What breaks programs that quote, fold, trim, normalise or cut.
fn hostile_texts() -> Vec<String> {
    let mut texts: Vec<String> = [
        "'; DROP TABLE actions; --",
        "\" OR \"\"=\"",
        "back\\slash \\u0000 \\n",
        "line\nbreak\r\ttab",
        "bidi \u{202e}txt.exe\u{202c} \u{2066}isolate\u{2069}",
        "zero\u{200b}width\u{feff}",
        "emoji 👩‍👩‍👧‍👦 🏴\u{e0067}\u{e0062}\u{e007f}",
        "\u{10ffff}\u{fffd}\u{fffe}",
        // The same to the eye, composed and decomposed: two different tools.
        "caf\u{e9}",
        "cafe\u{301}",
        "%_like_*?[a-z]",
        "${jndi:ldap://x}{{7*7}}",
        " leading and trailing ",
        "Case",
        "case",
        "\u{7f}\u{1}\u{1b}[31mred",
        "null",
        "0",
    ]
    .map(Into::into)
    .to_vec();
    texts.push("long ".repeat(2_000));
    texts
}

fn told_by(number: u64, text: &str) -> Opening {
    let quoted = serde_json::to_string(text).unwrap();
    let said = || Some(text.to_owned());
    let value = || Some(json(&quoted));
    let action = Action {
        tool: text.into(),
        description: said(),
        rationale: said(),
        evidence: value(),
        session: said(),
        thread: said(),
        task: said(),
        action_type: said(),
        affected_systems: vec![text.into(), String::new()],
        rollback_plan: said(),
        state_before: value(),
        checkpoint: value(),
        ..Action::bare("", Kind::Shell, json(&format!("{{{quoted}:{quoted}}}")))
    };
    Opening {
        id: id(number),
        agent: Principal { owner: said(), ..person(PrincipalKind::Agent, text) },
        batch: None,
        submission: submission(action, verdict(Tier::Approve, Risk::High)),
        grant: None,
    }
}

/// Every text in every place comes back as it was, and is found by itself and by nothing that looks like it.
pub async fn hostile_texts_survive<H: Harness>() {
    let mut bench = Bench::<H>::set_up().await;
    let texts = hostile_texts();
    let mut cases: Vec<Case> = Vec::new();
    for (number, text) in (1..).zip(&texts) {
        let transition = open(told_by(number, text), &Moment::at(second(0)));
        let mut case = transition.case.clone();
        bench.store().commit(opening(transition)).await.unwrap();
        let mut decision = approve(&case, second(1));
        for review in &mut decision.case.reviews {
            review.by.clone_from(text);
            review.reason = Some(text.clone());
            review.message = Some(text.clone());
        }
        case = decision.case.clone();
        bench.store().commit(advancing(decision)).await.unwrap();
        cases.push(case);
    }
    bench.reopen().await;
    for (text, case) in texts.iter().zip(&cases) {
        assert_eq!(bench.store().case(case.id).await.unwrap().as_ref(), Some(case));
        let by_tool = CaseQuery { tool: Some(text.clone()), ..CaseQuery::newest(100) };
        let by_agent = CaseQuery { agent: Some(text.clone()), ..CaseQuery::newest(100) };
        for query in [by_tool, by_agent] {
            assert_eq!(bench.store().cases(query).await.unwrap(), std::slice::from_ref(case), "{text:?}");
        }
        let by_agent = EventQuery { agent: Some(text.clone()), ..EventQuery::following(0, 100) };
        assert_eq!(bench.store().events(by_agent).await.unwrap().len(), 2, "{text:?}");
    }
    bench.finish().await;
}

async fn hold_args(store: &Arc<dyn Store>, number: u64, args: &str) -> Case {
    let mut transition = Proposal { tier: Tier::Auto, ..Proposal::number(number) }.open();
    let action = Action::bare("refund", Kind::Tool, json(args));
    transition.case.submission = submission(action, verdict(Tier::Auto, Risk::Low));
    let case = transition.case.clone();
    store.commit(opening(transition)).await.unwrap();
    case
}

/// A megabyte of arguments comes back, byte by byte, and so does its outcome.
pub async fn a_megabyte_survives<H: Harness>() {
    let mut bench = Bench::<H>::set_up().await;
    let text = "ab\\\"é😀\u{202e}".repeat(100_000);
    let quoted = serde_json::to_string(&text).unwrap();
    assert!(quoted.len() > 1_000_000);
    let case = hold_args(bench.store(), 1, &format!(r#"{{"body":{quoted}}}"#)).await;
    let case = advance(bench.store(), claim(&case, second(1))).await;
    let outcome = Outcome::Failed { error: Some(text), result: Some(json(&quoted)) };
    let case = advance(bench.store(), report(&case, outcome, second(2))).await;
    bench.reopen().await;
    let stored = bench.store().case(case.id).await.unwrap().unwrap();
    // Not assert_eq: its message would be megabytes long.
    assert!(stored == case, "a megabyte was not read back as it was written");
    assert!(stored.submission.action.digest() == case.submission.digest);
    bench.finish().await;
}

/// Numbers that no double holds come back with all their digits, so that the digest still names them.
pub async fn numbers_survive_exactly<H: Harness>() {
    let mut bench = Bench::<H>::set_up().await;
    let numbers = [
        "9007199254740993",
        "-9007199254740993",
        "1e+400",
        "1e-400",
        "18446744073709551617",
        "0.1000000000000000055511151231257827",
        "1.2345678901234567890123456789e+29",
        "5e-324",
        "1.7976931348623157e+308",
        "0",
    ];
    let mut cases = Vec::new();
    for (number, text) in (1..).zip(numbers) {
        let case = hold_args(bench.store(), number, &format!(r#"{{"n":{text}}}"#)).await;
        let case = advance(bench.store(), claim(&case, second(1))).await;
        let outcome = Outcome::Succeeded { result: Some(json(text)) };
        cases.push((text, advance(bench.store(), report(&case, outcome, second(2))).await));
    }
    bench.reopen().await;
    for (text, case) in cases {
        let stored = bench.store().case(case.id).await.unwrap().unwrap();
        assert_eq!(stored, case);
        assert_eq!(stored.submission.action.args.as_str(), format!(r#"{{"n":{text}}}"#));
        assert_eq!(stored.submission.action.digest(), stored.submission.digest);
    }
    bench.finish().await;
}

/// What looks like another agent's name is another agent: one's limit, key or hold is not the other's.
pub async fn look_alikes_are_not_the_same<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    for (number, agent) in
        (1..).zip(["riley", "Riley", "riley ", " riley", "rile\u{443}", "caf\u{e9}", "cafe\u{301}"])
    {
        let equal = Proposal { amount: 1, ..Proposal::number(number) };
        let mut commit = opening(equal.by(agent).open());
        commit.limits = Some(crate::PendingLimits { per_agent: 1, total: 100 });
        bench.store().commit(commit).await.unwrap_or_else(|error| panic!("{agent:?}: {error}"));
    }
    hold(bench.store(), Proposal { amount: 1, tool: "Refund".into(), ..Proposal::number(50) }).await;
    bench.finish().await;
}
