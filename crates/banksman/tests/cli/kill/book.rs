//! What everyone was told, in their own hand.

use std::collections::{BTreeMap, HashSet};

use banksman_core::json::CanonicalJson;
use banksman_core::wire::{ActionView, ClaimView};
use banksman_core::{ActionId, Decision, Digest, Status, Timestamp};

/// Everything that was acknowledged, and how often something was not.
#[derive(Default)]
pub(super) struct Book {
    /// The numbers that proposals were made with, answered or not; each number is one wish of one agent.
    pub(super) numbers: HashSet<u64>,
    pub(super) proposals: Vec<Proposed>,
    pub(super) decisions: Vec<Decided>,
    pub(super) claims: Vec<Claimed>,
    pub(super) outcomes: Vec<Reported>,
    /// Actions whose outcome was sent, answered or not.
    pub(super) reported: HashSet<ActionId>,
    pub(super) lost: Lost,
    /// How often the server said no, and why.
    pub(super) refused: BTreeMap<String, u64>,
    /// What no server may answer.
    pub(super) broken: Vec<String>,
}

/// Requests without an answer.
#[derive(Debug, Default)]
pub(super) struct Lost {
    pub(super) proposals: u64,
    pub(super) decisions: u64,
    pub(super) claims: u64,
    /// Claims without an answer that had been taken all the same.
    pub(super) claims_taken: u64,
    pub(super) outcomes: u64,
}

pub(super) struct Proposed {
    pub(super) number: u64,
    pub(super) agent: &'static str,
    pub(super) key: String,
    pub(super) id: ActionId,
    pub(super) version: u32,
    pub(super) digest: Digest,
}

pub(super) struct Decided {
    pub(super) id: ActionId,
    pub(super) by: &'static str,
    pub(super) decision: Decision,
    /// The version that the vote counts for.
    pub(super) version: u32,
}

pub(super) struct Claimed {
    pub(super) id: ActionId,
    pub(super) number: u64,
    pub(super) idempotency_key: String,
    pub(super) digest: Digest,
    pub(super) lease_expires_at: Timestamp,
}

pub(super) struct Reported {
    pub(super) id: ActionId,
    pub(super) status: Status,
    pub(super) result: Option<CanonicalJson>,
}

/// The number in the arguments of an action.
pub(super) fn number_of(args: &CanonicalJson) -> u64 {
    let args: serde_json::Value = serde_json::from_str(args.as_str()).unwrap();
    args["number"].as_u64().unwrap()
}

impl Book {
    pub(super) fn proposed(&mut self, number: u64, agent: &'static str, key: &str, action: &ActionView) {
        let key = key.to_owned();
        let (id, version, digest) = (action.id, action.version, action.digest);
        self.proposals.push(Proposed { number, agent, key, id, version, digest });
    }

    pub(super) fn claimed(&mut self, claim: &ClaimView) {
        self.claims.push(Claimed {
            id: claim.id,
            number: number_of(&claim.args),
            idempotency_key: claim.idempotency_key.clone(),
            digest: claim.digest,
            lease_expires_at: claim.lease_expires_at,
        });
    }

    /// A refusal, which is in order if it is one of these.
    pub(super) fn refused(&mut self, what: &str, code: &str, in_order: &[&str]) {
        *self.refused.entry(format!("{what} {code}")).or_default() += 1;
        if !in_order.contains(&code) {
            self.broken.push(format!("{what} was refused by {code}"));
        }
    }

    pub(super) fn summary(&self) -> String {
        format!(
            "acknowledged {} proposals, {} decisions, {} claims, {} outcomes; without an answer {:?}; refused {:?}",
            self.proposals.len(),
            self.decisions.len(),
            self.claims.len(),
            self.outcomes.len(),
            self.lost,
            self.refused,
        )
    }

    /// A run in which nothing happened would prove nothing.
    pub(super) fn expect_something_of_everything(&self) {
        let summary = self.summary();
        for (what, count) in [
            ("proposals", self.proposals.len()),
            ("decisions", self.decisions.len()),
            ("claims", self.claims.len()),
            ("outcomes", self.outcomes.len()),
        ] {
            assert!(count >= 20, "hardly any {what}: {summary}");
        }
        for wanted in [Decision::Approve, Decision::Deny, Decision::Modify, Decision::Respond] {
            assert!(self.decisions.iter().any(|made| made.decision == wanted), "no {wanted}: {summary}");
        }
        let Lost { proposals, decisions, claims, outcomes, .. } = self.lost;
        assert!(proposals + decisions + claims + outcomes > 0, "no kill hit a request: {summary}");
    }
}
