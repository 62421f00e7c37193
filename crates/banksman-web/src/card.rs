//! An action in a list.

use banksman_core::visible::one_line;
use banksman_core::wire::ActionView;
use banksman_core::{Risk, Status};
use banksman_review::{Approvals, Oddity, numbered, oddities};
use maud::{Markup, html};

use crate::frame::Frame;
use crate::moment::{ago, left};
use crate::parts::{binding, risk, status};
use crate::text::{Foreign, brief};
use crate::values::odd_hosts;

/// Longer arguments are shown in short, and then decided on the page that shows them whole.
const WHOLE: usize = 320;

/// Whether a card may offer decisions: only if it shows everything that will run and all that policy wants said.
pub(crate) fn shows_everything(action: &ActionView) -> bool {
    action.status == Status::Pending
        && action.args.as_str().chars().count() <= WHOLE
        && action.verdict.risk < Risk::Critical
        && action.verdict.messages.is_empty()
        && !action.verdict.require_reason
        && odd_names(action).is_empty()
}

/// Host names that are not what they look like need a closer look than a card gives.
pub(crate) fn odd_names(action: &ActionView) -> Vec<Oddity> {
    action.args.to_json().map(|args| oddities(&args)).unwrap_or_default()
}

/// A card.
pub(crate) fn card(frame: &Frame<'_>, action: &ActionView) -> Markup {
    let progress = Approvals::of(action);
    let found = numbered(&action.assessment.findings);
    let worst = found.iter().max_by_key(|found| found.finding.level);
    let page = format!("/actions/{}", action.id);
    let level = action.verdict.risk;
    let title = format!("title-{}", action.id);
    html! {
        article class=(format!("card {}", level.as_str())) data-action=(action.id) data-version=(action.version) aria-labelledby=(title) {
            header {
                (risk(level))
                h2 #(title) { a href=(page) data-open { (Foreign(&brief(&action.tool, 90))) } }
                @if action.status == Status::Pending {
                    @if let Some(until) = action.expires_at { (left(until, frame.now)) }
                } @else { (status(action.status)) }
            }
            p.meta {
                span { "asked by " b { (Foreign(&action.agent)) } " " (ago(action.created_at, frame.now)) }
                span { (progress.short()) }
                span { "rule " code { (Foreign(&action.verdict.rule)) } }
                @if let Some(batch) = action.batch { span { a href=(format!("/batches/{batch}")) { "part of a batch" } } }
            }
            div.value.literal.short { (Foreign(&brief(&one_line(&action.args), WHOLE))) }
            @if let Some(worst) = worst {
                p.worst { (Foreign(&worst.finding.reason)) @if found.len() > 1 { span.quiet { " and " (found.len() - 1) " more" } } }
            }
            (odd_hosts(&odd_names(action)))
            footer {
                p.changed data-changed role="status" {}
                @if shows_everything(action) {
                    form method="post" action="/decide" {
                        (binding(frame.viewer.csrf, action))
                        a.button href=(page) { "Review" }
                        button.deny name="decision" value="deny" data-deny { "Deny" }
                        button.approve name="decision" value="approve" data-approve { "Approve" }
                    }
                } @else if action.status == Status::Pending {
                    span.quiet { "Decide on its page, which shows all of it." }
                    a.button.strong href=(page) { "Review" }
                }
            }
        }
    }
}
