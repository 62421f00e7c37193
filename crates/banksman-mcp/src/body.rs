//! Bodies of our answers.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use tokio::sync::mpsc;

/// The body of an answer.
pub type Body = UnsyncBoxBody<Bytes, BrokenBodyError>;

/// The server's answer broke off.
#[derive(Debug, thiserror::Error)]
#[error("the server's answer broke off: {0}")]
pub struct BrokenBodyError(#[from] hyper::Error);

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");
pub(crate) const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");

fn never(never: Infallible) -> BrokenBodyError {
    match never {}
}

/// A server's body, as it comes.
pub(crate) fn passed(body: Incoming) -> Body {
    body.map_err(BrokenBodyError).boxed_unsync()
}

pub(crate) fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(never).boxed_unsync()
}

/// A JSON answer.
pub(crate) fn json(status: StatusCode, text: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(full(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

/// An answer without a body.
pub(crate) fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(full(Bytes::new()));
    *response.status_mut() = status;
    response
}

/// A stream of events; it ends when the sender is gone.
pub(crate) fn events(events: mpsc::Receiver<Bytes>) -> Response<Body> {
    let mut response = Response::new(Channel(events).map_err(never).boxed_unsync());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, EVENTS);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// A stream of which all is known already.
pub(crate) fn event_stream(event: Bytes) -> Response<Body> {
    let mut response = Response::new(full(event));
    response.headers_mut().insert(CONTENT_TYPE, EVENTS);
    response
}

struct Channel(mpsc::Receiver<Bytes>);

impl http_body::Body for Channel {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}
