//! Several messages in one body, as revision 2025-03-26 allows: each is answered as if it had come alone.

use std::sync::Arc;

use http::header::ACCEPT;
use http::{HeaderValue, Response, StatusCode};
use http_body_util::{BodyExt as _, Limited};

use crate::body::{self, Body};
use crate::gateway::bad_request;
use crate::message::Message;
use crate::upstream::lane::MAX_ANSWER;
use crate::visit::Visit;

/// More at once is no batch but a flood.
const MOST: usize = 64;

pub(crate) async fn answer(visit: Visit, messages: Vec<Message>) -> Response<Body> {
    if messages.is_empty() || messages.len() > MOST {
        return bad_request("null", -32600, "a batch has 1 to 64 messages");
    }
    let mut headers = visit.headers.clone();
    // The answers are put together, so none of them can be a stream.
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert("mcp-protocol-version", HeaderValue::from_static("2025-03-26"));
    let mut answers = Vec::with_capacity(messages.len());
    for message in messages {
        if message.batch().is_some() {
            return bad_request("null", -32600, "a batch holds no batches");
        }
        let one = Visit::new(
            Arc::clone(&visit.gateway),
            Arc::clone(&visit.caller),
            visit.endpoint.clone(),
            visit.behind.clone(),
            visit.session.clone(),
            headers.clone(),
            message,
        );
        let response = Box::pin(one.answer()).await;
        let Ok(body) = Limited::new(response.into_body(), MAX_ANSWER).collect().await else { continue };
        let text = String::from_utf8_lossy(&body.to_bytes()).trim().to_owned();
        if !text.is_empty() {
            answers.push(text);
        }
    }
    if answers.is_empty() {
        return body::empty(StatusCode::ACCEPTED);
    }
    body::json(StatusCode::OK, format!("[{}]", answers.join(",")))
}
