//! An action on its way through the house: everything that is known about it, and where it stands.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::json::CanonicalJson;
use crate::level::named;
use crate::time::micros;
use crate::{
    Acting, Action, ActionId, Assessment, BatchId, ChainProgress, Digest, EscalationStep, GrantId, Timestamp,
    Verdict,
};

/// One version of what is asked for: the action, and what assessing and judging it gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Submission {
    /// What would run.
    pub action: Action,
    /// Its name.
    pub digest: Digest,
    /// How risky it looks.
    pub assessment: Arc<Assessment>,
    /// What policy demands.
    pub verdict: Arc<Verdict>,
}

impl Submission {
    /// An action with what was found about it, under its digest.
    #[must_use]
    pub fn new(action: Action, assessment: Assessment, verdict: Verdict) -> Self {
        Self { digest: action.digest(), action, assessment: Arc::new(assessment), verdict: Arc::new(verdict) }
    }

    /// The same, judged at least as strictly as that.
    #[must_use]
    pub fn at_least(self, floor: &Verdict) -> Self {
        Self { verdict: Arc::new(Arc::unwrap_or_clone(self.verdict).at_least(floor)), ..self }
    }

    /// Whether what was asked before can stand in for this: it would run the same, nobody is asked for less, and the same
    /// facts have to hold still.
    #[must_use]
    pub fn may_join(&self, before: &Self) -> bool {
        self.digest == before.digest
            && !self.verdict.demands_more_than(&before.verdict)
            && self.relies_on_the_same(before)
    }

    /// Whether both declare the same preconditions. None at all is the same as an empty object.
    #[must_use]
    pub fn relies_on_the_same(&self, other: &Self) -> bool {
        let declared = |of: &Self| of.action.preconditions.clone().filter(|facts| facts.as_str() != "{}");
        declared(self) == declared(other)
    }
}

/// An action and where it stands. Only [`crate::open`] makes one and only [`crate::step`] moves it.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// The action's id.
    pub id: ActionId,
    /// Who asked.
    pub agent: String,
    /// The person whose agent that is, if the credential says so.
    pub owner: Option<String>,
    /// The batch that it was proposed in.
    pub batch: Option<BatchId>,
    /// When it was proposed.
    pub created_at: Timestamp,
    /// How many transitions it went through; each wrote exactly one audit event.
    pub revision: u64,
    /// Counts the versions of what would run, from one; an edit makes the next.
    pub version: u32,
    /// The current version.
    pub submission: Arc<Submission>,
    /// What people said, oldest first.
    pub reviews: Vec<Review>,
    /// Where it stands.
    pub state: State,
}

impl Case {
    /// Where it stands, without the details.
    #[must_use]
    pub fn status(&self) -> Status {
        self.state.status()
    }

    /// Whether it is this person's, or their own agent's.
    #[must_use]
    pub fn is_of(&self, name: &str) -> bool {
        self.agent == name || self.owner.as_deref() == Some(name)
    }

    /// Whether it was let run only because policy observes: people would have been asked.
    #[must_use]
    pub fn was_observed(&self) -> bool {
        match &self.state {
            State::Authorised { authority, .. }
            | State::Executing { authority, .. }
            | State::Succeeded { authority, .. }
            | State::Failed { authority, .. }
            | State::Unknown { authority, .. } => *authority == Authority::Observation,
            State::Lapsed { .. } | State::Revoked { .. } => self.submission.verdict.observed,
            State::Blocked { .. }
            | State::Pending { .. }
            | State::Denied { .. }
            | State::Expired { .. }
            | State::Cancelled { .. } => false,
        }
    }

    /// The steps of its chain that were taken while people did not answer; none once it no longer waits.
    #[must_use]
    pub fn steps_taken(&self) -> &[EscalationStep] {
        match &self.state {
            State::Pending { chain, .. } => chain.taken_of(&self.submission.verdict.escalation),
            State::Blocked { .. }
            | State::Authorised { .. }
            | State::Denied { .. }
            | State::Expired { .. }
            | State::Cancelled { .. }
            | State::Executing { .. }
            | State::Succeeded { .. }
            | State::Failed { .. }
            | State::Unknown { .. }
            | State::Lapsed { .. }
            | State::Revoked { .. } => &[],
        }
    }

    /// How soon people should look, from 0 to 100, as triage says.
    #[must_use]
    pub fn priority(&self) -> u8 {
        let said = self.submission.assessment.triage.as_ref().and_then(|triage| triage.priority);
        said.unwrap_or(0).min(100)
    }

    /// Approvals of the current version.
    pub fn approvals(&self) -> impl Iterator<Item = &Review> {
        self.reviews.iter().filter(|review| review.version == self.version && review.decision.approves())
    }
}

/// What a reviewer decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Let exactly this run.
    Approve,
    /// Do not.
    Deny,
    /// Let this run instead, with other arguments.
    Modify,
    /// Do not, and here is what to do instead.
    Respond,
}

named!(Decision, "decision", "approve, deny, modify, respond", {
    Approve => "approve", Deny => "deny", Modify => "modify", Respond => "respond",
});

impl Decision {
    /// Whether the one who decides so wants the version that results to run.
    #[must_use]
    pub fn approves(self) -> bool {
        match self {
            Self::Approve | Self::Modify => true,
            Self::Deny | Self::Respond => false,
        }
    }
}

/// What one person said about one version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    /// Who.
    pub by: String,
    /// With which roles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// And with which that are not their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acting: Vec<Acting>,
    /// Who had brought them in, if nobody independent had confirmed by then that these are two people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brought_by: Option<String>,
    /// Whether they approved what they, or their own agent, proposed: policy names them as the solo operator.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub solo_operator: bool,
    /// What.
    pub decision: Decision,
    /// About which version; an edit counts for the version that it made.
    pub version: u32,
    /// When.
    #[serde(with = "micros")]
    pub at: Timestamp,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Words for the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// What an authorisation rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Authority {
    /// Policy lets such actions run.
    Policy,
    /// A remembered approval.
    Grant {
        /// Which.
        grant: GrantId,
    },
    /// The people in [`Case::reviews`].
    Reviewers,
    /// The policy only observes: people were not asked, and what they would have been asked is on record.
    Observation,
    /// A preset of the policy that approves what would be held.
    Preset {
        /// Which.
        preset: String,
    },
}

/// The one claim that an action can have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// When it was claimed.
    #[serde(with = "micros")]
    pub at: Timestamp,
    /// Until when the executor has to record an outcome.
    #[serde(with = "micros")]
    pub lease_expires_at: Timestamp,
}

/// Where an action stands. Each variant holds only what is true there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields of a state say what they are: when, by whom, why")]
pub enum State {
    /// Policy or a freeze forbids it. Nobody can override that.
    Blocked {
        #[serde(with = "micros")]
        at: Timestamp,
        reason: String,
    },
    /// Held until people decide, or the deadline passes.
    Pending {
        #[serde(with = "micros")]
        deadline: Timestamp,
        #[serde(default, skip_serializing_if = "ChainProgress::is_idle")]
        chain: ChainProgress,
    },
    /// May be claimed, once, until it lapses.
    Authorised {
        authority: Authority,
        #[serde(with = "micros")]
        at: Timestamp,
        #[serde(with = "micros")]
        lapses_at: Timestamp,
    },
    /// A person said no.
    Denied {
        #[serde(with = "micros")]
        at: Timestamp,
        by: String,
    },
    /// Nobody decided in time. Not a person's no.
    Expired {
        #[serde(with = "micros")]
        at: Timestamp,
    },
    /// Withdrawn.
    Cancelled {
        #[serde(with = "micros")]
        at: Timestamp,
        by: String,
        reason: Option<String>,
    },
    /// Claimed: someone is running it now.
    Executing { authority: Authority, claim: Claim },
    /// It ran.
    Succeeded {
        authority: Authority,
        claim: Claim,
        #[serde(with = "micros")]
        at: Timestamp,
        result: Option<CanonicalJson>,
    },
    /// It ran and failed, or could not run.
    Failed {
        authority: Authority,
        claim: Claim,
        #[serde(with = "micros")]
        at: Timestamp,
        error: Option<String>,
        result: Option<CanonicalJson>,
    },
    /// Claimed, and no outcome came: it may have run. Only people can find out; nothing retries it.
    Unknown {
        authority: Authority,
        claim: Claim,
        #[serde(with = "micros")]
        at: Timestamp,
    },
    /// Authorised, and not claimed in time.
    Lapsed {
        #[serde(with = "micros")]
        at: Timestamp,
    },
    /// Authorised, and taken back before it was claimed.
    Revoked {
        #[serde(with = "micros")]
        at: Timestamp,
        by: String,
        reason: Option<String>,
    },
}

impl State {
    /// Where an action stands, without the details.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            Self::Blocked { .. } => Status::Blocked,
            Self::Pending { .. } => Status::Pending,
            Self::Authorised { .. } => Status::Authorised,
            Self::Denied { .. } => Status::Denied,
            Self::Expired { .. } => Status::Expired,
            Self::Cancelled { .. } => Status::Cancelled,
            Self::Executing { .. } => Status::Executing,
            Self::Succeeded { .. } => Status::Succeeded,
            Self::Failed { .. } => Status::Failed,
            Self::Unknown { .. } => Status::Unknown,
            Self::Lapsed { .. } => Status::Lapsed,
            Self::Revoked { .. } => Status::Revoked,
        }
    }

    /// When time itself has to do something about the action: take a step of its chain, or end its state.
    #[must_use]
    pub fn wakes_at(&self) -> Option<Timestamp> {
        let next_step = if let Self::Pending { chain, .. } = self { chain.next_at } else { None };
        self.ends_at().map(|end| next_step.map_or(end, |step| step.min(end)))
    }

    /// When time itself ends the state that the action is in, if it does.
    #[must_use]
    pub fn ends_at(&self) -> Option<Timestamp> {
        match self {
            Self::Pending { deadline, .. } => Some(*deadline),
            Self::Authorised { lapses_at, .. } => Some(*lapses_at),
            Self::Executing { claim, .. } => Some(claim.lease_expires_at),
            Self::Blocked { .. }
            | Self::Denied { .. }
            | Self::Expired { .. }
            | Self::Cancelled { .. }
            | Self::Succeeded { .. }
            | Self::Failed { .. }
            | Self::Unknown { .. }
            | Self::Lapsed { .. }
            | Self::Revoked { .. } => None,
        }
    }

    /// The one claim, if it was taken.
    #[must_use]
    pub fn claim(&self) -> Option<&Claim> {
        match self {
            Self::Executing { claim, .. }
            | Self::Succeeded { claim, .. }
            | Self::Failed { claim, .. }
            | Self::Unknown { claim, .. } => Some(claim),
            Self::Blocked { .. }
            | Self::Pending { .. }
            | Self::Authorised { .. }
            | Self::Denied { .. }
            | Self::Expired { .. }
            | Self::Cancelled { .. }
            | Self::Lapsed { .. }
            | Self::Revoked { .. } => None,
        }
    }

    /// Whether the same proposal, sent again, joins this action instead of making a new one.
    ///
    /// What people are asked or have allowed is joined; what policy lets run without asking is not, because two
    /// equal calls are two calls.
    #[must_use]
    pub fn is_joinable(&self) -> bool {
        match self {
            Self::Pending { .. } | Self::Authorised { authority: Authority::Reviewers, .. } => true,
            Self::Authorised {
                authority:
                    Authority::Policy
                    | Authority::Grant { .. }
                    | Authority::Observation
                    | Authority::Preset { .. },
                ..
            }
            | Self::Blocked { .. }
            | Self::Denied { .. }
            | Self::Expired { .. }
            | Self::Cancelled { .. }
            | Self::Executing { .. }
            | Self::Succeeded { .. }
            | Self::Failed { .. }
            | Self::Unknown { .. }
            | Self::Lapsed { .. }
            | Self::Revoked { .. } => false,
        }
    }
}

/// Where an action stands, without the details.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "explained at State, variant by variant")]
pub enum Status {
    Blocked,
    Pending,
    Authorised,
    Denied,
    Expired,
    Cancelled,
    Executing,
    Succeeded,
    Failed,
    Unknown,
    Lapsed,
    Revoked,
}

named!(
    Status,
    "status",
    "blocked, pending, authorised, denied, expired, cancelled, executing, succeeded, failed, unknown, lapsed, revoked",
    {
        Blocked => "blocked", Pending => "pending", Authorised => "authorised", Denied => "denied",
        Expired => "expired", Cancelled => "cancelled", Executing => "executing", Succeeded => "succeeded",
        Failed => "failed", Unknown => "unknown", Lapsed => "lapsed", Revoked => "revoked",
    }
);

impl Status {
    /// Whether the question that the action asked has been answered: it will not be pending again.
    #[must_use]
    pub fn is_resolved(self) -> bool {
        self != Self::Pending
    }

    /// Whether it has ended without ever having run, and never will: what it would have used up is free again.
    #[must_use]
    pub fn never_ran(self) -> bool {
        match self {
            Self::Blocked | Self::Denied | Self::Expired | Self::Cancelled | Self::Lapsed | Self::Revoked => {
                true
            }
            Self::Pending
            | Self::Authorised
            | Self::Executing
            | Self::Succeeded
            | Self::Failed
            | Self::Unknown => false,
        }
    }
}
