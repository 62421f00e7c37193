//! `/v1/batches`: many actions under one pair of eyes.

use axum::extract::State;
use banksman_core::json::Json;
use banksman_core::wire::{ActionView, BatchDecisionRequest, BatchDecisionView, BatchView, ItemResult};
use banksman_core::{Action, BatchId, Principal, batch_digest};
use banksman_engine::ProposedBatch;

use super::{Answer, ok};
use crate::App;
use crate::access::{AgentCaller, AnyCaller, PersonCaller};
use crate::body::{Body, IdPath, JsonBody};
use crate::problem::{Code, ProblemError};

/// `POST /v1/batches`
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "documents what `propose` reads by hand, for errors that say where")]
pub(crate) struct BatchBody {
    /// The proposals, in order.
    items: Vec<Action>,
}

pub(crate) async fn propose(
    State(app): State<App>,
    AgentCaller(agent): AgentCaller,
    JsonBody(body): JsonBody,
) -> Answer {
    let shape = || ProblemError::new(Code::InvalidRequest, "expected {\"items\": [proposal, …]}");
    let Json::Object(members) = body else { return Err(shape()) };
    if members.len() != 1 {
        return Err(shape());
    }
    let Some((_, Json::Array(items))) = members.into_members().find(|(key, _)| key == "items") else {
        return Err(shape());
    };
    let mut actions = Vec::with_capacity(items.len());
    for (position, item) in items.into_iter().enumerate() {
        let action = Action::from_json(item).map_err(|error| {
            ProblemError::new(
                Code::InvalidAction,
                format!("/items/{position}{}: {}", error.pointer, error.problem),
            )
        })?;
        actions.push(action);
    }
    let batch = app.engine.propose_batch(&agent, actions).await?;
    ok(&view(&agent, &batch))
}

pub(crate) async fn show(
    State(app): State<App>,
    AnyCaller(caller): AnyCaller,
    IdPath(id): IdPath<BatchId>,
) -> Answer {
    ok(&view(&caller, &app.engine.batch(&caller, id).await?))
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

fn view(viewer: &Principal, batch: &ProposedBatch) -> BatchView {
    BatchView {
        id: batch.record.id,
        digest: batch_digest(batch.cases.iter().map(|case| (&case.id, &case.submission.digest))),
        agent: batch.record.agent.clone(),
        created_at: batch.record.created_at,
        items: batch.cases.iter().map(|case| ActionView::seen_by(viewer, case)).collect(),
    }
}
