//! A way to one server: a session over HTTP, or a program of our own.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;

use super::http::{HttpUpstream, SESSION};
use super::reply::Final;
use super::{Child, Mailbox, SendError, Wants};
use crate::sse::{self, Event};

/// A longer answer is an attack on our memory.
pub(crate) const MAX_ANSWER: usize = 32 * 1024 * 1024;

/// A stream that says nothing for so long has been forgotten.
const SILENCE: Duration = Duration::from_secs(30 * 60);

/// Where requests go.
#[derive(Clone)]
pub(crate) enum Lane {
    Http { upstream: Arc<HttpUpstream>, headers: HeaderMap },
    Child(Arc<Child>),
}

/// What came back.
pub(crate) enum Answer {
    /// All of it.
    Whole { status: StatusCode, headers: HeaderMap, body: Bytes },
    /// Message by message.
    Stream(Stream),
}

impl Lane {
    /// A way over HTTP, in the session with this id.
    pub(crate) fn http(upstream: &Arc<HttpUpstream>, mut headers: HeaderMap, session: Option<&str>) -> Self {
        if let Some(session) = session.and_then(|session| HeaderValue::from_str(session).ok()) {
            headers.insert(SESSION, session);
        }
        Self::Http { upstream: Arc::clone(upstream), headers }
    }

    /// Sends a message that wants an answer.
    ///
    /// # Errors
    /// If it was not sent, or nobody knows.
    pub(crate) async fn ask(&self, message: Bytes, route: Route) -> Result<Answer, SendError> {
        self.ask_for(Wants::Everything, message, route).await
    }

    /// The answer to a message, for who wants nothing else: what a program says or asks meanwhile is left to others.
    ///
    /// # Errors
    /// If it was not sent, or nobody knows.
    pub(crate) async fn answer(&self, message: Bytes, route: Route) -> Result<Final, SendError> {
        let id = route.id.clone();
        self.ask_for(Wants::Answer, message, route).await?.conclude(&id).await
    }

    async fn ask_for(&self, wants: Wants, message: Bytes, route: Route) -> Result<Answer, SendError> {
        match self {
            Self::Http { upstream, headers } => {
                let response = upstream.send(Method::POST, headers.clone(), message).await?;
                let (parts, body) = response.into_parts();
                if is_event_stream(&parts.headers) {
                    return Ok(Answer::Stream(Stream::over_http(body, parts.headers)));
                }
                let body = whole(body).await?;
                Ok(Answer::Whole { status: parts.status, headers: parts.headers, body })
            }
            Self::Child(child) => {
                Ok(Answer::Stream(Stream::of_child(child.ask_for(wants, message, route).await?)))
            }
        }
    }

    /// Sends a message that wants none.
    ///
    /// # Errors
    /// If it was not sent, or nobody knows.
    pub(crate) async fn tell(&self, message: Bytes) -> Result<StatusCode, SendError> {
        match self {
            Self::Http { upstream, headers } => {
                let response = upstream.send(Method::POST, headers.clone(), message).await?;
                let status = response.status();
                drop(whole(response.into_body()).await);
                Ok(status)
            }
            Self::Child(child) => child.tell(message).await.map(|()| StatusCode::ACCEPTED),
        }
    }
}

/// How answers that come all through one pipe find back.
#[derive(Debug, Clone)]
pub(crate) struct Route {
    /// The id of the request, as JSON.
    pub(crate) id: String,
    /// Its progress token, as JSON.
    pub(crate) progress: Option<String>,
}

pub(crate) fn is_event_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream")
}

pub(crate) async fn whole(body: Incoming) -> Result<Bytes, SendError> {
    let collected = tokio::time::timeout(SILENCE, Limited::new(body, MAX_ANSWER).collect()).await;
    match collected {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(_)) => {
            Err(SendError::Lost(format!("its answer broke off, or has more than {MAX_ANSWER} bytes")))
        }
        Err(_) => Err(SendError::Lost("its answer did not come to an end".to_owned())),
    }
}

/// Messages as they come.
pub(crate) struct Stream {
    source: Source,
    /// What came before the first message.
    pub(crate) headers: HeaderMap,
}

enum Source {
    Http { body: Incoming, reader: sse::Reader },
    Child(Mailbox),
}

impl Stream {
    pub(crate) fn over_http(body: Incoming, headers: HeaderMap) -> Self {
        Self { source: Source::Http { body, reader: sse::Reader::new(MAX_ANSWER) }, headers }
    }

    pub(crate) fn of_child(messages: Mailbox) -> Self {
        Self { source: Source::Child(messages), headers: HeaderMap::new() }
    }

    /// From now on nobody is there for anything but the answer: what a program says or asks is left to others.
    pub(crate) fn only_answer(&self) {
        if let Source::Child(messages) = &self.source {
            messages.only_answer();
        }
    }

    /// The next event; `None` at the end.
    ///
    /// # Errors
    /// If the stream breaks, or is not one.
    pub(crate) async fn next(&mut self) -> Result<Option<Event>, SendError> {
        match &mut self.source {
            Source::Child(messages) => Ok(messages.recv().await.map(|data| {
                let text = String::from_utf8_lossy(&data);
                Event { raw: sse::event(&text), data }
            })),
            Source::Http { body, reader } => loop {
                if let Some(event) = reader.next() {
                    return Ok(Some(event));
                }
                let frame = match tokio::time::timeout(SILENCE, body.frame()).await {
                    Ok(Some(Ok(frame))) => frame,
                    Ok(Some(Err(_))) => return Err(SendError::Lost("the connection broke".to_owned())),
                    Ok(None) => return Ok(None),
                    Err(_) => return Err(SendError::Lost("it fell silent".to_owned())),
                };
                if let Some(data) = frame.data_ref() {
                    reader.push(data).map_err(|error| SendError::Lost(error.to_string()))?;
                }
            },
        }
    }
}
