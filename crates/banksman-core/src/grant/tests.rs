use std::sync::Arc;

use super::*;
use crate::{Assessment, Finding, Kind, PrincipalKind, Risk, TokenId, Triage};

fn at(second: i64) -> Timestamp {
    Timestamp::from_micros(second * 1_000_000)
}

/// Riley is Olga's.
fn riley() -> Principal {
    Principal {
        token: TokenId::from_parts(0, 1),
        kind: PrincipalKind::Agent,
        name: "riley".into(),
        owner: Some("olga".into()),
        roles: Vec::new(),
    }
}

fn call(args: &str) -> Submission {
    let args = CanonicalJson::parse(args.as_bytes()).unwrap();
    let action = Action { session: Some("monday".into()), ..Action::bare("refund", Kind::Tool, args) };
    let everything = RememberLimits {
        scopes: vec![
            RememberScope::Exact,
            RememberScope::Args,
            RememberScope::Tool,
            RememberScope::AllSessions,
        ],
        ..RememberLimits::default()
    };
    let verdict = Verdict {
        allow_remember: true,
        remember_limits: everything,
        ..Verdict::new(Tier::Approve, Risk::Medium, "refunds")
    };
    Submission::new(action, Assessment::of(Vec::new()), verdict)
}

fn submission(change: impl FnOnce(&mut Submission)) -> Submission {
    let mut submission = call("{}");
    change(&mut submission);
    submission
}

fn grant(change: impl FnOnce(&mut Grant)) -> Grant {
    let mut grant = Grant {
        id: GrantId::from_parts(0, 1),
        agent: "riley".into(),
        tool: "refund".into(),
        digest: None,
        args: None,
        reach: GrantReach::Agent,
        by: "ann".into(),
        at: at(0),
        expires_at: at(100),
        uses_left: None,
        risk: None,
    };
    change(&mut grant);
    grant
}

fn covers(grant: &Grant, submission: &Submission, second: i64) -> bool {
    grant.covers(&riley(), submission, None, &Moment::at(at(second)))
}

#[test]
fn covers_the_call_the_session_or_the_agent_that_it_was_given_for() {
    let call = submission(|_| ());
    for (grant, expected) in [
        (grant(|_| ()), true),
        (grant(|grant| grant.digest = Some(call.digest)), true),
        (grant(|grant| grant.digest = Some(Digest::of(b"another call"))), false),
        (grant(|grant| grant.reach = GrantReach::Session { session: "monday".into() }), true),
        (grant(|grant| grant.reach = GrantReach::Session { session: "tuesday".into() }), false),
        (grant(|grant| grant.agent = "bot".into()), false),
        (grant(|grant| grant.tool = "refunds".into()), false),
    ] {
        assert_eq!(covers(&grant, &call, 50), expected, "{grant:?}");
    }
    let without_session = submission(|submission| submission.action.session = None);
    let for_a_session = grant(|grant| grant.reach = GrantReach::Session { session: "monday".into() });
    assert!(!covers(&for_a_session, &without_session, 50));
}

#[test]
fn ends_at_its_moment_and_when_it_is_used_up() {
    let (plain, call) = (grant(|_| ()), submission(|_| ()));
    assert!(covers(&plain, &call, 99));
    assert!(!covers(&plain, &call, 100));
    assert!(covers(&grant(|grant| grant.uses_left = Some(1)), &call, 1));
    assert!(!covers(&grant(|grant| grant.uses_left = Some(0)), &call, 1));
}

#[test]
fn never_stands_in_for_more_than_one_person_of_any_role() {
    type Change = fn(&mut Verdict);
    let stricter: [(&str, Change); 6] = [
        ("a block", |verdict| verdict.tier = Tier::Block),
        ("an escalation", |verdict| verdict.tier = Tier::Escalate),
        ("two people", |verdict| verdict.quorum = Quorum::new(2, Vec::new())),
        ("someone of a role", |verdict| verdict.quorum = Quorum::new(1, vec!["finance".into()])),
        ("what is not to be remembered", |verdict| verdict.allow_remember = false),
        ("what needs nobody", |verdict| verdict.tier = Tier::Auto),
    ];
    for (what, change) in stricter {
        let call = submission(|submission| change(Arc::make_mut(&mut submission.verdict)));
        assert!(!covers(&grant(|_| ()), &call, 50), "{what}");
    }
}

#[test]
fn is_held_to_the_bounds_of_the_policy_that_judges_now() {
    let bounded = |change: fn(&mut RememberLimits)| {
        submission(|submission| change(&mut Arc::make_mut(&mut submission.verdict).remember_limits))
    };
    let usual = bounded(|limits| *limits = RememberLimits::default());
    assert!(!covers(&grant(|_| ()), &usual, 50), "any arguments, unless policy says so");
    let exact = grant(|grant| grant.digest = Some(usual.digest));
    assert!(covers(&exact, &usual, 50));
    let short = bounded(|limits| limits.max_seconds = 10);
    assert!(covers(&grant(|_| ()), &short, 9));
    assert!(!covers(&grant(|_| ()), &short, 10), "older than policy allows");
    let here = bounded(|limits| limits.scopes.retain(|scope| *scope != RememberScope::AllSessions));
    assert!(!covers(&grant(|_| ()), &here, 50));
    assert!(covers(
        &grant(|grant| grant.reach = GrantReach::Session { session: "monday".into() }),
        &here,
        50
    ));
    let counted = bounded(|limits| limits.uses = Some(5));
    assert!(!covers(&grant(|_| ()), &counted, 50), "without end where policy wants one");
    assert!(covers(&grant(|grant| grant.uses_left = Some(5)), &counted, 50));
}

#[test]
fn nobody_grants_to_their_own_agent_unless_they_are_alone() {
    let (own, call) = (grant(|grant| grant.by = "olga".into()), submission(|_| ()));
    assert!(!covers(&own, &call, 1));
    let alone = |name| Moment { solo_operator: Some(name), ..Moment::at(at(1)) };
    assert!(own.covers(&riley(), &call, None, &alone("olga")));
    assert!(!own.covers(&riley(), &call, None, &alone("ann")));
}

#[test]
fn nobody_grants_to_the_agent_of_whoever_may_be_behind_them() {
    let (granted, call) = (grant(|_| ()), submission(|_| ()));
    let moment = Moment::at(at(1));
    assert!(granted.covers(&riley(), &call, Some("ann"), &moment));
    assert!(!granted.covers(&riley(), &call, Some("olga"), &moment));
    let alone = Moment { solo_operator: Some("olga"), ..moment };
    assert!(granted.covers(&riley(), &call, Some("olga"), &alone));
}

#[test]
fn a_pattern_leaves_nothing_open_that_it_does_not_name() {
    let reviewed = call(r#"{"amount":5,"note":"*","to":"ada@example.com"}"#);
    let like = [("to".to_owned(), "*@example.com".to_owned())].into();
    let pattern = ArgPatterns::around(&reviewed.action, &like).unwrap();
    let grant = grant(|grant| grant.args = Some(pattern));
    for (args, expected) in [
        (r#"{"to":"bob@example.com","amount":5.0,"note":"*"}"#, true),
        (r#"{"to":"bob@example.org","amount":5,"note":"*"}"#, false),
        (r#"{"to":"bob@example.com","amount":6,"note":"*"}"#, false),
        (r#"{"to":"bob@example.com","amount":"5","note":"*"}"#, false),
        (r#"{"to":"bob@example.com","amount":5,"note":"a star is a star"}"#, false),
        (r#"{"to":"bob@example.com","amount":5,"note":"*","bcc":"eve@example.com"}"#, false),
        (r#"{"to":["bob@example.com"],"amount":5,"note":"*"}"#, false),
        (r#"{"amount":5,"note":"*"}"#, false),
    ] {
        assert_eq!(covers(&grant, &call(args), 1), expected, "{args}");
    }
    let typo = [("too".to_owned(), "*".to_owned())].into();
    assert_eq!(ArgPatterns::around(&reviewed.action, &typo), Err("too".into()));
}

#[test]
fn a_pattern_stays_where_it_begins() {
    for (pattern, text, expected) in [
        ("tests/*", "tests/a/b", true),
        ("tests/*", "tests/../secret", false),
        ("tests/*", r"tests/..\\..\\secret", false),
        ("tests/*", "tests/a..b", true),
        ("tests/*", "tests/..", false),
        ("https://docs.example.com*", "https://docs.example.com/a@b", true),
        ("https://docs.example.com*", "https://docs.example.com@elsewhere/", false),
        ("https://docs.example.com*", "https://docs.example.com:x@elsewhere", false),
        ("*@example.com", "ann@example.com", true),
        ("tests/../a", "tests/../a", true),
        ("*", "../a", true),
    ] {
        let like = [("to".to_owned(), pattern.to_owned())].into();
        let grant = grant(|grant| grant.args = Some(ArgPatterns::only(like)));
        assert_eq!(covers(&grant, &call(&format!(r#"{{"to":"{text}"}}"#)), 1), expected, "{pattern} {text}");
    }
}

#[test]
fn covers_nothing_worse_than_was_reviewed_unless_it_is_that_very_call() {
    let found = |level| submission(|submission| submission.assessment = Arc::new(assessed(level, None)));
    let (medium, high, critical) = (found(Risk::Medium), found(Risk::High), found(Risk::Critical));
    let tool = grant(|_| ());
    assert!(covers(&tool, &medium, 1) && !covers(&tool, &high, 1) && !covers(&tool, &critical, 1));
    let reviewed = grant(|grant| grant.risk = Some(Risk::High));
    assert!(covers(&reviewed, &high, 1) && !covers(&reviewed, &critical, 1));
    let low = grant(|grant| grant.risk = Some(Risk::Low));
    assert!(!covers(&low, &medium, 1));
    let pattern = grant(|grant| grant.args = Some(ArgPatterns::only(BTreeMap::new())));
    assert!(covers(&pattern, &medium, 1) && !covers(&pattern, &high, 1));
    let exact = grant(|grant| grant.digest = Some(critical.digest));
    assert!(covers(&exact, &critical, 1));
    let raised = assessed(Risk::None, Some(Risk::High));
    let raised = submission(|submission| submission.assessment = Arc::new(raised));
    assert!(!covers(&tool, &raised, 1), "as the evaluator outside sees it");
}

fn assessed(level: Risk, outside: Option<Risk>) -> Assessment {
    let triage = outside.map(|risk| Triage { risk: Some(risk), ..Triage::default() });
    Assessment { triage, ..Assessment::of(vec![Finding::new("rule", level, "why")]) }
}

#[test]
fn is_about_the_same_call_in_every_session() {
    let for_a_session = grant(|grant| grant.reach = GrantReach::Session { session: "tuesday".into() });
    let call = call("{}");
    assert!(for_a_session.is_about("riley", &call) && !covers(&for_a_session, &call, 1));
}

#[test]
fn a_pattern_in_advance_names_every_argument() {
    let like = [("to".to_owned(), "*@example.com".to_owned()), ("amount".to_owned(), "*".to_owned())].into();
    let grant = grant(|grant| grant.args = Some(ArgPatterns::only(like)));
    assert!(covers(&grant, &call(r#"{"to":"a@example.com","amount":7}"#), 1));
    assert!(!covers(&grant, &call(r#"{"to":"a@example.com"}"#), 1));
    assert!(!covers(&grant, &call(r#"{"to":"a@example.com","amount":7,"urgent":true}"#), 1));
}
