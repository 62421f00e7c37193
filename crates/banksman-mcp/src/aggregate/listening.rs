//! What several servers say on their own account, on one standing stream.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Response, StatusCode};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use super::TOLD_WITHIN;
use crate::body::{self, Body};
use crate::catalogue::Catalogue;
use crate::errand::QUEUE;
use crate::gateway::Gateway;
use crate::labels;
use crate::message::Era;
use crate::pauses::Pauses;
use crate::session::Session;
use crate::upstream::http::{SESSION, own_headers};
use crate::upstream::lane::is_event_stream;
use crate::upstream::{Lane, Stream};
use crate::{changes, relay, sse};

/// What all servers say on their own account.
pub(crate) async fn listen(gateway: &Arc<Gateway>, session: Option<Session>) -> Response<Body> {
    let Some(session) = session else { return body::empty(StatusCode::METHOD_NOT_ALLOWED) };
    let (messages, receiver) = mpsc::channel(QUEUE);
    for upstream in gateway.upstreams.values() {
        let (gateway, upstream) = (Arc::clone(gateway), Arc::clone(upstream));
        let (session, messages) = (session.clone(), messages.clone());
        // Each by itself: the client hears the others while one is not there yet.
        tokio::spawn(async move {
            let heard = async {
                let mut pauses = Pauses::default();
                loop {
                    let mut heard_for = Duration::ZERO;
                    match gateway.sessions.lane(&upstream, &session).await {
                        Ok(lane) => {
                            let _heard = gateway.sessions.hear(&upstream, &session);
                            let since = Instant::now();
                            if !forward(&gateway.catalogue, &upstream.name, lane, &messages).await {
                                return;
                            }
                            heard_for = since.elapsed();
                        }
                        Err(_) if upstream.speaks(Era::One).await == Ok(false) => {
                            return changes::forward(&gateway, &upstream, &session, &messages).await;
                        }
                        // It may be there later.
                        Err(_) => {}
                    }
                    if gateway.sessions.has_ended(&session.key) {
                        return;
                    }
                    sleep(pauses.after(heard_for)).await;
                }
            };
            tokio::select! {
                () = heard => {}
                () = messages.closed() => {}
            }
        });
    }
    body::events(crate::stream::as_events(receiver))
}

/// Passes on what a server says until it ends. False if there is nothing to wait for: it says nothing on its own account, or
/// nobody hears it.
async fn forward(catalogue: &Catalogue, server: &str, lane: Lane, to: &mpsc::Sender<Bytes>) -> bool {
    let mut stream = match lane {
        Lane::Child(child) => Stream::of_child(child.listen()),
        Lane::Http { upstream, headers } => match upstream.send(Method::GET, headers, Bytes::new()).await {
            Ok(response) if is_event_stream(response.headers()) => {
                let (parts, body) = response.into_parts();
                Stream::over_http(body, parts.headers)
            }
            Ok(_) => return false,
            Err(_) => return true,
        },
    };
    while let Ok(Some(sse::Event { data, .. })) = stream.next().await {
        if data.is_empty() || !relay::may_pass(catalogue, server, "null", &data) {
            continue;
        }
        let message = labels::outward(server, &data).map_or(data, Bytes::from);
        if to.send(message).await.is_err() {
            return false;
        }
    }
    true
}

/// Ends the sessions behind a session. Nobody waits for that.
pub(crate) fn end(lanes: Vec<Lane>) {
    for lane in lanes {
        if let Lane::Http { upstream, headers } = lane {
            let session = headers.get(SESSION).cloned();
            let mut headers: HeaderMap = own_headers();
            headers.extend(session.map(|session| (SESSION, session)));
            tokio::spawn(async move {
                drop(timeout(TOLD_WITHIN, upstream.send(Method::DELETE, headers, Bytes::new())).await);
            });
        }
    }
}
