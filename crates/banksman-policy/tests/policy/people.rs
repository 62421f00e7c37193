//! What a policy says about people, and that saying more never lets fewer of them do.

use std::collections::BTreeSet;
use std::sync::Arc;

use banksman_core::json::CanonicalJson;
use banksman_core::{
    Action, ActionId, Assessment, Ballot, Command, Decision, Escalation, GrantId, Kind, Mode, Moment,
    Opening, Principal, PrincipalKind, RememberScope, Risk, Severity, Status, Submission, Tier, Timestamp,
    TokenId, Triage, Verdict, open, step,
};
use banksman_policy::{Facts, Policy};
use proptest::prelude::*;

fn policy(text: &str) -> Policy {
    Policy::parse("p.yaml", &format!("version: 1\n{text}")).unwrap_or_else(|error| panic!("{error}"))
}

fn verdict_of(policy: &Policy, action: &Action) -> Verdict {
    let facts = Facts::plain("riley", Timestamp::default());
    policy.judge(action, &Assessment::of(Vec::new()), &facts).verdict
}

fn pay() -> Action {
    Action::bare("pay", Kind::Tool, CanonicalJson::parse(b"{}").unwrap())
}

fn verdict(text: &str) -> Verdict {
    verdict_of(&policy(text), &pay())
}

#[test]
fn a_chain_hands_over_the_roles_of_its_own_rule() {
    let chained = verdict(
        "tools: {pay: {tier: approve, roles: [support], escalation: [{after: 10m, notify: again}, {after: 30m, hand_to: lead}]}}",
    );
    let steps: Vec<_> =
        chained.escalation.iter().map(|step| (step.after_seconds, step.then.clone())).collect();
    let handed = Escalation::HandTo { role: "lead".into(), instead_of: vec!["support".into()] };
    assert_eq!(steps, [(600, Escalation::NotifyAgain), (1_800, handed)]);
    // Another rule that demands the same role and hands nothing over means what it says.
    let both = verdict(
        "rules:\n- {id: a, match: {tool: pay}, tier: approve, roles: [support], escalation: [{after: 30m, hand_to: lead}]}\n\
         - {id: b, match: {tool: pay}, roles: [support]}\n",
    );
    assert_eq!(both.escalation[0].then, Escalation::HandTo { role: "lead".into(), instead_of: Vec::new() });
}

#[test]
fn high_severity_adds_a_person() {
    let text = "tools: {pay: {tier: escalate}}\nseverities: {S3: {extra_people: 1}}\nrisks: {critical: {extra_people: 2}}";
    let policy = policy(text);
    let severe = Action { predicted_severity: Some(Severity::S3), ..pay() };
    assert_eq!(verdict_of(&policy, &pay()).quorum.count(), 2);
    assert_eq!(verdict_of(&policy, &severe).quorum.count(), 3, "two, and one more");
}

#[test]
fn what_is_escalated_takes_two_people_also_where_a_rule_names_one() {
    let policy = policy("tools: {pay: {tier: approve, roles: [finance]}}");
    let triage = Some(Triage { tier: Some(Tier::Escalate), ..Triage::default() });
    let raised = Assessment { triage, ..Assessment::of(Vec::new()) };
    let verdict = policy.judge(&pay(), &raised, &Facts::plain("riley", Timestamp::default())).verdict;
    assert_eq!((verdict.tier, verdict.quorum.count()), (Tier::Escalate, 2));
    assert_eq!(verdict.quorum.roles(), ["finance"]);
}

#[test]
fn remembering_is_bounded_by_all_who_speak_of_it() {
    let plain = verdict("tools: {pay: {allow_remember: true, tier: approve}}");
    assert!(plain.allow_remember && !plain.remember_limits.allow(RememberScope::Tool));
    assert_eq!(plain.remember_limits.max_seconds, 8 * 3_600);
    let both = verdict(
        "tools: {pay: {tier: approve, allow_remember: {for: 1h, scopes: [exact, tool], uses: 5}}}\n\
         rules: [{id: r, match: {tool: pay}, allow_remember: {for: 2h, scopes: [exact, args], uses: 9}}]\n",
    );
    assert_eq!(both.remember_limits.scopes, [RememberScope::Exact]);
    assert_eq!((both.remember_limits.max_seconds, both.remember_limits.uses), (3_600, Some(5)));
    let nothing_left = verdict(
        "tools: {pay: {tier: approve, allow_remember: {scopes: [tool]}}}\n\
         rules: [{id: r, match: {tool: pay}, allow_remember: {scopes: [args]}}]\n",
    );
    assert!(!nothing_left.allow_remember);
    let forbidden = verdict(
        "tools: {pay: {tier: approve, allow_remember: true}}\n\
         rules: [{id: r, match: {tool: pay}, allow_remember: false}]\n",
    );
    assert!(!forbidden.allow_remember);
}

#[test]
fn the_house_is_strict_unless_the_file_says_otherwise_and_then_it_is_loud() {
    let strict = policy("");
    assert!(strict.house().warnings().is_empty());
    assert_eq!(strict.house().gate(Mode::Production), None);
    let odd = policy(
        "enforcement: observe\nsolo_operator: ada\nmodes: {change_to: {production: {roles: [release]}}}\n",
    );
    assert_eq!(odd.house().warnings().len(), 2);
    assert_eq!(odd.house().gate(Mode::Production).unwrap().roles, ["release"]);
    assert_eq!(odd.house().gate(Mode::Lab), None);
    assert!(policy("enforcement: enforce\n").house().warnings().is_empty());
}

#[test]
fn observing_leaves_the_verdict_as_it_is_but_for_saying_so() {
    for tier in Tier::ALL {
        let rule = format!("tools: {{pay: {{tier: {tier}}}}}\n");
        let enforced = verdict(&rule);
        let observed = verdict(&format!("{rule}enforcement: observe\n"));
        assert_eq!(observed.observed, matches!(tier, Tier::Approve | Tier::Escalate), "{tier}");
        assert_eq!(Verdict { observed: false, ..observed }, enforced, "{tier}");
    }
    // A preset that refuses what would be held refuses it still.
    let refusing = verdict("tools: {pay: {tier: approve}}\nenforcement: observe\npreset: auto_deny\n");
    assert_eq!((refusing.tier, refusing.observed), (Tier::Block, false));
}

/// A rule as text, about people.
fn demand() -> impl Strategy<Value = String> {
    let roles =
        prop::sample::select(vec!["", ", roles: [a]", ", roles: [b]", ", roles: [a, b]", ", roles: [a, a]"]);
    let extra = prop::sample::select(vec!["", "", ", extra_people: 1"]);
    let chain = prop::sample::select(vec![
        "",
        "",
        ", escalation: [{after: 10s, hand_to: c}]",
        ", escalation: [{after: 10s, notify: again}, {after: 20s, hand_to: b}]",
        ", escalation: [{after: 5s, hand_to: a}, {after: 15s, hand_to: c}]",
    ]);
    let remember = prop::sample::select(vec!["", ", allow_remember: true", ", allow_remember: false"]);
    (roles, extra, chain, remember)
        .prop_map(|(roles, extra, chain, remember)| format!("tier: approve{roles}{extra}{chain}{remember}"))
}

fn text(demands: &[String]) -> String {
    let rules = demands.iter().enumerate();
    let rules: String =
        rules.map(|(id, demand)| format!("- {{id: r{id}, match: {{tool: pay}}, {demand}}}\n")).collect();
    format!("rules:\n{rules}")
}

fn principal(kind: PrincipalKind, name: &str, roles: &[&str]) -> Principal {
    let roles = roles.iter().map(ToString::to_string).collect();
    Principal { token: TokenId::from_parts(0, 1), kind, name: name.into(), owner: None, roles }
}

fn opening(verdict: Verdict, grant: Option<GrantId>) -> Opening {
    let action = pay();
    let submission = Submission::new(action, Assessment::of(Vec::new()), verdict);
    Opening {
        id: ActionId::from_parts(0, 1),
        agent: principal(PrincipalKind::Agent, "riley", &[]),
        batch: None,
        submission: Arc::new(submission),
        grant,
    }
}

/// Whether these people are enough, so many seconds after the hold began.
fn enough(verdict: &Verdict, people: &BTreeSet<usize>, second: i64) -> bool {
    const ROLES: [&[&str]; 6] = [&["a"], &["a"], &["b"], &["c"], &["b", "c"], &[]];
    let those = ROLES.iter().enumerate().filter(|(person, _)| people.contains(person));
    let at = |second: i64| Moment::at(Timestamp::from_micros(second * 1_000_000));
    let mut case = open(opening(verdict.clone(), None), &at(0)).case;
    while let Ok(escalated) = step(&case, Command::PassTime, &at(second)) {
        case = escalated.case;
    }
    for (person, roles) in those {
        let ballot = Ballot {
            reviewer: principal(PrincipalKind::Reviewer, &format!("p{person}"), roles),
            lent: Vec::new(),
            brought_by: None,
            decision: Decision::Approve,
            version: 1,
            digest: case.submission.digest,
            reason: None,
            message: None,
            remember: false,
            step_up: None,
        };
        if let Ok(approved) = step(&case, Command::Decide(ballot), &at(second)) {
            case = approved.case;
        }
    }
    case.status() == Status::Authorised
}

proptest! {
    // A policy is compiled, and all built-in rules proved, twice for each case.
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_rule_more_never_makes_fewer_people_enough(
        demands in prop::collection::vec(demand(), 1..4),
        more in demand(),
    ) {
        let before = verdict(&text(&demands));
        let mut all = demands;
        all.push(more);
        let after = verdict(&text(&all));
        for second in [0, 7, 12, 17, 25] {
            for bits in 0..64usize {
                let people: BTreeSet<usize> = (0..6).filter(|person| bits & (1 << person) != 0).collect();
                if enough(&after, &people, second) {
                    prop_assert!(enough(&before, &people, second), "{people:?} at {second}: {before:?} {after:?}");
                }
            }
        }
    }

    #[test]
    fn no_setting_about_people_lets_a_block_through(
        demands in prop::collection::vec(demand(), 0..4),
        settings in prop::sample::subsequence(vec![
            "enforcement: observe\n",
            "solo_operator: riley\n",
            "modes: {change_to: {production: {roles: [x]}}, fallback: {failures: 1, within: 1s}}\n",
        ], 0..=3),
        preset in prop::sample::select(&banksman_policy::Preset::ALL[..]),
        mode in prop::sample::select(Mode::ALL),
        granted: bool,
        floor in prop::sample::select(Tier::ALL),
    ) {
        let mut rules = demands;
        rules.push("tier: block".into());
        let policy = policy(&format!("{}{}preset: {}\n", text(&rules), settings.concat(), preset.as_str()));
        let facts = Facts { mode, ..Facts::plain("riley", Timestamp::default()) };
        let verdict = policy.judge(&pay(), &Assessment::of(Vec::new()), &facts).verdict;
        prop_assert_eq!(verdict.tier, Tier::Block);
        // As after a fallback, or for an edit: what it is combined with makes it no milder.
        let verdict = verdict.at_least(&Verdict::new(floor, Risk::None, "floor"));
        prop_assert_eq!(verdict.tier, Tier::Block);
        let grant = granted.then(|| GrantId::from_parts(0, 1));
        let moment = Moment { solo_operator: Some("riley"), ..Moment::at(Timestamp::default()) };
        prop_assert_eq!(open(opening(verdict, grant), &moment).case.status(), Status::Blocked);
    }
}
