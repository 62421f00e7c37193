//! How it gets there.

use std::time::Duration;

use crate::Message;

/// A way to reach people.
///
/// One call is one attempt and ends within the channel's own time limit. A channel keeps nothing: it may be called
/// from several nodes, and again for a message that an earlier attempt may have carried through, so it passes
/// [`Message::id`] on to providers that can tell a repetition.
#[async_trait::async_trait]
pub trait Channel: Send + Sync + 'static {
    /// The kind: `slack`, `line`, `email`, `webhook`.
    fn kind(&self) -> &'static str;

    /// Whether those who were asked should also hear that it was settled: Slack changes the message that is there,
    /// a ticket gets closed; another mail or push only disturbs.
    fn tells_of_settlement(&self) -> bool;

    /// Whether a message that may have been taken can be sent again without being there twice. If not, nothing is
    /// repeated for longer than its tries last.
    fn tells_repetition(&self, _message: &Message) -> bool {
        false
    }

    /// Sends it.
    ///
    /// # Errors
    /// If it was not taken, or if nobody knows whether it was.
    async fn send(&self, message: &Message) -> Result<Sent, SendError>;
}

/// The provider took it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sent {
    /// What the provider calls the message, to update it later.
    pub provider_id: Option<String>,
    /// Whether it is known to have arrived, and not only to have been taken for delivery.
    pub delivered: bool,
}

/// It was not taken. The words are ours or the provider's, made visible and short; no secret is in them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// It may work later.
    #[error("{why}")]
    Later {
        /// What kind of trouble it is.
        trouble: Trouble,
        /// How long the provider wants to be left alone.
        after: Option<Duration>,
        /// What happened.
        why: String,
    },
    /// It will not work, however often it is tried: wrong address, wrong token.
    #[error("{why}")]
    Never {
        /// What happened.
        why: String,
    },
}

/// What stands in the way of a message that may go through later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// It was not taken.
    NotTaken,
    /// There are too many, and the provider said when it will take more. Nothing is wrong with this one.
    Busy,
    /// There was no answer: it may have been taken.
    Unsure,
}

impl SendError {
    /// Worth another try.
    #[must_use]
    pub fn later(why: impl Into<String>) -> Self {
        Self::Later { trouble: Trouble::NotTaken, after: None, why: why.into() }
    }

    /// Worth another try, although it may have been taken.
    #[must_use]
    pub fn unsure(why: impl Into<String>) -> Self {
        Self::Later { trouble: Trouble::Unsure, after: None, why: why.into() }
    }

    /// Not worth one.
    #[must_use]
    pub fn never(why: impl Into<String>) -> Self {
        Self::Never { why: why.into() }
    }
}
