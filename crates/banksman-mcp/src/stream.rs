//! Standing streams, and the end of sessions.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Response, StatusCode};
use tokio::sync::mpsc;

use crate::body::{self, Body};
use crate::changes;
use crate::errand::QUEUE;
use crate::gateway::{Behind, Gateway};
use crate::labels::Ids;
use crate::message::Era;
use crate::relay::{pass_back, unreachable};
use crate::session::Session;
use crate::sse;
use crate::upstream::http::passed_on;
use crate::upstream::{Lane, Mailbox, Reach};

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
                Ok(child) => body::events(as_events(from_mailbox(child.listen()))),
                Err(error) => unreachable("null", upstream, &error),
            }
        }
    }
}

/// What a program says on its own account, for as long as somebody listens: what it says later is kept for who listens next.
fn from_mailbox(mut unasked: Mailbox) -> mpsc::Receiver<Bytes> {
    let (messages, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
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
            let message = tokio::select! {
                message = messages.recv() => message,
                () = events.closed() => None,
            };
            let Some(message) = message else { return };
            sent = events.send(sse::event(&String::from_utf8_lossy(&message))).await;
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
