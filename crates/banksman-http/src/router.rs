//! Every route, in one place: who may call it, what it takes, what it answers.

// Long because it is a list; those of the gateway, of channels, of messages and of the pages are in `router/`, and nowhere else.

mod channels;
mod console;
mod gateway;
mod people;
mod post;

use axum::Router;
use axum::handler::Handler;
use axum::http::Method;
use axum::routing::{MethodFilter, MethodRouter, on};
use banksman_core::wire::{
    ActionView, BatchDecisionRequest, BatchDecisionView, BatchView, CancelBody, ClaimBody, ClaimView,
    DecisionRequest, DelegationBody, DelegationView, EventView, FallbackBody, FreezeBody, FreezeView,
    GrantBody, GrantView, List, ModeBody, ModeView, OutcomeBody, Page, PolicyView, ResolutionsView,
};
use banksman_core::{Action, Decision, Risk, Status, Tier};

use crate::openapi::{Operation, Parameter};
use crate::problem::{Code, ProblemError};
use crate::routes::{actions, audit, batches, decisions, events, house, meta, metrics, policy};
use crate::{Access, App};

/// Why a decision may not count, in whatever words it was sent.
const DECIDING: &[Code] = &[
    Code::NotFound,
    Code::StaleVersion,
    Code::DigestMismatch,
    Code::Expired,
    Code::AlreadyDecided,
    Code::AlreadyVoted,
    Code::SelfApproval,
    Code::NotIndependent,
    Code::MissingRole,
    Code::ReasonRequired,
    Code::StepUpRequired,
    Code::Frozen,
];

/// A route and everything that is said about it.
pub(crate) struct Route {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) access: Access,
    pub(crate) operation: Operation,
    handler: MethodRouter<App>,
}

/// A route, for those who want to know which there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteInfo {
    /// The method.
    pub method: Method,
    /// The path, with parameters in braces.
    pub path: &'static str,
    /// Who may call it.
    pub access: Access,
}

fn route<H, T>(method: Method, path: &'static str, access: Access, handler: H, operation: Operation) -> Route
where
    H: Handler<T, App>,
    T: 'static,
{
    let filter = match method {
        Method::POST => MethodFilter::POST,
        Method::DELETE => MethodFilter::DELETE,
        _ => MethodFilter::GET,
    };
    Route { method, path, access, operation, handler: on(filter, handler) }
}

/// Every route of this server.
pub(crate) fn routes() -> Vec<Route> {
    use Access::{Agent, Anyone, Person, Public};
    const GET: Method = Method::GET;
    const POST: Method = Method::POST;
    const DELETE: Method = Method::DELETE;
    let wait = || Parameter::header("Prefer", "`wait=SECONDS`: hold the answer until people have decided");
    vec![
        route(
            POST,
            "/v1/actions",
            Agent,
            actions::propose,
            Operation::new("proposeAction", "Propose an action: authorised at once, held, or blocked")
                .with(Parameter::header(
                    "Idempotency-Key",
                    "send the same request again without doing it twice",
                ))
                .with(Parameter::header(
                    "Prefer",
                    "`wait=SECONDS`: hold the answer until there is room and people have decided",
                ))
                .takes::<Action>()
                .answers::<ActionView>(200, "Authorised, with a token; claim it before running it")
                .answers::<ActionView>(202, "Held: ask again at `status_url`")
                .fails(&[
                    Code::Blocked,
                    Code::InvalidJson,
                    Code::InvalidAction,
                    Code::InvalidArgs,
                    Code::IdempotencyKeyReused,
                    Code::TooManyPending,
                    Code::BodyTooLarge,
                ]),
        ),
        route(
            GET,
            "/v1/actions",
            Person,
            actions::list,
            Operation::new("listActions", "List actions: pending ones oldest first, others newest first")
                .with(Parameter::query("status", "where they stand").one_of::<Status>())
                .with(Parameter::query("tier", "what policy demands").one_of::<Tier>())
                .with(Parameter::query("risk", "how much harm they could do").one_of::<Risk>())
                .with(Parameter::query("tool", "their tool"))
                .with(Parameter::query("agent", "who asked"))
                .with(Parameter::query("cursor", "continue behind the last page"))
                .with(Parameter::limit())
                .with(Parameter::query(
                    "order",
                    "`asc` or `desc`, by age; of what is pending also `urgency`, `deadline` or `risk`",
                ))
                .answers::<Page<ActionView>>(200, "A page")
                .fails(&[Code::InvalidRequest]),
        ),
        route(
            GET,
            "/v1/actions/{id}",
            Anyone,
            actions::show,
            Operation::new("getAction", "One action; agents see their own")
                .with(wait())
                .answers::<ActionView>(200, "The action as it stands")
                .fails(&[Code::NotFound]),
        ),
        route(
            POST,
            "/v1/actions/{id}/decision",
            Person,
            decisions::decide,
            Operation::new("decideAction", "Approve, deny, modify or respond to the version that was seen")
                .takes::<DecisionRequest>()
                .answers::<ActionView>(200, "Decided, or one approval closer")
                .fails(DECIDING)
                .fails(&[
                    Code::MessageRequired,
                    Code::InvalidArgs,
                    Code::ModificationBlocked,
                    Code::RememberNotAllowed,
                ]),
        ),
        route(
            POST,
            "/v1/actions/{id}/claim",
            Agent,
            actions::claim,
            Operation::new("claimAction", "Take the one authorisation, and run exactly this")
                .takes::<ClaimBody>()
                .answers::<ClaimView>(200, "Claimed")
                .fails(&[
                    Code::NotFound,
                    Code::DigestMismatch,
                    Code::NotAuthorised,
                    Code::AlreadyClaimed,
                    Code::PreconditionFailed,
                    Code::Lapsed,
                    Code::Frozen,
                ]),
        ),
        route(
            POST,
            "/v1/actions/{id}/outcome",
            Agent,
            actions::outcome,
            Operation::new("recordOutcome", "Say how it ended; saying it again changes nothing")
                .takes::<OutcomeBody>()
                .answers::<ActionView>(200, "Recorded")
                .fails(&[Code::NotFound, Code::NotClaimed, Code::AlreadyRecorded]),
        ),
        route(
            POST,
            "/v1/actions/{id}/cancel",
            Anyone,
            actions::cancel,
            Operation::new(
                "cancelAction",
                "Withdraw what is pending; revoke what is authorised and not yet claimed",
            )
            .may_take::<CancelBody>()
            .answers::<ActionView>(200, "Cancelled or revoked")
            .fails(&[
                Code::NotFound,
                Code::Expired,
                Code::AlreadyDecided,
                Code::AlreadyClaimed,
                Code::Lapsed,
            ]),
        ),
        route(
            GET,
            "/v1/resolutions",
            Agent,
            actions::resolutions,
            Operation::new("listResolutions", "What was resolved since, for the agent's next turn")
                .with(Parameter::query("since", "`next_since` of the last answer; 0 at first").number(0))
                .with(Parameter::limit())
                .answers::<ResolutionsView>(200, "What was resolved")
                .fails(&[Code::InvalidRequest]),
        ),
        route(
            POST,
            "/v1/batches",
            Agent,
            batches::propose,
            Operation::new("proposeBatch", "Propose several actions to be reviewed together")
                .takes::<batches::BatchBody>()
                .answers::<BatchView>(200, "The batch; each item has its own state")
                .fails(&[
                    Code::InvalidJson,
                    Code::InvalidAction,
                    Code::InvalidRequest,
                    Code::InvalidArgs,
                    Code::TooManyPending,
                ]),
        ),
        route(
            GET,
            "/v1/batches/{id}",
            Anyone,
            batches::show,
            Operation::new("getBatch", "A batch; agents see their own")
                .answers::<BatchView>(200, "The batch as it stands")
                .fails(&[Code::NotFound]),
        ),
        route(
            POST,
            "/v1/batches/{id}/decision",
            Person,
            batches::decide,
            Operation::new("decideBatch", "Decide all, some or none of the exact items that were seen")
                .takes::<BatchDecisionRequest>()
                .answers::<BatchDecisionView>(200, "What became of each decision")
                .fails(&[Code::NotFound, Code::DigestMismatch, Code::InvalidRequest]),
        ),
        route(
            GET,
            "/v1/events",
            Anyone,
            events::stream,
            Operation::new(
                "streamEvents",
                "Live audit events (Server-Sent Events); agents see those of their own actions",
            )
            .with(Parameter::header("Last-Event-ID", "continue behind this event").number(0))
            .with(Parameter::query("since", "the same, for clients that cannot set headers").number(0))
            .answers_with(200, "An endless stream", "text/event-stream"),
        ),
        route(
            GET,
            "/v1/ws",
            Anyone,
            events::socket,
            Operation::new(
                "streamEventsWebSocket",
                "The same over a WebSocket, one JSON text message an event",
            )
            .with(Parameter::query("since", "continue behind this event").number(0))
            .answers_nothing(101, "Switching to WebSocket"),
        ),
        route(
            GET,
            "/v1/grants",
            Person,
            house::grants,
            Operation::new("listGrants", "Remembered approvals")
                .answers::<List<GrantView>>(200, "All that are live"),
        ),
        route(
            POST,
            "/v1/grants",
            Person,
            house::grant,
            Operation::new("createGrant", "Approve in advance, where policy allows remembering")
                .takes::<GrantBody>()
                .answers::<GrantView>(201, "Granted")
                .fails(&[Code::InvalidRequest]),
        ),
        route(
            DELETE,
            "/v1/grants/{id}",
            Person,
            house::revoke_grant,
            Operation::new("revokeGrant", "Revoke a grant, at once")
                .answers_nothing(204, "Done")
                .fails(&[Code::NotFound]),
        ),
        route(
            GET,
            "/v1/freezes",
            Person,
            house::freezes,
            Operation::new("listFreezes", "Freezes in force").answers::<List<FreezeView>>(200, "All of them"),
        ),
        route(
            POST,
            "/v1/freezes",
            Person,
            house::freeze,
            Operation::new("createFreeze", "Freeze an agent, a tool or everything, at once")
                .takes::<FreezeBody>()
                .answers::<FreezeView>(201, "Frozen")
                .fails(&[Code::InvalidRequest]),
        ),
        route(
            DELETE,
            "/v1/freezes/{id}",
            Person,
            house::unfreeze,
            Operation::new("liftFreeze", "Lift a freeze")
                .answers_nothing(204, "Done")
                .fails(&[Code::NotFound]),
        ),
        route(
            GET,
            "/v1/delegations",
            Person,
            house::delegations,
            Operation::new("listDelegations", "Whose roles others may use, now and later").answers::<List<
                DelegationView,
            >>(
                200,
                "All that are not over",
            ),
        ),
        route(
            POST,
            "/v1/delegations",
            Person,
            house::delegate,
            Operation::new("delegate", "Let another person use your roles for a period")
                .takes::<DelegationBody>()
                .answers::<DelegationView>(201, "Delegated")
                .fails(&[Code::InvalidRequest, Code::MissingRole, Code::NotYours]),
        ),
        route(
            DELETE,
            "/v1/delegations/{id}",
            Person,
            house::revoke_delegation,
            Operation::new("revokeDelegation", "End a delegation, at once")
                .answers_nothing(204, "Done")
                .fails(&[Code::NotFound, Code::NotYours]),
        ),
        route(
            GET,
            "/v1/mode",
            Anyone,
            house::mode,
            Operation::new("getMode", "The operating mode, and whether policy is enforced")
                .answers::<ModeView>(200, "How strict the house is"),
        ),
        route(
            POST,
            "/v1/mode",
            Person,
            house::change_mode,
            Operation::new(
                "changeMode",
                "Change the operating mode, one step at a time: by an administrator, or as policy says",
            )
            .takes::<ModeBody>()
            .answers::<ModeView>(200, "The new mode")
            .fails(&[
                Code::IllegalModeChange,
                Code::MissingRole,
                Code::NotYours,
                Code::ReasonRequired,
            ]),
        ),
        route(
            POST,
            "/v1/mode/fallback",
            Person,
            house::fall_back,
            Operation::new(
                "fallBack",
                "Something went wrong: fall back from production to shadow, with the demands of both",
            )
            .takes::<FallbackBody>()
            .answers::<ModeView>(200, "The mode, changed if it was production")
            .fails(&[Code::ReasonRequired]),
        ),
        route(
            GET,
            "/v1/audit",
            Person,
            audit::query,
            Operation::new("queryAudit", "The audit log, newest first")
                .with(Parameter::query("type", "only such events, such as `decided`"))
                .with(Parameter::query("decision", "only such decisions").one_of::<Decision>())
                .with(Parameter::query("risk", "only about actions of this risk").one_of::<Risk>())
                .with(Parameter::query("tool", "only about this tool"))
                .with(Parameter::query("agent", "only about this agent's actions"))
                .with(Parameter::query("reviewer", "only what this person or agent did"))
                .with(Parameter::query("action", "only about this action"))
                .with(Parameter::query(
                    "observed",
                    "`true`: only what people would have been asked about, had policy not only observed",
                ))
                .with(Parameter::query("since", "not before (RFC 3339)"))
                .with(Parameter::query("until", "before (RFC 3339)"))
                .with(Parameter::query("cursor", "continue behind the last page").number(0))
                .with(Parameter::limit())
                .with(Parameter::query("order", "`asc` or `desc`"))
                .answers::<Page<EventView>>(200, "A page")
                .of::<EventView>()
                .fails(&[Code::InvalidRequest]),
        ),
        route(
            GET,
            "/v1/policy",
            Person,
            policy::in_force,
            Operation::new("getPolicy", "Which policy is in force, and what is wrong with a newer one")
                .answers::<PolicyView>(200, "The policy"),
        ),
        route(
            GET,
            "/metrics",
            Person,
            metrics::metrics,
            Operation::new("metrics", "Numbers for Prometheus").answers_with(
                200,
                "In Prometheus' text format",
                "text/plain",
            ),
        ),
        route(
            GET,
            "/health",
            Public,
            meta::health,
            Operation::new("health", "Whether the process lives").answers_with(
                200,
                "It does",
                "application/json",
            ),
        ),
        route(
            GET,
            "/ready",
            Public,
            meta::ready,
            Operation::new("ready", "Whether it serves: the store answers")
                .answers_with(200, "It does", "application/json")
                .fails(&[Code::Unavailable]),
        ),
        route(
            GET,
            "/openapi.json",
            Public,
            meta::openapi,
            Operation::new("openapi", "This document").answers_with(200, "OpenAPI 3.1", "application/json"),
        ),
        route(
            GET,
            "/.well-known/jwks.json",
            Public,
            meta::jwks,
            Operation::new("jwks", "The key that authorisations are signed with").answers_with(
                200,
                "A JSON Web Key Set",
                "application/json",
            ),
        ),
    ]
    .into_iter()
    .chain(people::api())
    .chain(gateway::routes())
    .chain(channels::routes())
    .chain(post::routes())
    .chain(console::routes())
    .collect()
}

/// Which routes there are, and who may call them.
#[must_use]
pub fn route_table() -> Vec<RouteInfo> {
    routes()
        .into_iter()
        .map(|Route { method, path, access, .. }| RouteInfo { method, path, access })
        .collect()
}

/// The application as a service, behind the check of hosts and origins that [`crate::serve`] does.
pub(crate) fn router(app: App) -> Router {
    let mut router = Router::new();
    for Route { path, handler, .. } in routes() {
        router = router.route(path, handler);
    }
    router
        .fallback(|| async {
            ProblemError::new(Code::NotFound, "there is no such route; /openapi.json lists them")
        })
        .method_not_allowed_fallback(|| async {
            ProblemError::new(Code::MethodNotAllowed, "this path has other methods; /openapi.json lists them")
        })
        .with_state(app)
}
