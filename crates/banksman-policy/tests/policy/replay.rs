//! History under another policy.

use banksman_core::json::CanonicalJson;
use banksman_core::{Action, ActionId, Assessment, Kind, Quorum, Risk, Tier, Timestamp, Verdict};
use banksman_policy::{Contradiction, Ending, Facts, HumanAnswer, Meters, Policy, Replay, Replayed};

fn verdict(tier: Tier) -> Verdict {
    Verdict {
        tier,
        risk: Risk::Low,
        rule: "r".into(),
        matched: Vec::new(),
        quorum: Quorum::one(),
        timeout_seconds: 1,
        claim_within_seconds: 1,
        lease_seconds: 1,
        require_passkey: false,
        require_reason: false,
        allow_remember: false,
        remember_limits: Default::default(),
        escalation: Vec::new(),
        observed: false,
        messages: Vec::new(),
        routes: Vec::new(),
        redact: Vec::new(),
        approved_by_preset: None,
    }
}

fn replayed(before: Tier, after: Tier, approved: Option<bool>) -> Replayed {
    Replayed {
        id: "act_01J9ZKQ7V8Y3F5T2M6N4P0R1SB".parse::<ActionId>().unwrap(),
        at: Timestamp::default(),
        agent: "a".into(),
        tool: "t".into(),
        before: verdict(before),
        after: verdict(after),
        human: approved.map(|approved| HumanAnswer { by: "ann".into(), approved }),
    }
}

#[test]
fn people_are_contradicted_only_by_the_opposite_of_what_they_said() {
    for after in Tier::ALL {
        let denied = replayed(Tier::Approve, *after, Some(false)).contradiction();
        let approved = replayed(Tier::Approve, *after, Some(true)).contradiction();
        let runs = matches!(after, Tier::Auto | Tier::Notify);
        assert_eq!(denied, runs.then_some(Contradiction::LetsThroughDenied), "{after}");
        assert_eq!(approved, (*after == Tier::Block).then_some(Contradiction::BlocksApproved), "{after}");
        assert_eq!(replayed(Tier::Approve, *after, None).contradiction(), None);
    }
    let mut preset = replayed(Tier::Approve, Tier::Approve, Some(false));
    assert!(!preset.is_changed());
    preset.after.observed = true;
    assert_eq!(preset.contradiction(), Some(Contradiction::LetsThroughDenied));
    preset.after.observed = false;
    preset.after.approved_by_preset = Some("auto_approve".into());
    assert_eq!(preset.contradiction(), Some(Contradiction::LetsThroughDenied));
    assert!(preset.is_changed());
}

#[test]
fn people_and_reasons_are_part_of_a_verdict_and_names_are_not() {
    let mut one = replayed(Tier::Approve, Tier::Approve, None);
    one.after.rule = "other".into();
    one.after.quorum = Quorum::new(2, vec!["a".into(), "b".into()]);
    assert!(one.is_changed());
    one.before.quorum = Quorum::new(2, vec!["b".into(), "a".into()]);
    assert!(!one.is_changed());
    one.after.require_reason = true;
    assert!(one.is_changed());
}

#[test]
fn everything_is_counted_and_only_so_many_are_kept() {
    let mut replay = Replay::new(10);
    for _ in 0..100_000 {
        replay.add(replayed(Tier::Approve, Tier::Auto, Some(false)));
        replay.add(replayed(Tier::Auto, Tier::Auto, None));
    }
    assert_eq!((replay.total(), replay.changed(), replay.contradicting()), (200_000, 100_000, 100_000));
    assert_eq!(replay.count(Tier::Approve, Tier::Auto), 100_000);
    assert_eq!((replay.kept_changed().count(), replay.kept_contradicting().count()), (10, 10));
}

#[test]
fn windows_are_filled_as_they_were_and_forget_what_they_do_not_look_back_to() {
    let policy = Policy::parse(
        "p",
        "version: 1\nwindows: {refunded: {sum: args.amount, per: args.customer, over: 1h}}\ntools: {refund: {tier: auto}}\n\
         rules:\n- {id: limit, match: {tool: refund, window: {refunded: {gt: 100}}}, tier: approve}\n",
    )
    .unwrap();
    let mut meters = Meters::default();
    let mut number = 0;
    let mut ask = |minute: i64, customer: &str, ending: Ending| {
        let args = format!(r#"{{"amount": 49, "customer": "{customer}"}}"#);
        let action = Action::bare("refund", Kind::Tool, CanonicalJson::parse(args.as_bytes()).unwrap());
        let now = Timestamp::from_micros(1_700_000_000_000_000 + minute * 60_000_000);
        number += 1;
        let facts = Facts::plain("riley", now);
        let judged = meters.judge(
            &policy,
            &action,
            &Assessment::of(Vec::new()),
            &facts,
            ActionId::from_parts(1, number),
            ending,
        );
        judged.verdict.tier
    };
    assert_eq!(ask(0, "a", Ending::Ran), Tier::Auto);
    assert_eq!(ask(1, "a", Ending::NeverRan), Tier::Auto);
    assert_eq!(ask(2, "a", Ending::Ran), Tier::Auto);
    assert_eq!(ask(3, "a", Ending::NeverRan), Tier::Approve, "the third within the hour");
    assert_eq!(ask(3, "b", Ending::Ran), Tier::Auto, "another customer");
    assert_eq!(ask(63, "a", Ending::Ran), Tier::Auto, "an hour later");
}
