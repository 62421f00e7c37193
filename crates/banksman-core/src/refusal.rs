//! Why a command changes nothing.

use crate::{Decision, Digest, FreezeId, Status, Timestamp};

/// Why a command changes nothing. Each has a stable code that clients may rely on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each says what its fields are")]
pub enum Refusal {
    #[error(
        "the action is at version {current}; the decision was about another: look at what would run now, and decide about that"
    )]
    StaleVersion { current: u32 },
    #[error(
        "what would run is {current}; the request names another digest: fetch the action again, and take it from there"
    )]
    DigestMismatch { current: Digest },
    #[error("the hold expired at {at}, before anybody decided; the agent may propose it again")]
    Expired { at: Timestamp },
    #[error("already decided: the action is {status}{}", by.as_ref().map(|name| format!(", by {name}")).unwrap_or_default())]
    AlreadyDecided { status: Status, by: Option<String> },
    #[error("{by} has already approved this version; a quorum needs different people")]
    AlreadyVoted { by: String },
    #[error("nobody approves what they, or their own agent, proposed")]
    SelfApproval,
    #[error(
        "{by} and {other} do not count as two people yet: one of them was invited by the other, or both by the same person, and \
         no other administrator has confirmed them (on the page People, or with `banksman user confirm` on the server's machine)"
    )]
    NotIndependent { by: String, other: String },
    #[error("an approval by someone with one of these roles is missing: {}", needed.join(", "))]
    MissingRole { needed: Vec<String> },
    #[error("a decision on this action needs a reason")]
    ReasonRequired,
    #[error(
        "policy asks for the touch of a passkey: decide on this action's page in the console, signed in, with a passkey set \
         up under your account"
    )]
    StepUpRequired,
    #[error(
        "the passkey signed something else than this decision on this version; look again and decide anew"
    )]
    StepUpMismatch,
    #[error("to respond, give a message for the agent")]
    MessageRequired,
    #[error("this approval cannot be remembered: {why}")]
    RememberNotAllowed { why: &'static str },
    #[error("policy blocks the edited action ({rule})")]
    ModificationBlocked { rule: String },
    #[error("frozen by {freeze}: {reason}; only a reviewer lifts it (`banksman freeze lift {freeze}`)")]
    Frozen { freeze: FreezeId, reason: String },
    #[error("not authorised: the action is {status}")]
    NotAuthorised { status: Status },
    #[error("already claimed at {at}; an authorisation is good for one claim")]
    AlreadyClaimed { at: Timestamp },
    #[error("not as the action declared it: {}", names.join(", "))]
    PreconditionFailed { names: Vec<String> },
    #[error(
        "the same call waits or is authorised already, with other preconditions: use that one, or cancel it first"
    )]
    OtherPreconditions,
    #[error("the authorisation lapsed at {at} without being claimed; propose it again, and claim it sooner")]
    Lapsed { at: Timestamp },
    #[error("there is nothing to report: the action is {status} and was never claimed")]
    NotClaimed { status: Status },
    #[error("an outcome is already recorded: {status}")]
    AlreadyRecorded { status: Status },
    #[error("{decision} is not what this step takes")]
    WrongDecision { decision: Decision },
    #[error("not yet: the action is {status}")]
    NotDue { status: Status },
}

impl Refusal {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::StaleVersion { .. } => "stale_version",
            Self::DigestMismatch { .. } => "digest_mismatch",
            Self::Expired { .. } => "expired",
            Self::AlreadyDecided { .. } => "already_decided",
            Self::AlreadyVoted { .. } => "already_voted",
            Self::SelfApproval => "self_approval",
            Self::NotIndependent { .. } => "not_independent",
            Self::MissingRole { .. } => "missing_role",
            Self::ReasonRequired => "reason_required",
            Self::StepUpRequired => "step_up_required",
            Self::StepUpMismatch => "step_up_mismatch",
            Self::MessageRequired => "message_required",
            Self::RememberNotAllowed { .. } => "remember_not_allowed",
            Self::ModificationBlocked { .. } => "modification_blocked",
            Self::Frozen { .. } => "frozen",
            Self::NotAuthorised { .. } => "not_authorised",
            Self::AlreadyClaimed { .. } => "already_claimed",
            Self::PreconditionFailed { .. } | Self::OtherPreconditions => "precondition_failed",
            Self::Lapsed { .. } => "lapsed",
            Self::NotClaimed { .. } => "not_claimed",
            Self::AlreadyRecorded { .. } => "already_recorded",
            Self::WrongDecision { .. } => "wrong_decision",
            Self::NotDue { .. } => "not_due",
        }
    }
}
