//! What goes into the audit log: facts, in the past tense, in a versioned format.
//!
//! The bytes of an event are its JSON text as [`Event::to_bytes`] writes it. They are hashed, signed and kept
//! for years, so the format only ever grows: `tests/core/golden` pins it.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::{
    Acting, ActionId, Actor, Assertion, Assessment, BatchId, Case, Decision, Delegation, DelegationId,
    DeliveryStatus, Digest, EscalationStep, Freeze, FreezeId, Grant, GrantId, JobStatus, Mode, PersonChange,
    PrincipalKind, Purpose, Risk, Status, Tier, Timestamp, TokenId, Verdict,
};

/// The version of the format that this code writes.
pub const FORMAT: u32 = 1;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The version of the format.
    #[serde(deserialize_with = "known_format")]
    pub v: u32,
    /// When.
    pub at: Timestamp,
    /// Who did it.
    pub actor: Actor,
    /// Which action it is about, as that action stood afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<ActionRef>,
    /// By which channel it came in, if it did not come by the API or the console.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// What happened.
    #[serde(flatten)]
    pub fact: Fact,
}

/// What a later version wrote may mean something else than it seems to: better unread than misread.
fn known_format<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    match u32::deserialize(deserializer)? {
        FORMAT => Ok(FORMAT),
        other => Err(de::Error::custom(format_args!("unknown format of events: {other}"))),
    }
}

/// An action, as an event names it. The arguments are not here: the digest stands for them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of Case and Verdict")]
pub struct ActionRef {
    pub id: ActionId,
    pub revision: u64,
    pub version: u32,
    pub digest: Digest,
    pub agent: String,
    pub tool: String,
    pub risk: Risk,
    pub tier: Tier,
    pub status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<BatchId>,
}

impl From<&Case> for ActionRef {
    fn from(case: &Case) -> Self {
        Self {
            id: case.id,
            revision: case.revision,
            version: case.version,
            digest: case.submission.digest,
            agent: case.agent.clone(),
            tool: case.submission.action.tool.clone(),
            risk: case.submission.verdict.risk,
            tier: case.submission.verdict.tier,
            status: case.status(),
            session: case.submission.action.session.clone(),
            batch: case.batch,
        }
    }
}

/// A freeze that stopped something, as an event names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of Freeze")]
pub struct FreezeRef {
    pub id: FreezeId,
    pub reason: String,
}

impl From<&Freeze> for FreezeRef {
    fn from(freeze: &Freeze) -> Self {
        Self { id: freeze.id, reason: freeze.reason.clone() }
    }
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(missing_docs, reason = "names and fields are the documentation that auditors read")]
pub enum Fact {
    Proposed {
        assessment: Arc<Assessment>,
        verdict: Arc<Verdict>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grant: Option<GrantId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        freeze: Option<FreezeRef>,
    },
    Decided {
        decision: Decision,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        acting: Vec<Acting>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        solo_operator: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step_up: Option<Assertion>,
    },
    Modified {
        from: Digest,
        assessment: Arc<Assessment>,
        verdict: Arc<Verdict>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        acting: Vec<Acting>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        solo_operator: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step_up: Option<Assertion>,
    },
    Escalated {
        number: u32,
        step: EscalationStep,
    },
    Cancelled {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    Expired,
    Revoked {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    Lapsed,
    Claimed {
        lease_expires_at: Timestamp,
    },
    Finished {
        late: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    LeaseEnded,
    BatchProposed {
        batch: BatchId,
        digest: Digest,
        items: Vec<ActionId>,
    },
    Frozen {
        freeze: Freeze,
    },
    Unfrozen {
        freeze: FreezeId,
    },
    Granted {
        grant: Grant,
    },
    GrantRevoked {
        grant: GrantId,
    },
    Delegated {
        delegation: Delegation,
    },
    DelegationRevoked {
        delegation: DelegationId,
    },
    ModeChanged {
        from: Mode,
        to: Mode,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        fallback: bool,
    },
    TokenIssued {
        token: TokenId,
        kind: PrincipalKind,
        name: String,
        roles: Vec<String>,
    },
    TokenRevoked {
        token: TokenId,
    },
    PolicyLoaded {
        digest: Digest,
        source: String,
    },
    InboundRefused {
        why: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        event: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        who: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        about: Option<ActionId>,
        #[serde(default, skip_serializing_if = "is_zero")]
        unrecorded: u64,
    },
    Notified {
        about: ActionId,
        delivery: i64,
        purpose: Purpose,
        channel: String,
        recipient: String,
        outcome: DeliveryStatus,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    NotificationRetried {
        about: ActionId,
        delivery: i64,
    },
    Resumed {
        about: ActionId,
        job: i64,
        outcome: JobStatus,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    JobRetried {
        about: ActionId,
        job: i64,
    },
    JobDropped {
        about: ActionId,
        job: i64,
    },
    Person {
        person: String,
        change: PersonChange,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Fact {
    /// Every name that [`Fact::type_name`] gives.
    pub const TYPES: &[&str] = &[
        "proposed",
        "decided",
        "modified",
        "escalated",
        "cancelled",
        "expired",
        "revoked",
        "lapsed",
        "claimed",
        "finished",
        "lease_ended",
        "batch_proposed",
        "frozen",
        "unfrozen",
        "granted",
        "grant_revoked",
        "delegated",
        "delegation_revoked",
        "mode_changed",
        "token_issued",
        "token_revoked",
        "policy_loaded",
        "inbound_refused",
        "notified",
        "notification_retried",
        "resumed",
        "job_retried",
        "job_dropped",
        "person",
    ];

    /// The name of the type, as in the log and in queries.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Proposed { .. } => "proposed",
            Self::Decided { .. } => "decided",
            Self::Modified { .. } => "modified",
            Self::Escalated { .. } => "escalated",
            Self::Cancelled { .. } => "cancelled",
            Self::Expired => "expired",
            Self::Revoked { .. } => "revoked",
            Self::Lapsed => "lapsed",
            Self::Claimed { .. } => "claimed",
            Self::Finished { .. } => "finished",
            Self::LeaseEnded => "lease_ended",
            Self::BatchProposed { .. } => "batch_proposed",
            Self::Frozen { .. } => "frozen",
            Self::Unfrozen { .. } => "unfrozen",
            Self::Granted { .. } => "granted",
            Self::GrantRevoked { .. } => "grant_revoked",
            Self::Delegated { .. } => "delegated",
            Self::DelegationRevoked { .. } => "delegation_revoked",
            Self::ModeChanged { .. } => "mode_changed",
            Self::TokenIssued { .. } => "token_issued",
            Self::TokenRevoked { .. } => "token_revoked",
            Self::PolicyLoaded { .. } => "policy_loaded",
            Self::InboundRefused { .. } => "inbound_refused",
            Self::Notified { .. } => "notified",
            Self::NotificationRetried { .. } => "notification_retried",
            Self::Resumed { .. } => "resumed",
            Self::JobRetried { .. } => "job_retried",
            Self::JobDropped { .. } => "job_dropped",
            Self::Person { .. } => "person",
        }
    }

    /// What a reviewer decided, if this is a decision.
    #[must_use]
    pub fn decision(&self) -> Option<Decision> {
        match self {
            Self::Decided { decision, .. } => Some(*decision),
            Self::Modified { .. } => Some(Decision::Modify),
            Self::Proposed { .. }
            | Self::Escalated { .. }
            | Self::Cancelled { .. }
            | Self::Expired
            | Self::Revoked { .. }
            | Self::Lapsed
            | Self::Claimed { .. }
            | Self::Finished { .. }
            | Self::LeaseEnded
            | Self::BatchProposed { .. }
            | Self::Frozen { .. }
            | Self::Unfrozen { .. }
            | Self::Granted { .. }
            | Self::GrantRevoked { .. }
            | Self::Delegated { .. }
            | Self::DelegationRevoked { .. }
            | Self::ModeChanged { .. }
            | Self::TokenIssued { .. }
            | Self::TokenRevoked { .. }
            | Self::PolicyLoaded { .. }
            | Self::InboundRefused { .. }
            | Self::Notified { .. }
            | Self::NotificationRetried { .. }
            | Self::Resumed { .. }
            | Self::JobRetried { .. }
            | Self::JobDropped { .. }
            | Self::Person { .. } => None,
        }
    }
}

impl Event {
    /// Something that happened to an action, as it stands now.
    #[must_use]
    pub fn about(case: &Case, at: Timestamp, actor: Actor, fact: Fact) -> Self {
        Self { v: FORMAT, at, actor, action: Some(case.into()), via: None, fact }
    }

    /// Something that happened to the house.
    #[must_use]
    pub fn general(at: Timestamp, actor: Actor, fact: Fact) -> Self {
        Self { v: FORMAT, at, actor, action: None, via: None, fact }
    }

    /// The same, said to have come in by a channel.
    #[must_use]
    pub fn by_way_of(mut self, channel: &str) -> Self {
        self.via = Some(channel.to_owned());
        self
    }

    /// The bytes that are stored, and later hashed.
    ///
    /// # Errors
    /// Never in practice: every part of an event has a JSON form.
    pub fn to_bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(self)
    }

    /// Reads a stored event.
    ///
    /// # Errors
    /// If the bytes are not an event of a known format.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(bytes)
    }

    /// Whether this records an action that people would have been asked about, had policy not only observed.
    #[must_use]
    pub fn is_observation(&self) -> bool {
        let let_through = self.action.as_ref().is_some_and(|action| action.status == Status::Authorised);
        matches!(&self.fact, Fact::Proposed { verdict, grant: None, .. } if verdict.observed && let_through)
    }

    /// Whether an agent learns from this that its question was answered.
    #[must_use]
    pub fn is_resolution(&self) -> bool {
        let resolved = self.action.as_ref().is_some_and(|action| action.status.is_resolved());
        match &self.fact {
            Fact::Decided { .. } | Fact::Modified { .. } => resolved,
            Fact::Expired | Fact::Revoked { .. } | Fact::Lapsed | Fact::LeaseEnded => true,
            // What the agent did itself is no news to it; what a reviewer cancelled is.
            Fact::Cancelled { .. } => !matches!(self.actor, Actor::Agent { .. }),
            Fact::Proposed { .. }
            | Fact::Escalated { .. }
            | Fact::Claimed { .. }
            | Fact::Finished { .. }
            | Fact::BatchProposed { .. }
            | Fact::Frozen { .. }
            | Fact::Unfrozen { .. }
            | Fact::Granted { .. }
            | Fact::GrantRevoked { .. }
            | Fact::Delegated { .. }
            | Fact::DelegationRevoked { .. }
            | Fact::ModeChanged { .. }
            | Fact::TokenIssued { .. }
            | Fact::TokenRevoked { .. }
            | Fact::PolicyLoaded { .. }
            | Fact::InboundRefused { .. }
            | Fact::Notified { .. }
            | Fact::NotificationRetried { .. }
            | Fact::Resumed { .. }
            | Fact::JobRetried { .. }
            | Fact::JobDropped { .. }
            | Fact::Person { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_listed() {
        // The reader names all that it knows when it meets one that it does not.
        let error = serde_json::from_str::<Fact>(r#"{"type":"no such type"}"#).unwrap_err().to_string();
        let (_, known) = error.split_once("expected one of ").unwrap();
        let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
        assert_eq!(known, Fact::TYPES);
    }
}
