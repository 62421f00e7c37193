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

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::problem::{Code, ProblemError};

/// An action with small arguments fits, so that its text is not moved again and again while it grows.
const USUAL_BYTES: usize = 1536;

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
    let mut body = Vec::with_capacity(USUAL_BYTES);
    serde_json::to_writer(&mut body, value)
        .map_err(|error| ProblemError::new(Code::Internal, error.to_string()))?;
    Ok((status, [(CONTENT_TYPE, "application/json")], body).into_response())
}

/// A JSON answer with status 200.
pub(crate) fn ok(value: &impl Serialize) -> Answer {
    json(StatusCode::OK, value)
}
