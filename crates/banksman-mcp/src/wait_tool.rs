//! `banksman_wait`: the result of a held call, for clients that did not wait for it.

use std::time::Duration;

use banksman_core::json::{CanonicalJson, Json};
use banksman_core::{ActionId, Case, Status};
use http::{Response, StatusCode};

use crate::body::{self, Body};
use crate::call::{argument, out_of_sight};
use crate::errand::Member;
use crate::gateway::Behind;
use crate::hold::ending_of;
use crate::message;
use crate::visit::Visit;
use crate::words;

/// The most that it waits: the most impatient client gives up after a minute.
const LONGEST: u64 = 45;

pub(crate) async fn answer(visit: Box<Visit>, args: &CanonicalJson) -> Response<Body> {
    let id = visit.message.id();
    let said = |text: &str, about: Option<(ActionId, Status)>| {
        body::json(StatusCode::OK, message::result(&id, &words::tool_error(text, about, visit.era)))
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
        let hold = visit.gateway.keep_if_open(&case, &visit.caller);
        // After a restart nobody remembers in which session it was asked for: in one that asks after it, if it leads there.
        if let Some(hold) = hold.filter(|_| leads_to(&visit, &case)) {
            hold.join(&visit, None);
        }
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
        Err(error) => return out_of_sight(&visit, action, &error),
    };
    let about = |case: &Case| Some((case.id, case.status()));
    match ending_of(&case) {
        Some(ending) => {
            visit.gateway.holds.fetched(action);
            match ending.parts() {
                (Member::Result, _) => body::json(StatusCode::OK, ending.to_message(&id, visit.era)),
                (Member::Error, _) => said(&words::standing(&(&*case).into()), about(&case)),
            }
        }
        None => said(&words::not_yet(&(&*case).into(), &visit.gateway.review_url(action)), about(&case)),
    }
}

fn leads_to(visit: &Visit, case: &Case) -> bool {
    match &visit.behind {
        Behind::One(upstream) => case.submission.action.server.as_ref() == Some(&upstream.name),
        Behind::All => true,
    }
}
