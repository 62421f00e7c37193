//! What travels over HTTP: requests and answers, shared by the server and its clients.
//!
//! A request for a new action is read by [`crate::Action::from_json`], because it needs errors that say where;
//! everything else is small enough for serde.

use serde::{Deserialize, Serialize};

use crate::json::CanonicalJson;
use crate::{
    ActionId, Assessment, Authority, BatchId, Case, Decision, Digest, GrantMatch, Kind, Mode, PrincipalKind,
    Remember, Review, Severity, State, Status, Timestamp, TokenId, Verdict,
};

/// A problem document (RFC 9457) with a stable code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Problem {
    /// Names the kind of problem: `urn:banksman:error:` and the code.
    #[serde(rename = "type")]
    pub kind: String,
    /// The code in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What went wrong this time.
    pub detail: String,
    /// The stable code; each is explained in docs/errors.md.
    pub code: String,
    /// The action that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub action: Option<ActionId>,
    /// Where that action stands now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_status: Option<Status>,
    /// Its version now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_version: Option<u32>,
    /// Its digest now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub current_digest: Option<Digest>,
    /// Who decided before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
}

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
    /// When it was proposed.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    /// While pending: when the hold expires. While authorised: when the authorisation lapses. While executing:
    /// when the lease ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub expires_at: Option<Timestamp>,
    /// How risky it looks.
    pub assessment: Assessment,
    /// What policy demands.
    pub verdict: Verdict,
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
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
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
    /// The signed authorisation, for the agent that may run the action now.
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
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
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
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub state_before: Option<CanonicalJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub preconditions: Option<CanonicalJson>,
}

/// What one person said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[expect(missing_docs, reason = "the fields are those of Review")]
pub struct VoteView {
    pub by: String,
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
    /// By `policy`, `grant`, `reviewers`, `timeout`, or the name of who said no.
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
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub result: Option<CanonicalJson>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
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
            created_at: case.created_at,
            expires_at: case.state.wakes_at(),
            assessment: submission.assessment.clone(),
            verdict: submission.verdict.clone(),
            votes: case.reviews.iter().map(VoteView::from).collect(),
            resolution: resolution(case),
            outcome: outcome(&case.state),
            context: ContextView {
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
            },
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

/// `POST /v1/actions/{id}/decision`
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct DecisionRequest {
    /// What is decided.
    pub decision: Decision,
    /// The version that the reviewer saw.
    pub version: u32,
    /// The digest that the reviewer saw.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub digest: Digest,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// For `modify`: the arguments to run instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub args: Option<CanonicalJson>,
    /// Words for the agent; needed for `respond`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// For `approve`: remember it as a grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remember: Option<Remember>,
}

/// `POST /v1/actions/{id}/claim`
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ClaimBody {
    /// What the executor is about to run.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub digest: Digest,
    /// The facts that the action depends on, as they are now; needed if it declared preconditions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub preconditions: Option<CanonicalJson>,
}

/// The answer to a claim: run this, once, before the lease ends, and report.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ClaimView {
    /// The action.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: ActionId,
    /// A signed token that proves it, verifiable with `/.well-known/jwks.json`.
    pub authorization: String,
    /// The tool to run.
    pub tool: String,
    /// With exactly these arguments.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub args: CanonicalJson,
    /// The digest of both.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub digest: Digest,
    /// To pass on to the service that is called, so that it too does it once.
    pub idempotency_key: String,
    /// Until when an outcome has to be recorded.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub lease_expires_at: Timestamp,
}

/// `POST /v1/actions/{id}/outcome`
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct OutcomeBody {
    /// How it ended.
    pub status: OutcomeStatus,
    /// What came out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub result: Option<CanonicalJson>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// How a claimed action ended, in the words of its executor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum OutcomeStatus {
    /// It ran.
    Succeeded,
    /// It failed, or could not run.
    Failed,
}

/// `POST /v1/actions/{id}/cancel`
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct CancelBody {
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A page of a longer list.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Page<T> {
    /// This page.
    pub items: Vec<T>,
    /// Pass this as `cursor` for the next one; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// An audit event and its place in the log.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EventView {
    /// Its place in the log.
    pub seq: u64,
    /// What happened.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub event: Box<serde_json::value::RawValue>,
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

/// `POST /v1/batches`: the items are proposals.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BatchView {
    /// Its id.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: BatchId,
    /// The digest of the exact ordered items as they are now.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub digest: Digest,
    /// Who proposed it.
    pub agent: String,
    /// When.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    /// The items, in order, each with its own state.
    pub items: Vec<ActionView>,
}

/// `POST /v1/batches/{id}/decision`
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct BatchDecisionRequest {
    /// The digest of the items that the reviewer saw.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub digest: Digest,
    /// One for each item that is decided; items left out stay as they are.
    pub decisions: Vec<ItemDecision>,
}

/// A decision about one item of a batch.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ItemDecision {
    /// The item.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: ActionId,
    /// `approve`, `deny` or `respond`.
    pub decision: Decision,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Words for the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// The answer to a batch decision: each item has its own result.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BatchDecisionView {
    /// What became of each decided item, in the order of the request.
    pub results: Vec<ItemResult>,
}

/// What became of one decision in a batch.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ItemResult {
    /// The item.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: ActionId,
    /// Where it stands now.
    pub status: Status,
    /// Why the decision was refused, if it was: a stable code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The same in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// `POST /v1/grants`
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct GrantBody {
    /// The agent that it holds for.
    pub agent: String,
    /// The tool that it covers.
    pub tool: String,
    /// The one call that it covers; any call of the tool if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub digest: Option<Digest>,
    /// The session that it holds in; all of the agent's if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// For how long.
    pub expires_in_seconds: u64,
}

/// A remembered approval.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[expect(missing_docs, reason = "the fields are those of Grant")]
pub struct GrantView {
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: crate::GrantId,
    pub agent: String,
    pub tool: String,
    #[serde(rename = "match")]
    pub matches: GrantMatch,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub digest: Option<Digest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    pub by: String,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub expires_at: Timestamp,
}

impl From<&crate::Grant> for GrantView {
    fn from(grant: &crate::Grant) -> Self {
        let session = match &grant.reach {
            crate::GrantReach::Session { session } => Some(session.clone()),
            crate::GrantReach::Agent => None,
        };
        Self {
            id: grant.id,
            agent: grant.agent.clone(),
            tool: grant.tool.clone(),
            matches: if grant.digest.is_some() { GrantMatch::Exact } else { GrantMatch::Tool },
            digest: grant.digest,
            session,
            by: grant.by.clone(),
            at: grant.at,
            expires_at: grant.expires_at,
        }
    }
}

/// `POST /v1/freezes`: exactly one of the three says what is frozen.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct FreezeBody {
    /// Freeze everything.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub everything: bool,
    /// Freeze one agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Freeze one tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A freeze in force.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[expect(missing_docs, reason = "the fields are those of Freeze")]
pub struct FreezeView {
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: crate::FreezeId,
    /// `everything`, `agent` or `tool`.
    pub scope: String,
    /// The agent or tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub reason: String,
    pub by: String,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
}

impl From<&crate::Freeze> for FreezeView {
    fn from(freeze: &crate::Freeze) -> Self {
        let (scope, name) = match &freeze.scope {
            crate::FreezeScope::Everything => ("everything", None),
            crate::FreezeScope::Agent(name) => ("agent", Some(name.clone())),
            crate::FreezeScope::Tool(name) => ("tool", Some(name.clone())),
        };
        Self {
            id: freeze.id,
            scope: scope.into(),
            name,
            reason: freeze.reason.clone(),
            by: freeze.by.clone(),
            at: freeze.at,
        }
    }
}

/// A plain list.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct List<T> {
    /// All of them.
    pub items: Vec<T>,
}

/// `GET` and `POST /v1/mode`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ModeBody {
    /// The operating mode.
    pub mode: Mode,
}

/// A credential, without its secret.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[expect(missing_docs, reason = "the fields are those of a credential")]
pub struct TokenView {
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: TokenId,
    pub kind: PrincipalKind,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub revoked_at: Option<Timestamp>,
}
