//! Whatever is added to a policy, nothing gets milder, except by `accepts`.

use banksman_core::json::CanonicalJson;
use banksman_core::{
    Action, Annotations, Assessment, Finding, Kind, Mode, Risk, Severity, Tier, Timestamp, Triage, Verdict,
};
use banksman_policy::{Facts, Policy, Preset};
use proptest::prelude::*;

/// A rule as text, about few enough things that they meet.
#[derive(Debug, Clone)]
struct RuleText {
    matches: String,
    tier: Option<Tier>,
    risk: Option<Risk>,
    accepts: bool,
}

impl RuleText {
    fn line(&self, id: usize) -> String {
        let mut line = format!("- {{id: r{id}, match: {{{}}}", self.matches);
        if let Some(tier) = self.tier {
            line.push_str(&format!(", tier: {tier}"));
        }
        if let Some(risk) = self.risk {
            line.push_str(&format!(", risk: {risk}"));
        }
        if self.accepts {
            line.push_str(", accepts: [a.one]");
        }
        line + "}\n"
    }
}

fn rule(accepts: bool) -> impl Strategy<Value = RuleText> {
    let matches = prop_oneof![
        Just("tool: pay".to_owned()),
        Just("tool: 'p*'".to_owned()),
        Just("tool: '*', agent: riley".to_owned()),
        Just("tool: read".to_owned()),
        Just("kind: shell".to_owned()),
        Just("risk: '>= medium'".to_owned()),
        Just("finding: 'a.*'".to_owned()),
        Just("mode: production".to_owned()),
        Just("tool: pay, args: {amount: {gt: 100}}".to_owned()),
        Just("tool: pay, args: {amount: {lt: 100}, urgent: true}".to_owned()),
    ];
    let tier = prop::option::of(prop::sample::select(Tier::ALL));
    let risk = prop::option::of(prop::sample::select(Risk::ALL));
    (matches, tier, risk, if accepts { any::<bool>().boxed() } else { Just(false).boxed() })
        .prop_map(|(matches, tier, risk, accepts)| RuleText { matches, tier, risk, accepts })
}

fn text(preset: Option<Preset>, rules: &[RuleText]) -> String {
    let mut text = "version: 1\n".to_owned();
    if let Some(preset) = preset {
        text.push_str(&format!("preset: {}\n", preset.as_str()));
    }
    // The tool is known from the start: naming a tool for the first time is what ends its being unknown.
    text.push_str("tools: {pay: {risk: none, tier: auto}, read: {risk: none, tier: auto}}\nrules:\n");
    for (id, rule) in rules.iter().enumerate() {
        text.push_str(&rule.line(id));
    }
    if rules.is_empty() { text.replace("rules:\n", "") } else { text }
}

fn action() -> impl Strategy<Value = Action> {
    let args = prop_oneof![
        Just("{}"),
        Just(r#"{"amount": 50}"#),
        Just(r#"{"amount": 500, "urgent": true}"#),
        Just(r#"{"amount": "500", "urgent": "true"}"#),
    ];
    let severity = prop::option::of(prop::sample::select(Severity::ALL));
    let kind = prop::option::of(prop::sample::select(vec!["fine_tune", "destructive_tool_call", "other"]));
    (prop::sample::select(vec!["pay", "read"]), args, severity, kind, prop::option::of(0.0..20.0f64))
        .prop_map(|(tool, args, severity, action_type, cost)| {
            let mut action = Action::bare(tool, Kind::Tool, CanonicalJson::parse(args.as_bytes()).unwrap());
            action.predicted_severity = severity;
            action.action_type = action_type.map(Into::into);
            action.estimate.cost_usd = cost;
            action
        })
}

fn findings() -> impl Strategy<Value = Assessment> {
    prop::collection::vec(
        (prop::sample::select(vec!["a.one", "a.two", "b.one"]), prop::sample::select(Risk::ALL)),
        0..3,
    )
    .prop_map(|found| {
        Assessment::of(found.into_iter().map(|(rule, level)| Finding::new(rule, level, "so")).collect())
    })
}

fn triage() -> impl Strategy<Value = Triage> {
    let tier = prop::option::of(prop::sample::select(Tier::ALL));
    let risk = prop::option::of(prop::sample::select(Risk::ALL));
    let problem = prop::option::of(Just("it is ill".to_owned()));
    (tier, risk, any::<bool>(), prop::option::of(any::<u8>()), problem).prop_map(
        |(tier, risk, denied, priority, problem)| Triage {
            tier,
            risk,
            denied,
            priority,
            rationale: None,
            problem,
        },
    )
}

fn judge(text: &str, action: &Action, assessment: &Assessment, mode: Mode) -> Verdict {
    let policy = Policy::parse("p.yaml", text).unwrap_or_else(|error| panic!("{error}"));
    policy.judge(action, assessment, &Facts { mode, ..Facts::plain("riley", Timestamp::default()) }).verdict
}

proptest! {
    // A policy is compiled, and all built-in rules proved, twice for each case.
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_rule_more_never_makes_it_milder(
        rules in prop::collection::vec(rule(false), 0..5),
        more in rule(false),
        action in action(),
        assessment in findings(),
        mode in prop::sample::select(Mode::ALL),
    ) {
        let before = judge(&text(None, &rules), &action, &assessment, mode);
        let mut all = rules;
        all.push(more);
        let after = judge(&text(None, &all), &action, &assessment, mode);
        prop_assert!(after.tier >= before.tier);
        prop_assert!(after.risk >= before.risk);
        prop_assert!(after.timeout_seconds <= before.timeout_seconds);
        prop_assert!(after.quorum.count() >= before.quorum.count());
    }

    #[test]
    fn nothing_lets_a_block_through(
        rules in prop::collection::vec(rule(true), 0..5),
        preset in prop::sample::select(&Preset::ALL[..]),
        action in action(),
        assessment in findings(),
        mode in prop::sample::select(Mode::ALL),
    ) {
        let blocking = RuleText { matches: "tool: '*'".into(), tier: Some(Tier::Block), risk: None, accepts: false };
        let mut all = rules;
        all.push(blocking);
        let verdict = judge(&text(Some(preset), &all), &action, &assessment, mode);
        prop_assert_eq!(verdict.tier, Tier::Block);
        prop_assert_eq!(verdict.approved_by_preset, None);
    }

    #[test]
    fn a_preset_never_makes_it_milder(
        rules in prop::collection::vec(rule(true), 0..4),
        preset in prop::sample::select(&Preset::ALL[..]),
        action in action(),
        assessment in findings(),
    ) {
        let before = judge(&text(None, &rules), &action, &assessment, Mode::Production);
        let after = judge(&text(Some(preset), &rules), &action, &assessment, Mode::Production);
        prop_assert!(after.tier >= before.tier);
    }

    #[test]
    fn a_worse_finding_never_makes_it_milder(
        rules in prop::collection::vec(rule(false), 0..4),
        action in action(),
        assessment in findings(),
        level in prop::sample::select(Risk::ALL),
    ) {
        // Rules that ask for a risk from below would make a worse finding unmatch them; the language has them for
        // narrowing what is let through, and what is not let through is held by default.
        let before = judge(&text(None, &rules), &action, &assessment, Mode::Production);
        let after = judge(&text(None, &rules), &action, &assessment.with(Finding::new("b.two", level, "so")), Mode::Production);
        prop_assert!(after.tier >= before.tier);
    }

    #[test]
    fn no_answer_of_triage_makes_it_milder(
        rules in prop::collection::vec(rule(true), 0..4),
        preset in prop::sample::select(&Preset::ALL[..]),
        action in action(),
        assessment in findings(),
        mode in prop::sample::select(Mode::ALL),
        answer in triage(),
    ) {
        let policy = text(Some(preset), &rules);
        let before = judge(&policy, &action, &assessment, mode);
        let triaged = Assessment { triage: Some(answer), ..assessment };
        let after = judge(&policy, &action, &triaged, mode);
        prop_assert!(after.tier >= before.tier);
        prop_assert!(after.risk >= before.risk);
        prop_assert!(after.quorum.count() >= before.quorum.count());
    }

    #[test]
    fn no_hint_of_a_server_lets_a_block_through_or_makes_it_milder(
        rules in prop::collection::vec(rule(true), 0..4),
        action in action(),
        assessment in findings(),
        hints in prop::array::uniform4(prop::option::of(any::<bool>())),
    ) {
        // No rule here asks for hints: on their own they do nothing, and only a rule can make something of them.
        let policy = text(None, &rules);
        let before = judge(&policy, &action, &assessment, Mode::Production);
        let [read_only_hint, destructive_hint, idempotent_hint, open_world_hint] = hints;
        let annotations =
            Some(Annotations { read_only_hint, destructive_hint, idempotent_hint, open_world_hint });
        let after = judge(&policy, &Action { annotations, ..action }, &assessment, Mode::Production);
        prop_assert!(after.tier >= before.tier);
    }

    #[test]
    fn windows_and_budgets_never_make_it_milder(
        rules in prop::collection::vec(rule(true), 0..4),
        action in action(),
        assessment in findings(),
        shown in prop::option::of(0.0..500.0f64),
        limit in 1.0..300.0f64,
        at_limit in prop::sample::select(vec!["approve", "escalate", "block"]),
    ) {
        let plain = text(None, &rules);
        let before = judge(&plain, &action, &assessment, Mode::Production);
        let more = format!(
            "windows: {{w: {{match: {{tool: pay}}, sum: args.amount, over: 1h}}}}\n\
             budgets: {{b: {{cost_usd: {limit}, over: 1d, at_limit: {at_limit}}}}}\n"
        );
        let counted = plain.replace("tools:", &format!("{more}tools:"));
        let rule = format!("- {{id: w, match: {{tool: pay, window: {{w: {{gt: {limit}}}}}}}, tier: {at_limit}}}\n");
        let counted = if rules.is_empty() { format!("{counted}rules:\n{rule}") } else { counted + &rule };
        let policy = Policy::parse("p.yaml", &counted).unwrap_or_else(|error| panic!("{error}\n{counted}"));
        let facts = Facts::plain("riley", Timestamp::default());
        let assumed = shown.into_iter().flat_map(|value| [("w".to_owned(), value), ("budgets.b".to_owned(), value)]);
        let windows = policy.assumed_windows(&action, &assessment, &facts, &assumed.collect());
        let after = policy.judge(&action, &assessment, &Facts { windows: &windows, ..facts }).verdict;
        prop_assert!(after.tier >= before.tier);
        prop_assert!(after.quorum.count() >= before.quorum.count());
        if after.tier == Tier::Escalate && at_limit == "escalate" && before.tier < Tier::Escalate {
            prop_assert!(after.quorum.count() >= 2, "whatever escalates takes two people");
        }
        if shown.is_some_and(|value| value > limit) && action.tool == "pay" {
            prop_assert!(after.tier >= at_limit.parse().unwrap());
        }
    }
}
