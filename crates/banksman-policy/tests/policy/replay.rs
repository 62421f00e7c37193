//! History under another policy.

use banksman_core::{ActionId, Quorum, Risk, Tier, Timestamp, Verdict};
use banksman_policy::{Contradiction, HumanAnswer, Replay, Replayed};

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
        require_reason: false,
        allow_remember: false,
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
