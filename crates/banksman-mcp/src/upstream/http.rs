//! A server that is reached by Streamable HTTP.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use super::SendError;
use crate::body::JSON;

const CONNECT_WITHIN: Duration = Duration::from_secs(10);
const IDLE_CONNECTIONS: usize = 256;

/// What a client's request says to the server. Everything else (its credential, cookies, where it came from) is for us.
/// Not so what it says of its body's form: we have read that as JSON in UTF-8, and the server must not read anything else.
const PASSED_ON: &[&str] = &["accept", "mcp-protocol-version", "mcp-method", "mcp-name", "last-event-id"];

/// Headers with arguments in them, and of tracing.
const PASSED_ON_PREFIXES: &[&str] = &["mcp-param-", "traceparent", "tracestate", "baggage"];

/// What the server's answer says to the client. What it says about credentials is between it and us.
const PASSED_BACK: &[&str] =
    &["content-type", "cache-control", "allow", "retry-after", "mcp-protocol-version"];

pub(crate) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// The server.
pub(crate) struct HttpUpstream {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    uri: Uri,
    credentials: Vec<(HeaderName, HeaderValue)>,
}

impl HttpUpstream {
    pub(crate) fn new(uri: Uri, credentials: Vec<(HeaderName, HeaderValue)>) -> Self {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        // Requests are small and wanted now: waiting to fill a packet costs 40 ms.
        http.set_nodelay(true);
        http.set_connect_timeout(Some(CONNECT_WITHIN));
        let connector = HttpsConnectorBuilder::new()
            .with_webpki_roots()
            .https_or_http()
            .enable_http1()
            .wrap_connector(http);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_max_idle_per_host(IDLE_CONNECTIONS)
            .build(connector);
        Self { client, uri, credentials }
    }

    /// Sends a request, with the server's own credential. What is posted is JSON, whoever wrote it.
    pub(crate) async fn send(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>, SendError> {
        let mut request = Request::new(Full::new(body));
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = headers;
        if method == Method::POST {
            request.headers_mut().insert(CONTENT_TYPE, JSON);
        }
        *request.method_mut() = method;
        for (name, value) in &self.credentials {
            request.headers_mut().insert(name.clone(), value.clone());
        }
        self.client.request(request).await.map_err(|error| {
            if error.is_connect() {
                SendError::NotSent("it cannot be reached".to_owned())
            } else {
                SendError::Lost("the connection broke".to_owned())
            }
        })
    }
}

/// The headers of a request of our own.
pub(crate) fn own_headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    headers
}

/// The headers of a client's request that are meant for the server.
pub(crate) fn passed_on(headers: &HeaderMap) -> HeaderMap {
    let wanted = |name: &str| {
        PASSED_ON.contains(&name) || PASSED_ON_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    };
    select(headers, wanted)
}

/// The headers of the server's answer that are meant for the client.
pub(crate) fn passed_back(headers: &HeaderMap) -> HeaderMap {
    select(headers, |name| PASSED_BACK.contains(&name))
}

fn select(headers: &HeaderMap, wanted: impl Fn(&str) -> bool) -> HeaderMap {
    let chosen = headers.iter().filter(|(name, _)| wanted(name.as_str()));
    chosen.map(|(name, value)| (name.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clients_credential_and_what_it_says_of_its_body_stay_here() {
        let mut headers = HeaderMap::new();
        for name in [
            "authorization",
            "cookie",
            "origin",
            "host",
            "mcp-session-id",
            "x-forwarded-for",
            "content-type",
            "accept",
            "mcp-param-region",
        ] {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static("x"));
        }
        let mut passed: Vec<String> = passed_on(&headers).keys().map(ToString::to_string).collect();
        passed.sort();
        assert_eq!(passed, ["accept", "mcp-param-region"]);
    }
}
