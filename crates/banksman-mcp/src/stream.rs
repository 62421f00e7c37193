//! Standing streams, and the end of sessions.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Response, StatusCode};
use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::body::{self, Body};
use crate::changes;
use crate::errand::QUEUE;
use crate::gateway::{Behind, Gateway};
use crate::labels::Ids;
use crate::message::Era;
use crate::relay::{pass_back, unreachable};
use crate::session::{Heard, Session};
use crate::sse;
use crate::upstream::http::passed_on;
use crate::upstream::{Lane, Mailbox, Reach};

/// How often a client hears that it is still connected.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(15);

/// What the server says on its own account.
pub(crate) async fn listen(
    gateway: &Arc<Gateway>,
    behind: &Behind,
    session: Option<Session>,
    headers: &HeaderMap,
) -> Response<Body> {
    let Behind::One(upstream) = behind else {
        return crate::aggregate::listen(gateway, session).await;
    };
    if let Some(session) = &session
        && session.upstream.is_none()
        && session.initialize.is_none()
        && upstream.speaks(Era::One).await == Ok(false)
    {
        let (messages, receiver) = mpsc::channel(QUEUE);
        let (gateway, upstream, session) = (Arc::clone(gateway), Arc::clone(upstream), session.clone());
        tokio::spawn(async move { changes::forward(&gateway, &upstream, &session, &messages).await });
        return body::events(as_events(receiver));
    }
    match &upstream.reach {
        Reach::Http(http) => {
            let own = session.as_ref().and_then(|session| session.upstream.as_deref());
            let Lane::Http { headers, .. } = Lane::http(http, passed_on(headers), own) else {
                return body::empty(StatusCode::INTERNAL_SERVER_ERROR);
            };
            match http.send(Method::GET, headers, Bytes::new()).await {
                Ok(response) => pass_back(&gateway.catalogue, "null", upstream, Ids::Theirs, response).await,
                Err(error) => unreachable("null", upstream, &error),
            }
        }
        Reach::Program => {
            let Some(session) = session else { return body::empty(StatusCode::METHOD_NOT_ALLOWED) };
            match gateway.sessions.child(upstream, &session).await {
                Ok(child) => {
                    let heard = gateway.sessions.hear(upstream, &session);
                    body::events(as_events(from_mailbox(child.listen(), heard)))
                }
                Err(error) => unreachable("null", upstream, &error),
            }
        }
    }
}

/// What a program says on its own account, for as long as somebody listens: what it says later is kept for who listens next.
fn from_mailbox(mut unasked: Mailbox, heard: Option<Heard>) -> mpsc::Receiver<Bytes> {
    let (messages, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        let _heard = heard;
        loop {
            let message = tokio::select! {
                message = unasked.recv() => message,
                () = messages.closed() => None,
            };
            let Some(message) = message else { return };
            if messages.send(message).await.is_err() {
                return;
            }
        }
    });
    receiver
}

/// Messages, each as an event.
pub(crate) fn as_events(mut messages: mpsc::Receiver<Bytes>) -> mpsc::Receiver<Bytes> {
    let (events, receiver) = mpsc::channel(QUEUE);
    tokio::spawn(async move {
        // Something at once, so that the client knows that it is connected.
        let mut sent = events.send(Bytes::from_static(b": connected\n\n")).await;
        while sent.is_ok() {
            let event = tokio::select! {
                message = messages.recv() => match message {
                    Some(message) => sse::event(&String::from_utf8_lossy(&message)),
                    None => return,
                },
                // Whether it still is, only writing to it shows.
                () = sleep(HEARTBEAT) => Bytes::from_static(sse::COMMENT),
                () = events.closed() => return,
            };
            sent = events.send(event).await;
        }
    });
    receiver
}

/// Ends a session, here and behind us.
pub(crate) async fn end(
    gateway: &Gateway,
    behind: &Behind,
    session: Option<Session>,
    headers: &HeaderMap,
) -> Response<Body> {
    let Some(session) = session else { return body::empty(StatusCode::METHOD_NOT_ALLOWED) };
    let lanes = gateway.sessions.open_lanes(&session.key);
    gateway.sessions.end(&session.key);
    gateway.changes.forget(&session.key);
    match behind {
        Behind::One(upstream) => match (&upstream.reach, &session.upstream) {
            (Reach::Http(http), Some(own)) => {
                let Lane::Http { headers, .. } = Lane::http(http, passed_on(headers), Some(own)) else {
                    return body::empty(StatusCode::INTERNAL_SERVER_ERROR);
                };
                match http.send(Method::DELETE, headers, Bytes::new()).await {
                    Ok(response) => {
                        pass_back(&gateway.catalogue, "null", upstream, Ids::Theirs, response).await
                    }
                    Err(error) => unreachable("null", upstream, &error),
                }
            }
            (Reach::Http(_) | Reach::Program, _) => body::empty(StatusCode::NO_CONTENT),
        },
        Behind::All => {
            crate::aggregate::end(lanes);
            body::empty(StatusCode::NO_CONTENT)
        }
    }
}
