//! An action, as it is shown.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::json::CanonicalJson;
use crate::{
    Acting, Action, ActionId, Annotations, Assessment, Authority, BatchId, Case, Decision, Digest, Estimate,
    Kind, Review, Severity, State, Status, Timestamp, Verdict,
};

/// An action and where it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ActionView {
    /// Its id.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "act_01J9ZKQ7V8Y3F5T2M6N4P0R1SB"))]
    pub id: ActionId,
    /// Where it stands.
    pub status: Status,
    /// Which version of what would run this is.
    pub version: u32,
    /// What names exactly that.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "sha256:9f86d081…"))]
    pub digest: Digest,
    /// Who asked.
    pub agent: String,
    /// The tool.
    pub tool: String,
    /// How the arguments are to be understood.
    pub kind: Kind,
    /// The exact arguments, canonical.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub args: CanonicalJson,
    /// If reviewers changed the arguments: those that the agent proposed. Not in lists of actions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub proposed_args: Option<CanonicalJson>,
    /// When it was proposed.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    /// While pending: when the hold expires. While authorised: when the authorisation lapses. While executing:
    /// when the lease ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub expires_at: Option<Timestamp>,
    /// Whether it was let run only because policy observes and does not enforce: people would have been asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub observed: bool,
    /// How risky it looks.
    #[cfg_attr(feature = "openapi", schema(value_type = Assessment))]
    pub assessment: Arc<Assessment>,
    /// What policy demands.
    #[cfg_attr(feature = "openapi", schema(value_type = Verdict))]
    pub verdict: Arc<Verdict>,
    /// What people said.
    pub votes: Vec<VoteView>,
    /// How the question was answered, once it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<ResolutionView>,
    /// How it ended, once it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<OutcomeView>,
    /// What the agent says about it. Untrusted.
    pub context: ContextView,
    /// The agent's own state, as it gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub checkpoint: Option<CanonicalJson>,
    /// The batch that it is part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub batch: Option<BatchId>,
    /// Whether this answer is about an action that was there before the request.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub joined: bool,
    /// Where to ask again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_url: Option<String>,
    /// The signed authorisation, in the answer to a proposal that may run at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorization: Option<String>,
}

/// What the agent says about an action. Everything here is the agent's word and is shown as such.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
#[expect(missing_docs, reason = "the fields are those of Action")]
pub struct ContextView {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rationale: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub evidence: Option<CanonicalJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted_severity: Option<Severity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub affected_systems: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reversible: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollback_plan: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub args_schema: Option<CanonicalJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub state_before: Option<CanonicalJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub preconditions: Option<CanonicalJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Whether Banksman itself passes it on to the server.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forwarded: bool,
}

/// What one person said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[expect(missing_docs, reason = "the fields are those of Review")]
pub struct VoteView {
    pub by: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// Roles that are not their own, and why they had them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acting: Vec<Acting>,
    /// Whether they approved what they or their own agent proposed, as policy allows the solo operator.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub solo_operator: bool,
    pub decision: Decision,
    pub version: u32,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl From<&Review> for VoteView {
    fn from(review: &Review) -> Self {
        Self {
            by: review.by.clone(),
            roles: review.roles.clone(),
            acting: review.acting.clone(),
            solo_operator: review.solo_operator,
            decision: review.decision,
            version: review.version,
            at: review.at,
            reason: review.reason.clone(),
            message: review.message.clone(),
        }
    }
}

/// How the question was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ResolutionView {
    /// By `policy`, `grant`, `reviewers`, `observation`, `preset`, `timeout`, or the name of who said no.
    pub by: String,
    /// When.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// A reviewer's words for the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Whether a reviewer changed the arguments: what was authorised is not what was proposed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub modified: bool,
}

/// How a claimed action ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OutcomeView {
    /// `succeeded`, `failed` or `unknown`.
    pub status: Status,
    /// When that was recorded.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    /// What came out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub result: Option<CanonicalJson>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl From<&Action> for ContextView {
    fn from(action: &Action) -> Self {
        Self {
            description: action.description.clone(),
            rationale: action.rationale.clone(),
            evidence: action.evidence.clone(),
            session: action.session.clone(),
            thread: action.thread.clone(),
            task: action.task.clone(),
            action_type: action.action_type.clone(),
            predicted_severity: action.predicted_severity,
            estimated_cost_usd: action.estimate.cost_usd,
            estimated_duration_ms: action.estimate.duration_ms,
            affected_systems: action.affected_systems.clone(),
            reversible: action.reversible,
            rollback_plan: action.rollback_plan.clone(),
            args_schema: action.args_schema.clone(),
            state_before: action.state_before.clone(),
            preconditions: action.preconditions.clone(),
            server: action.server.clone(),
            annotations: action.annotations,
            forwarded: action.forwarded,
        }
    }
}

impl ActionView {
    /// The action that is shown, without what only its agent needs. Field by field: none is forgotten that policy asks about.
    #[must_use]
    pub fn to_action(&self) -> Action {
        let ContextView {
            description,
            rationale,
            evidence,
            session,
            thread,
            task,
            action_type,
            predicted_severity,
            estimated_cost_usd,
            estimated_duration_ms,
            affected_systems,
            reversible,
            rollback_plan,
            args_schema,
            state_before,
            preconditions,
            server,
            annotations,
            forwarded,
        } = self.context.clone();
        Action {
            description,
            rationale,
            evidence,
            session,
            thread,
            task,
            action_type,
            predicted_severity,
            estimate: Estimate { cost_usd: estimated_cost_usd, duration_ms: estimated_duration_ms },
            affected_systems,
            reversible,
            rollback_plan,
            args_schema,
            state_before,
            preconditions,
            server,
            annotations,
            forwarded,
            ..Action::bare(self.tool.as_str(), self.kind, self.args.clone())
        }
    }
}

impl From<&Case> for ActionView {
    fn from(case: &Case) -> Self {
        let submission = &case.submission;
        let action = &submission.action;
        Self {
            id: case.id,
            status: case.status(),
            version: case.version,
            digest: submission.digest,
            agent: case.agent.clone(),
            tool: action.tool.clone(),
            kind: action.kind,
            args: action.args.clone(),
            proposed_args: None,
            created_at: case.created_at,
            expires_at: case.state.ends_at(),
            observed: case.was_observed(),
            assessment: submission.assessment.clone(),
            verdict: submission.verdict.clone(),
            votes: case.reviews.iter().map(VoteView::from).collect(),
            resolution: resolution(case),
            outcome: outcome(&case.state),
            context: action.into(),
            checkpoint: action.checkpoint.clone(),
            batch: case.batch,
            joined: false,
            status_url: None,
            authorization: None,
        }
    }
}

fn resolution(case: &Case) -> Option<ResolutionView> {
    let said = case.reviews.last();
    let reason_said = || said.and_then(|review| review.reason.clone());
    let message_said = || said.and_then(|review| review.message.clone());
    let view = |by: &str, at: Timestamp, reason: Option<String>, message: Option<String>| {
        Some(ResolutionView { by: by.to_owned(), at, reason, message, modified: case.version > 1 })
    };
    let authorised = |authority: &Authority, at: Timestamp| match authority {
        Authority::Policy => view("policy", at, None, None),
        Authority::Grant { grant } => view("grant", at, Some(grant.to_string()), None),
        Authority::Observation => {
            view("observation", at, Some("policy only observes; nobody was asked".into()), None)
        }
        Authority::Preset { preset } => view("preset", at, Some(preset.clone()), None),
        Authority::Reviewers => {
            view("reviewers", said.map_or(at, |review| review.at), reason_said(), message_said())
        }
    };
    match &case.state {
        State::Pending { .. } => None,
        State::Blocked { at, reason } => view("policy", *at, Some(reason.clone()), None),
        State::Authorised { authority, at, .. } => authorised(authority, *at),
        State::Executing { authority, claim }
        | State::Succeeded { authority, claim, .. }
        | State::Failed { authority, claim, .. }
        | State::Unknown { authority, claim, .. } => authorised(authority, claim.at),
        State::Denied { at, by } => view(by, *at, reason_said(), message_said()),
        State::Expired { at } => view("timeout", *at, Some("nobody decided in time".into()), None),
        State::Lapsed { at } => {
            view("timeout", *at, Some("the authorisation was not claimed in time".into()), None)
        }
        State::Cancelled { at, by, reason } | State::Revoked { at, by, reason } => {
            view(by, *at, reason.clone(), None)
        }
    }
}

fn outcome(state: &State) -> Option<OutcomeView> {
    let status = state.status();
    match state {
        State::Succeeded { at, result, .. } => {
            Some(OutcomeView { status, at: *at, result: result.clone(), error: None })
        }
        State::Failed { at, error, result, .. } => {
            Some(OutcomeView { status, at: *at, result: result.clone(), error: error.clone() })
        }
        State::Unknown { at, .. } => Some(OutcomeView { status, at: *at, result: None, error: None }),
        State::Blocked { .. }
        | State::Pending { .. }
        | State::Authorised { .. }
        | State::Denied { .. }
        | State::Expired { .. }
        | State::Cancelled { .. }
        | State::Executing { .. }
        | State::Lapsed { .. }
        | State::Revoked { .. } => None,
    }
}

/// `GET /v1/resolutions`: what an agent learns on its next turn.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ResolutionsView {
    /// What was resolved, oldest first, each as it stands now.
    pub items: Vec<ActionView>,
    /// Pass this as `since` next time.
    pub next_since: u64,
}
