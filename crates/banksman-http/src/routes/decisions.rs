//! `/v1/actions/{id}/decision`: people decide.

use axum::extract::State;
use banksman_core::ActionId;
use banksman_core::wire::DecisionRequest;

use super::actions::seen_by;
use super::{Answer, ok};
use crate::App;
use crate::access::PersonCaller;
use crate::body::{Body, IdPath};

pub(crate) async fn decide(
    State(app): State<App>,
    PersonCaller(reviewer): PersonCaller,
    IdPath(id): IdPath<ActionId>,
    Body(request): Body<DecisionRequest>,
) -> Answer {
    let case = app.engine.decide(&reviewer, id, request).await?;
    ok(&seen_by(&app, &reviewer, &case).await?)
}
