//! What everyone asked and was told, in their own hand and with the times.

use std::collections::BTreeMap;
use std::time::Duration;

use banksman_core::json::CanonicalJson;
use banksman_core::{ActionId, Decision, Digest, FreezeId, Status, Timestamp};

/// Everything that was asked, and what came of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Book {
    pub(crate) calls: Vec<Call>,
    /// How often a server said no, and why.
    pub(crate) refused: BTreeMap<String, u64>,
    /// How often a server said that it could not reach its store.
    pub(crate) unavailable: u64,
    /// Claims without an answer that had been taken all the same.
    pub(crate) claims_taken_unheard: u64,
    /// What no server may answer.
    pub(crate) broken: Vec<String>,
}

/// One wish, from when it was first sent to when there was an answer. It may have been sent several times.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) by: &'static str,
    pub(crate) wish: Wish,
    /// Since the run began, by a clock that all share.
    pub(crate) asked: Duration,
    /// Without one, nobody knows what came of it.
    pub(crate) answer: Option<(Duration, Reply)>,
    /// How often it was sent without an answer.
    pub(crate) lost: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Each number is one wish of one agent, and so is its key.
    Propose {
        number: u64,
        key: String,
    },
    /// The version is the one that was seen.
    Decide {
        id: ActionId,
        decision: Decision,
        version: u32,
    },
    /// The version is the one that was seen.
    Claim {
        id: ActionId,
        version: u32,
    },
    Report {
        id: ActionId,
        status: Status,
        result: Option<CanonicalJson>,
    },
    /// No two have the same reason.
    Freeze {
        reason: String,
    },
    Lift {
        id: FreezeId,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reply {
    Proposed { id: ActionId, version: u32, digest: Digest },
    Decided,
    Claimed { number: u64, idempotency_key: String, digest: Digest, lease_expires_at: Timestamp },
    Recorded,
    Frozen { id: FreezeId },
    Lifted,
    Refused(String),
}

impl Call {
    /// The version that a decision counts for: an edit counts for the one that it makes.
    pub(crate) fn decides(&self) -> Option<(ActionId, Decision, u32)> {
        match self.wish {
            Wish::Decide { id, decision, version } => {
                Some((id, decision, version + u32::from(decision == Decision::Modify)))
            }
            Wish::Propose { .. }
            | Wish::Claim { .. }
            | Wish::Report { .. }
            | Wish::Freeze { .. }
            | Wish::Lift { .. } => None,
        }
    }

    /// The answer, if it was a yes.
    pub(crate) fn granted(&self) -> Option<&Reply> {
        match &self.answer {
            Some((_, Reply::Refused(_))) | None => None,
            Some((_, reply)) => Some(reply),
        }
    }

    fn kind(&self) -> &'static str {
        match self.wish {
            Wish::Propose { .. } => "proposals",
            Wish::Decide { .. } => "decisions",
            Wish::Claim { .. } => "claims",
            Wish::Report { .. } => "outcomes",
            Wish::Freeze { .. } => "freezes",
            Wish::Lift { .. } => "lifts",
        }
    }
}

/// The number in the arguments of an action.
pub(crate) fn number_of(args: &CanonicalJson) -> u64 {
    let args: serde_json::Value = serde_json::from_str(args.as_str()).unwrap();
    args["number"].as_u64().unwrap()
}

/// How many of a kind were acknowledged, and how many were sent without an answer.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Count {
    pub(crate) acknowledged: u64,
    pub(crate) lost: u64,
}

impl Book {
    /// A refusal, which is in order if it is one of these.
    pub(crate) fn refused(&mut self, what: &str, code: &str, in_order: &[&str]) {
        *self.refused.entry(format!("{what} {code}")).or_default() += 1;
        if !in_order.contains(&code) {
            self.broken.push(format!("{what} was refused by {code}"));
        }
    }

    pub(crate) fn counts(&self) -> BTreeMap<&'static str, Count> {
        let mut counts: BTreeMap<_, Count> = BTreeMap::new();
        for call in &self.calls {
            let count = counts.entry(call.kind()).or_default();
            count.acknowledged += u64::from(call.granted().is_some());
            count.lost += call.lost;
        }
        counts
    }

    pub(crate) fn summary(&self) -> String {
        let counts: Vec<String> = self
            .counts()
            .iter()
            .map(|(kind, count)| format!("{} {kind} ({} without an answer)", count.acknowledged, count.lost))
            .collect();
        format!(
            "acknowledged {}; {} claims taken unheard; {} times unavailable; refused {:?}",
            counts.join(", "),
            self.claims_taken_unheard,
            self.unavailable,
            self.refused,
        )
    }

    /// A run in which nothing happened would prove nothing.
    pub(crate) fn expect_something_of_everything(&self) {
        if let Some(lack) = self.lacks() {
            panic!("{lack}: {}", self.summary());
        }
    }

    /// What there is too little of to prove anything.
    pub(crate) fn lacks(&self) -> Option<String> {
        let counts = self.counts();
        for (kind, least) in
            [("proposals", 20), ("decisions", 20), ("claims", 20), ("outcomes", 20), ("freezes", 2)]
        {
            if counts.get(kind).map_or(0, |count| count.acknowledged) < least {
                return Some(format!("hardly any {kind}"));
            }
        }
        for wanted in [Decision::Approve, Decision::Deny, Decision::Modify, Decision::Respond] {
            let made = |call: &Call| {
                call.granted().is_some() && call.decides().is_some_and(|(_, decision, _)| decision == wanted)
            };
            if !self.calls.iter().any(made) {
                return Some(format!("no {wanted}"));
            }
        }
        let hit = counts.values().any(|count| count.lost > 0);
        (!hit).then(|| "no fault hit a request".to_owned())
    }
}
