//! What is sent.

use crate::Card;

/// Why people hear of it now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// An action waits for them, or, where policy only tells, has been let run.
    Ask,
    /// It still waits.
    Again,
    /// It was handed on to them, because others did not answer.
    Escalated,
    /// It no longer waits.
    Settled,
    /// Several at once, in short.
    Digest,
    /// Someone wants to know whether the channel works. There is no card.
    Test,
}

impl Purpose {
    /// The name in stores, in logs and on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Again => "again",
            Self::Escalated => "escalated",
            Self::Settled => "settled",
            Self::Digest => "digest",
            Self::Test => "test",
        }
    }
}

/// Whom to reach on a channel.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Recipient {
    /// The reviewer, if it is one person; a shared Slack channel or a webhook is nobody in particular.
    pub person: Option<String>,
    /// The address on that channel: a LINE user id, a Slack user or channel id, a mail address. Webhooks have their
    /// address in the channel's own settings and are sent to whatever stands here only by name.
    pub address: String,
}

/// One message to one address.
#[derive(Debug, Clone)]
pub struct Message {
    /// The delivery that this is an attempt of. Attempts of one delivery share it, so providers can tell them from
    /// two messages.
    pub delivery: i64,
    /// Which attempt this is, from one.
    pub attempt: u32,
    /// Why.
    pub purpose: Purpose,
    /// To whom.
    pub to: Recipient,
    /// About what. One, but for digests (several) and tests (none).
    pub cards: Vec<Card>,
    /// What [`crate::Sent::provider_id`] was for the message that this one updates.
    pub earlier: Option<String>,
}
