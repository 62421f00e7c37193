//! Refuses requests that a web page of another origin made a browser send.
//!
//! A page that rebinds its own name to 127.0.0.1 sends its own name as `Host`; a page of another origin sends its
//! own as `Origin`. Neither gets an answer, with or without a credential.

use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderValue};

use crate::App;
use crate::problem::{Code, ProblemError};

/// Why a request with these headers gets no answer, if it gets none.
pub(crate) fn refuse(app: &App, headers: &HeaderMap) -> Option<ProblemError> {
    let mut hosts = headers.get_all(HOST).iter();
    // Of two, we could check one and a proxy before us believe the other.
    let host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().unwrap_or_default(),
        (None, _) | (Some(_), Some(_)) => "",
    };
    if !app.hosts.allow(host) {
        return Some(ProblemError::new(
            Code::HostNotAllowed,
            "the Host header does not name this server; start it with --allow-host NAME if it should",
        ));
    }
    let is_ours = |origin: &HeaderValue| {
        origin.to_str().ok().and_then(|origin| origin.split_once("://")).is_some_and(|(scheme, name)| {
            matches!(scheme, "http" | "https") && name.eq_ignore_ascii_case(host)
        })
    };
    if headers.get_all(ORIGIN).iter().all(is_ours) {
        None
    } else {
        Some(ProblemError::new(Code::OriginNotAllowed, "requests from other origins are refused"))
    }
}
