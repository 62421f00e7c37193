//! One request, one answer.

use std::time::Duration;

use banksman_core::wire::Problem;
use serde::de::DeserializeOwned;
use ureq::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use ureq::http::{HeaderValue, Method, Uri};

use crate::events::SILENCE;
use crate::query::Pairs;
use crate::{ClientError, Events};

const CONNECT_WITHIN: Duration = Duration::from_secs(5);
const ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// Room for a full page of large actions, and an end to whatever else might answer at that address.
const MAX_ANSWER_BYTES: u64 = 64 * 1024 * 1024;
const EXCERPT_CHARS: usize = 200;

#[derive(Clone)]
pub(crate) struct Transport {
    agent: ureq::Agent,
    base: String,
    bearer: HeaderValue,
    patience: Duration,
}

/// What to send.
pub(crate) struct Call {
    method: Method,
    path: String,
    query: Pairs,
    headers: Vec<(&'static str, String)>,
    body: Option<Vec<u8>>,
    wait: Duration,
}

impl Call {
    fn new(method: Method, path: impl Into<String>) -> Self {
        let path = path.into();
        Self { method, path, query: Vec::new(), headers: Vec::new(), body: None, wait: Duration::ZERO }
    }

    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path)
    }

    pub(crate) fn post(path: impl Into<String>, body: Vec<u8>) -> Self {
        Self { body: Some(body), ..Self::new(Method::POST, path) }
    }

    pub(crate) fn delete(path: impl Into<String>) -> Self {
        Self::new(Method::DELETE, path)
    }

    pub(crate) fn query(self, query: Pairs) -> Self {
        Self { query, ..self }
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Asks the server to hold the answer back for up to so many seconds, and gives it the time.
    pub(crate) fn wait(self, seconds: u64) -> Self {
        let call = self.header("Prefer", format!("wait={seconds}"));
        Self { wait: Duration::from_secs(seconds), ..call }
    }
}

/// What came back, if anything did.
struct Answer {
    status: u16,
    body: Vec<u8>,
}

impl Transport {
    pub(crate) fn new(base_url: &str, token: &str) -> Result<Self, ClientError> {
        let base = base_url.trim_end_matches('/').to_owned();
        let host = host_of(&base)?;
        let mut bearer = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| {
            let detail = "the token contains characters that no token has: was it copied whole?".into();
            ClientError::InvalidRequest { detail }
        })?;
        bearer.set_sensitive(true);
        let mut config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            // A redirect would take the credential, and the decision, to somewhere nobody configured.
            .max_redirects(0)
            .timeout_connect(Some(CONNECT_WITHIN))
            .user_agent(concat!("banksman-client/", env!("CARGO_PKG_VERSION")));
        if is_loopback(&host) {
            // What is on this machine is not reached through whatever HTTP_PROXY names, which would also get
            // to see the token.
            config = config.proxy(None);
        }
        Ok(Self { agent: config.build().new_agent(), base, bearer, patience: ANSWER_WITHIN })
    }

    pub(crate) fn answered_within(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// Sends and reads what a success brings.
    pub(crate) fn fetch<T: DeserializeOwned>(&self, call: Call) -> Result<T, ClientError> {
        let answer = self.succeed(call)?;
        serde_json::from_slice(&answer.body).map_err(|error| {
            self.unexpected(answer.status, format!("an answer that cannot be read ({error})"))
        })
    }

    /// Sends, and cares for nothing but success.
    pub(crate) fn perform(&self, call: Call) -> Result<(), ClientError> {
        self.succeed(call).map(drop)
    }

    /// Sends and reads what comes, as long as it comes.
    pub(crate) fn follow(&self, call: Call) -> Result<Events, ClientError> {
        let failed = |error| ClientError::from_transport(&self.base, error);
        let request = self
            .dress(self.agent.get(self.url(&call)), &call)
            .config()
            .timeout_global(None)
            .timeout_recv_response(Some(self.patience))
            .timeout_per_read(Some(SILENCE))
            .build();
        let mut response = request.call().map_err(failed)?;
        let status = response.status().as_u16();
        if (200..300).contains(&status) {
            let body = response.into_body().into_with_config().limit(u64::MAX).reader();
            return Ok(Events::new(Box::new(body), self.base.clone()));
        }
        let body = response.body_mut().with_config().limit(MAX_ANSWER_BYTES).read_to_vec().map_err(failed)?;
        Err(self.refused(&Answer { status, body }))
    }

    fn succeed(&self, call: Call) -> Result<Answer, ClientError> {
        let answer = self.send(call).map_err(|error| ClientError::from_transport(&self.base, error))?;
        if (200..300).contains(&answer.status) { Ok(answer) } else { Err(self.refused(&answer)) }
    }

    /// What an answer says that is no success.
    fn refused(&self, answer: &Answer) -> ClientError {
        match serde_json::from_slice::<Problem>(&answer.body) {
            Ok(problem) => ClientError::Problem(Box::new(problem)),
            Err(_) => {
                let text = String::from_utf8_lossy(&answer.body);
                let excerpt: String = text.chars().take(EXCERPT_CHARS).collect();
                self.unexpected(answer.status, format!("{:?}", excerpt.trim()))
            }
        }
    }

    fn send(&self, call: Call) -> Result<Answer, ureq::Error> {
        let mut response = match &call.body {
            Some(body) => {
                let builder = self.agent.post(self.url(&call)).header(CONTENT_TYPE, "application/json");
                self.dress(builder, &call).send(body.as_slice())?
            }
            None if call.method == Method::DELETE => {
                self.dress(self.agent.delete(self.url(&call)), &call).call()?
            }
            None => self.dress(self.agent.get(self.url(&call)), &call).call()?,
        };
        let body = response.body_mut().with_config().limit(MAX_ANSWER_BYTES).read_to_vec()?;
        Ok(Answer { status: response.status().as_u16(), body })
    }

    fn url(&self, call: &Call) -> String {
        format!("{}{}", self.base, call.path)
    }

    fn dress<B>(&self, builder: ureq::RequestBuilder<B>, call: &Call) -> ureq::RequestBuilder<B> {
        let mut builder = builder
            .header(AUTHORIZATION, &self.bearer)
            .header(ACCEPT, "application/json")
            .query_pairs(call.query.iter().map(|(name, value)| (*name, value.as_str())));
        for (name, value) in &call.headers {
            builder = builder.header(*name, value);
        }
        builder.config().timeout_global(Some(self.patience.saturating_add(call.wait))).build()
    }

    fn unexpected(&self, status: u16, detail: String) -> ClientError {
        ClientError::Unexpected { url: self.base.clone(), status, detail }
    }
}

/// The host of an address that requests can be sent to.
fn host_of(base: &str) -> Result<String, ClientError> {
    let invalid = || ClientError::InvalidRequest {
        detail: format!(
            "{base:?} is not the address of a server: expected one such as http://127.0.0.1:7447"
        ),
    };
    let uri: Uri = base.parse().map_err(|_| invalid())?;
    let spoken = matches!(uri.scheme_str(), Some("http" | "https"));
    match uri.host() {
        Some(host) if spoken && uri.query().is_none() => Ok(host.to_owned()),
        _ => Err(invalid()),
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || address.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}
