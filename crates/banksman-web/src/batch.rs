//! A batch: every item in sight, each decided for itself.

use banksman_core::Status;
use banksman_core::wire::BatchView;
use banksman_review::{Approvals, numbered};
use maud::html;

use crate::frame::{Frame, Place};
use crate::moment::{ago, left};
use crate::parts::{findings, hidden, risk, status};
use crate::text::{Foreign, brief};
use crate::values::table;

/// The page of a batch.
#[derive(Debug)]
pub struct BatchPage<'a> {
    /// The batch, as this person gets to see it.
    pub batch: &'a BatchView,
    /// What became of each decision that was refused: the item and why.
    pub refused: &'a [(String, String)],
}

impl BatchPage<'_> {
    /// The page.
    #[must_use]
    pub fn render(&self, frame: &Frame<'_>) -> String {
        let batch = self.batch;
        let open = batch.items.iter().filter(|item| item.status == Status::Pending).count();
        let body = html! {
            header.heading {
                h1 { "A batch of " (batch.items.len()) }
                p.meta {
                    span { "proposed by " b { (Foreign(&batch.agent)) } " " (ago(batch.created_at, frame.now)) }
                    span { (open) " still to decide" }
                }
            }
            @for (item, why) in self.refused {
                p.notice.refused role="alert" { strong { "Not decided: " } code { (item) } " " (Foreign(why)) }
            }
            form method="post" action=(format!("/batches/{}/decide", batch.id)) {
                (hidden("csrf", frame.viewer.csrf))
                (hidden("digest", &batch.digest.to_string()))
                ol.batch {
                    @for item in &batch.items {
                        @let name = format!("item:{}", item.id);
                        li class=(format!("card {}", item.verdict.risk.as_str())) data-action=(item.id) data-version=(item.version) {
                            header {
                                (risk(item.verdict.risk))
                                h2 { a href=(format!("/actions/{}", item.id)) data-open { (Foreign(&brief(&item.tool, 90))) } }
                                (status(item.status))
                                @if let (Status::Pending, Some(until)) = (item.status, item.expires_at) { (left(until, frame.now)) }
                            }
                            (table(&item.args, &numbered(&item.assessment.findings)))
                            (findings(&numbered(&item.assessment.findings)))
                            p.meta { span { (Approvals::of(item).short()) } span { "rule " code { (Foreign(&item.verdict.rule)) } } }
                            @if item.status == Status::Pending {
                                fieldset.choices {
                                    legend.away { "Decision about this item" }
                                    @for (value, words) in [("", "Leave"), ("approve", "Approve"), ("deny", "Deny")] {
                                        label.check { input type="radio" name=(name) value=(value) checked[value.is_empty()]; " " (words) }
                                    }
                                }
                            }
                            p.changed data-changed role="status" {}
                        }
                    }
                }
                @if open > 0 {
                    section.panel.decide aria-label="Your decision" {
                        label.field { span { "Reason, for all that are decided" } textarea name="reason" rows="2" data-reason {} }
                        div.buttons {
                            button.deny name="all" value="deny" data-deny { "Deny all " (open) }
                            button.strong name="all" value="" { "Decide as chosen" }
                            button.approve name="all" value="approve" data-approve { "Approve all " (open) }
                        }
                        p.quiet { "Bound to exactly these items in this order: " code { (batch.digest.to_string()) } }
                    }
                }
            }
        };
        frame.page(Place::Action, "Batch", &body)
    }
}
