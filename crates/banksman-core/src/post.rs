//! What is on its way to people, and to the agent's side: where each stands.

use serde::{Deserialize, Serialize};

use crate::level::named;

/// Why people hear of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// It waits for them.
    Ask,
    /// It still waits.
    Again,
    /// It was handed on to them, because others did not answer.
    Escalated,
    /// Policy wants them to know of it. Nothing is asked.
    Told,
    /// What they were told before is no longer so.
    Settled,
}

named!(Purpose, "purpose", "ask, again, escalated, told, settled", {
    Ask => "ask", Again => "again", Escalated => "escalated", Told => "told", Settled => "settled",
});

/// Where a delivery stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum DeliveryStatus {
    /// To be sent at its time.
    Queued,
    /// Tried in vain, and to be tried again.
    Retrying,
    /// The provider has taken it.
    Sent,
    /// It is known to have arrived.
    Delivered,
    /// Given up.
    Failed,
    /// Not sent, because nobody needed it any more.
    Skipped,
}

named!(DeliveryStatus, "status of a delivery", "queued, retrying, sent, delivered, failed, skipped", {
    Queued => "queued", Retrying => "retrying", Sent => "sent", Delivered => "delivered", Failed => "failed",
    Skipped => "skipped",
});

impl DeliveryStatus {
    /// Whether it is still to be sent.
    #[must_use]
    pub fn is_open(self) -> bool {
        match self {
            Self::Queued | Self::Retrying => true,
            Self::Sent | Self::Delivered | Self::Failed | Self::Skipped => false,
        }
    }

    /// Whether a person may have it before their eyes.
    #[must_use]
    pub fn has_left(self) -> bool {
        match self {
            Self::Sent | Self::Delivered => true,
            Self::Queued | Self::Retrying | Self::Failed | Self::Skipped => false,
        }
    }
}

/// Where a job stands that calls the agent's side once an action is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum JobStatus {
    /// To be done at its time.
    Waiting,
    /// The agent's side has taken it.
    Done,
    /// Given up, until a person says otherwise.
    Dead,
    /// A person said that it is not to be done.
    Dropped,
}

named!(JobStatus, "status of a job", "waiting, done, dead, dropped", {
    Waiting => "waiting", Done => "done", Dead => "dead", Dropped => "dropped",
});
