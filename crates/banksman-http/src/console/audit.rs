//! `/audit`: what is on record.

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::response::IntoResponse;
use banksman_core::audit::Event;
use banksman_store::{EventQuery, Order, StoredEvent};
use banksman_web::{AuditPage, Entry};
use futures_util::stream;

use super::desk::Desk;
use super::session::Session;
use super::{Page, html};
use crate::App;
use crate::body::Params;
use crate::query::AuditParams;

/// How many events a page has.
const SHOWN: usize = 50;
/// How many events of a file are in memory at a time.
const AT_ONCE: usize = 500;

pub(crate) async fn audit(
    State(app): State<App>,
    session: Session,
    Params(params): Params<AuditParams>,
    RawQuery(raw): RawQuery,
) -> Page {
    let filter = params.as_typed();
    let mut query = params.into_query()?;
    query.limit = SHOWN + 1;
    let mut events = app.engine.events(query).await?;
    let more = events.len() > SHOWN;
    events.truncate(SHOWN);
    // The same question without its cursor, as it was asked: it is ours to link to, and maud escapes it.
    let raw = raw.unwrap_or_default();
    let kept: Vec<&str> =
        raw.split('&').filter(|pair| !pair.is_empty() && !pair.starts_with("cursor=")).collect();
    let asked = kept.join("&");
    let older = events.last().filter(|_| more).map(|last| format!("/audit?{asked}&cursor={}", last.seq));
    let entries: Vec<Entry> = events
        .into_iter()
        .map(|stored| Entry {
            seq: stored.seq,
            event: Event::from_bytes(stored.body.as_bytes()).ok(),
            kind: stored.kind,
        })
        .collect();
    let page =
        AuditPage { filter: &filter, entries: &entries, older, export: format!("/audit/export?{asked}") };
    let desk = Desk::of(&app, &session).await?;
    Ok(html(StatusCode::OK, page.render(&desk.frame(None))))
}

/// Whole, however long it is, and oldest first, as `banksman audit verify` wants to read it.
pub(crate) async fn export(
    State(app): State<App>,
    _session: Session,
    Params(params): Params<AuditParams>,
) -> Page {
    let query = EventQuery { order: Order::Ascending, limit: AT_ONCE, ..params.into_query()? };
    // Before the answer begins: a log that cannot be read is an error, and not an empty file.
    let first = app.engine.events(query.clone()).await?;
    let pages = stream::try_unfold(Some((query, first)), move |state| {
        let app = app.clone();
        async move {
            let Some((mut query, page)) = state else { return Ok(None) };
            let lines = lines(&page);
            let Some(last) = page.last().filter(|_| page.len() == AT_ONCE) else {
                return Ok(Some((lines, None)));
            };
            query.after = Some(last.seq);
            match app.engine.events(query.clone()).await {
                Ok(next) => Ok(Some((lines, Some((query, next))))),
                Err(error) => {
                    // The line is cut, so that nobody takes what has arrived for all of it.
                    tracing::warn!(%error, "an export of the audit log ended early");
                    Err(error)
                }
            }
        }
    });
    let headers = [
        (CONTENT_TYPE, "application/jsonl"),
        (CONTENT_DISPOSITION, "attachment; filename=\"audit.jsonl\""),
        (CACHE_CONTROL, "no-store"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    Ok((headers, Body::from_stream(pages)).into_response())
}

fn lines(events: &[StoredEvent]) -> String {
    events.iter().map(|stored| format!("{{\"seq\":{},\"event\":{}}}\n", stored.seq, stored.body)).collect()
}
