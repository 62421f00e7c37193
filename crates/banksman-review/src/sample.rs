//! An action for the tests of whatever shows one.
#![expect(clippy::unwrap_used, reason = "only tests have this feature, and it is the same every time")]

use banksman_core::json::CanonicalJson;
use banksman_core::wire::{ActionView, ContextView, VoteView};
use banksman_core::{
    Assessment, Decision, Finding, Kind, Quorum, Risk, Status, Tier, Timestamp, Verdict, action_digest,
};

/// 2023-11-14T22:13:20Z
pub const NOW: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);

/// So many seconds from then.
#[must_use]
pub fn seconds(count: i64) -> Timestamp {
    Timestamp::from_micros(NOW.as_micros() + count * 1_000_000)
}

/// A value.
///
/// # Panics
/// If it is none.
#[must_use]
pub fn json(text: &str) -> CanonicalJson {
    CanonicalJson::parse(text.as_bytes()).unwrap()
}

/// Pending, with one of two approvals.
#[must_use]
pub fn action() -> ActionView {
    let args = json(r#"{"amount":899,"order_id":"78291"}"#);
    ActionView {
        id: "act_01J9ZKQ7V8Y3F5T2M6N4P0R1SB".parse().unwrap(),
        status: Status::Pending,
        version: 1,
        digest: action_digest("process_refund", Kind::Tool, &args),
        agent: "support-bot".into(),
        tool: "process_refund".into(),
        kind: Kind::Tool,
        args,
        proposed_args: None,
        created_at: seconds(-120),
        expires_at: Some(seconds(250)),
        observed: false,
        assessment: Assessment::of(vec![Finding::new("tool.unknown", Risk::High, "an unknown tool")]).into(),
        verdict: Verdict {
            matched: vec!["refunds".into(), "default".into()],
            quorum: Quorum::new(2, vec!["finance".into()]),
            timeout_seconds: 600,
            claim_within_seconds: 60,
            lease_seconds: 60,
            allow_remember: true,
            ..Verdict::new(Tier::Escalate, Risk::High, "refunds")
        }
        .into(),
        votes: vec![VoteView {
            by: "ann".into(),
            roles: Vec::new(),
            acting: Vec::new(),
            solo_operator: false,
            decision: Decision::Approve,
            version: 1,
            at: seconds(-60),
            reason: Some("checked the order".into()),
            message: None,
        }],
        resolution: None,
        outcome: None,
        context: ContextView {
            description: Some("Refund order 78291".into()),
            rationale: Some("The customer asked.\nTwice.".into()),
            ..ContextView::default()
        },
        checkpoint: None,
        batch: None,
        joined: false,
        status_url: None,
        authorization: None,
    }
}
