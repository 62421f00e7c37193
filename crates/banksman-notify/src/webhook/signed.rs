//! Standard Webhooks: a request that proves where it comes from, and that a repetition is one.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use banksman_outward::{Answer, Call, CallError, Outward};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use url::Url;

use super::PostId;
use crate::SendError;
use crate::http_answer::{failed, settled};
use crate::secret::mac;

/// How long a receiver has to take it.
const WITHIN: Duration = Duration::from_secs(15);

/// No more of an answer is read: only its status matters, and its start helps to find out what went wrong.
const AT_MOST: usize = 4 * 1024;

/// A key that receivers know too: `whsec_` and 24 to 64 bytes in base64.
#[derive(Clone)]
pub struct WebhookKey(Vec<u8>);

impl std::fmt::Debug for WebhookKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[secret]")
    }
}

/// A text that is no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a webhook's key is `whsec_` followed by 24 to 64 random bytes in base64")]
pub struct WebhookKeyError;

impl std::str::FromStr for WebhookKey {
    type Err = WebhookKeyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = text.strip_prefix("whsec_").and_then(|key| STANDARD.decode(key).ok());
        bytes.filter(|bytes| (24..=64).contains(&bytes.len())).map(Self).ok_or(WebhookKeyError)
    }
}

impl WebhookKey {
    /// The headers that prove where a body comes from.
    pub(crate) fn headers(&self, id: &str, unix_seconds: u64, body: &[u8]) -> Option<HeaderMap> {
        let at = unix_seconds.to_string();
        let signature = STANDARD.encode(mac(&self.0, &[id.as_bytes(), b".", at.as_bytes(), b".", body]));
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("webhook-id", id),
            ("webhook-timestamp", &at),
            ("webhook-signature", &format!("v1,{signature}")),
        ] {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_str(value).ok()?);
        }
        Some(headers)
    }
}

/// A signed request to a service.
#[derive(Debug)]
pub struct SignedPost<'a> {
    /// Where to.
    pub url: &'a Url,
    /// What proves where it comes from.
    pub key: &'a WebhookKey,
    /// Its name.
    pub id: &'a PostId,
    /// What the body is.
    pub content_type: &'static str,
    /// The body.
    pub body: Bytes,
}

impl SignedPost<'_> {
    /// Sends it, once, to someone who takes it or does not.
    ///
    /// # Errors
    /// If it was not taken, or nobody knows.
    pub async fn deliver(self, outward: &Outward) -> Result<(), SendError> {
        settled(&self.send(outward).await.map_err(failed)?)
    }

    /// Sends it, once.
    ///
    /// # Errors
    /// If there is no answer. What an answer means is for the caller to say.
    pub async fn send(self, outward: &Outward) -> Result<Answer, CallError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let unwritable = CallError::BadUrl("its id cannot be put into a header");
        let mut headers = self.key.headers(self.id.as_str(), now, &self.body).ok_or(unwritable)?;
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        let call = Call {
            method: Method::POST,
            url: self.url,
            headers,
            body: self.body,
            within: WITHIN,
            at_most: AT_MOST,
        };
        outward.call(call).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The example of the specification.
    #[test]
    fn the_signature_is_the_one_of_the_standard() {
        let key: WebhookKey = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse().unwrap();
        let headers =
            key.headers("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#).unwrap();
        assert_eq!(headers["webhook-signature"], "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn weak_keys_are_no_keys() {
        for text in ["", "whsec_", "whsec_c2hvcnQ=", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_not base64"] {
            assert_eq!(text.parse::<WebhookKey>().err(), Some(WebhookKeyError), "{text}");
        }
    }
}
