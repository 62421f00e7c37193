//! Asking the provider: small documents, in time, or not at all.

use std::time::Duration;

use banksman_outward::{Call, Outward, Reach};
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use serde::de::DeserializeOwned;
use url::Url;

const PATIENCE: Duration = Duration::from_secs(10);
const LONGEST: usize = 256 * 1024;

/// The line to the provider.
pub(crate) struct Transport {
    outward: Outward,
}

/// The operator names the provider, which may well be inside their own network: every address may be called. What is asked
/// there without a secret line is limited by the addresses ([`crate::address`]).
fn anywhere() -> Reach {
    Reach::and(vec![IpNet::V4(Ipv4Net::default()), IpNet::V6(Ipv6Net::default())])
}

impl Transport {
    pub(crate) fn new() -> Self {
        Self { outward: Outward::new(anywhere()) }
    }

    /// One that also believes these authorities (PEM); nothing if there is none in it.
    pub(crate) fn trusting(pem: &[u8]) -> Option<Self> {
        Outward::trusting(anywhere(), pem).ok().map(|outward| Self { outward })
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, url: &Url) -> Result<T, String> {
        self.ask(Method::GET, url, HeaderMap::new(), Bytes::new()).await
    }

    /// Sends a form, with what goes into `Authorization`, if that is how to say who we are.
    pub(crate) async fn post_form<T: DeserializeOwned>(
        &self,
        url: &Url,
        authorization: Option<HeaderValue>,
        form: String,
    ) -> Result<T, String> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        if let Some(mut value) = authorization {
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        self.ask(Method::POST, url, headers, form.into()).await
    }

    /// Redirects are not followed: a provider is where discovery says that it is.
    async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        url: &Url,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> Result<T, String> {
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let call = Call { method, url, headers, body, within: PATIENCE, at_most: LONGEST };
        let answer = self.outward.call(call).await.map_err(|error| error.to_string())?;
        if !answer.status.is_success() {
            return Err(format!("{url} answered {}", answer.status));
        }
        if answer.cut {
            return Err(format!("{url} answered too much"));
        }
        serde_json::from_slice(&answer.body)
            .map_err(|error| format!("{url} answered something else: {error}"))
    }
}
