//! The house rules: grants, delegations, freezes, the mode.

use banksman_core::visible::is_hidden;
use banksman_core::wire::{DelegationView, FreezeView, GrantView, ModeView};
use banksman_core::{GrantMatch, Mode};
use maud::{Markup, html};

use crate::frame::{Frame, Place};
use crate::moment::{ago, left, moment};
use crate::parts::{hidden, line};
use crate::text::{Foreign, ForeignLines};

/// A form of one button.
fn press(frame: &Frame<'_>, action: &str, class: &str, words: &str, about: &str) -> Markup {
    html! {
        form.inline method="post" action=(action) {
            (hidden("csrf", frame.viewer.csrf))
            button class=(class) { (words) span.away { " " (about) } }
        }
    }
}

/// A number of hours or days in a form.
fn lifetime(usual: &str) -> Markup {
    html! {
        label.field { span { "For" }
            select name="for_seconds" {
                @for (seconds, words) in [("3600", "1 hour"), ("28800", "8 hours"), ("86400", "1 day"), ("432000", "5 days"), ("1209600", "14 days"), ("2592000", "30 days")] {
                    option value=(seconds) selected[seconds == usual] { (words) }
                }
            }
        }
    }
}

/// Remembered approvals.
#[must_use]
pub fn grants(frame: &Frame<'_>, grants: &[GrantView]) -> String {
    let body = html! {
        h1 { "Grants" }
        p.lead { "What need not be asked again. A grant stands in for one approval by anyone; a freeze, a denial and a stricter policy all beat it." }
        @if grants.is_empty() { section.empty { p { "None. Approvals that you remember appear here." } } }
        @else {
            table.list {
                thead { tr { th scope="col" { "Agent" } th scope="col" { "Tool" } th scope="col" { "Calls" } th scope="col" { "Where" } th scope="col" { "By" } th scope="col" { "Ends in" } th scope="col" { span.away { "Revoke" } } } }
                tbody {
                    @for grant in grants {
                        tr {
                            td data-label="Agent" { (Foreign(&grant.agent)) }
                            td data-label="Tool" { code { (Foreign(&grant.tool)) } }
                            td data-label="Calls" {
                                @match grant.matches {
                                    GrantMatch::Exact => { "exactly one call" @if let Some(digest) = grant.digest { " " code.quiet { (digest.to_string().chars().take(19).collect::<String>()) "…" } } }
                                    GrantMatch::Args => { "arguments that fit" @for (name, like) in grant.args.iter().flatten() { " " code { (Foreign(name)) "=" (Foreign(like)) } } }
                                    GrantMatch::Tool => { strong { "any arguments" } }
                                }
                                @if let Some(uses) = grant.uses_left { ", " (uses) " uses left" }
                            }
                            td data-label="Where" { @match &grant.session { Some(session) => { "session " (Foreign(session)) } None => "all sessions" } }
                            td data-label="By" { (Foreign(&grant.by)) " " (ago(grant.at, frame.now)) }
                            td data-label="Ends in" { (left(grant.expires_at, frame.now)) }
                            td { (press(frame, &format!("/grants/{}/revoke", grant.id), "deny", "Revoke", &grant.id.to_string())) }
                        }
                    }
                }
            }
        }
        details.panel {
            summary { "Grant in advance" }
            form.stack method="post" action="/grants" {
                (hidden("csrf", frame.viewer.csrf))
                (line("agent", "Agent", "", "name"))
                (line("tool", "Tool", "", "exact name"))
                (line("session", "Session", "", "all of the agent's, if empty"))
                (line("uses", "Uses", "", "without end, if empty"))
                (lifetime("28800"))
                p.caution { "This covers any arguments, where policy allows that." }
                button.strong { "Grant" }
            }
        }
    };
    frame.page(Place::Grants, "Grants", &body)
}

/// Whose roles others may use.
#[must_use]
pub fn delegations(frame: &Frame<'_>, delegations: &[DelegationView]) -> String {
    let body = html! {
        h1 { "Delegations" }
        p.lead { "Roles that are lent for a while. A delegate is one person: a lent role counts once." }
        @if delegations.is_empty() { section.empty { p { "None." } } }
        @else {
            table.list {
                thead { tr { th scope="col" { "From" } th scope="col" { "To" } th scope="col" { "Roles" } th scope="col" { "From when" } th scope="col" { "Ends in" } th scope="col" { "Why" } th scope="col" { span.away { "End" } } } }
                tbody {
                    @for delegation in delegations {
                        tr {
                            td data-label="From" { (Foreign(&delegation.from)) }
                            td data-label="To" { (Foreign(&delegation.to)) }
                            td data-label="Roles" { @if delegation.roles.is_empty() { "all" } @for role in &delegation.roles { code { (Foreign(role)) } " " } }
                            td data-label="From when" { (moment(delegation.starts_at)) }
                            td data-label="Ends in" { (left(delegation.ends_at, frame.now)) }
                            td data-label="Why" { @if let Some(reason) = &delegation.reason { (Foreign(reason)) } }
                            td { (press(frame, &format!("/delegations/{}/revoke", delegation.id), "deny", "End", &delegation.id.to_string())) }
                        }
                    }
                }
            }
        }
        details.panel open {
            summary { "Lend your roles" }
            form.stack method="post" action="/delegations" {
                (hidden("csrf", frame.viewer.csrf))
                @if frame.viewer.is_admin { (line("from", "Whose", "", "yours, if empty")) }
                (line("to", "To", "", "name"))
                (line("roles", "Roles", "", "all, if empty; separate by commas"))
                (line("reason", "Why", "", ""))
                (lifetime("432000"))
                button.strong { "Delegate" }
            }
        }
    };
    frame.page(Place::Delegations, "Delegations", &body)
}

/// What someone is about to freeze, if they came to freeze something.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "the fields of the form")]
pub struct FreezeDraft {
    pub agent: String,
    pub tool: String,
    /// Names of agents and tools that wait, to choose from.
    pub known: Vec<String>,
}

/// The kill switch.
#[must_use]
pub fn freezes(frame: &Frame<'_>, freezes: &[FreezeView], draft: &FreezeDraft) -> String {
    let is_tool = draft.agent.is_empty() && !draft.tool.is_empty();
    let name = if is_tool { &draft.tool } else { &draft.agent };
    let exact = |name: &&String| !name.chars().any(is_hidden);
    let body = html! {
        h1 { "Freeze" }
        p.lead { "While a freeze is in force, nothing that it covers is let through, whatever anyone decided. What runs already is not stopped." }
        @if !frame.house.frozen {
            form.switch method="post" action="/freezes" {
                (hidden("csrf", frame.viewer.csrf))
                (hidden("scope", "everything"))
                label.field { span { "Why" } input type="text" name="reason" autocomplete="off"; }
                button.big { "Freeze everything" }
            }
        }
        @if freezes.is_empty() { section.empty { p { "Nothing is frozen." } } }
        @else {
            ul.freezes {
                @for freeze in freezes {
                    li.panel {
                        p {
                            @match freeze.name.as_deref() {
                                None => { strong { "Everything" } }
                                Some(name) => { (freeze.scope) " " strong { (Foreign(name)) } }
                            }
                            " · by " (Foreign(&freeze.by)) " " (ago(freeze.at, frame.now))
                        }
                        blockquote { (ForeignLines(&freeze.reason)) }
                        (press(frame, &format!("/freezes/{}/lift", freeze.id), "", "Lift", &freeze.id.to_string()))
                    }
                }
            }
        }
        section.panel {
            h2 { "Freeze an agent or a tool" }
            form.stack method="post" action="/freezes" {
                (hidden("csrf", frame.viewer.csrf))
                fieldset.choices {
                    legend.away { "What" }
                    label.check { input type="radio" name="scope" value="agent" checked[!is_tool]; " Agent" }
                    label.check { input type="radio" name="scope" value="tool" checked[is_tool]; " Tool" }
                }
                label.field { span { "Name" }
                    input type="text" name="name" value=(name) placeholder="exactly" list="known" autocomplete="off" spellcheck="false";
                }
                datalist #known { @for name in draft.known.iter().filter(exact) { option value=(name) {} } }
                (line("reason", "Why", "", ""))
                button.deny { "Freeze" }
            }
        }
    };
    frame.page(Place::Freezes, "Freeze", &body)
}

/// The operating mode.
#[must_use]
pub fn mode(frame: &Frame<'_>, mode: &ModeView) -> String {
    let body = html! {
        h1 { "Mode" }
        p.lead { "How strict the house is. One step at a time, never from lab to production." }
        section.panel {
            ol.modes {
                @for each in Mode::ALL {
                    li.now[*each == mode.mode] aria-current=[(*each == mode.mode).then_some("true")] { (each.as_str()) }
                }
            }
            @if let Some(from) = mode.fell_back_from { p.caution { "Fallen back from " (from.as_str()) ": the demands of both hold until someone sets the mode." } }
            @if mode.observes { p.caution { "Policy only observes: what it would hold runs at once." } }
            @if let Some(solo) = &mode.solo_operator { p.caution { (Foreign(solo)) " may approve what their own agents propose (solo operator)." } }
        }
        section.panel {
            h2 { "Change it" }
            form.stack method="post" action="/mode" {
                (hidden("csrf", frame.viewer.csrf))
                fieldset.choices {
                    legend.away { "To" }
                    @for each in Mode::ALL.iter().filter(|each| **each != mode.mode && mode.mode.change_to(**each).is_ok()) {
                        label.check { input type="radio" name="mode" value=(each.as_str()) required; " " (each.as_str()) }
                    }
                    @if mode.fell_back_from.is_some() {
                        label.check { input type="radio" name="mode" value=(mode.mode.as_str()) required; " stay in " (mode.mode.as_str()) ", with its own demands only" }
                    }
                }
                (line("reason", "Why", "", ""))
                button.strong { "Change the mode" }
            }
        }
        @if mode.mode == Mode::Production {
            section.panel {
                h2 { "Something went wrong?" }
                form.stack method="post" action="/mode/fallback" {
                    (hidden("csrf", frame.viewer.csrf))
                    (line("reason", "What", "", ""))
                    button.deny { "Fall back to shadow" }
                }
            }
        }
    };
    frame.page(Place::Mode, "Mode", &body)
}
