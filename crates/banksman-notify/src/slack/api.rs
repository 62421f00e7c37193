//! Calling Slack.

use std::sync::Arc;
use std::time::Duration;

use banksman_outward::{Answer, Call, Outward};
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use crate::card::shown;
use crate::http_answer::{failed, put_off, settled};
use crate::{Secret, SendError};

const WITHIN: Duration = Duration::from_secs(10);

/// Slack answers with the whole message.
const AT_MOST: usize = 256 * 1024;

/// Errors that go away by themselves.
const PASSING: &[&str] = &[
    "ratelimited",
    "rate_limited",
    "internal_error",
    "fatal_error",
    "request_timeout",
    "service_unavailable",
    "team_added_to_org",
    "accesslimited",
];

/// Those of them that say that there were too many calls.
const LIMITING: &[&str] = &["ratelimited", "rate_limited"];

/// Where answers to what people press go, besides the API's own host.
const ANSWERS: &str = "hooks.slack.com";

pub(super) struct Api {
    outward: Arc<Outward>,
    token: Secret,
    base: Url,
}

/// What Slack says about a message that it took.
#[derive(Debug, Deserialize)]
pub(super) struct Posted {
    ok: bool,
    error: Option<String>,
    pub(super) channel: Option<String>,
    pub(super) ts: Option<String>,
}

impl Api {
    pub(super) fn new(outward: Arc<Outward>, token: Secret, base: Url) -> Self {
        Self { outward, token, base }
    }

    /// Calls a method.
    pub(super) async fn call(&self, method: &str, body: &Value) -> Result<Posted, SendError> {
        let url =
            self.base.join(method).map_err(|_| SendError::never("the address of Slack's API is wrong"))?;
        let mut bearer = HeaderValue::from_str(&format!("Bearer {}", self.token.reveal()))
            .map_err(|_| SendError::never("the token cannot be put into a header"))?;
        bearer.set_sensitive(true);
        let answer = self.post(&url, Some(bearer), body).await?;
        if answer.cut {
            return Err(SendError::later("Slack's answer is too long to be one"));
        }
        let posted: Posted = serde_json::from_slice(&answer.body)
            .map_err(|_| SendError::later("what answered does not speak like Slack"))?;
        match posted.error.as_deref() {
            _ if posted.ok => Ok(posted),
            error => Err(refused(error.unwrap_or("no reason given"), &answer)),
        }
    }

    /// Answers what someone pressed. The address came with a signed request, and is Slack's all the same.
    pub(super) async fn respond(&self, to: &str, body: &Value) -> Result<(), SendError> {
        let url: Url = to.parse().map_err(|_| SendError::never("Slack's address for answers is none"))?;
        let official = url.scheme() == "https" && url.host_str() == Some(ANSWERS);
        if !official && url.origin() != self.base.origin() {
            return Err(SendError::never("the address for answers is not Slack's"));
        }
        self.post(&url, None, body).await.map(drop)
    }

    async fn post(&self, url: &Url, bearer: Option<HeaderValue>, body: &Value) -> Result<Answer, SendError> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
        if let Some(bearer) = bearer {
            headers.insert(AUTHORIZATION, bearer);
        }
        let body = Bytes::from(body.to_string());
        let call = Call { method: Method::POST, url, headers, body, within: WITHIN, at_most: AT_MOST };
        let answer = self.outward.call(call).await.map_err(failed)?;
        settled(&answer)?;
        Ok(answer)
    }
}

fn refused(error: &str, answer: &Answer) -> SendError {
    let why = format!("Slack refused: {}", shown(error, 80));
    if PASSING.contains(&error) {
        put_off(answer, LIMITING.contains(&error), why)
    } else {
        SendError::never(why)
    }
}
