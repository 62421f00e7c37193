//! Actions on their way: proposed, waited for, decided, claimed; alone or in batches; and what happens, as it happens.

use banksman_core::wire::{
    ActionView, BatchDecisionRequest, BatchDecisionView, BatchView, CancelBody, ClaimBody, ClaimView,
    DecisionRequest, OutcomeBody, Page, ResolutionsView,
};
use banksman_core::{Action, Risk, Status, Tier};

use super::{DECIDING, Route, get, post};
use crate::Access::{Agent, Anyone, Person};
use crate::openapi::{Operation, Parameter};
use crate::problem::Code;
use crate::routes::{actions, batches, decisions, events};

pub(super) fn routes() -> Vec<Route> {
    let wait = || Parameter::header("Prefer", "`wait=SECONDS`: hold the answer until people have decided");
    let idempotency_key =
        || Parameter::header("Idempotency-Key", "send the same request again without doing it twice");
    vec![
        post(
            "/v1/actions",
            Agent,
            actions::propose,
            Operation::new("proposeAction", "Propose an action: authorised at once, held, or blocked")
                .with(idempotency_key())
                .with(Parameter::header(
                    "Prefer",
                    "`wait=SECONDS`: hold the answer until there is room and people have decided",
                ))
                .takes::<Action>()
                .answers::<ActionView>(200, "Authorised, with a token; claim it before running it. Without one: it was claimed before, do not run it")
                .answers::<ActionView>(202, "Held: ask again at `status_url`")
                .with_header("Location", "where to ask again")
                .with_header("Retry-After", "in how many seconds")
                .fails(&[
                    Code::Blocked,
                    Code::Denied,
                    Code::NotAuthorised,
                    Code::InvalidJson,
                    Code::InvalidAction,
                    Code::InvalidArgs,
                    Code::IdempotencyKeyReused,
                    Code::PreconditionFailed,
                    Code::TooManyPending,
                    Code::BodyTooSlow,
                    Code::BodyTooLarge,
                ]),
        ),
        get(
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
        get(
            "/v1/actions/{id}",
            Anyone,
            actions::show,
            Operation::new("getAction", "One action; agents see their own")
                .with(wait())
                .answers::<ActionView>(200, "The action as it stands")
                .fails(&[Code::NotFound]),
        ),
        post(
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
        post(
            "/v1/actions/{id}/claim",
            Agent,
            actions::claim,
            Operation::new("claimAction", "Take the one authorisation, and run exactly this")
                .takes::<ClaimBody>()
                .answers::<ClaimView>(200, "Claimed")
                .fails(&[
                    Code::NotFound,
                    Code::RunByGateway,
                    Code::DigestMismatch,
                    Code::NotAuthorised,
                    Code::AlreadyClaimed,
                    Code::PreconditionFailed,
                    Code::Lapsed,
                    Code::Frozen,
                ]),
        ),
        post(
            "/v1/actions/{id}/outcome",
            Agent,
            actions::outcome,
            Operation::new("recordOutcome", "Say how it ended; saying it again changes nothing")
                .takes::<OutcomeBody>()
                .answers::<ActionView>(200, "Recorded")
                .fails(&[Code::NotFound, Code::RunByGateway, Code::NotClaimed, Code::AlreadyRecorded]),
        ),
        post(
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
        get(
            "/v1/resolutions",
            Agent,
            actions::resolutions,
            Operation::new("listResolutions", "What was resolved since, for the agent's next turn")
                .with(Parameter::query("since", "`next_since` of the last answer; 0 at first").number(0))
                .with(Parameter::limit())
                .answers::<ResolutionsView>(200, "What was resolved")
                .fails(&[Code::InvalidRequest]),
        ),
        post(
            "/v1/batches",
            Agent,
            batches::propose,
            Operation::new("proposeBatch", "Propose several actions to be reviewed together")
                .with(idempotency_key())
                .with(Parameter::header(
                    "Prefer",
                    "`wait=SECONDS`: hold the answer until there is room and people have decided every item",
                ))
                .takes::<batches::BatchBody>()
                .answers::<BatchView>(200, "The batch; each item has its own state")
                .fails(&[
                    Code::InvalidJson,
                    Code::InvalidAction,
                    Code::InvalidRequest,
                    Code::InvalidArgs,
                    Code::IdempotencyKeyReused,
                    Code::TooManyPending,
                ]),
        ),
        get(
            "/v1/batches/{id}",
            Anyone,
            batches::show,
            Operation::new("getBatch", "A batch; agents see their own")
                .answers::<BatchView>(200, "The batch as it stands")
                .fails(&[Code::NotFound]),
        ),
        post(
            "/v1/batches/{id}/decision",
            Person,
            batches::decide,
            Operation::new("decideBatch", "Decide all, some or none of the exact items that were seen")
                .takes::<BatchDecisionRequest>()
                .answers::<BatchDecisionView>(200, "What became of each decision")
                .fails(&[Code::NotFound, Code::DigestMismatch, Code::InvalidRequest]),
        ),
        get(
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
        get(
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
    ]
}
