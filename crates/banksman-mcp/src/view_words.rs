//! What agents are told, from what the API says of an action.

use banksman_core::Status;
use banksman_core::json::CanonicalJson;
use banksman_core::wire::ActionView;

use crate::stdio::GateError;
use crate::words::{WAIT_TOOL, with_notice};

pub(crate) fn refused(error: &GateError) -> String {
    match error {
        GateError::Refused(words) => format!("NOT EXECUTED: {words}"),
        GateError::Unavailable(words) => {
            format!("NOT EXECUTED: nobody could be asked whether this may run: {words}")
        }
    }
}

pub(crate) fn pending(view: &ActionView, review_url: &str) -> String {
    let id = view.id;
    let until = view.expires_at.map(|at| format!(" The request expires at {at}.")).unwrap_or_default();
    format!(
        "PENDING, NOT EXECUTED: this call waits for a person's approval ({id}). Review: {review_url}.{until} Call the \
         tool `{WAIT_TOOL}` with {{\"id\": \"{id}\"}} to get its result."
    )
}

/// That nobody has looked at a call of a tool that is no longer what it was.
pub(crate) fn unseen(view: &ActionView, accept: &str) -> String {
    format!(
        "NOT EXECUTED ({}): the server has changed this tool since it was first seen, and no person has looked at this \
         call. If the change is right, whoever looks after this machine says so with `{accept}`.",
        view.id
    )
}

/// A result as its agent is told: if a reviewer changed the arguments, that comes first.
pub(crate) fn told(result: &str, view: &ActionView, args: &CanonicalJson) -> String {
    match view.resolution.as_ref().filter(|resolution| resolution.modified) {
        Some(resolution) => {
            let said = resolution.message.as_deref().or(resolution.reason.as_deref());
            with_notice(result, args.as_str(), said)
        }
        None => result.to_owned(),
    }
}

pub(crate) fn elsewhere(view: &ActionView) -> String {
    let id = view.id;
    let place =
        view.context.server.as_deref().map_or_else(|| "elsewhere".into(), |name| format!("at {name:?}"));
    format!(
        "NOT EXECUTED: the same call of yours already waits to run {place} ({id}), and an approval is for one place. Try \
         again once that is decided, or cancel it."
    )
}

pub(crate) fn not_run(view: &ActionView) -> String {
    let (id, status) = (view.id, view.status);
    let resolution = view.resolution.as_ref();
    let by = resolution.map(|resolution| format!(" by {}", resolution.by)).unwrap_or_default();
    let said =
        resolution.into_iter().flat_map(|resolution| [&resolution.message, &resolution.reason]).flatten();
    let said: String = said.map(|words| format!(" {words}")).collect();
    match status {
        Status::Denied | Status::Cancelled | Status::Revoked => {
            format!("{}, NOT EXECUTED ({id}){by}.{said}", status.as_str().to_uppercase())
        }
        Status::Blocked => format!("BLOCKED, NOT EXECUTED ({id}).{said}"),
        Status::Expired => format!("EXPIRED, NOT EXECUTED: nobody decided in time ({id})."),
        Status::Lapsed => format!("LAPSED, NOT EXECUTED ({id}): it was approved, but not run in time."),
        Status::Pending | Status::Authorised => format!("PENDING, NOT EXECUTED ({id})."),
        Status::Executing => format!("RUNNING ({id}): ask again for its result."),
        Status::Unknown => {
            format!("UNKNOWN ({id}): no answer came back. It may have run. Find out before you try again.")
        }
        Status::Succeeded => format!("EXECUTED ({id}); its result was not kept."),
        Status::Failed => {
            let error = view.outcome.as_ref().and_then(|outcome| outcome.error.as_deref());
            format!("FAILED ({id}): {}", error.unwrap_or("no more is known"))
        }
    }
}
