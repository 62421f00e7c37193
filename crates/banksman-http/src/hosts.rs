//! Refuses requests that a web page of another origin made a browser send.
//!
//! A page that rebinds its own name to 127.0.0.1 sends its own name as `Host`; a page of another origin sends its
//! own as `Origin`. Neither gets an answer, with or without a credential.

use axum::extract::{Request, State};
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
    let host = request.headers().get(HOST).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !app.hosts.allow(host) {
        return Some(ProblemError::new(
            Code::HostNotAllowed,
            "the Host header does not name this server; start it with --allow-host NAME if it should",
        ));
    }
    let origin = request.headers().get(ORIGIN)?;
    let allowed =
        origin.to_str().ok().and_then(|origin| origin.split_once("://")).is_some_and(|(scheme, name)| {
            matches!(scheme, "http" | "https") && name.eq_ignore_ascii_case(host)
        });
    if allowed {
        None
    } else {
        Some(ProblemError::new(Code::OriginNotAllowed, "requests from other origins are refused"))
    }
}
