//! `/audit`: what is on record.

use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::IntoResponse;
use banksman_core::audit::Event;
use banksman_web::{AuditPage, Entry};

use super::desk::Desk;
use super::session::Session;
use super::{Page, html};
use crate::App;
use crate::body::Params;
use crate::query::AuditParams;

/// How many events a page has, and how many a file.
const SHOWN: usize = 50;
const EXPORTED: usize = 10_000;

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

pub(crate) async fn export(
    State(app): State<App>,
    _session: Session,
    Params(params): Params<AuditParams>,
) -> Page {
    let mut query = params.into_query()?;
    query.limit = EXPORTED;
    let mut lines = String::new();
    for stored in app.engine.events(query).await? {
        lines.push_str(&format!("{{\"seq\":{},\"event\":{}}}\n", stored.seq, stored.body));
    }
    let headers = [
        (CONTENT_TYPE, "application/jsonl"),
        (CONTENT_DISPOSITION, "attachment; filename=\"audit.jsonl\""),
        (CACHE_CONTROL, "no-store"),
    ];
    Ok((headers, lines).into_response())
}
