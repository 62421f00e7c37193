//! `/v1/audit`: what happened.

use axum::extract::State;
use banksman_core::wire::{EventView, Page};
use serde_json::value::RawValue;

use super::{Answer, ok};
use crate::App;
use crate::access::PersonCaller;
use crate::body::Params;
use crate::problem::{Code, ProblemError};
use crate::query::AuditParams;

pub(crate) async fn query(
    State(app): State<App>,
    PersonCaller(_): PersonCaller,
    Params(params): Params<AuditParams>,
) -> Answer {
    let query = params.into_query()?;
    let limit = query.limit;
    let events = app.engine.events(query).await?;
    let next_cursor =
        (events.len() == limit).then(|| events.last().map(|event| event.seq.to_string())).flatten();
    let items = events
        .into_iter()
        .map(|stored| {
            let event = RawValue::from_string(stored.body).map_err(|error| {
                ProblemError::new(Code::Internal, format!("event {}: {error}", stored.seq))
            })?;
            Ok(EventView { seq: stored.seq, event })
        })
        .collect::<Result<Vec<_>, ProblemError>>()?;
    ok(&Page { items, next_cursor })
}
