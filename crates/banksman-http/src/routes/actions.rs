//! `/v1/actions`: propose, look, claim, report, withdraw.

use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::header::{LOCATION, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use banksman_core::wire::{
    ActionView, CancelBody, ClaimBody, ClaimView, OutcomeBody, OutcomeStatus, Page, ResolutionsView,
};
use banksman_core::{ActionId, Case, ClaimRequest, Outcome, State as CaseState, Status};
use banksman_engine::{Claimed, ProposeRequest, Proposed};
use serde::Deserialize;

use super::{Answer, json, ok};
use crate::App;
use crate::access::{AgentCaller, AnyCaller, PersonCaller};
use crate::body::{Body, IdPath, JsonBody, Params};
use crate::prefer::Patience;
use crate::problem::{Code, ProblemError};
use crate::query::{ActionsParams, limited, parsed};

/// When to ask again, if the client does not want to wait.
const ASK_AGAIN_SECONDS: HeaderValue = HeaderValue::from_static("2");

pub(crate) async fn propose(
    State(app): State<App>,
    AgentCaller(agent): AgentCaller,
    patience: Patience,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Answer {
    let began = Instant::now();
    let mut request = ProposeRequest::from_json(body, idempotency_key(&headers)?)?;
    request.patience = patience.said;
    let Proposed { case, joined } = app.engine.propose(&agent, request).await?;
    // Waiting for room was waiting too.
    let left = patience.for_people().saturating_sub(began.elapsed());
    if case.status() != Status::Pending || left.is_zero() {
        return answer(&app, &case, joined);
    }
    let id = case.id;
    drop(case);
    patience.wait(async move { answer(&app, &*wait(&app, &agent, id, left).await?, joined) }).await
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, ProblemError> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let key = value.to_str().unwrap_or_default();
    if key.is_empty() || key.len() > 255 {
        return Err(ProblemError::new(
            Code::InvalidRequest,
            "Idempotency-Key has 1 to 255 visible ASCII characters",
        ));
    }
    Ok(Some(key.to_owned()))
}

/// Waits for people, but not beyond the life of the server.
async fn wait(
    app: &App,
    caller: &banksman_core::Principal,
    id: ActionId,
    patience: Duration,
) -> Result<std::sync::Arc<Case>, ProblemError> {
    // Named futures would be stored twice, once for the name; thousands wait here.
    tokio::select! {
        case = app.engine.wait(caller, id, patience) => Ok(case?),
        () = app.stopped() => Ok(Box::pin(app.engine.action(caller, id)).await?),
    }
}

/// The answer to a proposal, by where the action stands.
fn answer(app: &App, case: &Case, joined: bool) -> Answer {
    let mut view = ActionView::from(case);
    view.joined = joined;
    match &case.state {
        CaseState::Blocked { reason, .. } => {
            Err(ProblemError::new(Code::Blocked, reason.clone()).about(&case.into()))
        }
        CaseState::Pending { .. } => {
            let url = format!("/v1/actions/{}", case.id);
            let location = HeaderValue::from_str(&url).ok();
            view.status_url = Some(url);
            let mut response = json(StatusCode::ACCEPTED, &view)?;
            let headers = response.headers_mut();
            headers.insert(RETRY_AFTER, ASK_AGAIN_SECONDS);
            if let Some(location) = location {
                headers.insert(LOCATION, location);
            }
            Ok(response)
        }
        CaseState::Authorised { .. } => {
            view.authorization = app.engine.authorization(case)?;
            ok(&view)
        }
        // Answered while the client waited, or joined by key after the fact: the view says how it stands.
        CaseState::Denied { .. }
        | CaseState::Expired { .. }
        | CaseState::Cancelled { .. }
        | CaseState::Executing { .. }
        | CaseState::Succeeded { .. }
        | CaseState::Failed { .. }
        | CaseState::Unknown { .. }
        | CaseState::Lapsed { .. }
        | CaseState::Revoked { .. } => ok(&view),
    }
}

pub(crate) async fn show(
    State(app): State<App>,
    AnyCaller(caller): AnyCaller,
    patience: Patience,
    IdPath(id): IdPath<ActionId>,
) -> Answer {
    let left = patience.for_people();
    let look = async move {
        let case = if left.is_zero() {
            Box::pin(app.engine.action(&caller, id)).await?
        } else {
            wait(&app, &caller, id, left).await?
        };
        ok(&ActionView::seen_by(&caller, &case))
    };
    // Looking is waiting too, if a fleet that comes back looks at once.
    if left.is_zero() { look.await } else { patience.wait(look).await }
}

pub(crate) async fn list(
    State(app): State<App>,
    PersonCaller(person): PersonCaller,
    Params(params): Params<ActionsParams>,
) -> Answer {
    let query = params.into_query()?;
    let limit = query.limit;
    let cases = app.engine.actions(query).await?;
    let next_cursor = (cases.len() == limit).then(|| cases.last().map(|case| case.id.to_string())).flatten();
    ok(&Page { items: cases.iter().map(|case| ActionView::seen_by(&person, case)).collect(), next_cursor })
}

pub(crate) async fn claim(
    State(app): State<App>,
    AgentCaller(agent): AgentCaller,
    IdPath(id): IdPath<ActionId>,
    Body(body): Body<ClaimBody>,
) -> Answer {
    let request = ClaimRequest { digest: body.digest, preconditions: body.preconditions };
    let Claimed { case, authorization, idempotency_key, lease_expires_at } =
        app.engine.claim(&agent, id, request).await?;
    let submission = &case.submission;
    ok(&ClaimView {
        id,
        authorization,
        tool: submission.action.tool.clone(),
        args: submission.action.args.clone(),
        digest: submission.digest,
        idempotency_key,
        lease_expires_at,
    })
}

pub(crate) async fn outcome(
    State(app): State<App>,
    AgentCaller(agent): AgentCaller,
    IdPath(id): IdPath<ActionId>,
    Body(body): Body<OutcomeBody>,
) -> Answer {
    let outcome = match body.status {
        OutcomeStatus::Succeeded if body.error.is_some() => {
            return Err(ProblemError::new(Code::InvalidRequest, "what succeeded has no error"));
        }
        OutcomeStatus::Succeeded => Outcome::Succeeded { result: body.result },
        OutcomeStatus::Failed => Outcome::Failed { error: body.error, result: body.result },
    };
    let case = app.engine.record_outcome(&agent, id, outcome).await?;
    ok(&ActionView::from(&*case))
}

pub(crate) async fn cancel(
    State(app): State<App>,
    AnyCaller(caller): AnyCaller,
    IdPath(id): IdPath<ActionId>,
    Body(body): Body<CancelBody>,
) -> Answer {
    let case = app.engine.cancel(&caller, id, body.reason).await?;
    ok(&ActionView::seen_by(&caller, &case))
}

/// `GET /v1/resolutions`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ResolutionsParams {
    since: Option<String>,
    limit: Option<String>,
}

pub(crate) async fn resolutions(
    State(app): State<App>,
    AgentCaller(agent): AgentCaller,
    Params(params): Params<ResolutionsParams>,
) -> Answer {
    let limit = limited(params.limit)?;
    let since = parsed("since", params.since)?.unwrap_or(0);
    let found = app.engine.resolutions(&agent, since, limit).await?;
    let items = found.cases.iter().map(|case| ActionView::from(&**case)).collect();
    ok(&ResolutionsView { items, next_since: found.next_since })
}
