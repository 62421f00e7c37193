//! The form that decides about one action.

use banksman_core::wire::ActionView;
use banksman_core::{Quorum, RememberScope, Tier};
use maud::{Markup, html};

use crate::action::Kept;
use crate::frame::Frame;
use crate::parts::{binding, on_enter_nothing};
use crate::text::Foreign;

/// How long a grant may last, for those who choose.
const LIFETIMES: &[(u64, &str)] = &[
    (900, "15 minutes"),
    (3_600, "1 hour"),
    (8 * 3_600, "8 hours"),
    (24 * 3_600, "1 day"),
    (7 * 24 * 3_600, "7 days"),
    (30 * 24 * 3_600, "30 days"),
];

/// The form: approve, deny, answer, remember; editing has a page of its own. Where the page leaves out some of what would
/// run, the way to approve it leads over the page that does not.
pub(crate) fn decide(frame: &Frame<'_>, action: &ActionView, leaves_out: bool, kept: &Kept) -> Markup {
    let required = action.verdict.require_reason;
    let approved = action.votes.iter().any(|vote| {
        vote.by == frame.viewer.name && vote.version == action.version && vote.decision.approves()
    });
    html! {
        section.panel.decide aria-label="Your decision" {
            h2 { "Your decision" }
            form method="post" action="/decide" {
                (on_enter_nothing())
                (binding(frame.viewer.csrf, action))
                label.field { span { "Reason" @if required { " (policy asks for one)" } }
                    textarea name="reason" rows="2" required[required] data-reason { "\n" (kept.reason) }
                }
                @if approved { p.caution { "You approved this. Someone else is needed, too." } }
                @else if leaves_out { p.caution { "Not all of what would run is on this page. Look at all of it before you approve it." } }
                @else { (remember(action)) }
                div.buttons {
                    button.deny name="decision" value="deny" data-deny { "Deny" }
                    @if approved {}
                    @else if leaves_out { a.button.strong href=(format!("/actions/{}?all=yes", action.id)) data-approve { "See every value" } }
                    @else { button.approve name="decision" value="approve" data-approve { "Approve" } }
                }
                p.changed data-changed role="status" {}
                details.answer open[!kept.message.is_empty()] {
                    summary data-respond { "Deny, and tell the agent what to do instead" }
                    label.field { span { "Words for the agent" } textarea name="message" rows="3" { "\n" (kept.message) } }
                    button.deny name="decision" value="respond" formnovalidate { "Deny with these words" }
                }
            }
            p { a.button.plain href=(format!("/actions/{}/edit", action.id)) data-edit { "Edit the arguments" } }
        }
    }
}

/// Remembering is offered where policy allows it, and no further.
fn remember(action: &ActionView) -> Markup {
    let verdict = &action.verdict;
    let offered = verdict.allow_remember && verdict.tier == Tier::Approve && verdict.quorum == Quorum::one();
    let limits = &verdict.remember_limits;
    let has_session = action.context.session.is_some();
    let args = action.args.to_json().ok();
    let texts: Vec<(&str, &str)> = args
        .as_ref()
        .and_then(|args| args.as_object())
        .map(|members| members.iter().filter_map(|(name, value)| Some((name, value.as_str()?))).collect())
        .unwrap_or_default();
    html! {
        @if offered {
            details.remember {
                summary { "Remember an approval" }
                fieldset {
                    legend { "Which calls need not be asked again" }
                    label.check { input type="radio" name="remember" value="" checked; " None: ask each time" }
                    @if limits.allow(RememberScope::Exact) {
                        label.check { input type="radio" name="remember" value="exact"; " Exactly this call" }
                    }
                    @if limits.allow(RememberScope::Args) && !texts.is_empty() {
                        label.check { input type="radio" name="remember" value="args"; " This call with other values for:" }
                        @for (name, _) in &texts {
                            label.field.inset { span { (Foreign(name)) }
                                input type="text" name=(format!("like:{name}")) placeholder="stays exactly as it is; * and ? stand for anything" autocomplete="off";
                            }
                        }
                    }
                    @if limits.allow(RememberScope::Tool) {
                        label.check { input type="radio" name="remember" value="tool"; " Any call of this tool by this agent" }
                    }
                }
                @if limits.allow(RememberScope::AllSessions) {
                    label.check {
                        input type="checkbox" name="all_sessions" value="yes" checked[!has_session];
                        " In all sessions of the agent" @if !has_session { span.quiet { " (this call names none)" } }
                    }
                }
                label.field { span { "For" }
                    select name="remember_for" {
                        @for (seconds, words) in LIFETIMES.iter().filter(|(seconds, _)| *seconds <= limits.max_seconds) {
                            option value=(seconds) selected[*seconds == 8 * 3_600] { (words) }
                        }
                        @if !LIFETIMES.iter().any(|(seconds, _)| *seconds <= limits.max_seconds) {
                            option value=(limits.max_seconds) { "as long as policy allows" }
                        }
                    }
                }
            }
        }
    }
}
