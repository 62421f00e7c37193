//! A way to one server: a session over HTTP, or a program of our own.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use tokio::time::timeout;

use super::alias::Alias;
use super::http::{HttpUpstream, SESSION};
use super::incoming::Stream;
use super::reply::{Final, Reply};
use super::rooms::Room;
use super::{Child, SendError, Wants};

/// A longer answer is an attack on our memory.
pub(crate) const MAX_ANSWER: usize = 32 * 1024 * 1024;

/// A stream that says nothing for so long has been forgotten.
pub(super) const SILENCE: Duration = Duration::from_secs(30 * 60);

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
                    let stream = Stream::over_http(body, parts.headers);
                    return Ok(Answer::Stream(stream.that_resumes(upstream, headers)));
                }
                let body = whole(body).await?;
                Ok(Answer::Whole { status: parts.status, headers: parts.headers, body })
            }
            Self::Child(child) => {
                Ok(Answer::Stream(Stream::of_child(child.ask_for(wants, message, route).await?)))
            }
        }
    }

    /// The same as `ask`, for a request of ours in the session of a room, under the names by which a client knows it;
    /// `None` if the server knows nothing of the session, so that it has done nothing.
    ///
    /// # Errors
    /// If it was not sent, or nobody knows.
    pub(super) async fn ask_known_as(
        &self,
        message: Bytes,
        ours: String,
        theirs: &Route,
        (room, hears_questions): (&Arc<Room>, bool),
    ) -> Result<Option<Answer>, SendError> {
        let route = Route { id: ours.clone(), progress: theirs.progress.as_ref().map(|_| ours.clone()) };
        Ok(Some(match self.ask(message, route).await? {
            Answer::Stream(stream) => {
                let stream = stream.known_as(ours, theirs.clone(), self.clone(), hears_questions);
                Answer::Stream(stream.kept_in(room))
            }
            Answer::Whole { status, body, .. } if self.is_forgotten_by(status, &body, &ours) => {
                return Ok(None);
            }
            Answer::Whole { status, headers, body } => {
                // Whatever it calls the request: it is the only answer to it.
                let answer = Reply::read(&body).and_then(|_| Alias::of(theirs.clone()).of_answer(&body));
                Answer::Whole { status, headers, body: answer.unwrap_or(body) }
            }
        }))
    }

    /// Whether this answer to the request with this id says that the server knows nothing of the session, so that it has
    /// done nothing. Some say so with 400 and to nobody's request; what is answered to ours was looked at, and is not asked
    /// for again.
    pub(crate) fn is_forgotten_by(&self, status: StatusCode, body: &[u8], id: &str) -> bool {
        let has_session = matches!(self, Self::Http { headers, .. } if headers.contains_key(SESSION));
        has_session
            && (status == StatusCode::NOT_FOUND
                || (status == StatusCode::BAD_REQUEST && Reply::to(body, id).is_none()))
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
    let collected = timeout(SILENCE, Limited::new(body, MAX_ANSWER).collect()).await;
    match collected {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(_)) => {
            Err(SendError::Lost(format!("its answer broke off, or has more than {MAX_ANSWER} bytes")))
        }
        Err(_) => Err(SendError::Lost("its answer did not come to an end".to_owned())),
    }
}
