//! `banksman_wait`: the result of a held call, for clients that did not wait for it.

use std::time::Duration;

use banksman_core::json::{CanonicalJson, Json};
use banksman_core::{ActionId, Case, Status};
use http::{Response, StatusCode};

use crate::body::{self, Body};
use crate::call::argument;
use crate::errand::Member;
use crate::hold::ending_of;
use crate::message;
use crate::visit::Visit;
use crate::words;

/// The most that it waits: the most impatient client gives up after a minute.
const LONGEST: u64 = 45;

pub(crate) async fn answer(visit: Box<Visit>, args: &CanonicalJson) -> Response<Body> {
    let id = visit.message.id();
    let said = |text: &str, case: Option<&Case>| {
        body::json(StatusCode::OK, message::result(&id, &words::tool_error(text, case, visit.era)))
    };
    let action: Option<ActionId> = match argument(args, "id") {
        Some(Json::String(text)) => text.parse().ok(),
        Some(_) | None => None,
    };
    let Some(action) = action else { return said("`id` is not the id of a held call (act_...)", None) };
    let patience = match argument(args, "wait_s") {
        Some(Json::Number(number)) => number.to_string().parse::<u64>().unwrap_or(LONGEST).min(LONGEST),
        Some(_) | None => LONGEST,
    };
    // The node that held it may be gone: whoever asks here has it seen through here.
    if let Ok(case) = visit.gateway.engine.action(&visit.caller, action).await
        && case.submission.action.forwarded
    {
        visit.gateway.keep_if_open(&case, &visit.caller);
    }
    let over =
        |case: &Case| !matches!(case.status(), Status::Pending | Status::Authorised | Status::Executing);
    let patience = Duration::from_secs(patience);
    let case = match visit.gateway.engine.wait_until(&visit.caller, action, patience, over).await {
        Ok(case) => case,
        // What is somebody else's is not there.
        Err(banksman_engine::EngineError::NotFound) => {
            return said("there is no held call with this id", None);
        }
        Err(error) => return crate::call::refused(&visit, &error),
    };
    match ending_of(&case) {
        Some(ending) => {
            visit.gateway.holds.fetched(action);
            match ending.parts() {
                (Member::Result, _) => body::json(StatusCode::OK, ending.to_message(&id, visit.era)),
                (Member::Error, _) => said(&words::not_run(&case), Some(&case)),
            }
        }
        None if case.status() == Status::Executing => said(&words::not_run(&case), Some(&case)),
        None => said(&words::pending(&case, &visit.gateway.review_url(action)), Some(&case)),
    }
}
