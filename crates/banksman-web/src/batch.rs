//! A batch: every item in sight, each decided for itself.

use banksman_core::wire::{ActionView, BatchView};
use banksman_core::{Risk, Status};
use banksman_review::{Approvals, Change, numbered};
use maud::{Markup, html};

use crate::action::untrusted;
use crate::card::{odd_names, shows_whole_name, tool_name};
use crate::diff;
use crate::frame::{Frame, Place};
use crate::moment::{ago, left};
use crate::parts::{findings, hidden, risk, status};
use crate::text::{Foreign, ForeignLines};
use crate::values::{Extent, has_folds, leaves_out, poses_as_redacted, table};

/// The page of a batch.
#[derive(Debug)]
pub struct BatchPage<'a> {
    /// The batch, as this person gets to see it.
    pub batch: &'a BatchView,
    /// What became of each decision that was refused: the item and why.
    pub refused: &'a [(String, String)],
}

/// Why an item is approved on its own page and not among others, if it is. Denying needs no second look.
#[must_use]
pub fn needs_own_page(item: &ActionView) -> Option<&'static str> {
    if item.verdict.risk == Risk::Critical {
        Some("it is critical")
    } else if item.verdict.require_passkey {
        Some("policy asks for the touch of a passkey")
    } else if !shows_whole_name(item) || leaves_out(&item.args, Extent::Shared) || has_folds(&item.args) {
        Some("this page does not show all of it")
    } else if poses_as_redacted(&item.args, &item.verdict.redact) {
        Some("a value in it reads as if policy kept it from you")
    } else if !odd_names(item).is_empty() {
        Some("a host name in it is not what it looks like")
    } else {
        None
    }
}

impl BatchPage<'_> {
    /// The page.
    #[must_use]
    pub fn render(&self, frame: &Frame<'_>) -> String {
        let batch = self.batch;
        let open = batch.items.iter().filter(|item| item.status == Status::Pending);
        let to_decide = open.clone().count();
        let body = html! {
            header.heading {
                h1 { "A batch of " (batch.items.len()) }
                p.meta {
                    span { "proposed by " b { (Foreign(&batch.agent)) } " " (ago(batch.created_at, frame.now)) }
                    span { (to_decide) " still to decide" }
                }
            }
            @for (item, why) in self.refused {
                p.notice.refused role="alert" { strong { "Not decided: " } code { (item) } " " (Foreign(why)) }
            }
            form method="post" action=(format!("/batches/{}/decide", batch.id)) {
                (hidden("csrf", frame.viewer.csrf))
                (hidden("digest", &batch.digest.to_string()))
                ol.batch { @for (position, item) in batch.items.iter().enumerate() { (card(frame, item, position + 1)) } }
                @if to_decide > 0 {
                    (decision(to_decide, open.clone().filter(|item| needs_own_page(item).is_none()).count(), open.clone().any(|item| item.verdict.require_reason)))
                    p.quiet { "Bound to exactly these items in this order: " code { (batch.digest.to_string()) } }
                }
            }
        };
        frame.page_at(Place::Action, &format!("/batches/{}", batch.id), "Batch", &body)
    }
}

/// One item: what will run, what policy says of it, what the agent says of it, and the choice.
fn card(frame: &Frame<'_>, item: &ActionView, number: usize) -> Markup {
    let found = numbered(&item.assessment.findings);
    let of = format!(" of item {number}");
    html! {
        li class=(format!("card {}", item.verdict.risk.as_str())) data-action=(item.id) data-version=(item.version) {
            header {
                (risk(item.verdict.risk))
                h2 { a href=(format!("/actions/{}", item.id)) data-open { (Foreign(&tool_name(item))) } }
                (status(item.status))
                @if let (Status::Pending, Some(until)) = (item.status, item.expires_at) { (left(until, frame.now)) }
            }
            (table(&item.args, &item.verdict.redact, &found, Extent::Shared))
            @for message in &item.verdict.messages { p.message { (ForeignLines(message)) } }
            (findings(&found))
            @if let Some(change) = Change::of_action(item) { h3 { (change.title) } (diff::show_of(&change, &of)) }
            p.meta { span { (Approvals::of(item).short()) } span { "rule " code { (Foreign(&item.verdict.rule)) } } }
            (untrusted(item, &of))
            @if item.status == Status::Pending { (choice(item, &of)) }
            p.changed data-changed role="status" {}
        }
    }
}

fn choice(item: &ActionView, of: &str) -> Markup {
    let name = format!("item:{}", item.id);
    let alone = needs_own_page(item);
    html! {
        @if item.verdict.require_reason { p.quiet { "Policy asks for a reason." } }
        @if let Some(why) = alone {
            p.caution { "To approve it, " a href=(format!("/actions/{}", item.id)) { "open its page" span.away { (of) } } ": " (why) "." }
        }
        fieldset.choices {
            legend.away { "Decision about this item" }
            label.check { input type="radio" name=(name) value="" checked; " Leave" }
            @if alone.is_none() { label.check { input type="radio" name=(name) value="approve" data-approve; " Approve" } }
            label.check { input type="radio" name=(name) value="deny" data-deny; " Deny" }
        }
    }
}

/// The buttons. What was chosen comes first: a form that is sent by Enter is sent by its first button.
fn decision(open: usize, approvable: usize, reason_wanted: bool) -> Markup {
    html! {
        section.panel.decide aria-label="Your decision" {
            label.field { span { "Reason, for all that are decided" @if reason_wanted { " (policy asks for one)" } } textarea name="reason" rows="2" data-reason {} }
            div.buttons {
                button.strong name="all" value="" data-submit { "Decide as chosen" }
                button.deny name="all" value="deny" { "Deny all " (open) }
                @if approvable == open { button.approve name="all" value="approve" { "Approve all " (open) } }
                @else if approvable > 0 { button.approve name="all" value="approve" { "Approve the other " (approvable) } }
            }
        }
    }
}
