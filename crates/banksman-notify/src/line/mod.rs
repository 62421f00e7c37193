//! LINE: a Flex bubble with buttons, pushed to one person, and replies to what they press.

mod api;
mod flex;
mod heard;

use std::sync::Arc;

use banksman_core::{Digest, Timestamp};
use banksman_outward::Outward;
use http::HeaderMap;
use serde_json::json;
use url::Url;

use crate::{
    Channel, Conversation, Heard, Inbound, Message, Purpose, Reply, Secret, SendError, Sent, Unheard,
};

use api::Api;

/// A LINE Messaging API channel.
#[derive(Debug, Clone)]
pub struct LineSettings {
    /// The channel access token.
    pub access_token: Secret,
    /// The channel secret, with which LINE signs its requests.
    pub channel_secret: Secret,
    /// Where LINE's API is; `https://api.line.me/`, but for tests.
    pub api: Url,
}

/// Where LINE's API is.
pub const LINE_API: &str = "https://api.line.me/";

/// LINE takes no longer text.
const LONGEST_TEXT: usize = 2000;

/// Sends messages to people on LINE, and hears what they press there.
pub struct Line {
    api: Api,
    channel_secret: Secret,
}

impl Line {
    /// A channel by one official account.
    #[must_use]
    pub fn new(outward: Arc<Outward>, settings: LineSettings) -> Self {
        let LineSettings { access_token, channel_secret, api } = settings;
        Self { api: Api::new(outward, access_token, api), channel_secret }
    }
}

#[async_trait::async_trait]
impl Channel for Line {
    fn kind(&self) -> &'static str {
        "line"
    }

    /// A message that was pushed cannot be changed, and another one only disturbs: whoever presses a button of an old
    /// one is told what became of it.
    fn tells_of_settlement(&self) -> bool {
        false
    }

    /// By the retry key.
    fn tells_repetition(&self, _message: &Message) -> bool {
        true
    }

    async fn send(&self, message: &Message) -> Result<Sent, SendError> {
        let body = json!({ "to": message.to.address, "messages": [flex::message(message)] });
        let provider_id = self.api.push(&retry_key(message), &body).await?;
        Ok(Sent { provider_id, delivered: false })
    }
}

#[async_trait::async_trait]
impl Conversation for Line {
    fn hear(&self, headers: &HeaderMap, body: &[u8], now: Timestamp) -> Result<Heard, Unheard> {
        heard::verify(&self.channel_secret, headers, body)?;
        heard::read(body, now)
    }

    async fn answer(&self, inbound: &Inbound, reply: &Reply) -> Result<(), SendError> {
        let words = match reply {
            Reply::Words(words) => words.as_str(),
            // No button of ours asks for this here.
            Reply::Ask { .. } => "This needs more than a button. Decide on its page.",
        };
        let token = inbound.answer.to.as_deref();
        let token = token.ok_or_else(|| SendError::never("LINE gave no way to answer"))?;
        let text: String = words.chars().take(LONGEST_TEXT).collect();
        let body = json!({ "replyToken": token, "messages": [{ "type": "text", "text": text }] });
        self.api.reply(&body).await
    }
}

/// The same for every attempt of one message, as a UUID: LINE carries out one request with it and no second.
fn retry_key(message: &Message) -> String {
    let about = message.cards.first().map(|card| card.action.to_string()).unwrap_or_default();
    let purpose: Purpose = message.purpose;
    let name = format!("banksman line {} {about} {}", message.id, purpose.as_str());
    let mut bytes = *Digest::of(name.as_bytes()).as_bytes();
    // Version 8, for keys of one's own making, and the variant of RFC 9562.
    if let Some(byte) = bytes.get_mut(6) {
        *byte = (*byte & 0x0f) | 0x80;
    }
    if let Some(byte) = bytes.get_mut(8) {
        *byte = (*byte & 0x3f) | 0x80;
    }
    let hex = crate::secret::hex(&bytes);
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MessageId, Recipient};

    #[test]
    fn attempts_of_one_message_share_their_key_and_no_other() {
        let message = |id: &str, attempt, purpose| Message {
            id: MessageId::new(id),
            attempt,
            purpose,
            to: Recipient { person: None, address: "U1".into() },
            cards: Vec::new(),
            earlier: None,
        };
        let first = retry_key(&message("7", 1, Purpose::Ask));
        assert_eq!(first, retry_key(&message("7", 2, Purpose::Ask)));
        assert_ne!(first, retry_key(&message("8", 1, Purpose::Ask)));
        assert_ne!(first, retry_key(&message("7", 1, Purpose::Again)));
        let shape: Vec<usize> = first.split('-').map(str::len).collect();
        assert_eq!(shape, [8, 4, 4, 4, 12]);
    }
}
