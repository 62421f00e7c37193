//! The audit log, to read.

use banksman_core::audit::{Event, Fact};
use banksman_core::{Decision, Mode, Risk};
use banksman_review::decided;
use maud::{Markup, html};

use crate::frame::{Frame, Place};
use crate::moment::moment;
use crate::parts::{choice, line, risk, status};
use crate::text::{Foreign, brief};

/// What to list: the fields of the form, as they were typed.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "the fields of the form")]
pub struct AuditFilter {
    pub kind: String,
    pub decision: String,
    pub risk: String,
    pub tool: String,
    pub agent: String,
    pub reviewer: String,
    pub action: String,
    pub since: String,
    pub until: String,
}

/// An event and its place in the log.
#[derive(Debug)]
pub struct Entry {
    /// Its place.
    pub seq: u64,
    /// Its type, as the log has it.
    pub kind: String,
    /// What it says, if this version of the program can read it.
    pub event: Option<Event>,
}

/// A page of the log, newest first.
#[derive(Debug)]
pub struct AuditPage<'a> {
    /// What was asked for.
    pub filter: &'a AuditFilter,
    /// What was found.
    pub entries: &'a [Entry],
    /// The address of the next page, if there is one.
    pub older: Option<String>,
    /// The address of the same events as a file.
    pub export: String,
}

const KINDS: &[&str] = &[
    "proposed",
    "decided",
    "modified",
    "escalated",
    "cancelled",
    "expired",
    "revoked",
    "lapsed",
    "claimed",
    "finished",
    "lease_ended",
    "batch_proposed",
    "frozen",
    "unfrozen",
    "granted",
    "grant_revoked",
    "delegated",
    "delegation_revoked",
    "mode_changed",
    "token_issued",
    "token_revoked",
    "policy_loaded",
];

impl AuditPage<'_> {
    /// The page.
    #[must_use]
    pub fn render(&self, frame: &Frame<'_>) -> String {
        let body = html! {
            h1 { "Audit" }
            (self.form())
            @if self.entries.is_empty() { section.empty { p { "Nothing matches." } } }
            @else {
                table.list.audit {
                    thead { tr { th scope="col" { "No." } th scope="col" { "When" } th scope="col" { "Who" } th scope="col" { "What" } th scope="col" { "About" } } }
                    tbody { @for entry in self.entries { (row(entry)) } }
                }
            }
            p.pages {
                @if let Some(older) = &self.older { a.button href=(older) rel="next" { "Older" } }
                a.button.plain href=(self.export) download="audit.jsonl" { "Save as JSON lines" }
            }
        };
        frame.page(Place::Audit, "Audit", &body)
    }

    fn form(&self) -> Markup {
        let filter = self.filter;
        html! {
            form.filters method="get" action="/audit" role="search" {
                (choice("type", "What", "anything", KINDS.iter().copied(), &filter.kind))
                (choice("risk", "Risk", "any", Risk::ALL.iter().map(|risk| risk.as_str()), &filter.risk))
                (choice("decision", "Decision", "any", Decision::ALL.iter().map(|decision| decision.as_str()), &filter.decision))
                (line("tool", "Tool", &filter.tool, ""))
                (line("agent", "Agent", &filter.agent, ""))
                (line("reviewer", "Who", &filter.reviewer, ""))
                details.more open[[&filter.action, &filter.since, &filter.until].iter().any(|text| !text.is_empty())] {
                    summary { "More" }
                    (line("action", "Action", &filter.action, "act_…"))
                    (line("since", "Since", &filter.since, "2026-11-15T00:00:00Z"))
                    (line("until", "Before", &filter.until, "2026-11-16T00:00:00Z"))
                }
                button { "Apply" }
                a.button.plain href="/audit" { "Clear" }
            }
        }
    }
}

fn row(entry: &Entry) -> Markup {
    html! {
        tr {
            td.number data-label="No." { (entry.seq) }
            @match &entry.event {
                None => { td colspan="4" { (Foreign(&entry.kind)) span.quiet { ": written by a version that this one cannot read" } } }
                Some(event) => {
                    td data-label="When" { (moment(event.at)) }
                    td data-label="Who" { @match event.actor.name() { Some(name) => { (Foreign(name)) } None => { span.quiet { (event.actor.kind()) } } } }
                    td data-label="What" {
                        (fact(&event.fact))
                        @if let Some(channel) = &event.via { span.quiet { " via " (Foreign(channel)) } }
                    }
                    td data-label="About" {
                        @if let Some(action) = &event.action {
                            (risk(action.risk)) " " a href=(format!("/actions/{}", action.id)) { (Foreign(&brief(&action.tool, 60))) }
                            span.quiet { " of " (Foreign(&action.agent)) ", version " (action.version) } " " (status(action.status))
                        }
                    }
                }
            }
        }
    }
}

fn because(reason: Option<&String>) -> Markup {
    html! { @if let Some(reason) = reason { ": " (Foreign(&brief(reason, 200))) } }
}

fn fact(fact: &Fact) -> Markup {
    let modes = |from: Mode, to: Mode| html! { (from.as_str()) " to " (to.as_str()) };
    match fact {
        Fact::Proposed { verdict, grant, .. } => html! {
            "proposed; " (verdict.tier.as_str()) " by " code { (Foreign(&verdict.rule)) } @if let Some(grant) = grant { ", let through by " code { (grant) } }
        },
        Fact::Decided { decision, reason, .. } => {
            html! { b { (decided(*decision)) } (because(reason.as_ref())) }
        }
        Fact::Modified { verdict, reason, .. } => {
            html! { b { "edited" } ", now " (verdict.tier.as_str()) (because(reason.as_ref())) }
        }
        Fact::Escalated { number, .. } => html! { "escalated, step " (number) },
        Fact::Cancelled { reason } => html! { "withdrawn" (because(reason.as_ref())) },
        Fact::Expired => html! { "expired: nobody decided in time" },
        Fact::Revoked { reason } => html! { "authorisation taken back" (because(reason.as_ref())) },
        Fact::Lapsed => html! { "authorisation lapsed unclaimed" },
        Fact::Claimed { .. } => html! { "claimed" },
        Fact::Finished { late, error } => {
            html! { "outcome recorded" @if *late { ", late" } (because(error.as_ref())) }
        }
        Fact::LeaseEnded => html! { strong { "no outcome came: it may have run" } },
        Fact::BatchProposed { batch, items, .. } => {
            html! { "proposed a " a href=(format!("/batches/{batch}")) { "batch of " (items.len()) } }
        }
        Fact::Frozen { freeze } => html! { strong { "froze " } @match &freeze.scope {
            banksman_core::FreezeScope::Everything => "everything",
            banksman_core::FreezeScope::Agent(name) => { "agent " (Foreign(name)) }
            banksman_core::FreezeScope::Tool(name) => { "tool " (Foreign(name)) }
        } (because(Some(&freeze.reason))) },
        Fact::Unfrozen { freeze } => html! { "lifted " code { (freeze) } },
        Fact::Granted { grant } => {
            html! { "granted " (Foreign(&grant.agent)) " " code { (Foreign(&grant.tool)) } }
        }
        Fact::GrantRevoked { grant } => html! { "revoked " code { (grant) } },
        Fact::Delegated { delegation } => {
            html! { (Foreign(&delegation.from)) " lends roles to " (Foreign(&delegation.to)) }
        }
        Fact::DelegationRevoked { delegation } => html! { "ended " code { (delegation) } },
        Fact::ModeChanged { from, to, reason, fallback } => {
            html! { @if *fallback { "fell back from " } @else { "mode from " } (modes(*from, *to)) (because(reason.as_ref())) }
        }
        Fact::TokenIssued { kind, name, .. } => html! { "issued a credential: " (kind) " " (Foreign(name)) },
        Fact::TokenRevoked { token } => html! { "revoked credential " code { (token) } },
        Fact::PolicyLoaded { source, digest } => {
            html! { "policy loaded from " (Foreign(source)) " " code.quiet { (digest.to_string().chars().take(19).collect::<String>()) "…" } }
        }
        Fact::InboundRefused { why, who, about, unrecorded, .. } => html! {
            "refused what came in: " (Foreign(why))
            @if let Some(who) = who { " from " (Foreign(who)) }
            @if let Some(about) = about { " about " (about) }
            @if *unrecorded > 0 { ", and " (unrecorded) " more before" }
        },
        Fact::Notified { about, channel, recipient, outcome, error, .. } => html! {
            "message to " (Foreign(recipient)) " by " (Foreign(channel)) " about " (about) ": " (outcome.as_str())
            (because(error.as_ref()))
        },
        Fact::NotificationRetried { about, .. } => html! { "message about " (about) " to be sent again" },
        Fact::Resumed { about, outcome, error, .. } => html! {
            "the agent's side was called about " (about) ": " (outcome.as_str()) (because(error.as_ref()))
        },
        Fact::JobRetried { about, .. } => html! { "the agent's side to be called again about " (about) },
        Fact::JobDropped { about, .. } => html! { "the agent's side not to be called about " (about) },
    }
}
