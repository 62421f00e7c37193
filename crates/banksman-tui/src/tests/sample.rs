//! Actions for the tests.

use std::time::Duration;

use banksman_core::json::CanonicalJson;
use banksman_core::wire::{ActionView, ContextView, VoteView};
use banksman_core::{
    Assessment, Decision, Finding, Kind, Quorum, Risk, Status, Tier, Timestamp, Verdict, action_digest,
};

/// 2023-11-14T22:13:20Z
pub(crate) const NOW: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);

pub(crate) fn later(seconds: u64) -> Timestamp {
    NOW.after(Duration::from_secs(seconds))
}

pub(crate) fn json(text: &str) -> CanonicalJson {
    CanonicalJson::parse(text.as_bytes()).unwrap()
}

/// Pending, with one of two approvals.
pub(crate) fn action() -> ActionView {
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
        created_at: NOW,
        expires_at: Some(later(250)),
        observed: false,
        assessment: Assessment::of(vec![Finding::new("tool.unknown", Risk::High, "an unknown tool")]),
        verdict: Verdict {
            matched: vec!["refunds".into(), "default".into()],
            quorum: Quorum::new(2, vec!["finance".into()]),
            timeout_seconds: 600,
            claim_within_seconds: 60,
            lease_seconds: 60,
            ..Verdict::new(Tier::Escalate, Risk::High, "refunds")
        },
        votes: vec![VoteView {
            by: "ann".into(),
            roles: Vec::new(),
            acting: Vec::new(),
            solo_operator: false,
            decision: Decision::Approve,
            version: 1,
            at: NOW,
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

/// One of several, of which later ones expire sooner.
pub(crate) fn numbered(number: usize, risk: Risk) -> ActionView {
    let mut action = action();
    action.id = format!("act_01J9ZKQ7V8Y3F5T2M6N4P0R1{number:02}").parse().unwrap();
    action.expires_at = Some(later(1_000 - 10 * u64::try_from(number).unwrap()));
    action.verdict.risk = risk;
    action.args = json(&format!(r#"{{"number":{number}}}"#));
    action.digest = action_digest(&action.tool, action.kind, &action.args);
    action
}

pub(crate) fn number_of(action: &ActionView) -> usize {
    let text = action.id.to_string();
    text[text.len() - 2..].parse().unwrap()
}
