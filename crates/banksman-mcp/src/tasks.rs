//! Held calls as tasks (extension `io.modelcontextprotocol/tasks`): the task is the action, so it is durable before
//! anyone hears of it.

use banksman_core::{Case, State, Status};
use http::{Response, StatusCode};

use crate::body::{self, Body};
use crate::call::refused;
use crate::errand::Member;
use crate::hold::ending_of;
use crate::message::{self, TASKS};
use crate::outcome::kept_error;
use crate::raw::quoted;
use crate::visit::Visit;
use crate::words;

/// How often to ask.
const POLL_MS: u64 = 5000;

/// Results are kept for so long after they were asked for, at the least.
const KEPT_MS: u64 = 24 * 3600 * 1000;

/// The answer to a call that became a task.
pub(crate) fn created(visit: &Visit, case: &Case) -> Response<Body> {
    let result = format!(r#"{{"resultType":"task",{}}}"#, fields(visit, case));
    body::json(StatusCode::OK, message::result(&visit.message.id(), &result))
}

/// `tasks/get`, `tasks/update`, `tasks/cancel`.
pub(crate) async fn answer(visit: &Visit) -> Response<Body> {
    let id = visit.message.id();
    let Some(action) = visit.task() else { return unknown(&id) };
    if !visit.client.tasks {
        return undeclared(&id);
    }
    let engine = &visit.gateway.engine;
    let case = match engine.action(&visit.caller, action).await {
        Ok(case) if case.submission.action.forwarded => case,
        // What is somebody else's is not there.
        Ok(_) | Err(banksman_engine::EngineError::NotFound) => return unknown(&id),
        Err(error) => return refused(visit, &error),
    };
    let done = || body::json(StatusCode::OK, message::result(&id, r#"{"resultType":"complete"}"#));
    match visit.message.method() {
        // Nothing of ours ever asks for input; what comes all the same is of no use.
        Some("tasks/update") => done(),
        Some("tasks/cancel") => {
            let reason = Some("cancelled by the client".to_owned());
            // Too late is no error: the client learns how it ended by asking.
            drop(engine.cancel(&visit.caller, action, reason).await);
            done()
        }
        _ => {
            drop(visit.gateway.keep_if_open(&case, &visit.caller));
            let ended = ending_of(&case);
            let more = match (status(&case), ended.as_ref().map(|ending| ending.parts())) {
                ("completed", Some((Member::Result, result))) => {
                    visit.gateway.holds.fetched(action);
                    format!(r#","result":{}"#, words::for_era(result.to_owned(), visit.era))
                }
                ("failed", Some((Member::Error, error))) => {
                    visit.gateway.holds.fetched(action);
                    format!(r#","error":{error}"#)
                }
                _ => String::new(),
            };
            let result = format!(r#"{{"resultType":"complete",{}{more}}}"#, fields(visit, &case));
            body::json(StatusCode::OK, message::result(&id, &result))
        }
    }
}

/// Who has not declared the extension does not get to use it.
fn undeclared(id: &str) -> Response<Body> {
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32021,"message":"Missing required client capability","data":{{"requiredCapabilities":{{"extensions":{{"{TASKS}":{{}}}}}}}}}}}}"#
    );
    body::json(StatusCode::BAD_REQUEST, text)
}

fn unknown(id: &str) -> Response<Body> {
    body::json(StatusCode::OK, message::error(id, -32602, "there is no such task"))
}

/// A no is a result too: the tool answers that it did not run. Only what was withdrawn is cancelled, and what its server
/// answered with an error has failed.
fn status(case: &Case) -> &'static str {
    if matches!(&case.state, State::Failed { result: Some(result), .. } if kept_error(result).is_some()) {
        return "failed";
    }
    match case.status() {
        Status::Pending | Status::Authorised | Status::Executing => "working",
        Status::Cancelled | Status::Revoked => "cancelled",
        Status::Blocked
        | Status::Denied
        | Status::Expired
        | Status::Succeeded
        | Status::Failed
        | Status::Unknown
        | Status::Lapsed => "completed",
    }
}

fn fields(visit: &Visit, case: &Case) -> String {
    let said = match &case.state {
        State::Pending { .. } => words::waiting(case.id, &visit.gateway.review_url(case.id)),
        State::Authorised { .. } | State::Executing { .. } => words::running(case.id),
        State::Succeeded { .. } => "done".to_owned(),
        State::Blocked { .. }
        | State::Denied { .. }
        | State::Expired { .. }
        | State::Cancelled { .. }
        | State::Failed { .. }
        | State::Unknown { .. }
        | State::Lapsed { .. }
        | State::Revoked { .. } => words::standing(&case.into()),
    };
    let updated = case.reviews.last().map_or(case.created_at, |review| review.at);
    format!(
        r#""taskId":"{}","status":"{}","statusMessage":{},"createdAt":"{}","lastUpdatedAt":"{}","ttlMs":{},"pollIntervalMs":{POLL_MS}"#,
        case.id,
        status(case),
        quoted(&said),
        case.created_at,
        updated,
        case.submission.verdict.timeout_seconds.saturating_mul(1000).saturating_add(KEPT_MS),
    )
}
