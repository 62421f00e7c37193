//! `/v1/events` and `/v1/ws`: the audit log as it grows.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::http::HeaderMap;
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use banksman_core::Principal;
use banksman_engine::EngineError;
use banksman_store::{EventQuery, StoredEvent};
use futures_util::stream;
use serde::Deserialize;
use tokio::sync::watch;

use super::Answer;
use crate::App;
use crate::access::AnyCaller;
use crate::body::Params;
use crate::problem::{Code, ProblemError};
use crate::query::parsed;

const PAGE: usize = 256;
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// How long a client that says goodbye may take to hear ours.
const GOODBYE: Duration = Duration::from_secs(5);

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct EventsParams {
    since: Option<String>,
}

/// Follows the log from a place in it, as far as the caller may see it.
pub(crate) struct Follower {
    app: App,
    caller: Arc<Principal>,
    query: EventQuery,
    newest: watch::Receiver<u64>,
    stopping: watch::Receiver<bool>,
    page: std::vec::IntoIter<StoredEvent>,
}

impl Follower {
    pub(crate) fn new(app: App, caller: Arc<Principal>, since: Option<u64>) -> Self {
        let newest = app.engine.newest_event();
        let after = since.unwrap_or_else(|| *newest.borrow());
        let mut query = EventQuery::following(after, PAGE);
        if !caller.kind.decides() {
            query.agent = Some(caller.name.clone());
        }
        let stopping = app.stopping.clone();
        Self { app, caller, query, newest, stopping, page: Vec::new().into_iter() }
    }

    /// The next event; `None` when the server is stopping.
    pub(crate) async fn next(&mut self) -> Result<Option<StoredEvent>, EngineError> {
        loop {
            if let Some(event) = self.page.next() {
                self.query.after = Some(event.seq);
                return Ok(Some(event));
            }
            // Look at the number before reading, so that what comes in between wakes us again.
            self.newest.mark_unchanged();
            let page = self.app.engine.events(self.query.clone()).await?;
            if !page.is_empty() {
                // Only before something is shown does it matter who looks.
                self.app.engine.still_welcome(&self.caller).await?;
                self.page = page.into_iter();
                continue;
            }
            tokio::select! {
                changed = self.newest.changed() => if changed.is_err() { return Ok(None) },
                _ = self.stopping.wait_for(|stop| *stop) => return Ok(None),
            }
        }
    }
}

pub(crate) async fn stream(
    State(app): State<App>,
    AnyCaller(caller): AnyCaller,
    Params(params): Params<EventsParams>,
    headers: HeaderMap,
) -> Answer {
    let last_seen = match headers.get("last-event-id") {
        None => parsed("since", params.since)?,
        Some(value) => match value.to_str().ok().and_then(|text| text.parse().ok()) {
            Some(seq) => Some(seq),
            None => {
                return Err(ProblemError::new(
                    Code::InvalidRequest,
                    "Last-Event-ID is the number of an event",
                ));
            }
        },
    };
    let follower = Follower::new(app, caller, last_seen);
    let events = stream::unfold(follower, |mut follower| async move {
        match follower.next().await {
            Ok(Some(stored)) => {
                let event = Event::default().id(stored.seq.to_string()).event(stored.kind).data(stored.body);
                Some((Ok::<_, Infallible>(event), follower))
            }
            Ok(None) => None,
            Err(error) => {
                tracing::warn!(%error, "an event stream ended early");
                None
            }
        }
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response())
}

pub(crate) async fn socket(
    State(app): State<App>,
    AnyCaller(caller): AnyCaller,
    Params(params): Params<EventsParams>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Answer {
    let upgrade = upgrade.map_err(|rejection| {
        let detail = format!("this is a WebSocket; {}", rejection.body_text());
        ProblemError::new(Code::InvalidRequest, detail)
    })?;
    let since = parsed("since", params.since)?;
    Ok(upgrade.on_upgrade(move |socket| follow(socket, app, caller, since)))
}

async fn follow(mut socket: WebSocket, app: App, caller: Arc<Principal>, since: Option<u64>) {
    let mut follower = Follower::new(app, caller, since);
    let mut keep_alive = tokio::time::interval(KEEP_ALIVE);
    loop {
        let message = tokio::select! {
            next = follower.next() => match next {
                Ok(Some(event)) => Message::text(format!(r#"{{"seq":{},"event":{}}}"#, event.seq, event.body)),
                Ok(None) | Err(_) => break,
            },
            // Nothing that a client says here matters, but its going away does.
            received = socket.recv() => match received {
                Some(Ok(Message::Close(_))) => {
                    // The answer to it is written while the next message is waited for, and none comes.
                    let _ = tokio::time::timeout(GOODBYE, socket.recv()).await;
                    return;
                }
                Some(Err(_)) | None => return,
                Some(Ok(_)) => continue,
            },
            _ = keep_alive.tick() => Message::Ping(Vec::new().into()),
        };
        if socket.send(message).await.is_err() {
            return;
        }
    }
    let _ = socket.send(Message::Close(None)).await;
}
