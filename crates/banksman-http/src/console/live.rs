//! `/live`: what changes, in short, for pages that are open.
//!
//! Only ids, numbers and words of ours travel here; a page that wants to show more is loaded again.

use std::convert::Infallible;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use banksman_core::audit;
use futures_util::stream;
use serde::{Deserialize, Serialize};

use super::Page;
use super::session::Session;
use crate::App;
use crate::body::Params;
use crate::query::parsed;
use crate::routes::events::{Follower, KEEP_ALIVE};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LiveParams {
    since: Option<String>,
}

#[derive(Serialize)]
struct News<'a> {
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    by: Option<&'a str>,
    pending: u64,
}

pub(crate) async fn stream(
    State(app): State<App>,
    session: Session,
    Params(params): Params<LiveParams>,
    headers: HeaderMap,
) -> Page {
    // A browser that lost the line says where it was; that is newer than what the page said.
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok()?.parse().ok());
    let since = match last {
        Some(seq) => Some(seq),
        None => parsed("since", params.since)?,
    };
    let follower = Follower::new(app.clone(), session.person, since);
    let news = stream::unfold((app, follower), |(app, mut follower)| async move {
        let stored = match follower.next().await {
            Ok(stored) => stored?,
            Err(error) => {
                tracing::warn!(%error, "a page's event stream ended early");
                return None;
            }
        };
        let read = audit::Event::from_bytes(stored.body.as_bytes()).ok();
        let action = read.as_ref().and_then(|event| event.action.as_ref());
        let news = News {
            kind: &stored.kind,
            action: action.map(|action| action.id.to_string()),
            version: action.map(|action| action.version),
            status: action.map(|action| action.status.as_str()),
            by: read.as_ref().and_then(|event| event.actor.name()),
            pending: app.engine.pending_count().await.ok()?,
        };
        let data = serde_json::to_string(&news).ok()?;
        let event = Event::default().id(stored.seq.to_string()).data(data);
        Some((Ok::<_, Infallible>(event), (app, follower)))
    });
    // An event, not a comment: scripts do not see comments, and a line can die without a word.
    let beat = KeepAlive::new().interval(KEEP_ALIVE).event(Event::default().event("beat").data("here"));
    Ok(Sse::new(news).keep_alive(beat).into_response())
}
