//! The audit log, to read.

use banksman_core::audit::{Event, Fact};
use banksman_core::{Decision, Risk};
use banksman_review::{Part, told};
use maud::{Markup, html};

use crate::frame::{Frame, Place};
use crate::moment::to_the_second;
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
                (choice("type", "What", "anything", Fact::TYPES.iter().copied(), &filter.kind))
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
                    td data-label="When" { (to_the_second(event.at)) }
                    td data-label="Who" { @match event.actor.name() { Some(name) => { (Foreign(name)) } None => { span.quiet { (event.actor.kind()) } } } }
                    td data-label="What" {
                        @for piece in told(&event.fact) { (part(&piece)) }
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

/// A piece of what an event says.
fn part(part: &Part) -> Markup {
    match part {
        Part::Ours(text) => html! { (text) },
        Part::Strong(text) => html! { strong { (text) } },
        Part::Theirs(text) => html! { (Foreign(&brief(text, 200))) },
        Part::Id(id) if id.starts_with("act_") => html! { a href=(format!("/actions/{id}")) { (id) } },
        Part::Id(id) if id.starts_with("bat_") => html! { a href=(format!("/batches/{id}")) { (id) } },
        // Enough of a digest to compare by eye, and to fit a phone.
        Part::Id(id) => html! { code { (brief(id, 40)) } },
    }
}
