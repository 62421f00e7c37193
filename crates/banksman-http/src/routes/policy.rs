//! `/v1/policy`: which policy is in force.

use axum::extract::State;
use banksman_core::wire::{PolicyView, RefusedPolicyView};

use super::{Answer, ok};
use crate::App;
use crate::access::PersonCaller;

pub(crate) async fn in_force(State(app): State<App>, PersonCaller(_): PersonCaller) -> Answer {
    let policy = app.engine.policy_in_force();
    let refused = policy.refused.as_ref();
    ok(&PolicyView {
        digest: policy.digest,
        source: policy.source.clone(),
        loaded_at: policy.loaded_at,
        refused: refused
            .map(|refused| RefusedPolicyView { at: refused.at, problem: refused.problem.clone() }),
    })
}
