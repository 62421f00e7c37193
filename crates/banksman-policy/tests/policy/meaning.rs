//! What a policy demands of an action.

use banksman_core::json::CanonicalJson;
use banksman_core::{Action, Annotations, Assessment, Finding, Kind, Mode, Risk, Severity, Tier, Timestamp};
use banksman_policy::{Facts, Judgement, Policy, Preset};

fn policy(text: &str) -> Policy {
    Policy::parse("policy.yaml", &format!("version: 1\n{text}")).unwrap_or_else(|error| panic!("{error}"))
}

fn action(tool: &str, args: &str) -> Action {
    Action::bare(tool, Kind::Tool, CanonicalJson::parse(args.as_bytes()).unwrap())
}

fn found(findings: &[(&str, Risk)]) -> Assessment {
    Assessment::of(findings.iter().map(|(rule, level)| Finding::new(*rule, *level, "so")).collect())
}

fn judge_in(policy: &Policy, action: &Action, assessment: &Assessment, mode: Mode) -> Judgement {
    policy.judge(action, assessment, &Facts { mode, ..Facts::plain("riley", Timestamp::default()) })
}

fn judge(policy: &Policy, action: &Action, assessment: &Assessment) -> Judgement {
    judge_in(policy, action, assessment, Mode::Production)
}

fn tier(text: &str, tool: &str, args: &str) -> Tier {
    judge(&policy(text), &action(tool, args), &found(&[])).verdict.tier
}

#[test]
fn what_no_rule_names_is_high_and_held() {
    let verdict = judge(&policy(""), &action("anything", "{}"), &found(&[])).verdict;
    assert_eq!(
        (verdict.tier, verdict.risk, verdict.rule.as_str()),
        (Tier::Approve, Risk::High, "defaults.unknown_tool")
    );
}

#[test]
fn the_strictest_wins_whatever_the_order() {
    let one = "rules:\n- {id: a, match: {tool: x}, tier: auto}\n- {id: b, match: {tool: '*'}, tier: escalate}\n- {id: c, match: {tool: x}, tier: notify}\n";
    let other = "rules:\n- {id: b, match: {tool: '*'}, tier: escalate}\n- {id: c, match: {tool: x}, tier: notify}\n- {id: a, match: {tool: x}, tier: auto}\n";
    for text in [one, other] {
        let verdict = judge(&policy(text), &action("x", "{}"), &found(&[])).verdict;
        assert_eq!((verdict.tier, verdict.rule.as_str(), verdict.quorum.count()), (Tier::Escalate, "b", 2));
        assert_eq!(verdict.matched.len(), 3);
    }
}

#[test]
fn findings_raise_and_only_accepts_sets_them_aside() {
    let text = "rules:\n- {id: shell, match: {tool: bash}, tier: auto}\n- id: clean\n  match: {tool: bash, args: {command: {regex: '^rm -rf node_modules$'}}}\n  accepts: [files.rm.recursive]\n";
    let policy = policy(text);
    let finding = found(&[("files.rm.recursive", Risk::High)]);
    let judged = judge(&policy, &action("bash", r#"{"command": "rm -rf node_modules"}"#), &finding);
    assert_eq!((judged.verdict.tier, judged.verdict.risk), (Tier::Auto, Risk::None));
    assert_eq!(judged.set_aside, [("files.rm.recursive".to_owned(), "clean".to_owned())]);
    let judged = judge(&policy, &action("bash", r#"{"command": "rm -rf /"}"#), &finding);
    assert_eq!((judged.verdict.tier, judged.verdict.risk), (Tier::Approve, Risk::High));
    let two = found(&[("files.rm.recursive", Risk::High), ("other", Risk::High)]);
    let judged = judge(&policy, &action("bash", r#"{"command": "rm -rf node_modules"}"#), &two);
    assert_eq!(judged.verdict.tier, Tier::Approve);
}

#[test]
fn what_cannot_be_decided_raises_and_accepts_nothing() {
    let text = "rules:\n- {id: pay, match: {tool: pay}, tier: auto}\n- {id: large, match: {tool: pay, args: {amount: {gt: 500}}}, tier: escalate}\n- {id: fine, match: {tool: pay}, when: 'args.missing > 3', accepts: ['*.x']}\n";
    let policy = policy(text);
    let judged = judge(&policy, &action("pay", r#"{"amount": "899"}"#), &found(&[("a.x", Risk::Critical)]));
    assert_eq!((judged.verdict.tier, judged.verdict.rule.as_str()), (Tier::Escalate, "large"));
    assert_eq!(judged.verdict.risk, Risk::Critical);
    assert!(judged.set_aside.is_empty());
    assert!(
        judged
            .reasons
            .iter()
            .any(|reason| reason.note.as_deref().is_some_and(|note| note.contains("not a number")))
    );
}

#[test]
fn expressions_see_the_action() {
    let text = "rules:\n- {id: base, match: {tool: pay}, tier: auto}\n- {id: big, match: {tool: pay}, when: \"args.amount > 100.0 && action.tool == 'pay' && agent == 'riley' && facts.mode == 'production'\", tier: approve}\n";
    assert_eq!(tier(text, "pay", r#"{"amount": 150.5}"#), Tier::Approve);
    assert_eq!(tier(text, "pay", r#"{"amount": 50.5}"#), Tier::Auto);
}

#[test]
fn expressions_go_through_lists() {
    let text = "rules:\n- {id: base, match: {tool: pay}, tier: auto}\n- {id: any, match: {tool: pay}, when: 'args.items.exists(item, item > 3)', tier: block}\n";
    assert_eq!(tier(text, "pay", r#"{"items": [1, 5]}"#), Tier::Block);
    assert_eq!(tier(text, "pay", r#"{"items": [1, 2]}"#), Tier::Auto);
}

#[test]
fn times_are_the_shortest_and_people_the_most() {
    let text = "defaults: {timeout: 2h}\nrules:\n- {id: a, match: {tool: x}, tier: approve, timeout: 30m, roles: [lead], allow_remember: true}\n- {id: b, match: {tool: x}, tier: approve, timeout: 10m, quorum: 2, require_reason: true}\n- {id: c, match: {tool: x}, allow_remember: false}\n";
    let verdict = judge(&policy(text), &action("x", "{}"), &found(&[])).verdict;
    assert_eq!(verdict.timeout_seconds, 600);
    assert_eq!((verdict.quorum.count(), verdict.require_reason, verdict.allow_remember), (2, true, false));
}

#[test]
fn costs_are_read() {
    let text = "costs: {review_above_usd: 5, limits_usd: {production: 100}}\ntools: {x: {tier: auto}}\n";
    let policy = policy(text);
    for (cost, expected) in
        [(5.0, Tier::Auto), (5.01, Tier::Approve), (100.5, Tier::Block), (f64::NAN, Tier::Block)]
    {
        let mut action = action("x", "{}");
        action.estimate.cost_usd = Some(cost);
        assert_eq!(judge(&policy, &action, &found(&[])).verdict.tier, expected, "{cost}");
    }
}

/// Tinman's document: 7 action types, 5 severities, 3 modes.
#[test]
fn tinmans_grid() {
    let policy = policy("tools: {x: {tier: auto}}\n");
    let types = [
        "prompt_mutation",
        "tool_policy_change",
        "memory_gating",
        "fine_tune",
        "config_change",
        "destructive_tool_call",
        "safety_filter_change",
    ];
    for kind in types {
        for (severity, row) in Severity::ALL.iter().zip(["AAA", "AAA", "AAR", "RRR", "RBB"]) {
            for (mode, cell) in Mode::ALL.iter().zip(row.chars()) {
                let mut action = action("x", "{}");
                action.action_type = Some(kind.into());
                action.predicted_severity = Some(*severity);
                let by_matrix = match cell {
                    'A' => Tier::Auto,
                    'R' => Tier::Approve,
                    _ => Tier::Block,
                };
                let expected = match kind {
                    "destructive_tool_call" | "safety_filter_change" => Tier::Block,
                    "prompt_mutation" | "tool_policy_change" | "fine_tune" if *mode == Mode::Production => {
                        by_matrix.max(Tier::Approve)
                    }
                    _ => by_matrix,
                };
                let got = judge_in(&policy, &action, &found(&[]), *mode).verdict.tier;
                assert_eq!(got, expected, "{kind} {severity} {mode}");
            }
        }
    }
}

/// RLM Code's six policies against its five levels: is a person asked?
#[test]
fn rlm_codes_grid() {
    for (preset, row) in [
        ("auto_approve", "-----"),
        ("auto_deny", "---XX"),
        ("confirm_all", "?????"),
        ("confirm_high_risk", "---??"),
        ("confirm_medium_and_up", "--???"),
        ("custom", "---??"),
    ] {
        let policy = policy(&format!("preset: {preset}\ntools: {{x: {{tier: auto}}}}\n"));
        for (risk, cell) in Risk::ALL.iter().zip(row.chars()) {
            let judged = judge(&policy, &action("x", "{}"), &found(&[("a.b", *risk)]));
            let got = match judged.verdict.tier {
                Tier::Auto | Tier::Notify => '-',
                Tier::Approve | Tier::Escalate if judged.verdict.approved_by_preset.is_some() => '-',
                Tier::Approve | Tier::Escalate => '?',
                Tier::Block => 'X',
            };
            assert_eq!(got, cell, "{preset} {risk}");
        }
    }
}

#[test]
fn no_preset_lets_a_block_through() {
    for preset in Preset::ALL {
        let policy = policy(&format!("preset: {}\ntools: {{x: {{tier: block}}}}\n", preset.as_str()));
        let judged = judge(&policy, &action("x", "{}"), &found(&[]));
        assert_eq!(
            (judged.verdict.tier, judged.verdict.approved_by_preset),
            (Tier::Block, None),
            "{preset:?}"
        );
    }
}

#[test]
fn a_rule_can_ask_for_the_time_where_the_office_is() {
    let text = "time_zone: America/New_York\ntools: {pay: {tier: auto}}\nrules:\n- {id: night, match: {tool: pay, time: {days: [mon, tue, wed, thu, fri], from: '09:00', to: '17:00', outside: true}}, tier: approve}\n- {id: noon, match: {tool: pay}, when: \"facts.local.hour == 12 && facts.local.weekday == 'mon'\", tier: block}\n";
    let policy = policy(text);
    for (now, tier) in [
        ("2026-11-16T15:00:00Z", Tier::Auto),
        ("2026-11-16T13:59:59Z", Tier::Approve),
        ("2026-11-16T17:30:00Z", Tier::Block),
        ("2026-11-15T15:00:00Z", Tier::Approve),
    ] {
        let facts = Facts::plain("riley", now.parse().unwrap());
        let judged = policy.judge(&action("pay", "{}"), &found(&[]), &facts);
        assert_eq!(judged.verdict.tier, tier, "{now}");
    }
}

#[test]
fn what_a_server_says_of_a_tool_can_be_asked_for() {
    let text = "tools: {'x': {tier: auto}}\nrules:\n- {id: hot, match: {annotations: {destructive: true}}, tier: block}\n- {id: quiet, match: {annotations: {read_only: false}}, tier: approve}\n";
    let policy = policy(text);
    let mut action = action("x", "{}");
    assert_eq!(judge(&policy, &action, &found(&[])).verdict.tier, Tier::Auto);
    action.annotations = Some(Annotations { read_only_hint: Some(false), ..Annotations::default() });
    assert_eq!(judge(&policy, &action, &found(&[])).verdict.tier, Tier::Approve);
    action.annotations = Some(Annotations { destructive_hint: Some(true), ..Annotations::default() });
    assert_eq!(judge(&policy, &action, &found(&[])).verdict.tier, Tier::Block);
}

#[test]
fn a_rule_can_be_about_a_server() {
    let text = "tools: {x: {tier: auto}}\nrules:\n- {id: far, match: {server: 'ext-*'}, tier: approve}\n";
    let policy = policy(text);
    let mut action = action("x", "{}");
    for (server, tier) in [(None, Tier::Auto), (Some("ext-mail"), Tier::Approve), (Some("own"), Tier::Auto)] {
        action.server = server.map(Into::into);
        assert_eq!(judge(&policy, &action, &found(&[])).verdict.tier, tier, "{server:?}");
    }
}

#[test]
fn a_window_that_was_not_read_counts_against_the_action() {
    let text = "windows: {w: {count: proposals, over: 1h}}\ntools: {x: {tier: auto}}\nrules:\n- {id: busy, match: {tool: x, window: {w: {gt: 5}}}, tier: approve}\n- {id: lax, match: {tool: x, window: {w: {lt: 5}}}, accepts: [a.one]}\n";
    let policy = policy(text);
    let judged = judge(&policy, &action("x", "{}"), &found(&[("a.one", Risk::Low)]));
    assert_eq!(judged.verdict.tier, Tier::Approve);
    assert!(judged.set_aside.is_empty());
}

#[test]
fn a_word_that_is_no_boolean_is_a_word() {
    let text = "rules:\n- {id: norway, match: {tool: pay, args: {country: no, size: y}}, tier: block}\n- {id: flag, match: {tool: pay, args: {urgent: true}}, tier: escalate}\n";
    assert_eq!(tier(text, "pay", r#"{"country": "no", "size": "y"}"#), Tier::Block);
    assert_eq!(tier(text, "pay", r#"{"country": false, "size": true}"#), Tier::Approve);
    assert_eq!(tier(text, "pay", r#"{"urgent": true}"#), Tier::Escalate);
}
