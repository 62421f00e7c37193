//! What the agent's side is told when its action is resolved. The format only ever grows.

use banksman_core::json::CanonicalJson;
use banksman_core::wire::ActionView;
use banksman_core::{Case, Decision, Digest, Review, Status, Timestamp};
use banksman_notify::PostId;
use serde::Serialize;

/// The version of the format.
const VERSION: u32 = 1;

/// The body of the call.
#[derive(Debug, Serialize)]
pub(crate) struct ResolutionCall<'a> {
    version: u32,
    /// The same for every attempt: do nothing the second time.
    idempotency_key: &'a PostId,
    action: ResolvedAction,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<Decision>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// What the agent gave, as it gave it.
    checkpoint: Option<CanonicalJson>,
    /// For `Command(resume=...)` of LangGraph, in the words of LangChain's middleware.
    resume: Resume,
}

#[derive(Debug, Serialize)]
struct ResolvedAction {
    id: String,
    status: Status,
    version: u32,
    digest: Digest,
    tool: String,
    args: CanonicalJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
}

#[derive(Debug, Serialize)]
struct Resume {
    decisions: Vec<ResumeDecision>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ResumeDecision {
    Approve,
    Edit { edited_action: EditedAction },
    Reject { message: String },
    Respond { message: String },
}

#[derive(Debug, Serialize)]
struct EditedAction {
    name: String,
    args: CanonicalJson,
}

/// The decision that settled it. What expired or was withdrawn was settled by none, whoever had approved it by then.
fn review_that_settled(case: &Case) -> Option<&Review> {
    let settles = |decision: Decision| match case.status() {
        Status::Denied => !decision.approves(),
        Status::Authorised | Status::Executing | Status::Succeeded | Status::Failed | Status::Unknown => {
            decision.approves()
        }
        Status::Expired
        | Status::Cancelled
        | Status::Revoked
        | Status::Lapsed
        | Status::Blocked
        | Status::Pending => false,
    };
    case.reviews.iter().rev().find(|review| settles(review.decision))
}

impl<'a> ResolutionCall<'a> {
    /// What to say about an action as it stands, in calls of this name. `None` while it waits.
    pub(crate) fn of(name: &'a PostId, case: &Case) -> Option<Self> {
        let view = ActionView::from(case);
        if case.status() == Status::Pending {
            return None;
        }
        let last = review_that_settled(case);
        let words = |usual: &str| {
            let said = last.and_then(|review| review.message.clone().or_else(|| review.reason.clone()));
            said.unwrap_or_else(|| usual.to_owned())
        };
        let decision = match (case.status(), last.map(|review| review.decision)) {
            (Status::Denied, Some(Decision::Respond)) => ResumeDecision::Respond { message: words("denied") },
            (Status::Denied, _) => ResumeDecision::Reject { message: words("a reviewer denied it") },
            (Status::Expired, _) => {
                ResumeDecision::Reject { message: "nobody decided in time; it did not run".into() }
            }
            (Status::Cancelled | Status::Revoked | Status::Lapsed | Status::Blocked | Status::Pending, _) => {
                ResumeDecision::Reject { message: "it was withdrawn, and did not run".into() }
            }
            (
                Status::Authorised | Status::Executing | Status::Succeeded | Status::Failed | Status::Unknown,
                _,
            ) => {
                if case.version > 1 {
                    let edited_action = EditedAction { name: view.tool.clone(), args: view.args.clone() };
                    ResumeDecision::Edit { edited_action }
                } else {
                    ResumeDecision::Approve
                }
            }
        };
        let action = &case.submission.action;
        Some(Self {
            version: VERSION,
            idempotency_key: name,
            decision: last.map(|review| review.decision),
            by: last.map(|review| review.by.clone()),
            at: view.resolution.as_ref().map(|resolution| resolution.at),
            reason: last.and_then(|review| review.reason.clone()),
            message: last.and_then(|review| review.message.clone()),
            checkpoint: action.checkpoint.clone(),
            resume: Resume { decisions: vec![decision] },
            action: ResolvedAction {
                id: case.id.to_string(),
                status: case.status(),
                version: case.version,
                digest: case.submission.digest,
                tool: view.tool,
                args: view.args,
                thread: action.thread.clone(),
                session: action.session.clone(),
            },
        })
    }
}
