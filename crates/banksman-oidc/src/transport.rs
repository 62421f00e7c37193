//! Asking the provider: small documents, in time, or not at all.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderValue, Method, Request};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde::de::DeserializeOwned;

const PATIENCE: Duration = Duration::from_secs(10);
const LONGEST: usize = 256 * 1024;

/// The line to the provider.
pub(crate) struct Transport {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

impl Transport {
    pub(crate) fn new() -> Self {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_connect_timeout(Some(PATIENCE));
        let connector = HttpsConnectorBuilder::new()
            .with_webpki_roots()
            .https_or_http()
            .enable_http1()
            .wrap_connector(http);
        Self { client: Client::builder(TokioExecutor::new()).build(connector) }
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, url: &str) -> Result<T, String> {
        self.ask(Method::GET, url, Bytes::new()).await
    }

    pub(crate) async fn post_form<T: DeserializeOwned>(&self, url: &str, form: String) -> Result<T, String> {
        self.ask(Method::POST, url, form.into()).await
    }

    /// Redirects are not followed: a provider is where discovery says that it is.
    async fn ask<T: DeserializeOwned>(&self, method: Method, url: &str, body: Bytes) -> Result<T, String> {
        let mut request = Request::new(Full::new(body));
        *request.uri_mut() = url.parse().map_err(|_| format!("{url:?} is no address"))?;
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        if method == Method::POST {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        }
        *request.method_mut() = method;
        let asked = async {
            let answer = self
                .client
                .request(request)
                .await
                .map_err(|error| format!("{url} cannot be reached: {error}"))?;
            let status = answer.status();
            let body = Limited::new(answer.into_body(), LONGEST).collect().await;
            let body =
                body.map_err(|error| format!("{url} answered too much, or broke off: {error}"))?.to_bytes();
            if !status.is_success() {
                return Err(format!("{url} answered {status}"));
            }
            serde_json::from_slice(&body).map_err(|error| format!("{url} answered something else: {error}"))
        };
        tokio::time::timeout(PATIENCE, asked).await.map_err(|_| format!("{url} does not answer"))?
    }
}
