//! Asking a running Banksman: propose, wait, claim, report.

use std::thread;
use std::time::{Duration, Instant};

use banksman_client::{Client, ClientError, Proposal};
use banksman_core::wire::{ActionView, ClaimBody, OutcomeBody};
use banksman_core::{ActionId, Digest, Status, action_digest};

use super::vigil::{Asked, Vigil};
use super::{Clearance, Denial, Question, Ruling};
use crate::exit::Exit;

/// How long one request waits for people before it asks again: long enough to cost nothing, short enough to notice
/// a server that is gone.
const ROUND: Duration = Duration::from_secs(25);
/// How long to leave a server alone that did not answer while something is held.
const BREATH: Duration = Duration::from_millis(500);

pub(crate) struct ServerGate {
    client: Client,
}

impl ServerGate {
    pub(crate) fn new(client: Client) -> Self {
        Self { client }
    }

    /// Proposes, waits until it is decided or time is up, and claims what was authorised.
    pub(crate) fn ask(&self, question: &Question<'_>) -> Ruling {
        let body = match serde_json::to_string(question.action) {
            Ok(body) => body,
            Err(error) => {
                return Ruling::Denied(Denial::new(
                    Exit::Usage,
                    format!("Banksman: this cannot be proposed: {error}"),
                ));
            }
        };
        let proposal = Proposal {
            body: &body,
            idempotency_key: question.key,
            // Whoever wants to be told of a hold cannot wait for its end first.
            wait_seconds: question.on_hold.is_none().then(|| round_until(question.until)),
        };
        let asked = || Asked::new(&self.client, &body, question.key);
        let vigil = question.leave.clone().and_then(|leave| Vigil::keep(asked(), leave));
        let mut action = match self.client.propose(&proposal) {
            Ok(action) => action,
            Err(error) => return refusal(error),
        };
        if let Some(vigil) = &vigil {
            vigil.waits_for(action.id);
        }
        if let (Status::Pending, Some(on_hold)) = (action.status, question.on_hold) {
            on_hold(&action, self.client.url());
        }
        while action.status == Status::Pending && has_time(question.until) {
            match self.client.await_action(action.id, round_until(question.until)) {
                Ok(later) => action = later,
                // A hold outlives its server: whoever restarts it must not cost the agent its place.
                Err(error) if may_pass(&error) => thread::sleep(BREATH),
                Err(error) => return refusal(error),
            }
        }
        if let Some(vigil) = &vigil {
            vigil.is_over();
        }
        self.settle(question, &action)
    }

    fn settle(&self, question: &Question<'_>, action: &ActionView) -> Ruling {
        match action.status {
            Status::Authorised => self.claim(question, action),
            Status::Pending => Ruling::Denied(Denial::new(Exit::Refused, self.still_pending(action))),
            Status::Denied => Ruling::Denied(Denial::new(Exit::NotAllowed, denied(action))),
            Status::Executing | Status::Succeeded | Status::Failed | Status::Unknown => {
                Ruling::Denied(Denial::new(
                    Exit::Refused,
                    format!(
                        "Banksman: this very call was let run before ({}, now {}); it is not let run twice. If it is \
                         wanted again, make a new call.",
                        action.id, action.status
                    ),
                ))
            }
            Status::Blocked | Status::Expired | Status::Cancelled | Status::Lapsed | Status::Revoked => {
                let why = action.resolution.as_ref().and_then(|resolution| resolution.reason.clone());
                Ruling::Denied(Denial::new(
                    Exit::Refused,
                    format!(
                        "Banksman: {} is {}{}. It was not executed.",
                        action.id,
                        action.status,
                        why.map(|why| format!(": {why}")).unwrap_or_default()
                    ),
                ))
            }
        }
    }

    /// Takes the one claim, for exactly what the server says was authorised.
    fn claim(&self, question: &Question<'_>, action: &ActionView) -> Ruling {
        let wanted = question.action;
        // What reviewers saw is what its digest names, or something between them and us lies.
        let named = action_digest(&wanted.tool, wanted.kind, &action.args);
        if named != action.digest || action.tool != wanted.tool || action.kind != wanted.kind {
            return Ruling::Denied(Denial::new(
                Exit::Failure,
                format!(
                    "Banksman: {} is authorised for something else than it shows; not running it.",
                    action.id
                ),
            ));
        }
        if !question.takes_edits && action.args != wanted.args {
            // Not claimed: the agent has to make the call that was authorised, and that one claims.
            return Ruling::Edited { args: action.args.clone(), words: allowed(action) };
        }
        let claimed = match self.client.claim(action.id, &ClaimBody { digest: named, preconditions: None }) {
            Ok(claimed) => claimed,
            Err(error) => return refusal(error),
        };
        if claimed.digest != named || claimed.args != action.args {
            return Ruling::Denied(Denial::new(
                Exit::Failure,
                format!("Banksman: the claim of {} is for something else; not running it.", action.id),
            ));
        }
        Ruling::Allowed(Clearance {
            modified: claimed.args != wanted.args,
            args: claimed.args,
            claimed: Some(action.id),
            words: allowed(action),
            said: action.resolution.as_ref().is_some_and(|resolution| resolution.message.is_some()),
        })
    }

    /// Says how it ended.
    pub(crate) fn report(&self, id: ActionId, outcome: &OutcomeBody) -> Result<(), ClientError> {
        self.client.outcome(id, outcome).map(drop)
    }

    /// Whether this action of ours is exactly that, of that session, claimed, and has not ended. A server that does not
    /// say so has not said so.
    pub(crate) fn is_under_way(&self, id: ActionId, deed: &Digest, session: Option<&str>) -> bool {
        self.client.action(id).is_ok_and(|action| {
            action.status == Status::Executing
                && action.digest == *deed
                && action.context.session.as_deref() == session
        })
    }

    fn still_pending(&self, action: &ActionView) -> String {
        format!(
            "Banksman: still pending, not executed. {} waits for a person to decide, at {} or with `banksman approve \
             {}`. Sending the same call again joins it; do not try to reach the same end another way.",
            action.id,
            self.client.url(),
            action.id
        )
    }
}

fn allowed(action: &ActionView) -> String {
    let by = action.resolution.as_ref().map_or("policy", |resolution| resolution.by.as_str());
    let said = action.resolution.as_ref().and_then(|resolution| resolution.message.clone());
    let said = said.map(|said| format!(" They say: {said}")).unwrap_or_default();
    format!("Banksman: {} is authorised by {by}.{said}", action.id)
}

fn denied(action: &ActionView) -> String {
    let Some(resolution) = &action.resolution else {
        return format!("Banksman: {} was denied. It was not executed.", action.id);
    };
    let words = [&resolution.message, &resolution.reason].into_iter().flatten().next();
    let words = words.map(|words| format!(" {}: {words}", resolution.by)).unwrap_or_default();
    format!("Banksman: {} was denied by {}, not executed.{words}", action.id, resolution.by)
}

/// Whether another try may fare better: nothing answers, or what answers cannot now; or a proxy says so in its place.
fn may_pass(error: &ClientError) -> bool {
    match error {
        ClientError::Unreachable { .. } | ClientError::NoAnswer { .. } => true,
        ClientError::Problem(problem) => problem.status >= 500,
        ClientError::Unexpected { status, .. } => (502..=504).contains(status),
        ClientError::InvalidRequest { .. } => false,
    }
}

fn refusal(error: ClientError) -> Ruling {
    match &error {
        ClientError::Unreachable { .. } | ClientError::NoAnswer { .. } | ClientError::Unexpected { .. } => {
            Ruling::Unreachable(error.to_string())
        }
        ClientError::Problem(problem) if problem.status >= 500 => Ruling::Unreachable(error.to_string()),
        ClientError::Problem(problem) => {
            let exit = match problem.status {
                401 | 403 => Exit::NotAllowed,
                400 | 413 | 422 => Exit::Usage,
                _ => Exit::Refused,
            };
            let said = problem.message.as_ref().map(|said| format!(" They say: {said}")).unwrap_or_default();
            Ruling::Denied(Denial::new(exit, format!("Banksman: {error}. It was not executed.{said}")))
        }
        ClientError::InvalidRequest { .. } => {
            Ruling::Denied(Denial::new(Exit::Usage, format!("Banksman: {error}")))
        }
    }
}

/// Whether another request could wait for anything.
fn has_time(until: Option<Instant>) -> bool {
    round_until(until) > 0
}

/// Whole seconds to wait in one request, not past the end.
fn round_until(until: Option<Instant>) -> u64 {
    let left = until.map_or(ROUND, |until| until.saturating_duration_since(Instant::now()));
    left.min(ROUND).as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unexpected(status: u16) -> ClientError {
        ClientError::Unexpected { url: "http://127.0.0.1:1".into(), status, detail: "<html>".into() }
    }

    #[test]
    fn a_proxy_without_a_server_is_waited_out_and_a_stranger_is_not() {
        for status in [502, 503, 504] {
            assert!(may_pass(&unexpected(status)), "{status}");
        }
        for status in [200, 302, 404, 500] {
            assert!(!may_pass(&unexpected(status)), "{status}");
        }
    }
}
