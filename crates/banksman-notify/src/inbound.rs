//! What comes back.

use banksman_core::{ActionId, Decision, Digest, Timestamp};

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
        /// About which action.
        action: ActionId,
        /// In the version that the card showed.
        version: u32,
        /// And exactly this.
        digest: Digest,
        /// What.
        decision: Decision,
        /// Why.
        reason: Option<String>,
        /// Words for the agent.
        message: Option<String>,
    },
    /// To be asked for a reason first. Not a decision yet.
    Explain {
        /// About which action.
        action: ActionId,
        /// In the version that the card showed.
        version: u32,
        /// And exactly this.
        digest: Digest,
        /// What they have in mind.
        decision: Decision,
    },
    /// To know their own id on this channel, so that someone can enter it among the recipients.
    WhoAmI,
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
    /// Ask for a reason.
    AskReason,
}

/// Why an event is not listened to. It changes nothing, and the audit log has it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each says what it is")]
pub enum Unheard {
    #[error("the signature is missing or wrong")]
    Forged,
    #[error("the request is too old, or from the future")]
    Late,
    #[error("it cannot be read: {0}")]
    Unreadable(String),
}

/// A channel that people can answer on.
#[async_trait::async_trait]
pub trait Conversation: Send + Sync + 'static {
    /// What a request from outside says. Headers are given by lower-case name; `body` is what came, byte for byte.
    ///
    /// # Errors
    /// If it is not from the provider, or not from now.
    fn hear(
        &self,
        header: &(dyn for<'n> Fn(&'n str) -> Option<String> + Sync),
        body: &[u8],
        now: Timestamp,
    ) -> Result<Vec<Inbound>, Unheard>;

    /// Answers an event. Nothing depends on whether it arrives.
    async fn answer(&self, inbound: &Inbound, reply: &Reply);
}
