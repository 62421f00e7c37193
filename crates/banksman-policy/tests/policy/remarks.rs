//! What is valid and still odd: said where it is, and never wrongly.

use banksman_core::json::CanonicalJson;
use banksman_core::{Action, Assessment, Finding, Kind, Mode, Risk, Severity, Timestamp, Verdict};
use banksman_policy::{Facts, Policy};
use proptest::prelude::*;

fn remarks(rules: &str) -> Vec<String> {
    let policy = Policy::parse("p.yaml", &format!("version: 1\n{rules}")).unwrap();
    policy.remarks().iter().map(ToString::to_string).collect()
}

#[test]
fn rules_that_change_nothing_are_named_with_what_hides_them() {
    let found = remarks(
        "tools: {pay: {tier: auto}}\nrules:\n- {id: wide, match: {tool: 'p*'}, tier: approve, risk: high}\n",
    );
    assert_eq!(
        found,
        [
            "p.yaml:2:14: tools.pay changes nothing: wide (p.yaml:4:8) matches whatever it matches, and is at least as strict"
        ]
    );
}

#[test]
fn a_rule_is_hidden_only_by_one_that_is_stricter_in_every_respect() {
    for (over, under, hidden) in [
        ("match: {tool: '*'}, tier: block", "match: {tool: x}, tier: approve", true),
        ("match: {tool: '*'}, tier: block", "match: {tool: x}, tier: approve, timeout: 5m", false),
        (
            "match: {tool: '*'}, tier: block, timeout: 1m",
            "match: {tool: x}, tier: approve, timeout: 5m",
            true,
        ),
        ("tier: block", "match: {tool: x}, tier: approve", false),
        ("tier: block", "match: {kind: shell}, tier: approve", true),
        ("match: {kind: [shell, sql]}, tier: approve", "match: {kind: shell}, tier: approve", true),
        ("match: {session: '*'}, tier: approve", "match: {kind: shell}, tier: approve", false),
        ("match: {args: {n: {gt: 5}}}, tier: approve", "match: {args: {n: {gt: 9}}}, tier: approve", true),
        ("match: {args: {n: {gt: 9}}}, tier: approve", "match: {args: {n: {gt: 5}}}, tier: approve", false),
        (
            "match: {args: {n: {gte: 5}}}, tier: approve",
            "match: {args: {n: {in: [5, 6]}}}, tier: approve",
            true,
        ),
        (
            "match: {args: {n: {gt: 5}}}, tier: approve",
            "match: {args: {n: {in: [5, 6]}}}, tier: approve",
            false,
        ),
        (
            "match: {args: {n: {present: true}}}, tier: block",
            "match: {args: {n: {regex: a}}}, tier: block",
            true,
        ),
        ("match: {agent: 'a*'}, tier: block", "match: {agent: ab}, tier: notify", true),
        ("tier: approve, roles: [a]", "tier: approve, roles: [b]", false),
        ("tier: approve, roles: [a, b]", "tier: approve, roles: [b]", true),
        ("tier: approve, allow_remember: false", "tier: approve, allow_remember: true", false),
        ("when: 'args.n > 1', tier: block", "when: 'args.n > 1', tier: approve", true),
        ("when: 'args.n > 1', tier: block", "when: 'args.n > 2', tier: approve", false),
        ("tier: block", "accepts: [files.rm.*], tier: approve", false),
        ("accepts: [files.*], tier: block", "accepts: [files.rm.*], tier: approve", true),
        ("match: {args: {n: 1}}, accepts: [files.*]", "match: {args: {n: 1}}, accepts: [files.rm.*]", false),
    ] {
        for text in [
            format!("rules:\n- {{id: over, {over}}}\n- {{id: under, {under}}}\n"),
            format!("rules:\n- {{id: under, {under}}}\n- {{id: over, {over}}}\n"),
        ] {
            let found = remarks(&text);
            assert_eq!(
                found.iter().any(|remark| remark.contains("under changes nothing")),
                hidden,
                "{text}{found:?}"
            );
        }
    }
}

#[test]
fn of_two_equal_rules_the_second_is_one_too_many() {
    let found = remarks("rules:\n- {id: a, tier: block}\n- {id: b, tier: block}\n- {id: c, tier: block}\n");
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|remark| remark.contains("a (p.yaml:3:8)")), "{found:?}");
}

#[test]
fn findings_that_nothing_finds_and_rules_that_demand_nothing_are_told() {
    let found = remarks(
        "rules:\n- {id: a, match: {finding: sql.dropp.*}, tier: block}\n- {id: b, match: {kind: sql}}\n- {id: c, match: {tool: x}}\n",
    );
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("sql.dropp.*") && found[1].contains("b demands nothing"), "{found:?}");
}

#[test]
fn rules_that_let_nothing_through_or_forget_what_is_worse_are_told() {
    for (rules, says) in [
        ("- {id: a, match: {annotations: {read_only: true}}, tier: auto}", Some("lets nothing through")),
        ("- {id: a, match: {tool: '*', annotations: {read_only: true}}, tier: auto}", None),
        (
            "- {id: a, match: {risk: high}, tier: block}",
            Some("not about what is critical: write `risk: '>= high'`"),
        ),
        ("- {id: a, match: {risk: [low, high]}, tier: escalate}", Some("critical")),
        ("- {id: a, match: {severity: S3}, tier: block}", Some("not about S4")),
        ("- {id: a, match: {risk: '>= high'}, tier: block}", None),
        ("- {id: a, match: {risk: medium}, tier: notify}", None),
        (
            "- {id: a, match: {risk: high}, tier: escalate}\n- {id: b, match: {risk: critical}, tier: block}",
            None,
        ),
    ] {
        let found = remarks(&format!("rules:\n{rules}\n"));
        match says {
            Some(says) => assert!(found.iter().any(|remark| remark.contains(says)), "{rules} {found:?}"),
            None => assert!(found.is_empty(), "{rules} {found:?}"),
        }
    }
}

#[test]
fn thousands_of_rules_are_compared_quickly() {
    let rules: String =
        (0..10_000).map(|n| format!("- {{id: r{n}, match: {{tool: tool_{n}}}, tier: approve}}\n")).collect();
    assert_eq!(
        remarks(&format!("rules:\n{rules}- {{id: last, match: {{tool: tool_7}}, tier: notify}}\n")).len(),
        1
    );
}

/// A rule about few enough things that one often hides another.
fn rule() -> impl Strategy<Value = String> {
    let matches = prop::collection::vec(
        prop::sample::select(vec![
            "tool: pay",
            "tool: 'p*'",
            "tool: ['p?y', read]",
            "tool: '*'",
            "agent: riley",
            "agent: 'r*'",
            "kind: shell",
            "kind: [shell, tool]",
            "risk: '>= medium'",
            "risk: high",
            "finding: git.*",
            "finding: git.push.force",
            "mode: production",
            "severity: [S1, S2]",
            "session: '*'",
            "action_type: 'fine*'",
        ]),
        0..3,
    );
    let args = prop::collection::vec(
        prop::sample::select(vec![
            "n: {gt: 5}",
            "n: {gte: 9}",
            "n: 9",
            "n: {in: [9, 10]}",
            "n: {present: true}",
            "n: {not: 5}",
            "n: {not_in: [5, 9]}",
            "n: {present: false}",
            "n: {truthy: true}",
            "n: {regex: a}",
            "n: {glob: 'a*'}",
            "n: {glob: 'ab*'}",
            "n: {lt: 50}",
        ]),
        0..2,
    );
    let effects = prop::collection::vec(
        prop::sample::select(vec![
            "tier: approve",
            "tier: block",
            "tier: notify",
            "tier: escalate",
            "risk: high",
            "risk: low",
            "timeout: 5m",
            "timeout: 1h",
            "quorum: 2",
            "roles: [lead]",
            "require_reason: true",
            "allow_remember: false",
            "accepts: [git.*]",
            "accepts: [git.push.force]",
            "message: look",
            "message: twice",
            "route: desk",
            "redact: [card]",
            "redact: [card, pin]",
            "extra_people: 1",
            "tier: approve, escalation: [{after: 2m, notify: again}]",
            "tier: approve, roles: [lead], escalation: [{after: 2m, hand_to: boss}]",
            "tier: approve, roles: [lead, boss]",
            "tier: approve, allow_remember: true",
            "tier: approve, allow_remember: {for: 8h}",
            "when: 'args.n > 3'",
        ]),
        0..3,
    );
    (matches, args, effects).prop_map(|(matches, args, effects)| {
        let mut seen: Vec<String> = Vec::new();
        let mut once = |parts: Vec<&str>| {
            let mut kept = Vec::new();
            for part in parts {
                let key = part.split(':').next().unwrap().to_owned();
                if !seen.contains(&key) {
                    seen.push(key);
                    kept.push(part.to_owned());
                }
            }
            kept
        };
        let mut matches = once(matches);
        matches.extend(args.first().map(|test| format!("args: {{{test}}}")));
        let effects: String = once(effects).iter().map(|effect| format!(", {effect}")).collect();
        format!("match: {{{}}}{effects}", matches.join(", "))
    })
}

fn text(rules: &[(usize, &String)]) -> String {
    let mut text = "version: 1\n".to_owned();
    if !rules.is_empty() {
        text.push_str("rules:\n");
    }
    for (id, rule) in rules {
        text.push_str(&format!("- {{id: r{id}, {rule}}}\n"));
    }
    text
}

fn action() -> impl Strategy<Value = Action> {
    let args = prop::sample::select(vec![
        "{}",
        r#"{"n": 5}"#,
        r#"{"n": 9}"#,
        r#"{"n": 10}"#,
        r#"{"n": 99}"#,
        r#"{"n": "abc"}"#,
        r#"{"n": "a"}"#,
        r#"{"n": null}"#,
        r#"{"n": ["a"]}"#,
    ]);
    let tool = prop::sample::select(vec!["pay", "read", "poy", "other"]);
    let kind = prop::sample::select(vec![Kind::Tool, Kind::Shell, Kind::Sql]);
    let around = (
        prop::option::of(Just("s")),
        prop::option::of(Just("fine_tune")),
        prop::option::of(prop::sample::select(Severity::ALL)),
    );
    (tool, kind, args, around).prop_map(|(tool, kind, args, (session, action_type, severity))| {
        let mut action = Action::bare(tool, kind, CanonicalJson::parse(args.as_bytes()).unwrap());
        action.session = session.map(str::to_owned);
        action.action_type = action_type.map(str::to_owned);
        action.predicted_severity = severity;
        action
    })
}

/// The verdict without the names of rules, which of course change when a rule goes.
fn judged(policy: &Policy, action: &Action, level: Option<Risk>, mode: Mode) -> Verdict {
    let findings = level.map(|level| Finding::new("git.push.force", level, "so")).into_iter().collect();
    let facts = Facts { mode, ..Facts::plain("riley", Timestamp::default()) };
    let mut verdict = policy.judge(action, &Assessment::of(findings), &facts).verdict;
    verdict.rule.clear();
    verdict.matched.clear();
    let mut roles = verdict.quorum.roles().to_vec();
    roles.sort();
    verdict.messages.sort();
    verdict.routes.sort();
    verdict.redact.sort();
    verdict.quorum = banksman_core::Quorum::new(verdict.quorum.count(), roles);
    verdict
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn without_the_rules_that_change_nothing_nothing_changes(
        rules in prop::collection::vec(rule(), 2..9),
        actions in prop::collection::vec((action(), prop::option::of(prop::sample::select(Risk::ALL)), prop::sample::select(Mode::ALL)), 30),
    ) {
        let all: Vec<(usize, &String)> = rules.iter().enumerate().collect();
        let parsed = Policy::parse("p.yaml", &text(&all));
        // Such as a window too many: then others are tried, so that as many are tested as it says above.
        prop_assume!(parsed.is_ok());
        let before = parsed.unwrap();
        let idle: Vec<String> = before.remarks().into_iter().filter(|remark| remark.problem.contains("changes nothing")).map(|remark| remark.rule).collect();
        let kept: Vec<(usize, &String)> = all.into_iter().filter(|(id, _)| !idle.contains(&format!("r{id}"))).collect();
        let after = Policy::parse("p.yaml", &text(&kept)).unwrap();
        for (action, level, mode) in actions {
            prop_assert_eq!(judged(&before, &action, level, mode), judged(&after, &action, level, mode), "without {:?}", idle);
        }
    }
}
