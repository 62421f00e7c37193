//! The handlers: each reads a request, calls one verb, and writes the answer.

pub(crate) mod actions;
pub(crate) mod audit;
pub(crate) mod batches;
pub(crate) mod decisions;
pub(crate) mod events;
pub(crate) mod hitl;
pub(crate) mod hooks;
pub(crate) mod house;
pub(crate) mod mcp;
pub(crate) mod meta;
pub(crate) mod metrics;
pub(crate) mod notifications;
pub(crate) mod people;
pub(crate) mod policy;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::problem::{Code, ProblemError};

/// An action with small arguments fits, so that its text is not moved again and again while it grows.
const USUAL_BYTES: usize = 1536;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

pub(crate) type Answer = Result<Response, ProblemError>;

/// Cuts a list that was asked for one more than `limit`: the last of this page, if there is a next one.
pub(crate) fn cut<T>(items: &mut Vec<T>, limit: usize) -> Option<&T> {
    if items.len() <= limit {
        return None;
    }
    items.truncate(limit);
    items.last()
}

/// A JSON answer.
pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Answer {
    let mut body = String::with_capacity(USUAL_BYTES);
    banksman_core::json::write(value, &mut body)
        .map_err(|error| ProblemError::new(Code::Internal, error.to_string()))?;
    Ok((status, [(CONTENT_TYPE, JSON)], Body::from(body)).into_response())
}

/// A JSON answer with status 200.
pub(crate) fn ok(value: &impl Serialize) -> Answer {
    json(StatusCode::OK, value)
}
