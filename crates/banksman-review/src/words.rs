//! What happened, in a sentence.

use banksman_core::wire::ActionView;
use banksman_core::{Assessment, Decision, Status, Timestamp};

use crate::{Approvals, relative, span};

/// What a status means.
#[must_use]
pub fn meaning(status: Status) -> &'static str {
    match status {
        Status::Blocked => "Policy or a freeze forbids it. It never runs.",
        Status::Pending => "Held. Nothing has run.",
        Status::Authorised => "May run once, until the authorisation lapses.",
        Status::Denied => "A person said no. It did not run.",
        Status::Expired => "Nobody decided in time. It did not run.",
        Status::Cancelled => "Withdrawn. It did not run.",
        Status::Executing => "The agent's side is running it now.",
        Status::Succeeded => "It ran.",
        Status::Failed => "It was claimed, and failed.",
        Status::Unknown => "It was claimed and no outcome came: it may have run. Someone has to look.",
        Status::Lapsed => "Authorised, and not claimed in time. It did not run.",
        Status::Revoked => "Authorised, and taken back. It did not run.",
    }
}

/// What someone decided, as a word.
#[must_use]
pub fn decided(decision: Decision) -> &'static str {
    match decision {
        Decision::Approve => "approved",
        Decision::Deny => "denied",
        Decision::Modify => "edited and approved",
        Decision::Respond => "denied with a message",
    }
}

/// What came of a decision. It quotes the tool's name as it is: whoever shows it makes it visible.
#[must_use]
pub fn result(decision: Decision, action: &ActionView, now: Timestamp) -> String {
    let Approvals { given, needed, .. } = Approvals::of(action);
    let edited = if decision == Decision::Modify { ", with your arguments" } else { "" };
    match action.status {
        Status::Authorised => {
            let until =
                action.expires_at.map(|at| format!(" if it is claimed within {}", span(at.since(now))));
            format!("Approved: {} may run once{edited}{}.", action.tool, until.unwrap_or_default())
        }
        Status::Pending if decision == Decision::Modify => format!(
            "Your version is recorded as version {} and is held again: {given} of {needed} approvals.",
            action.version
        ),
        Status::Pending => format!("Recorded: {given} of {needed} approvals; the action stays held."),
        Status::Denied if decision == Decision::Respond => "Denied; the agent gets your message.".into(),
        Status::Denied => "Denied.".into(),
        Status::Blocked
        | Status::Expired
        | Status::Cancelled
        | Status::Executing
        | Status::Succeeded
        | Status::Failed
        | Status::Unknown
        | Status::Lapsed
        | Status::Revoked => format!("Recorded; the action is now {}.", action.status),
    }
}

/// Why what was shown can no longer be decided, if that is so: it was answered, or it is another version now. It quotes
/// people as they are: whoever shows it makes it visible.
#[must_use]
pub fn overtaken(shown: &ActionView, current: &ActionView, now: Timestamp) -> Option<String> {
    if current.status != Status::Pending {
        return Some(answered(current, now));
    }
    (current.version != shown.version || current.digest != shown.digest).then(|| {
        let by = current.votes.iter().rev().find(|vote| vote.decision == Decision::Modify);
        let by = by.map(|vote| format!(", edited by {} {}", vote.by, relative(now, vote.at)));
        format!("It changed: version {} is held now{}.", current.version, by.unwrap_or_default())
    })
}

/// How the question was answered: what, by whom, when.
fn answered(action: &ActionView, now: Timestamp) -> String {
    let Some(resolution) = &action.resolution else {
        return format!("It is {} now.", action.status);
    };
    let when = relative(now, resolution.at);
    let mut text = match (resolution.by.as_str(), action.votes.last()) {
        ("timeout", _) => format!("It {} {when}", action.status),
        ("reviewers", Some(vote)) => format!("Already {} by {} {when}", decided(vote.decision), vote.by),
        (by, _) => format!("Already {} by {by} {when}", action.status),
    };
    if let Some(reason) = &resolution.reason {
        text.push_str(&format!(": {reason}"));
    }
    text + "."
}

/// Whether it can be undone, as far as reading it shows. That nothing was found is no promise, so it is not worded as one.
#[must_use]
pub fn undo(assessment: &Assessment) -> &'static str {
    if assessment.reversible {
        "nothing was found that cannot be undone"
    } else {
        "it cannot be easily undone"
    }
}
