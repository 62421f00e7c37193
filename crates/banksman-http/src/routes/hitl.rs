//! `/hitl`: the same actions in harombe's words.

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use banksman_core::wire::{ActionView, DecisionRequest};
use banksman_core::{ActionId, Decision, Digest, State as CaseState, Status};
use banksman_mcp::result_of;
use banksman_store::CaseQuery;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Answer, json as answer, ok};
use crate::App;
use crate::access::{AnyCaller, PersonCaller};
use crate::body::{Body, IdPath};

/// How many waiting requests are listed.
const LISTED: usize = 500;

/// `POST /hitl/decide/{id}`
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = HitlDecision)]
pub(crate) struct Decided {
    /// `approve` or `deny`.
    decision: Decision,
    /// Why.
    #[serde(default)]
    reason: Option<String>,
    /// The version that was seen; the current one, if left out.
    #[serde(default)]
    version: Option<u32>,
    /// The digest that was seen; the current one, if left out.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    digest: Option<Digest>,
}

/// Where an action stands, in harombe's words.
fn word(status: Status) -> &'static str {
    match status {
        Status::Pending => "pending",
        Status::Authorised | Status::Executing | Status::Succeeded | Status::Failed | Status::Unknown => {
            "approved"
        }
        Status::Denied | Status::Blocked | Status::Revoked => "denied",
        Status::Expired | Status::Lapsed => "timeout",
        Status::Cancelled => "cancelled",
    }
}

/// An action as harombe shows it. What is redacted for people is redacted here.
fn shown(view: &ActionView) -> Value {
    let resolution = view.resolution.as_ref();
    json!({
        "approval_id": view.id,
        "status": word(view.status),
        "tool_name": view.tool,
        "params": view.args,
        "risk_level": view.verdict.risk,
        "agent": view.agent,
        "created_at": view.created_at,
        "expires_at": view.expires_at,
        "version": view.version,
        "digest": view.digest,
        "action_status": view.status,
        "decided_by": resolution.map(|resolution| &resolution.by),
        "decided_at": resolution.map(|resolution| resolution.at),
        "reason": resolution.and_then(|resolution| resolution.reason.as_ref()),
    })
}

pub(crate) async fn list(State(app): State<App>, PersonCaller(person): PersonCaller) -> Answer {
    let cases = app.engine.actions(CaseQuery::urgent(LISTED)).await?;
    let items: Vec<Value> = cases.iter().map(|case| shown(&ActionView::seen_by(&person, case))).collect();
    ok(&json!({"count": items.len(), "pending": items}))
}

pub(crate) async fn show(
    State(app): State<App>,
    AnyCaller(caller): AnyCaller,
    IdPath(id): IdPath<ActionId>,
) -> Answer {
    let case = app.engine.action(&caller, id).await?;
    ok(&shown(&ActionView::seen_by(&caller, &case)))
}

pub(crate) async fn decide(
    State(app): State<App>,
    PersonCaller(reviewer): PersonCaller,
    IdPath(id): IdPath<ActionId>,
    Body(decided): Body<Decided>,
) -> Answer {
    let case = app.engine.action(&reviewer, id).await?;
    let request = DecisionRequest {
        decision: decided.decision,
        version: decided.version.unwrap_or(case.version),
        digest: decided.digest.unwrap_or(case.submission.digest),
        reason: decided.reason,
        args: None,
        message: None,
        remember: None,
    };
    let case = app.engine.decide(&reviewer, id, request).await?;
    let review = case.reviews.last();
    let (by, at) = (review.map(|review| review.by.clone()), review.map(|review| review.at));
    ok(&match case.status() {
        // A quorum may want more people.
        Status::Pending => json!({"status": "pending", "approvals": case.approvals().count()}),
        Status::Denied => json!({"status": "denied", "denied_by": by, "denied_at": at}),
        _ => json!({"status": "approved", "approved_by": by, "approved_at": at}),
    })
}

pub(crate) async fn result(
    State(app): State<App>,
    AnyCaller(caller): AnyCaller,
    IdPath(id): IdPath<ActionId>,
) -> Answer {
    let case = app.engine.action(&caller, id).await?;
    match result_of(&case) {
        Some((status, text)) => Ok((status, [(CONTENT_TYPE, "application/json")], text).into_response()),
        None => {
            let running = matches!(case.state, CaseState::Executing { .. });
            let status = if running { "executing" } else { word(case.status()) };
            answer(StatusCode::ACCEPTED, &json!({"status": status, "approval_id": id}))
        }
    }
}
