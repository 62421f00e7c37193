//! Refuses requests that a web page of another origin made a browser send.
//!
//! A page that rebinds its own name to 127.0.0.1 sends its own name as `Host`; a page of another origin sends its
//! own as `Origin`. Neither gets an answer, with or without a credential.

use axum::extract::{Request, State};
use axum::http::HeaderValue;
use axum::http::header::{HOST, ORIGIN};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::App;
use crate::problem::{Code, ProblemError};

pub(crate) async fn check(State(app): State<App>, request: Request, next: Next) -> Response {
    match refuse(&app, &request) {
        Some(problem) => problem.into_response(),
        None => next.run(request).await,
    }
}

fn refuse(app: &App, request: &Request) -> Option<ProblemError> {
    let mut hosts = request.headers().get_all(HOST).iter();
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
    if request.headers().get_all(ORIGIN).iter().all(is_ours) {
        None
    } else {
        Some(ProblemError::new(Code::OriginNotAllowed, "requests from other origins are refused"))
    }
}
