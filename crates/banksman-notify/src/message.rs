//! What is sent.

use std::fmt;

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

/// What names a message. Attempts of one message share it, and no other message has it, so that providers can tell a
/// repetition from something new.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(String);

impl MessageId {
    /// A name, if whoever gives it sees to it that no other message has it.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One message to one address.
#[derive(Debug, Clone)]
pub struct Message {
    /// What names it.
    pub id: MessageId,
    /// Which attempt this is, from one.
    pub attempt: u32,
    /// Why.
    pub purpose: Purpose,
    /// To whom.
    pub to: Recipient,
    /// About what. One, but for digests and what becomes of them (several), and tests (none).
    pub cards: Vec<Card>,
    /// What [`crate::Sent::provider_id`] was for the message that this one updates.
    pub earlier: Option<String>,
}

impl Message {
    /// Whether it is about several actions, or began as such: then each is one line, and none is decided there.
    pub(crate) fn is_list(&self) -> bool {
        match self.purpose {
            Purpose::Digest => true,
            Purpose::Ask | Purpose::Again | Purpose::Escalated | Purpose::Settled => self.cards.len() > 1,
            Purpose::Test => false,
        }
    }
}
