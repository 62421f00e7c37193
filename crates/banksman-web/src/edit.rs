//! Editing arguments: a form of fields, then a picture of the change, then the decision.

use banksman_core::visible::{VisibleJson, pretty};
use banksman_core::wire::ActionView;
use banksman_review::Change;
use maud::{Markup, html};

use crate::diff;
use crate::form::{self, Draft};
use crate::frame::{Frame, Place};
use crate::parts::{binding, hidden, on_enter};
use crate::text::{Foreign, brief};
use crate::values::{Extent, table};

/// The page that edits an action.
#[derive(Debug)]
pub struct EditPage<'a> {
    /// The action, as this person gets to see it.
    pub action: &'a ActionView,
    /// What the fields hold: at first what the action has, then what was typed.
    pub draft: &'a Draft,
    /// Whether the draft was typed, fits, and a picture of the change is wanted.
    pub preview: bool,
}

impl EditPage<'_> {
    /// The page.
    #[must_use]
    pub fn render(&self, frame: &Frame<'_>) -> String {
        let action = self.action;
        let here = format!("/actions/{}/edit", action.id);
        // What was typed as JSON and is none. The fields are then those of the action itself.
        let raw = self.draft.typed.get("").map(|typed| VisibleJson(&typed.replace("\r\n", "\n")).to_string());
        let body = html! {
            article.action data-action=(action.id) data-version=(action.version) {
                header class=(format!("heading {}", action.verdict.risk.as_str())) {
                    h1 { "Edit " (Foreign(&action.tool)) }
                    p.meta { span { "asked by " b { (Foreign(&action.agent)) } } span { a href=(format!("/actions/{}", action.id)) { "Back to the action" } } }
                }
                @if self.preview { (self.confirm(frame)) }
                div.columns {
                    section.panel {
                        h2 { "Arguments" }
                        p.quiet { "Whatever you change is checked, assessed and judged again. If it demands more people, it is held for them." }
                        form method="post" action=(here) {
                            // Otherwise Enter in a field would press the first button that there is, such as one that adds an item.
                            (on_enter("Show what changes"))
                            (binding(frame.viewer.csrf, action))
                            @if raw.is_none() { (self.misfits()) }
                            (form::fields(self.draft, action.context.args_schema.as_ref()))
                            div.buttons { button.strong { "Show what changes" } }
                        }
                    }
                    section.panel {
                        h2 { "The same as JSON" }
                        form method="post" action=(here) {
                            (binding(frame.viewer.csrf, action))
                            @if raw.is_some() { (self.misfits()) }
                            label.field { span { "All arguments" } textarea.code name="raw" rows="14" spellcheck="false" aria-invalid=[raw.is_some().then_some("true")] { "\n" (raw.as_deref().unwrap_or(&pretty(&self.draft.args))) } }
                            div.buttons { button { "Show what changes" } }
                        }
                    }
                }
            }
        };
        frame.page_at(Place::Action, &here, &format!("Edit {}", brief(&action.tool, 50)), &body)
    }

    /// How much is wrong; what is, stands at its field. What has no field of its own is said here.
    fn misfits(&self) -> Markup {
        let misfits = &self.draft.misfits;
        html! {
            @if !misfits.is_empty() {
                div.notice.refused role="alert" {
                    strong { @if misfits.len() == 1 { "One value does not fit." } @else { (misfits.len()) " values do not fit." } }
                    ul { @for misfit in misfits { li { code { (Foreign(if misfit.pointer.is_empty() { "the arguments" } else { &misfit.pointer })) } ": " (Foreign(&misfit.problem)) } } }
                }
            }
        }
    }

    fn confirm(&self, frame: &Frame<'_>) -> Markup {
        let action = self.action;
        let required = action.verdict.require_reason;
        let same = self.draft.args == action.args;
        html! {
            section.panel.decide aria-label="Your decision" {
                h2 { "What you change" }
                (diff::show(&Change::of_edit(&action.args, &self.draft.args)))
                @if !same {
                    details { summary { "All arguments as they would run" } (table(&self.draft.args, &action.verdict.redact, &[], Extent::Whole)) }
                    form method="post" action="/decide" {
                        (binding(frame.viewer.csrf, action))
                        (hidden("args", self.draft.args.as_str()))
                        label.field { span { "Reason" @if required { " (policy asks for one)" } } textarea name="reason" rows="2" required[required] data-reason {} }
                        div.buttons { button.approve name="decision" value="modify" data-approve { "Approve this instead" } }
                        p.changed data-changed role="status" {}
                    }
                }
            }
        }
    }
}
