//! Clients that only post JSON (harombe's dialect): a held call is `202` with an id to ask by.

use banksman_core::{Case, State, Status};
use http::{HeaderValue, Response, StatusCode};

use crate::body::{self, Body};
use crate::message;
use crate::raw::quoted;
use crate::visit::Visit;
use crate::words;

/// The answer to a call that is held.
pub(crate) fn held(visit: &Visit, case: &Case) -> Response<Body> {
    if let Some(hold) = visit.gateway.keep_if_open(case, &visit.caller) {
        hold.join(visit, None);
    }
    let id = case.id;
    let expires = if let State::Pending { deadline, .. } = &case.state {
        format!(r#","expires_at":"{deadline}""#)
    } else {
        String::new()
    };
    let (status, words) = match case.status() {
        Status::Authorised => ("approved", "approved, and about to be run: do not send it again"),
        Status::Executing => ("executing", "approved, and being run now: do not send it again"),
        Status::Pending
        | Status::Blocked
        | Status::Denied
        | Status::Expired
        | Status::Cancelled
        | Status::Succeeded
        | Status::Failed
        | Status::Unknown
        | Status::Lapsed
        | Status::Revoked => ("pending", "held for a person's approval; not executed"),
    };
    let text = format!(
        r#"{{"status":"{status}","approval_id":"{id}","message":{},"status_url":"/hitl/pending/{id}","result_url":"/hitl/result/{id}","review_url":{}{expires}}}"#,
        quoted(words),
        quoted(&visit.gateway.review_url(id)),
    );
    let mut response = body::json(StatusCode::ACCEPTED, text);
    let headers = response.headers_mut();
    headers.insert("retry-after", HeaderValue::from_static("2"));
    headers.insert("preference-applied", HeaderValue::from_static("respond-async"));
    if let Ok(location) = HeaderValue::from_str(&format!("/hitl/result/{id}")) {
        headers.insert("location", location);
    }
    response
}

/// The answer to a call that will not run.
pub(crate) fn not_run(case: &Case, id: &str, text: &str) -> Response<Body> {
    let data = format!(r#"{{"approval_id":"{}","status":"{}"}}"#, case.id, case.status());
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000,"message":{},"data":{data}}}}}"#,
        quoted(text)
    );
    body::json(StatusCode::FORBIDDEN, text)
}

/// What became of a held call, for a client that asks by id: a JSON-RPC answer once it has ended.
#[must_use]
pub fn result_of(case: &Case) -> Option<(StatusCode, String)> {
    let ending = crate::hold::ending_of(case)?;
    if case.status().never_ran() {
        let text = words::standing(&case.into());
        return Some((StatusCode::FORBIDDEN, message::error("null", -32000, &text)));
    }
    Some((StatusCode::OK, ending.to_message("null", message::Era::One)))
}
