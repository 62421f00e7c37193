//! Calling LINE.

use std::sync::Arc;
use std::time::Duration;

use banksman_outward::{Answer, Call, Outward};
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use crate::http_answer::{failed, settled};
use crate::{Secret, SendError};

const WITHIN: Duration = Duration::from_secs(10);
const AT_MOST: usize = 16 * 1024;
const RETRY_KEY: HeaderName = HeaderName::from_static("x-line-retry-key");

pub(super) struct Api {
    outward: Arc<Outward>,
    token: Secret,
    base: Url,
}

#[derive(Default, Deserialize)]
struct Pushed {
    #[serde(default, rename = "sentMessages")]
    sent_messages: Vec<SentMessage>,
}

#[derive(Deserialize)]
struct SentMessage {
    id: String,
}

impl Api {
    pub(super) fn new(outward: Arc<Outward>, token: Secret, base: Url) -> Self {
        Self { outward, token, base }
    }

    /// Pushes a message; says what LINE calls it, if it says so.
    pub(super) async fn push(&self, retry_key: &str, body: &Value) -> Result<Option<String>, SendError> {
        let answer = self.post("v2/bot/message/push", Some(retry_key), body).await?;
        // An earlier attempt got through.
        if answer.status != StatusCode::CONFLICT {
            settled(&answer)?;
        }
        let pushed: Pushed = serde_json::from_slice(&answer.body).unwrap_or_default();
        Ok(pushed.sent_messages.into_iter().next().map(|message| message.id))
    }

    /// Replies to what someone pressed. Replying again is not possible, so there is nothing to tell a repetition by.
    pub(super) async fn reply(&self, body: &Value) -> Result<(), SendError> {
        settled(&self.post("v2/bot/message/reply", None, body).await?)
    }

    async fn post(&self, path: &str, retry_key: Option<&str>, body: &Value) -> Result<Answer, SendError> {
        let url = self.base.join(path).map_err(|_| SendError::never("the address of LINE's API is wrong"))?;
        let unwritable = |_| SendError::never("the token cannot be put into a header");
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let mut bearer =
            HeaderValue::from_str(&format!("Bearer {}", self.token.reveal())).map_err(unwritable)?;
        bearer.set_sensitive(true);
        headers.insert(AUTHORIZATION, bearer);
        if let Some(key) = retry_key {
            headers.insert(RETRY_KEY, HeaderValue::from_str(key).map_err(unwritable)?);
        }
        let body = Bytes::from(body.to_string());
        let call = Call { method: Method::POST, url: &url, headers, body, within: WITHIN, at_most: AT_MOST };
        self.outward.call(call).await.map_err(failed)
    }
}
