//! Webhooks: a signed event to any service.

mod event;
mod id;
mod signed;

use std::sync::Arc;

use banksman_outward::Outward;
use bytes::Bytes;
use url::Url;

use crate::{Channel, Message, SendError, Sent};

pub use id::PostId;
pub use signed::{SignedPost, WebhookKey, WebhookKeyError};

/// Where a webhook goes.
#[derive(Debug, Clone)]
pub struct WebhookSettings {
    /// The address.
    pub url: Url,
    /// What proves that it comes from here.
    pub key: WebhookKey,
    /// The name of this installation, as events give it: the address of its console.
    pub source: String,
}

/// Sends messages to a service.
pub struct Webhook {
    outward: Arc<Outward>,
    settings: WebhookSettings,
}

impl Webhook {
    /// A channel to one service.
    #[must_use]
    pub fn new(outward: Arc<Outward>, settings: WebhookSettings) -> Self {
        Self { outward, settings }
    }
}

#[async_trait::async_trait]
impl Channel for Webhook {
    fn kind(&self) -> &'static str {
        "webhook"
    }

    fn tells_of_settlement(&self) -> bool {
        true
    }

    /// By the id.
    fn tells_repetition(&self, _message: &Message) -> bool {
        true
    }

    async fn send(&self, message: &Message) -> Result<Sent, SendError> {
        // The same for every attempt: that is how the receiver knows a repetition.
        let id = PostId::of_message(&message.id);
        let event = event::of(message, &id, &self.settings.source);
        let body = serde_json::to_vec(&event)
            .map_err(|error| SendError::never(format!("the event cannot be written: {error}")))?;
        let post = SignedPost {
            url: &self.settings.url,
            key: &self.settings.key,
            id: &id,
            content_type: "application/cloudevents+json",
            body: Bytes::from(body),
        };
        post.deliver(&self.outward).await?;
        Ok(Sent { provider_id: None, delivered: true })
    }
}
