//! Bodies of our answers.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
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

/// Whether a body is UTF-8 by what its headers say: those that name no charset mean it.
pub(crate) fn is_utf8(headers: &HeaderMap) -> bool {
    headers.get_all(CONTENT_TYPE).iter().all(|kind| {
        let Ok(kind) = kind.to_str() else { return false };
        // A `;` inside of quotes ends nothing, but taking it for an end only finds more to look at.
        kind.split(';').filter_map(|parameter| parameter.split_once('=')).all(|(name, value)| {
            let value = value.trim().trim_matches('"');
            !name.trim().eq_ignore_ascii_case("charset")
                || ["utf-8", "utf8"].iter().any(|known| value.eq_ignore_ascii_case(known))
        })
    })
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_utf8_is_utf8() {
        for (kinds, is) in [
            (&[][..], true),
            (&["application/json"], true),
            (&["application/json; charset=utf-8"], true),
            (&["application/json;Charset=\"UTF-8\" ; x=y"], true),
            (&["application/json; charset=utf8"], true),
            (&["application/json; charset=utf-7"], false),
            (&["application/json; CHARSET = \"utf-16le\""], false),
            (&["application/json; charset=utf-8; charset=utf-7"], false),
            (&["application/json; x=\";charset=utf-8\"; charset=utf-7"], false),
            (&["application/json; charset="], false),
            (&["application/json", "application/json; charset=utf-7"], false),
            (&["application/json; charset=utf-8\u{e9}"], false),
        ] {
            let mut headers = HeaderMap::new();
            for kind in kinds {
                headers.append(CONTENT_TYPE, HeaderValue::from_bytes(kind.as_bytes()).unwrap());
            }
            assert_eq!(is_utf8(&headers), is, "{kinds:?}");
        }
    }
}
