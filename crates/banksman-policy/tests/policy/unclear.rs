//! What nobody can decide, and what only the agent says, lets nothing through.

use banksman_core::json::CanonicalJson;
use banksman_core::{
    Action, Annotations, Assessment, Finding, Kind, Mode, Risk, Severity, Tier, Timestamp, Verdict,
};
use banksman_policy::{Facts, Policy};

fn policy(text: &str) -> Policy {
    Policy::parse("policy.yaml", &format!("version: 1\n{text}"))
        .unwrap_or_else(|error| panic!("{text}{error}"))
}

fn action(tool: &str, args: &str) -> Action {
    Action::bare(tool, Kind::Tool, CanonicalJson::parse(args.as_bytes()).unwrap())
}

fn judge(policy: &Policy, action: &Action, level: Risk) -> Verdict {
    let assessment = Assessment::of(vec![Finding::new("a.one", level, "so")]);
    let facts = Facts::plain("riley", Timestamp::default());
    let windows = policy.assumed_windows(action, &assessment, &facts, &Default::default());
    policy.judge(action, &assessment, &Facts { windows: &windows, ..facts }).verdict
}

fn tier(rule: &str, args: &str) -> Tier {
    judge(&policy(&format!("rules:\n- {{id: r, {rule}}}\n")), &action("pay", args), Risk::None).tier
}

/// Each condition, with a value that it lets through and values of which nobody can say.
#[test]
fn an_argument_of_another_type_makes_no_tool_known() {
    for (test, fine, odd) in [
        ("lte: 50", "20", vec!["\"9000\"", "[9000]", "{\"a\": 1}", "null", "true"]),
        ("gt: -1", "20", vec!["\"9000\"", "[9000]"]),
        ("regex: '^a'", "\"ab\"", vec!["[\"b\"]", "5", "{}"]),
        ("glob: 'a*'", "\"ab\"", vec!["[\"b\"]", "5"]),
        ("contains: a", "\"ab\"", vec!["5", "true"]),
        ("not: prod", "\"test\"", vec!["[\"prod\"]", "{\"name\": \"prod\"}"]),
        ("not: 5", "6", vec!["\"5\"", "[5]"]),
        ("not: true", "false", vec!["\"true\"", "1"]),
        ("not_in: [prod, live]", "\"test\"", vec!["[\"prod\"]", "7"]),
        ("not_in: [null, prod]", "\"test\"", vec!["[\"prod\"]"]),
        ("in: [5, 6]", "6", vec!["\"5\"", "[5]"]),
        ("equals: 5", "5", vec!["\"5\"", "[5]"]),
    ] {
        let rule = format!("match: {{tool: pay, args: {{amount: {{{test}}}}}}}, tier: auto");
        assert_eq!(tier(&rule, &format!("{{\"amount\": {fine}}}")), Tier::Auto, "{test} {fine}");
        for value in odd {
            let args = format!("{{\"amount\": {value}}}");
            assert_eq!(tier(&rule, &args), Tier::Approve, "{test} {value}");
        }
    }
}

#[test]
fn an_expression_that_fails_makes_no_tool_known() {
    let rule = "match: {tool: pay}, when: 'args.amount < 100.0', tier: auto";
    assert_eq!(tier(rule, r#"{"amount": 20.5}"#), Tier::Auto);
    for args in ["{}", r#"{"amount": "9000"}"#, r#"{"amount": [1]}"#] {
        assert_eq!(tier(rule, args), Tier::Approve, "{args}");
    }
}

#[test]
fn a_window_that_cannot_be_told_makes_no_tool_known() {
    let text = "windows: {w: {sum: args.amount, over: 1h}}\nrules:\n- {id: r, match: {tool: pay, window: {w: {lt: 100}}}, tier: auto}\n";
    let policy = policy(text);
    assert_eq!(judge(&policy, &action("pay", r#"{"amount": 5}"#), Risk::None).tier, Tier::Auto);
    assert_eq!(judge(&policy, &action("pay", "{}"), Risk::None).tier, Tier::Approve);
}

#[test]
fn what_cannot_be_decided_lets_nothing_be_remembered() {
    let text = "tools: {pay: {tier: approve}}\nrules:\n- {id: r, match: {tool: pay, args: {amount: {lte: 50}}}, tier: approve, allow_remember: true}\n";
    let policy = policy(text);
    assert!(judge(&policy, &action("pay", r#"{"amount": 20}"#), Risk::None).allow_remember);
    assert!(!judge(&policy, &action("pay", r#"{"amount": "9000"}"#), Risk::None).allow_remember);
}

#[test]
fn a_path_that_leads_elsewhere_is_not_let_through() {
    for test in ["glob: 'docs/*'", "regex: '^docs/'", "contains: docs/"] {
        let lets = format!("match: {{tool: pay, args: {{path: {{{test}}}}}}}, tier: auto");
        let stops = format!("match: {{tool: pay, args: {{path: {{{test}}}}}}}, tier: block");
        for path in ["docs/a.md", "docs/a..b.md", "docs/100%.md"] {
            assert_eq!(tier(&lets, &format!(r#"{{"path": "{path}"}}"#)), Tier::Auto, "{test} {path}");
        }
        for path in [
            "docs/../src/auth.rs",
            "docs/a/../../src/auth.rs",
            r"docs/..\\..\\src",
            "docs/%2e%2e/src",
            "docs/%2E./src",
            "docs%2f..%2fsrc/docs/",
            "docs/%252e%252e/src",
        ] {
            assert_ne!(tier(&lets, &format!(r#"{{"path": "{path}"}}"#)), Tier::Auto, "{test} {path}");
        }
        assert_eq!(tier(&stops, r#"{"path": "src/../docs/a"}"#), Tier::Block, "{test}");
        assert_eq!(tier(&stops, r#"{"path": "docs/../src/a"}"#), Tier::Block, "{test}");
        assert_eq!(tier(&stops, r#"{"path": "a/../src/a"}"#), Tier::Approve, "{test}");
    }
}

#[test]
fn only_our_own_gateway_is_believed_what_a_server_says() {
    let mild = Annotations {
        read_only_hint: Some(true),
        destructive_hint: Some(false),
        idempotent_hint: Some(true),
        open_world_hint: Some(false),
    };
    for asked in [
        "match: {tool: '*', annotations: {read_only: true}}",
        "match: {tool: '*', annotations: {destructive: false}}",
        "match: {tool: '*', annotations: {idempotent: true}}",
        "match: {tool: '*', annotations: {open_world: false}}",
        "match: {tool: '*', server: files}",
        "match: {tool: '*'}, when: 'action.annotations.readOnlyHint'",
        "match: {tool: '*'}, when: \"action.server == 'files'\"",
    ] {
        let lets = policy(&format!("rules:\n- {{id: r, {asked}, tier: auto}}\n"));
        let stops = policy(&format!("rules:\n- {{id: r, {asked}, tier: block}}\n"));
        let mut call = action("x", "{}");
        (call.annotations, call.server) = (Some(mild), Some("files".into()));
        assert_eq!(judge(&lets, &call, Risk::None).tier, Tier::Approve, "{asked}");
        assert_eq!(judge(&stops, &call, Risk::None).tier, Tier::Block, "{asked}");
        call.forwarded = true;
        assert_eq!(judge(&lets, &call, Risk::None).tier, Tier::Auto, "{asked}");
    }
}

#[test]
fn action_types_count_however_they_are_spelled() {
    let policy = policy(
        "tools: {x: {tier: auto}}\nrules:\n- {id: r, match: {action_type: 'Memory-*'}, tier: escalate}\n",
    );
    for (written, expected) in [
        ("DESTRUCTIVE_TOOL_CALL", Tier::Block),
        ("destructive-tool-call", Tier::Block),
        ("Safety filter change", Tier::Block),
        ("PROMPT_MUTATION", Tier::Approve),
        ("FINE_TUNE", Tier::Approve),
        ("fine-tune", Tier::Approve),
        ("memory_gating", Tier::Escalate),
        ("MEMORY GATING", Tier::Escalate),
        ("mail", Tier::Auto),
    ] {
        let mut call = action("x", "{}");
        call.action_type = Some(written.into());
        assert_eq!(judge(&policy, &call, Risk::None).tier, expected, "{written}");
    }
}

#[test]
fn what_is_worse_is_never_milder() {
    let policy = policy(
        "tools: {x: {tier: auto}}\nrisks:\n  low: {timeout: 1m, message: small}\n  medium: {tier: approve, allow_remember: true, timeout: 5m}\n  high: {tier: escalate, roles: [lead]}\n\
         severities:\n  S1: {tier: approve, require_reason: true}\n",
    );
    for (risk, tier, timeout, remember) in [
        (Risk::None, Tier::Auto, 3600, false),
        (Risk::Low, Tier::Auto, 60, false),
        (Risk::Medium, Tier::Approve, 300, true),
        (Risk::High, Tier::Escalate, 3600, false),
        (Risk::Critical, Tier::Escalate, 3600, false),
    ] {
        let verdict = judge(&policy, &action("x", "{}"), risk);
        let got = (verdict.tier, verdict.timeout_seconds, verdict.allow_remember);
        assert_eq!(got, (tier, timeout, remember), "{risk}");
        assert_eq!(verdict.quorum.roles().len(), usize::from(risk >= Risk::High), "{risk}");
        assert_eq!(verdict.messages.len(), usize::from(risk == Risk::Low), "{risk}");
    }
    for severity in Severity::ALL {
        let mut call = action("x", "{}");
        call.predicted_severity = Some(*severity);
        let facts = Facts { mode: Mode::Lab, ..Facts::plain("riley", Timestamp::default()) };
        let verdict = policy.judge(&call, &Assessment::of(Vec::new()), &facts).verdict;
        assert_eq!(verdict.require_reason, *severity >= Severity::S1, "{severity}");
    }
}

#[test]
fn a_budget_in_dollars_does_not_overlook_what_has_no_estimate() {
    let budget = |more: &str| {
        policy(&format!(
            "tools: {{x: {{tier: auto}}}}\nbudgets: {{b: {{cost_usd: 1, over: 1d, at_limit: block{more}}}}}\n"
        ))
    };
    let mut call = action("x", "{}");
    assert_eq!(judge(&budget(""), &call, Risk::None).tier, Tier::Block);
    assert_eq!(judge(&budget(", unestimated_usd: 0.1"), &call, Risk::None).tier, Tier::Auto);
    assert_eq!(judge(&budget(", unestimated_usd: 2"), &call, Risk::None).tier, Tier::Block);
    call.estimate.cost_usd = Some(0.5);
    assert_eq!(judge(&budget(""), &call, Risk::None).tier, Tier::Auto);
}
