//! People, actions and moments that the tests share.

use std::sync::Arc;

use banksman_core::json::CanonicalJson;
use banksman_core::{
    Action, ActionId, Assessment, Digest, Freeze, FreezeId, FreezeScope, Kind, Principal, PrincipalKind,
    Quorum, Risk, Submission, Tier, Timestamp, TokenId, Verdict,
};
use proptest::prelude::ProptestConfig;

/// So many random cases, unless `PROPTEST_CASES` asks for a longer or a shorter run.
pub(crate) fn cases(count: u32) -> ProptestConfig {
    let mut config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = count;
    }
    config
}

/// When the tests' time begins: 2023-11-14T22:13:20Z.
const START: i64 = 1_700_000_000_000_000;

/// So many seconds after the tests' time began.
pub(crate) fn second(count: i64) -> Timestamp {
    Timestamp::from_micros(START + count * 1_000_000)
}

pub(crate) fn action_id() -> ActionId {
    ActionId::from_parts(second(0).as_millis(), 1)
}

pub(crate) fn quorum(count: u32, roles: &[&str]) -> Quorum {
    Quorum::new(count, roles.iter().map(ToString::to_string).collect())
}

/// A verdict of a policy that gives people, claimers and executors so many seconds each.
pub(crate) fn verdict(tier: Tier, quorum: Quorum, seconds: [u64; 3]) -> Verdict {
    let [timeout_seconds, claim_within_seconds, lease_seconds] = seconds;
    Verdict {
        matched: vec!["refunds".into()],
        quorum,
        timeout_seconds,
        claim_within_seconds,
        lease_seconds,
        ..Verdict::new(tier, Risk::High, "refunds")
    }
}

/// What would refund such an amount.
pub(crate) fn refund(amount: u32) -> Action {
    let args = CanonicalJson::parse(format!(r#"{{"amount":{amount}}}"#).as_bytes()).unwrap();
    Action::bare("process_refund", Kind::Tool, args)
}

pub(crate) fn submission(action: Action, verdict: Verdict) -> Arc<Submission> {
    Arc::new(Submission::new(action, Assessment::of(Vec::new()), verdict))
}

/// The digest of nothing that is ever proposed.
pub(crate) fn foreign_digest() -> Digest {
    Digest::of(b"something else")
}

pub(crate) fn person(name: &str, roles: &[&str]) -> Principal {
    Principal {
        token: TokenId::from_parts(0, 7),
        kind: PrincipalKind::Reviewer,
        name: name.into(),
        owner: None,
        roles: roles.iter().map(ToString::to_string).collect(),
    }
}

/// The agent that asks; it is Olga's.
pub(crate) fn agent() -> Principal {
    Principal { kind: PrincipalKind::Agent, owner: Some("olga".into()), ..person("riley", &[]) }
}

pub(crate) fn freeze() -> Freeze {
    Freeze {
        id: FreezeId::from_parts(0, 3),
        scope: FreezeScope::Everything,
        reason: "drill".into(),
        by: "ada".into(),
        at: second(0),
    }
}
