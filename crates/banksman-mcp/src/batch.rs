//! Several messages in one body, as revision 2025-03-26 allows: each is answered as if it had come alone.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::header::ACCEPT;
use http::{HeaderValue, Response, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use tokio::task::JoinSet;

use crate::body::{self, Body};
use crate::gateway::bad_request;
use crate::message::{self, Message, Shape};
use crate::sse;
use crate::upstream::lane::{MAX_ANSWER, is_event_stream};
use crate::upstream::reply::Reply;
use crate::visit::Visit;

/// More at once is no batch but a flood.
pub(crate) const MOST: usize = 64;

pub(crate) async fn answer(visit: Box<Visit>, messages: Vec<Message>) -> Response<Body> {
    if messages.is_empty() || messages.len() > MOST {
        return bad_request("null", -32600, "a batch has 1 to 64 messages");
    }
    if messages.iter().any(|message| message.batch().is_some()) {
        return bad_request("null", -32600, "a batch holds no batches");
    }
    let mut headers = visit.headers.clone();
    // The answers are put together: none is a stream if it can be helped, and none is a promise for later.
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert("mcp-protocol-version", HeaderValue::from_static("2025-03-26"));
    headers.remove("prefer");
    // All at once: what people are asked about holds up nothing else.
    let mut answering = JoinSet::new();
    for (place, message) in messages.into_iter().enumerate() {
        let one = Visit::new(
            Arc::clone(&visit.gateway),
            Arc::clone(&visit.caller),
            visit.endpoint.clone(),
            visit.behind.clone(),
            visit.session.clone(),
            headers.clone(),
            message,
        );
        let id = matches!(one.message.shape(), Shape::Request(_)).then(|| one.message.id());
        answering.spawn(async move {
            let response = alone(one).await;
            (place, last_message(response, id.as_deref()).await)
        });
    }
    let mut answers = Vec::new();
    while let Some(answered) = answering.join_next().await {
        match answered {
            Ok((place, Some(answer))) => answers.push((place, answer)),
            Ok((_, None)) => {}
            Err(error) => tracing::error!(%error, "a message of a batch was not answered"),
        }
    }
    if answers.is_empty() {
        return body::empty(StatusCode::ACCEPTED);
    }
    answers.sort_by_key(|(place, _)| *place);
    let answers: Vec<String> = answers.into_iter().map(|(_, answer)| answer).collect();
    body::json(StatusCode::OK, format!("[{}]", answers.join(",")))
}

/// Boxed by name: who answers a batch and who answers its messages would else be made of each other.
fn alone(visit: Box<Visit>) -> Pin<Box<dyn Future<Output = Response<Body>> + Send>> {
    Box::pin(visit.answer())
}

/// The answer itself, out of whatever it came in; an error in its place if there is none, so that nobody waits for ever.
/// Without an id nobody waits, and only an error is worth telling.
async fn last_message(response: Response<Body>, id: Option<&str>) -> Option<String> {
    let streamed = is_event_stream(response.headers());
    let body =
        Limited::new(response.into_body(), MAX_ANSWER).collect().await.ok().map(|body| body.to_bytes());
    let answer = match body {
        Some(body) if streamed => in_stream(&body),
        other => other.filter(|body| Reply::read(body).is_some()),
    };
    match (answer, id) {
        (Some(answer), _) => Some(String::from_utf8_lossy(&answer).into_owned()),
        (None, Some(id)) => Some(message::error(id, -32603, "there is no answer that can be read")),
        (None, None) => None,
    }
}

fn in_stream(body: &[u8]) -> Option<Bytes> {
    let mut reader = sse::Reader::new(MAX_ANSWER);
    reader.push(body).ok()?;
    let mut last = None;
    while let Some(event) = reader.next() {
        if Reply::read(&event.data).is_some() {
            last = Some(event.data);
        }
    }
    last
}
