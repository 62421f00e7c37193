//! An action in a list.

use banksman_core::visible::one_line;
use banksman_core::wire::ActionView;
use banksman_core::{Risk, Status};
use banksman_review::{Approvals, Oddity, numbered, oddities};
use maud::{Markup, html};

use crate::frame::Frame;
use crate::moment::{ago, left};
use crate::parts::{binding, hidden, risk, status};
use crate::text::{Foreign, brief, fits};
use crate::values::{odd_hosts, poses_as_redacted};

/// Longer arguments are shown in short, and then decided on the page that shows them whole.
const WHOLE: usize = 320;

/// Longer names of tools are shown in short in lists.
const NAME: usize = 90;

/// Whether a card may offer decisions: only if it shows everything that will run and all that policy wants said.
pub(crate) fn shows_everything(action: &ActionView) -> bool {
    action.status == Status::Pending
        && shows_whole_name(action)
        // As it is shown: what hides is spelled there, and longer than it is stored.
        && fits(&one_line(&action.args), WHOLE)
        && action.verdict.risk < Risk::Critical
        && action.verdict.messages.is_empty()
        && !action.verdict.require_reason
        && odd_names(action).is_empty()
        && !poses_as_redacted(&action.args, &action.verdict.redact)
}

/// The name of a tool in a list.
pub(crate) fn tool_name(action: &ActionView) -> String {
    brief(&action.tool, NAME)
}

/// Whether that is all of it. Two tools may begin and end alike.
pub(crate) fn shows_whole_name(action: &ActionView) -> bool {
    fits(&action.tool, NAME)
}

/// Host names that are not what they look like need a closer look than a card gives.
pub(crate) fn odd_names(action: &ActionView) -> Vec<Oddity> {
    action.args.to_json().map(|args| oddities(&args)).unwrap_or_default()
}

/// A card. `list` is the question that the list answers, for coming back to it.
pub(crate) fn card(frame: &Frame<'_>, action: &ActionView, list: &str) -> Markup {
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
                h2 #(title) { a href=(page) data-open { (Foreign(&tool_name(action))) } }
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
                        @if !list.is_empty() { (hidden("list", list)) }
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

#[cfg(test)]
mod tests {
    use banksman_core::Mode;
    use banksman_review::sample::{NOW, action, json};

    use super::*;
    use crate::batch::needs_own_page;
    use crate::frame::{House, Viewer};
    use crate::settings::Preferences;

    fn rendered(action: &ActionView) -> String {
        let viewer = Viewer { name: "ann", is_admin: false, csrf: "secret" };
        let house = House {
            mode: Mode::Production,
            observes: false,
            frozen: false,
            freezes: 0,
            pending: 1,
            newest: 1,
        };
        let frame = Frame {
            viewer,
            house,
            preferences: Preferences::default(),
            now: NOW,
            notice: None,
            answers_form: false,
        };
        card(&frame, action, "").0
    }

    /// Either the whole is in sight or there is nothing to approve with.
    fn assert_offers(action: &ActionView, offers: bool, what: &str) {
        let page = rendered(action);
        assert_eq!(page.contains(" more characters "), !offers, "{what}: {page}");
        assert_eq!(page.contains("data-approve"), offers, "{what}: {page}");
    }

    #[test]
    fn arguments_that_are_cut_are_not_approved_on_a_card() {
        // `{"to":""}` is nine characters; each hidden one is six when it is spelled, and twelve beyond the first plane.
        for (hidden, spelled) in [("", 0), ("\u{202e}", 6), ("\u{e0041}", 12)] {
            for count in [1, 20] {
                let left = WHOLE - 9 - spelled * count;
                for (plain, offers) in [(left, true), (left + 1, false)] {
                    let to = format!("{}{}", hidden.repeat(count), "x".repeat(plain));
                    let args = json(&format!(r#"{{"to":"{to}"}}"#));
                    assert_offers(&ActionView { args, ..action() }, offers, &to);
                }
            }
        }
    }

    #[test]
    fn a_tool_whose_name_is_cut_is_approved_on_its_own_page() {
        for (length, offers) in [(NAME, true), (NAME + 1, false), (256, false)] {
            let action = ActionView { tool: format!("{}_read_only", "x".repeat(length - 10)), ..action() };
            assert_offers(&action, offers, &action.tool);
            assert_eq!(needs_own_page(&action).is_none(), offers, "{}", action.tool);
        }
    }
}
