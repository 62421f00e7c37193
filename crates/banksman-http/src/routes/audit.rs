//! `/v1/audit`: what happened.

use axum::extract::State;
use banksman_core::wire::{CheckpointView, EventView, Page, ProofView};
use banksman_engine::Engine;
use banksman_store::{SignedCheckpoint, StoredEvent};
use serde_json::value::RawValue;

use super::{Answer, ok};
use crate::App;
use crate::access::PersonCaller;
use crate::body::{IdPath, Params};
use crate::problem::{Code, ProblemError};
use crate::query::AuditParams;

pub(crate) async fn query(
    State(app): State<App>,
    PersonCaller(_): PersonCaller,
    Params(params): Params<AuditParams>,
) -> Answer {
    let mut query = params.into_query()?;
    let limit = query.limit;
    // One more than is shown: it says whether there is another page.
    query.limit += 1;
    let mut events = app.engine.events(query).await?;
    let goes_on = events.len() > limit;
    events.truncate(limit);
    let next_cursor = events.last().filter(|_| goes_on).map(|event| event.seq.to_string());
    let items = events
        .into_iter()
        .map(|stored| Ok(EventView { seq: stored.seq, event: raw(stored)? }))
        .collect::<Result<Vec<_>, ProblemError>>()?;
    ok(&Page { items, next_cursor })
}

/// The log as it stands, signed.
pub(crate) async fn checkpoint(State(app): State<App>, PersonCaller(_): PersonCaller) -> Answer {
    let checkpoint = app.engine.checkpoint().await?;
    ok(&view(&app.engine, checkpoint))
}

/// That one event is in it.
pub(crate) async fn proof(
    State(app): State<App>,
    PersonCaller(_): PersonCaller,
    IdPath(seq): IdPath<u64>,
) -> Answer {
    let proof = app.engine.prove_event(seq).await?;
    ok(&ProofView {
        seq,
        event: raw(proof.event)?,
        path: proof.path,
        checkpoint: view(&app.engine, proof.checkpoint),
    })
}

fn view(engine: &Engine, checkpoint: SignedCheckpoint) -> CheckpointView {
    let SignedCheckpoint { size, at, note } = checkpoint;
    CheckpointView { size, at, note, key: engine.note_key().to_string() }
}

/// The bytes of an event, as they are stored and hashed.
fn raw(stored: StoredEvent) -> Result<Box<RawValue>, ProblemError> {
    RawValue::from_string(stored.body)
        .map_err(|error| ProblemError::new(Code::Internal, format!("event {}: {error}", stored.seq)))
}
