//! Slack: a message with buttons, a dialogue for reasons and edits, and the message changed once it is decided.

mod api;
mod blocks;
mod dialogue;
mod heard;

use std::sync::Arc;

use banksman_core::Timestamp;
use banksman_outward::Outward;
use http::HeaderMap;
use serde_json::json;
use url::Url;

use crate::{
    Channel, Conversation, Heard, Inbound, Message, Purpose, Reply, Secret, SendError, Sent, Unheard,
};

use api::Api;

/// A Slack app.
#[derive(Debug, Clone)]
pub struct SlackSettings {
    /// The bot's token, `xoxb-...`.
    pub token: Secret,
    /// What Slack signs its requests with.
    pub signing_secret: Secret,
    /// Where Slack's methods are; `https://slack.com/api/`, but for tests.
    pub api: Url,
}

/// Where Slack's methods are.
pub const SLACK_API: &str = "https://slack.com/api/";

/// Sends messages to a Slack workspace, and hears what people press there.
pub struct Slack {
    api: Api,
    signing_secret: Secret,
}

impl Slack {
    /// A channel to one workspace.
    #[must_use]
    pub fn new(outward: Arc<Outward>, settings: SlackSettings) -> Self {
        let SlackSettings { token, signing_secret, api } = settings;
        Self { api: Api::new(outward, token, api), signing_secret }
    }
}

#[async_trait::async_trait]
impl Channel for Slack {
    fn kind(&self) -> &'static str {
        "slack"
    }

    fn tells_of_settlement(&self) -> bool {
        true
    }

    /// What changes a message changes it to the same however often; new ones have no key to be told by.
    fn tells_repetition(&self, message: &Message) -> bool {
        message.purpose == Purpose::Settled && message.earlier.is_some()
    }

    async fn send(&self, message: &Message) -> Result<Sent, SendError> {
        let blocks = blocks::of(message);
        // What notifications and screen readers say. No markup: nothing in it becomes a link or a mention.
        let text = blocks::escaped(&blocks::summary(message));
        let posted = match (message.purpose, &message.earlier) {
            (Purpose::Settled, Some(earlier)) => {
                let (channel, ts) = earlier
                    .split_once(':')
                    .ok_or_else(|| SendError::never("there is no message of ours to change"))?;
                let body =
                    json!({ "channel": channel, "ts": ts, "text": text, "blocks": blocks, "parse": "none" });
                self.api.call("chat.update", &body).await?
            }
            // Nobody knows what there is to change: whoever may have it before their eyes is told what became of it.
            (Purpose::Settled, None)
            | (Purpose::Ask | Purpose::Again | Purpose::Escalated | Purpose::Digest | Purpose::Test, _) => {
                let body = json!({
                    "channel": message.to.address,
                    "text": text,
                    "blocks": blocks,
                    "parse": "none",
                    "mrkdwn": false,
                    "link_names": false,
                    "unfurl_links": false,
                    "unfurl_media": false,
                });
                self.api.call("chat.postMessage", &body).await?
            }
        };
        let provider_id = match (posted.channel, posted.ts) {
            (Some(channel), Some(ts)) => Some(format!("{channel}:{ts}")),
            (None, _) | (_, None) => message.earlier.clone(),
        };
        Ok(Sent { provider_id, delivered: true })
    }
}

#[async_trait::async_trait]
impl Conversation for Slack {
    fn hear(&self, headers: &HeaderMap, body: &[u8], now: Timestamp) -> Result<Heard, Unheard> {
        heard::verify(&self.signing_secret, headers, body, now)?;
        heard::read(headers, body, now)
    }

    async fn answer(&self, inbound: &Inbound, reply: &Reply) -> Result<(), SendError> {
        match reply {
            Reply::Words(words) => {
                let to = inbound
                    .answer
                    .to
                    .as_deref()
                    .ok_or_else(|| SendError::never("Slack gave no way to answer"))?;
                let body = json!({
                    "response_type": "ephemeral",
                    "replace_original": false,
                    "text": blocks::escaped(words),
                });
                self.api.respond(to, &body).await
            }
            Reply::Ask { about, decision, tool, arguments } => {
                let trigger = inbound.answer.dialogue.as_deref();
                let trigger =
                    trigger.ok_or_else(|| SendError::never("Slack gave no way to open a dialogue"))?;
                let context = dialogue::Context {
                    about: about.to_string(),
                    decision: *decision,
                    answer_to: inbound.answer.to.clone(),
                };
                let view = dialogue::view(&context, tool, arguments.as_deref())?;
                self.api.call("views.open", &json!({ "trigger_id": trigger, "view": view })).await.map(drop)
            }
        }
    }
}
