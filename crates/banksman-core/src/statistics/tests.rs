use super::*;
use crate::{ActionId, Digest};

const NOW: Timestamp = Timestamp::from_micros(1_795_000_000_000_000);

/// An event as the log has it.
fn event(kind: &str, at: Timestamp, tool: &str, tier: &str, status: &str, more: &str) -> String {
    let id = ActionId::from_parts(back(at, Duration::from_secs(90)).as_millis(), 1);
    let digest = Digest::of(b"x");
    format!(
        r#"{{"v":1,"at":"{at}","actor":{{"agent":"riley"}},"action":{{"id":"{id}","revision":1,"version":1,
           "digest":"{digest}","agent":"riley","tool":"{tool}","risk":"high","tier":"{tier}","status":"{status}"}},
           "type":"{kind}"{more}}}"#
    )
}

fn counted(events: &[(&str, &str, &str, &str)]) -> Summary {
    let mut statistics = Statistics::default();
    for (kind, tier, status, more) in events {
        statistics.add(kind, &event(kind, NOW, "mail", tier, status, more));
    }
    statistics.lately(NOW, 1, 1).sum
}

#[test]
fn each_way_is_counted_once() {
    let sum = counted(&[
        ("proposed", "auto", "authorised", ""),
        ("proposed", "approve", "authorised", r#","grant":"grt_01J9ZKQ7V8Y3F5T2M6N4P0R1SB""#),
        ("proposed", "approve", "pending", ""),
        ("proposed", "block", "blocked", ""),
        ("proposed", "approve", "blocked", ""),
        ("decided", "approve", "authorised", r#","decision":"approve""#),
        ("decided", "escalate", "pending", r#","decision":"approve""#),
        ("decided", "approve", "denied", r#","decision":"respond""#),
        ("modified", "approve", "authorised", ""),
        ("modified", "approve", "pending", ""),
        ("expired", "approve", "expired", ""),
        ("cancelled", "approve", "cancelled", ""),
        ("finished", "auto", "succeeded", ""),
        ("finished", "auto", "failed", ""),
        ("lease_ended", "auto", "unknown", ""),
        ("claimed", "auto", "executing", ""),
    ]);
    let expected = Ways {
        proposed: 5,
        auto_approved: 1,
        granted: 1,
        held: 1,
        blocked: 1,
        auto_rejected: 1,
        approved: 2,
        edited: 1,
        denied: 1,
        expired: 1,
        cancelled: 1,
        succeeded: 1,
        failed: 1,
        unknown: 1,
    };
    assert_eq!(sum.all, expected);
    assert_eq!(sum.by_tool["mail"], expected);
    assert_eq!(sum.by_risk[&Risk::High], expected);
    assert_eq!(sum.by_tier.values().map(|ways| ways.proposed).sum::<u64>(), 5);
    assert_eq!(sum.answers.count(), 3);
    assert_eq!(sum.answers.share_within(50), Some(Duration::from_secs(120)));
    assert_eq!(Answers::default().share_within(50), None);
}

#[test]
fn what_cannot_be_read_is_not_counted() {
    let mut statistics = Statistics::default();
    let whole = event("proposed", NOW, "mail", "auto", "authorised", "");
    for body in ["", "{}", "[1]", &whole.replace("\"v\":1", "\"v\":2"), &whole.replace("mail\"", "mail")] {
        statistics.add("proposed", body);
    }
    assert_eq!(statistics.lately(NOW, 720, 1).sum, Summary::default());
}

#[test]
fn parts_are_in_order_and_have_no_gaps() {
    let mut statistics = Statistics::default();
    for hours in [0, 1, 5, 23, 24, 25, 719, 720] {
        let at = back(NOW, HOUR * hours);
        statistics.add("proposed", &event("proposed", at, "mail", "auto", "authorised", ""));
    }
    let day = statistics.lately(NOW, 24, 1);
    assert_eq!((day.parts.len(), day.sum.all.proposed), (24, 4));
    assert_eq!(day.parts.iter().map(|(_, ways)| ways.proposed).sum::<u64>(), 4);
    assert!(day.parts.windows(2).all(|pair| pair[1].0.since(pair[0].0) == HOUR));
    assert_eq!(statistics.lately(NOW, 30, 24).sum.all.proposed, 7);
    statistics.forget_before(NOW.after(HOUR * 24));
    assert_eq!(statistics.lately(NOW, 30, 24).sum.all.proposed, 6);
}

#[test]
fn made_up_tools_do_not_fill_the_memory() {
    let mut statistics = Statistics::default();
    for number in 0..1000 {
        let body = event("proposed", NOW, &format!("tool_{number}"), "auto", "authorised", "");
        statistics.add("proposed", &body);
    }
    let sum = statistics.lately(NOW, 1, 1).sum;
    assert_eq!(sum.by_tool.len(), TOOLS + 1);
    assert_eq!(sum.by_tool[OTHER_TOOLS].proposed, 1000 - u64::try_from(TOOLS).unwrap());
}
