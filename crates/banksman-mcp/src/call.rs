//! `tools/call`: nothing of it reaches a server that was not judged, recorded and claimed.

use std::sync::Arc;

use banksman_core::json::CanonicalJson;
use banksman_core::{Action, ActionId, Case, Digest, Kind, Status};
use banksman_engine::{EngineError, ProposeRequest, Proposed};
use bytes::Bytes;
use http::{Response, StatusCode};
use tokio::sync::oneshot;

use crate::body::{self, Body};
use crate::errand::{Errand, Opened, Out};
use crate::gateway::bad_request;
use crate::hold::{ending_of, without_our_state};
use crate::message::{self, Era};
use crate::outcome::Keep;
use crate::present::{self, Held};
use crate::questions::Askable;
use crate::rounds::{Round, RoundError, Why};
use crate::seal::Purpose;
use crate::upstream::Upstream;
use crate::upstream::http::passed_back;
use crate::visit::Visit;
use crate::ways::Way;
use crate::{headers, param_headers, plain, wait_tool, words};

/// Tools' names are shown to people and written into headers; longer ones are no names.
const NAME_CHARS: usize = 256;

/// Answers a call.
pub(crate) async fn answer(visit: Box<Visit>, upstream: &Arc<Upstream>) -> Response<Body> {
    let id = visit.message.id();
    let invalid = |problem: &str| bad_request(&id, -32602, problem);
    let Some(tool) = visit.message.text_param("name") else { return invalid("`name` is not a text") };
    if tool.is_empty() || tool.chars().count() > NAME_CHARS {
        return invalid("a tool's name has 1 to 256 characters");
    }
    let args = match visit.message.arguments() {
        Ok(args) => args,
        Err(problem) => return invalid(problem),
    };
    if tool == words::WAIT_TOOL {
        return Box::pin(wait_tool::answer(visit, &args)).await;
    }
    if visit.era == Era::Two {
        let known = visit.gateway.catalogue.tool(upstream, tool).await;
        let schema = known.as_ref().and_then(|tool| tool.schema.as_ref());
        if let Some(problem) = param_headers::mismatch(schema, &args, &visit.headers) {
            return bad_request(&id, headers::MISMATCH, &problem);
        }
    }
    let mut action = Action::bare(tool, Kind::Tool, args);
    action.server = Some(upstream.name.clone());
    action.forwarded = true;
    let digest = action.digest();
    match round(&visit, digest) {
        Ok(None) => {}
        Ok(Some(round)) => return Box::pin(next_round(visit, upstream, round)).await,
        Err(problem) => return invalid(&problem),
    }
    if let Some(answer) = unfetched(&visit, digest).await {
        return answer;
    }
    if let Some(case) = running(&visit, digest).await {
        if visit.is_plain() || prefers_async(&visit) {
            return plain::held(&visit, &case);
        }
        return Box::pin(present::answer(visit, Held { case, asked: digest, round: 0 })).await;
    }
    propose(visit, upstream, action, digest).await
}

async fn propose(
    visit: Box<Visit>,
    upstream: &Arc<Upstream>,
    mut action: Action,
    asked: Digest,
) -> Response<Body> {
    let tool = visit.gateway.catalogue.tool(upstream, &action.tool).await;
    action.session = visit.session.as_ref().map(|session| session.key.clone());
    action.annotations = tool.as_ref().and_then(|tool| tool.annotations);
    let floor = match &tool {
        Some(tool) => tool.floor(),
        None => visit.gateway.catalogue.failure(&upstream.name).and_then(|failure| failure.floor()),
    };
    let request = ProposeRequest {
        floor,
        schema_if_held: tool.as_ref().and_then(|tool| tool.schema.clone()),
        claims: true,
        ..ProposeRequest::of(action)
    };
    let proposed = visit.gateway.engine.propose(&visit.caller, request).await;
    let case = match proposed {
        Ok(Proposed { case, .. }) => case,
        Err(error) => return refused(&visit, &error),
    };
    match case.status() {
        Status::Executing => run(visit, upstream, case, (asked, 0), None).await,
        Status::Pending | Status::Authorised => {
            if visit.is_plain() || prefers_async(&visit) {
                return plain::held(&visit, &case);
            }
            Box::pin(present::answer(visit, Held { case, asked, round: 0 })).await
        }
        Status::Blocked
        | Status::Denied
        | Status::Expired
        | Status::Cancelled
        | Status::Succeeded
        | Status::Failed
        | Status::Unknown
        | Status::Lapsed
        | Status::Revoked => not_run(&visit, &case),
    }
}

fn prefers_async(visit: &Visit) -> bool {
    let prefers = visit.headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    prefers.flat_map(|value| value.split(',')).any(|word| word.trim().eq_ignore_ascii_case("respond-async"))
}

/// Passes on what may run now, and answers as the server answers.
async fn run(
    visit: Box<Visit>,
    upstream: &Arc<Upstream>,
    case: Arc<Case>,
    (asked, round): (Digest, u32),
    way: Option<Way>,
) -> Response<Body> {
    let way = match way {
        Some(way) => way,
        None => match visit.lane(upstream).await {
            Ok(Some(lane)) => Way::Clients(lane),
            Ok(None) => Way::Ours,
            // In another session it might do something else.
            Err(error) => Way::None(error.to_string()),
        },
    };
    // On its own way it is asked by its server itself.
    let askable = if let Way::Ours = way { Askable::of(&visit) } else { None };
    // What people have looked at, someone may ask about again.
    let keep = if case.reviews.is_empty() { Keep::No } else { Keep::HERE };
    let errand = Errand {
        upstream: Arc::clone(upstream),
        case,
        way,
        message: visit.bytes(),
        id: visit.message.id(),
        progress: visit.message.progress_token(),
        era: visit.era,
        asked,
        round,
        keep,
        shared: visit.shared,
        askable,
        again: false,
    };
    let gateway = Arc::clone(&visit.gateway);
    let (opened, answer) = oneshot::channel();
    // On its own: it goes on when the client goes away.
    tokio::spawn(errand.run(gateway, Out::Fresh(opened)));
    match answer.await {
        Ok(Opened::Whole(answer)) => {
            let mut response = body::json(answer.status, answer.message);
            response.headers_mut().extend(passed_back(&answer.headers));
            response
        }
        Ok(Opened::Stream(events)) => body::events(events),
        Err(_) => body::json(
            StatusCode::INTERNAL_SERVER_ERROR,
            message::error(&visit.message.id(), -32603, "something is broken; see the server's log"),
        ),
    }
}

/// The answer for what will not run.
pub(crate) fn not_run(visit: &Visit, case: &Case) -> Response<Body> {
    let id = visit.message.id();
    let view = case.into();
    if visit.is_plain() {
        return plain::not_run(case, &id, &words::standing(&view));
    }
    body::json(StatusCode::OK, message::result(&id, &words::standing_error(&view, visit.era)))
}

/// The answer for a proposal that could not be taken.
pub(crate) fn refused(visit: &Visit, error: &EngineError) -> Response<Body> {
    let id = visit.message.id();
    let (status, code, text) = match error {
        EngineError::TooManyPending { .. } => {
            (StatusCode::OK, -32000, format!("NOT EXECUTED: {error}. Wait, then try again."))
        }
        EngineError::Unauthenticated => {
            (StatusCode::UNAUTHORIZED, -32001, "the credential is no longer valid".to_owned())
        }
        EngineError::Store(_) => {
            tracing::error!(%error, "a call could not be recorded");
            let text = "NOT EXECUTED: the call cannot be recorded now, so it was not let through. Try again.";
            (StatusCode::OK, -32603, text.to_owned())
        }
        other => {
            tracing::error!(error = %other, "a call could not be judged");
            (StatusCode::OK, -32603, "NOT EXECUTED: something is broken; see the server's log.".to_owned())
        }
    };
    if status == StatusCode::OK && !visit.is_plain() {
        return body::json(status, message::result(&id, &words::tool_error(&text, None, visit.era)));
    }
    let status = if status == StatusCode::OK { StatusCode::SERVICE_UNAVAILABLE } else { status };
    body::json(status, message::error(&id, code, &text))
}

/// The answer to whoever asks after a call that cannot be looked at: it may have run.
pub(crate) fn out_of_sight(visit: &Visit, action: ActionId, error: &EngineError) -> Response<Body> {
    let EngineError::Store(_) = error else { return refused(visit, error) };
    tracing::error!(%action, %error, "a held call cannot be looked at");
    let result = words::tool_error(&words::out_of_sight(action), None, visit.era);
    body::json(StatusCode::OK, message::result(&visit.message.id(), &result))
}

/// The round that a call continues, if it brings a state of ours.
fn round(visit: &Visit, digest: Digest) -> Result<Option<Round>, String> {
    let Some(state) = visit.message.param("requestState") else { return Ok(None) };
    let sealed = state.as_str().unwrap_or_default();
    let round: Round =
        visit.gateway.seal.open(Purpose::Round, sealed).ok_or_else(|| RoundError::Forged.to_string())?;
    let now = visit.gateway.engine.now();
    round.check(&visit.caller.name, digest, now).map_err(|error| error.to_string())?;
    Ok(Some(round))
}

/// Continues a call that takes several rounds.
async fn next_round(mut visit: Box<Visit>, upstream: &Arc<Upstream>, round: Round) -> Response<Body> {
    // A server asks after the claim. Who remembers the call from before remembers what would have run then.
    let engine = &visit.gateway.engine;
    let case = match &round.why {
        Why::Held => engine.action(&visit.caller, round.action).await,
        Why::Asked { .. } | Why::Parked { .. } => engine.action_as_stored(&visit.caller, round.action).await,
    };
    let case = match case {
        Ok(case) => case,
        Err(error) => return out_of_sight(&visit, round.action, &error),
    };
    match &round.why {
        Why::Held => match ending_of(&case) {
            Some(ending) => {
                visit.gateway.holds.fetched(case.id);
                body::json(StatusCode::OK, ending.to_message(&visit.message.id(), visit.era))
            }
            None => {
                visit.message.bytes = without_our_state(visit.bytes());
                present::answer(visit, Held { case, asked: round.digest, round: round.number }).await
            }
        },
        Why::Asked { state } => {
            let state = state.clone();
            answered(visit, upstream, case, round, state.as_deref(), None).await
        }
        Why::Parked { state } => {
            let state = state.clone();
            answered(visit, upstream, case, round, Some(&state), Some(Way::Parked(state.clone()))).await
        }
    }
}

/// Goes on with a call whose server has asked something.
async fn answered(
    mut visit: Box<Visit>,
    upstream: &Arc<Upstream>,
    case: Arc<Case>,
    round: Round,
    state: Option<&str>,
    way: Option<Way>,
) -> Response<Body> {
    if let Some(ending) = ending_of(&case) {
        return body::json(StatusCode::OK, ending.to_message(&visit.message.id(), visit.era));
    }
    if case.status() != Status::Executing {
        return bad_request(&visit.message.id(), -32602, "the call does not run");
    }
    if visit.era == Era::One {
        // As one of that era it would begin again.
        return bad_request(&visit.message.id(), -32602, "only a request of 2026-07-28 goes on with it");
    }
    let Some(message) = with_state(&visit.bytes(), state) else {
        return bad_request(&visit.message.id(), -32600, "the message cannot be read");
    };
    match round.take(&visit.gateway.engine).await {
        Ok(true) => {}
        Ok(false) => return bad_request(&visit.message.id(), -32602, &RoundError::Used.to_string()),
        Err(error) => return refused(&visit, &error),
    }
    visit.message.bytes = message;
    run(visit, upstream, case, (round.digest, round.number), way).await
}

/// The message with the server's own state in the place of ours.
fn with_state(message: &Bytes, state: Option<&str>) -> Option<Bytes> {
    message::with_params(message, |params| {
        match state {
            Some(state) => params.set("requestState", state.to_owned()),
            None => params.remove("requestState"),
        }
        Some(())
    })
}

/// The result of the same call, if it ran while its client was away and nobody has fetched it; and that it is an old one.
async fn unfetched(visit: &Visit, digest: Digest) -> Option<Response<Body>> {
    let id = visit.gateway.holds.unfetched(&visit.caller.name, digest)?;
    let case = visit.gateway.engine.action(&visit.caller, id).await.ok()?;
    let ending = ending_of(&case)?;
    visit.gateway.holds.fetched(id);
    // A no is not kept for later: asked again, people are asked again.
    let ran = matches!(case.status(), Status::Succeeded | Status::Failed | Status::Unknown);
    let told = || ending.replayed(&case).to_message(&visit.message.id(), visit.era);
    ran.then(|| body::json(StatusCode::OK, told()))
}

/// The same call, if it was approved and runs right now.
async fn running(visit: &Visit, digest: Digest) -> Option<Arc<Case>> {
    let id = visit.gateway.holds.same_call(&visit.caller.name, digest)?;
    let case = visit.gateway.engine.action(&visit.caller, id).await.ok()?;
    matches!(case.status(), Status::Authorised | Status::Executing).then_some(case)
}

/// Arguments of our own tools.
pub(crate) fn argument(args: &CanonicalJson, key: &str) -> Option<banksman_core::json::Json> {
    args.to_json().ok()?.get(key).cloned()
}
