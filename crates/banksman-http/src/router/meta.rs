//! What is on record, which policy is in force, and how the server itself does.

use banksman_core::wire::{CheckpointView, EventView, Page, PolicyView, ProofView};
use banksman_core::{Decision, Risk};

use super::{Route, get};
use crate::Access::{Person, Public};
use crate::openapi::{Operation, Parameter};
use crate::problem::Code;
use crate::routes::{audit, meta, metrics, policy};

pub(super) fn routes() -> Vec<Route> {
    vec![
        get(
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
        get(
            "/v1/audit/checkpoint",
            Person,
            audit::checkpoint,
            Operation::new("getCheckpoint", "The audit log as it stands, signed")
                .answers::<CheckpointView>(200, "The checkpoint"),
        ),
        get(
            "/v1/audit/proof/{id}",
            Person,
            audit::proof,
            Operation::new("proveEvent", "That an event is in the audit log, in its place")
                .answers::<ProofView>(200, "The proof")
                .fails(&[Code::NotFound]),
        ),
        get(
            "/v1/policy",
            Person,
            policy::in_force,
            Operation::new("getPolicy", "Which policy is in force, and what is wrong with a newer one")
                .answers::<PolicyView>(200, "The policy"),
        ),
        get(
            "/metrics",
            Person,
            metrics::metrics,
            Operation::new("metrics", "Numbers for Prometheus").answers_with(
                200,
                "In Prometheus' text format",
                "text/plain",
            ),
        ),
        get(
            "/health",
            Public,
            meta::health,
            Operation::new("health", "Whether the process lives").answers_with(
                200,
                "It does",
                "application/json",
            ),
        ),
        get(
            "/ready",
            Public,
            meta::ready,
            Operation::new("ready", "Whether it serves: the store answers")
                .answers_with(200, "It does", "application/json")
                .fails(&[Code::Unavailable]),
        ),
        get(
            "/openapi.json",
            Public,
            meta::openapi,
            Operation::new("openapi", "This document").answers_with(200, "OpenAPI 3.1", "application/json"),
        ),
        get(
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
}
