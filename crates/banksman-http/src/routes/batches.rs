//! `/v1/batches`: many actions under one pair of eyes.

use std::time::Instant;

use axum::extract::State;
use axum::http::HeaderMap;
use banksman_core::json::{CanonicalJson, Json};
use banksman_core::wire::{BatchDecisionRequest, BatchDecisionView, BatchView, ItemResult};
use banksman_core::{Action, ActionId, BatchId, Digest, Principal, Status, batch_digest};
use banksman_engine::{BatchRequest, ProposedBatch};
use serde::Deserialize;

use super::actions::{idempotency_key, seen_by, wait};
use super::{Answer, ok};
use crate::App;
use crate::access::{AgentCaller, AnyCaller, PersonCaller};
use crate::body::{Body, IdPath, JsonBody};
use crate::prefer::Patience;
use crate::problem::{Code, ProblemError};

/// `POST /v1/batches`
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "documents what `propose` reads by hand, for errors that say where")]
pub(crate) struct BatchBody {
    /// The proposals, in order.
    items: Vec<Action>,
}

pub(crate) async fn propose(
    State(app): State<App>,
    AgentCaller(agent): AgentCaller,
    patience: Patience,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Answer {
    let began = Instant::now();
    let key = idempotency_key(&headers)?;
    let idempotency = key.map(|key| (key, Digest::of(CanonicalJson::of(&body).as_str().as_bytes())));
    let request = BatchRequest { actions: actions(body)?, idempotency, patience: patience.said };
    let batch = app.engine.propose_batch(&agent, request).await?;
    // Waiting for room was waiting too.
    let until = began + patience.for_people();
    let waiting: Vec<ActionId> =
        batch.cases.iter().filter(|case| case.status() == Status::Pending).map(|case| case.id).collect();
    if waiting.is_empty() || until <= Instant::now() {
        return ok(&view(&app, &agent, &batch).await?);
    }
    let (id, joined) = (batch.record.id, batch.joined);
    drop(batch);
    let answer = async move {
        for item in waiting {
            let left = until.saturating_duration_since(Instant::now());
            wait(&app, &agent, item, left).await?;
        }
        let batch = ProposedBatch { joined, ..app.engine.batch(&agent, id).await? };
        ok(&view(&app, &agent, &batch).await?)
    };
    patience.wait(answer).await
}

/// The items of a batch, or which of them is wrong.
fn actions(body: Json) -> Result<Vec<Action>, ProblemError> {
    let shape = || ProblemError::new(Code::InvalidRequest, "expected {\"items\": [proposal, …]}");
    let Json::Object(members) = body else { return Err(shape()) };
    if members.len() != 1 {
        return Err(shape());
    }
    let Some((_, Json::Array(items))) = members.into_members().find(|(key, _)| key == "items") else {
        return Err(shape());
    };
    let read = |(position, item)| {
        Action::from_json(item).map_err(|error| {
            let detail = format!("/items/{position}{}: {}", error.pointer, error.problem);
            ProblemError::new(Code::InvalidAction, detail)
        })
    };
    items.into_iter().enumerate().map(read).collect()
}

pub(crate) async fn show(
    State(app): State<App>,
    AnyCaller(caller): AnyCaller,
    IdPath(id): IdPath<BatchId>,
) -> Answer {
    let batch = app.engine.batch(&caller, id).await?;
    ok(&view(&app, &caller, &batch).await?)
}

pub(crate) async fn decide(
    State(app): State<App>,
    PersonCaller(reviewer): PersonCaller,
    IdPath(id): IdPath<BatchId>,
    Body(request): Body<BatchDecisionRequest>,
) -> Answer {
    let mut results = Vec::new();
    for item in app.engine.decide_batch(&reviewer, id, request).await? {
        let result = match item.answer {
            Ok(case) => ItemResult { id: item.id, status: case.status(), code: None, detail: None },
            Err(error) => {
                let (code, detail) = ProblemError::from(error).into_parts();
                let status = app.engine.action(&reviewer, item.id).await?.status();
                ItemResult { id: item.id, status, code: Some(code), detail: Some(detail) }
            }
        };
        results.push(result);
    }
    ok(&BatchDecisionView { results })
}

async fn view(app: &App, viewer: &Principal, batch: &ProposedBatch) -> Result<BatchView, ProblemError> {
    let mut items = Vec::with_capacity(batch.cases.len());
    for case in &batch.cases {
        let mut item = seen_by(app, viewer, case).await?;
        item.joined = batch.joined;
        items.push(item);
    }
    Ok(BatchView {
        id: batch.record.id,
        digest: batch_digest(batch.cases.iter().map(|case| (&case.id, &case.submission.digest))),
        agent: batch.record.agent.clone(),
        created_at: batch.record.created_at,
        items,
    })
}
