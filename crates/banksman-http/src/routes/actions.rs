//! `/v1/actions`: propose, look, claim, report, withdraw.

use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::header::{LOCATION, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use banksman_core::wire::{
    ActionView, CancelBody, ClaimBody, ClaimView, OutcomeBody, OutcomeStatus, Page, ResolutionsView,
};
use banksman_core::{ActionId, Case, ClaimRequest, Outcome, Principal, State as CaseState, Status};
use banksman_engine::{Claimed, ProposeRequest, Proposed};
use serde::Deserialize;

use super::{Answer, cut, json, ok};
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
        return answer(&app, &agent, &case, joined).await;
    }
    let id = case.id;
    drop(case);
    let waited = async move {
        let case = wait(&app, &agent, id, left).await?;
        Box::pin(answer(&app, &agent, &case, joined)).await
    };
    patience.wait(waited).await
}

pub(super) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, ProblemError> {
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
pub(super) async fn wait(
    app: &App,
    caller: &Principal,
    id: ActionId,
    patience: Duration,
) -> Result<std::sync::Arc<Case>, ProblemError> {
    // Named futures would be stored twice, once for the name; thousands wait here.
    tokio::select! {
        case = app.engine.wait(caller, id, patience) => Ok(case?),
        () = app.stopped() => Ok(Box::pin(app.engine.action(caller, id)).await?),
    }
}

/// An action as the caller gets to see it, with what was proposed if reviewers changed it.
pub(super) async fn seen_by(app: &App, viewer: &Principal, case: &Case) -> Result<ActionView, ProblemError> {
    let view = ActionView::seen_by(viewer, case);
    if case.version == 1 {
        return Ok(view);
    }
    let proposed = Box::pin(app.engine.earlier_version(viewer, case.id, 1)).await?;
    Ok(view.with_proposed(viewer, &proposed))
}

/// The answer to a proposal, by where the action stands. A client that goes by the status alone takes 200 for a yes, so
/// nothing has it that was not let run.
async fn answer(app: &App, agent: &Principal, case: &Case, joined: bool) -> Answer {
    let mut view = seen_by(app, agent, case).await?;
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
        // Answered while the client waited, or joined by key after the fact.
        CaseState::Denied { .. } => Err(not_run(Code::Denied, case, &view)),
        CaseState::Expired { .. }
        | CaseState::Cancelled { .. }
        | CaseState::Lapsed { .. }
        | CaseState::Revoked { .. } => Err(not_run(Code::NotAuthorised, case, &view)),
        // It was let run before. Without a token: it is not let run twice.
        CaseState::Executing { .. }
        | CaseState::Succeeded { .. }
        | CaseState::Failed { .. }
        | CaseState::Unknown { .. } => ok(&view),
    }
}

/// Why an action will not run.
fn not_run(code: Code, case: &Case, view: &ActionView) -> ProblemError {
    let resolution = view.resolution.as_ref();
    let by = resolution.map(|resolution| format!(" by {}", resolution.by)).unwrap_or_default();
    let why = resolution.and_then(|resolution| resolution.reason.as_ref());
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    let problem = ProblemError::new(code, format!("it is {}{by}{why}", view.status)).about(&case.into());
    match resolution {
        Some(resolution) => problem.decided(&resolution.by, resolution.message.as_deref()),
        None => problem,
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
        ok(&Box::pin(seen_by(&app, &caller, &case)).await?)
    };
    // Looking is waiting too, if a fleet that comes back looks at once.
    if left.is_zero() { look.await } else { patience.wait(look).await }
}

pub(crate) async fn list(
    State(app): State<App>,
    PersonCaller(person): PersonCaller,
    Params(params): Params<ActionsParams>,
) -> Answer {
    let mut query = params.into_query()?;
    let limit = query.limit;
    // One more than is shown tells whether there is a next page.
    query.limit += 1;
    let mut cases = app.engine.actions(query).await?;
    let next_cursor = cut(&mut cases, limit).map(|case| case.id.to_string());
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
        app.engine.claim_own(&agent, id, request).await?;
    let submission = &case.submission;
    let proposed = if case.version > 1 {
        Some(Box::pin(app.engine.earlier_version(&agent, id, 1)).await?.action.args)
    } else {
        None
    };
    ok(&ClaimView {
        id,
        authorization,
        tool: submission.action.tool.clone(),
        args: submission.action.args.clone(),
        proposed_args: proposed,
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
    ok(&seen_by(&app, &agent, &case).await?)
}

pub(crate) async fn cancel(
    State(app): State<App>,
    AnyCaller(caller): AnyCaller,
    IdPath(id): IdPath<ActionId>,
    Body(body): Body<CancelBody>,
) -> Answer {
    let case = app.engine.cancel(&caller, id, body.reason).await?;
    ok(&seen_by(&app, &caller, &case).await?)
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
    let mut items = Vec::with_capacity(found.cases.len());
    for case in &found.cases {
        items.push(seen_by(&app, &agent, case).await?);
    }
    ok(&ResolutionsView { items, next_since: found.next_since })
}
