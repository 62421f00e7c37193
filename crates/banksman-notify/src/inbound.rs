//! What comes back.

use std::fmt;
use std::str::FromStr;

use banksman_core::{ActionId, Decision, Digest, Timestamp};
use http::HeaderMap;

use crate::{Card, SendError};

/// Something that a person did on a channel. The channel vouches for it: the provider's signature was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inbound {
    /// What the provider calls this event; the same again is the same event delivered again.
    pub event: String,
    /// When it happened, as the provider says.
    pub at: Timestamp,
    /// The provider's id of the person; `None` where it does not say, as in some groups.
    pub who: Option<String>,
    /// What they want.
    pub wish: Wish,
    /// How to answer them.
    pub answer: Answer,
}

/// What a person wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// To decide.
    Decide {
        /// About what.
        about: Binding,
        /// What.
        decision: Decision,
        /// Why.
        reason: Option<String>,
        /// For an edit: the arguments to run instead, as they were typed.
        arguments: Option<String>,
    },
    /// To be asked for a reason, or for other arguments, first. Not a decision yet.
    Explain {
        /// About what.
        about: Binding,
        /// What they have in mind.
        decision: Decision,
    },
    /// To know their own id on this channel, so that someone can enter it among the recipients.
    WhoAmI,
}

impl Wish {
    /// The action that it is about.
    #[must_use]
    pub fn about(&self) -> Option<ActionId> {
        match self {
            Self::Decide { about, .. } | Self::Explain { about, .. } => Some(about.action),
            Self::WhoAmI => None,
        }
    }
}

/// What a card showed: an answer is about exactly that, and about nothing newer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Binding {
    /// The action.
    pub action: ActionId,
    /// The version.
    pub version: u32,
    /// And what it would run.
    pub digest: Digest,
}

impl From<&Card> for Binding {
    fn from(card: &Card) -> Self {
        Self { action: card.action, version: card.version, digest: card.digest }
    }
}

impl fmt::Display for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.action, self.version, self.digest)
    }
}

/// A text that binds to nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it does not say what it is about")]
pub struct UnboundError;

impl FromStr for Binding {
    type Err = UnboundError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.splitn(3, '/');
        let mut next = || parts.next().ok_or(UnboundError);
        Ok(Self {
            action: next()?.parse().map_err(|_| UnboundError)?,
            version: next()?.parse().map_err(|_| UnboundError)?,
            digest: next()?.parse().map_err(|_| UnboundError)?,
        })
    }
}

/// How to answer an event, in the provider's terms. None of them outlives the event for long.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// Slack: where to answer. LINE: the reply token.
    pub to: Option<String>,
    /// Slack: what opens a dialogue.
    pub dialogue: Option<String>,
}

/// What a person is told about what they did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// In words.
    Words(String),
    /// Ask why, or for other arguments.
    Ask {
        /// About what.
        about: Binding,
        /// What they have in mind.
        decision: Decision,
        /// The tool, made visible.
        tool: String,
        /// For an edit: the arguments as they are, redacted, as JSON on several lines.
        arguments: Option<String>,
    },
}

/// Why a request is not listened to. It changes nothing, and the audit log has it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each says what it is")]
pub enum Unheard {
    #[error("the signature is missing or wrong")]
    Forged,
    #[error("it is too old, or from the future")]
    Late,
    #[error("it cannot be read: {0}")]
    Unreadable(&'static str),
}

/// What one request says. It may carry several events, and one that is no good spoils no other.
pub type Heard = Vec<Result<Inbound, Unheard>>;

/// A channel that people can answer on.
#[async_trait::async_trait]
pub trait Conversation: Send + Sync + 'static {
    /// What a request from outside says; `body` is what came, byte for byte.
    ///
    /// # Errors
    /// If it is not from the provider, or not from now.
    fn hear(&self, headers: &HeaderMap, body: &[u8], now: Timestamp) -> Result<Heard, Unheard>;

    /// Answers an event. Nothing depends on whether it arrives.
    ///
    /// # Errors
    /// If it does not.
    async fn answer(&self, inbound: &Inbound, reply: &Reply) -> Result<(), SendError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binding_reads_back_what_it_prints_and_nothing_else() {
        let binding =
            Binding { action: ActionId::from_parts(1, 2), version: 3, digest: Digest::of(b"what would run") };
        let text = binding.to_string();
        assert_eq!(text.parse(), Ok(binding));
        for wrong in [
            "",
            "//",
            text.trim_end_matches(|c| c != '/'),
            &text.replace("/3/", "/-3/"),
            &text.to_uppercase(),
            &format!("{text} "),
            &format!("{text}/1"),
        ] {
            assert_eq!(wrong.parse::<Binding>(), Err(UnboundError), "{wrong}");
        }
    }
}
