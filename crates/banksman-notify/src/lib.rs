//! Reaching people where they are: what a message shows, how it gets there, and what comes back.
//!
//! A [`Card`] is all that a person needs in order to decide, and nothing that policy redacts. A [`Channel`] takes a
//! [`Message`] with cards to one address, once; whether and when to try again is not its business but the outbox's.
//! What people answer comes back as an [`Inbound`]: verified by the channel, and no more than a wish until the outbox
//! has asked who that is and what they may do. No channel decides anything, and none that fails approves anything.

mod card;
mod wording;

mod channel;
mod inbound;
mod message;

mod http_answer;
mod secret;

mod email;
mod line;
mod slack;
mod webhook;

#[cfg(test)]
mod testing;

pub use card::{Argument, Card, Showing, Standing};
pub use channel::{Channel, SendError, Sent, Trouble};
pub use email::{Email, EmailSettings, EmailSettingsError, MailPatience, MailSecurity};
pub use inbound::{Answer, Binding, Conversation, Heard, Inbound, Reply, UnboundError, Unheard, Wish};
pub use line::{LINE_API, Line, LineSettings};
pub use message::{Message, MessageId, Purpose, Recipient};
pub use secret::Secret;
pub use slack::{SLACK_API, Slack, SlackSettings};
pub use webhook::{PostId, SignedPost, Webhook, WebhookKey, WebhookKeyError, WebhookSettings};
