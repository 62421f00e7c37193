//! `/hitl`: the same actions in harombe's words.

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use banksman_core::json::CanonicalJson;
use banksman_core::wire::{ActionView, DecisionRequest};
use banksman_core::{ActionId, Decision, Digest, Risk, State as CaseState, Status, Timestamp};
use banksman_engine::EngineError;
use banksman_mcp::result_of;
use banksman_store::CaseQuery;
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::json;

use super::{Answer, cut, json as answer, ok};
use crate::App;
use crate::access::{AnyCaller, PersonCaller};
use crate::body::{Body, IdPath, Params};
use crate::problem::{Code, ProblemError};
use crate::query::{MAX_LIMIT, limited, parsed};

/// `GET /hitl/pending`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PendingParams {
    cursor: Option<String>,
    limit: Option<String>,
}

/// `POST /hitl/decide/{id}`
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = HitlDecision)]
pub(crate) struct Decided {
    #[serde(deserialize_with = "approve_or_deny")]
    #[schema(inline, value_type = Word)]
    decision: Decision,
    /// Why.
    #[serde(default)]
    reason: Option<String>,
    /// The version that was seen; the first, if left out.
    #[serde(default)]
    version: Option<u32>,
    /// The digest that was seen; that of the version, if left out.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    digest: Option<Digest>,
}

/// What harombe's words can say.
#[derive(utoipa::ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "documents what `approve_or_deny` reads")]
enum Word {
    Approve,
    Deny,
}

fn approve_or_deny<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Decision, D::Error> {
    match Decision::deserialize(deserializer)? {
        decision @ (Decision::Approve | Decision::Deny) => Ok(decision),
        Decision::Modify | Decision::Respond => Err(de::Error::custom(
            "`decision` is approve or deny here; for others, POST /v1/actions/{id}/decision",
        )),
    }
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

/// What waits.
#[derive(Serialize)]
struct Pending {
    /// How many do altogether.
    count: u64,
    pending: Vec<Shown>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// An action as harombe shows it. What is redacted for people is redacted here.
#[derive(Serialize)]
struct Shown {
    approval_id: ActionId,
    status: &'static str,
    tool_name: String,
    params: CanonicalJson,
    risk_level: Risk,
    agent: String,
    created_at: Timestamp,
    expires_at: Option<Timestamp>,
    version: u32,
    digest: Digest,
    action_status: Status,
    decided_by: Option<String>,
    decided_at: Option<Timestamp>,
    reason: Option<String>,
}

impl From<ActionView> for Shown {
    fn from(view: ActionView) -> Self {
        let approvers = || {
            let approved =
                view.votes.iter().filter(|vote| vote.version == view.version && vote.decision.approves());
            approved.map(|vote| vote.by.as_str()).collect::<Vec<_>>().join(", ")
        };
        let decided_by = view.resolution.as_ref().map(|resolution| match resolution.by.as_str() {
            "reviewers" => approvers(),
            other => other.to_owned(),
        });
        Self {
            approval_id: view.id,
            status: word(view.status),
            decided_by,
            decided_at: view.resolution.as_ref().map(|resolution| resolution.at),
            reason: view.resolution.and_then(|resolution| resolution.reason),
            tool_name: view.tool,
            params: view.args,
            risk_level: view.verdict.risk,
            agent: view.agent,
            created_at: view.created_at,
            expires_at: view.expires_at,
            version: view.version,
            digest: view.digest,
            action_status: view.status,
        }
    }
}

pub(crate) async fn list(
    State(app): State<App>,
    PersonCaller(person): PersonCaller,
    Params(params): Params<PendingParams>,
) -> Answer {
    let limit = match params.limit {
        None => MAX_LIMIT,
        given => limited(given)?,
    };
    let after = parsed("cursor", params.cursor)?;
    let mut cases = app.engine.actions(CaseQuery { after, ..CaseQuery::urgent(limit + 1) }).await?;
    let next_cursor = cut(&mut cases, limit).map(|case| case.id.to_string());
    let pending = cases.iter().map(|case| ActionView::seen_by(&person, case).into()).collect();
    ok(&Pending { count: app.engine.pending_count().await?, pending, next_cursor })
}

pub(crate) async fn show(
    State(app): State<App>,
    AnyCaller(caller): AnyCaller,
    IdPath(id): IdPath<ActionId>,
) -> Answer {
    let case = app.engine.action(&caller, id).await?;
    ok(&Shown::from(ActionView::seen_by(&caller, &case)))
}

pub(crate) async fn decide(
    State(app): State<App>,
    PersonCaller(reviewer): PersonCaller,
    IdPath(id): IdPath<ActionId>,
    Body(decided): Body<Decided>,
) -> Answer {
    // Not from memory: its version is compared with one that this reviewer may have seen on another node.
    let case = app.engine.action_as_stored(&reviewer, id).await?;
    if decided.version.is_none() && case.version > 1 {
        let detail = "it was edited: look at what would run now, and send the `version` that you saw";
        return Err(ProblemError::new(Code::StaleVersion, detail).about(&(&*case).into()));
    }
    let request = DecisionRequest {
        decision: decided.decision,
        version: decided.version.unwrap_or(1),
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
        Status::Authorised => json!({"status": "approved", "approved_by": by, "approved_at": at}),
        // A decision leaves an action in no other state; if one did, nobody is told that it may run.
        status @ (Status::Blocked
        | Status::Expired
        | Status::Cancelled
        | Status::Executing
        | Status::Succeeded
        | Status::Failed
        | Status::Unknown
        | Status::Lapsed
        | Status::Revoked) => {
            return Err(EngineError::Internal(format!("a decision left {id} {status}")).into());
        }
    })
}

pub(crate) async fn result(
    State(app): State<App>,
    AnyCaller(caller): AnyCaller,
    IdPath(id): IdPath<ActionId>,
) -> Answer {
    let case = app.engine.action(&caller, id).await?;
    let ended = if caller.kind.decides() { result_of(&case.redacted()) } else { result_of(&case) };
    // Only its own agent, of those who decide nothing, sees an action: whoever has the result does not get it again for the
    // same call, sent anew.
    if let (Some(gateway), Some(_), false) = (&app.gateway, &ended, caller.kind.decides()) {
        gateway.was_fetched(id);
    }
    match ended {
        Some((status, text)) => Ok((status, [(CONTENT_TYPE, "application/json")], text).into_response()),
        None => {
            let running = matches!(case.state, CaseState::Executing { .. });
            let status = if running { "executing" } else { word(case.status()) };
            answer(StatusCode::ACCEPTED, &json!({"status": status, "approval_id": id}))
        }
    }
}
