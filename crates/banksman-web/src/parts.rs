//! Small pieces that many pages share.

use banksman_core::wire::ActionView;
use banksman_core::{Risk, Status};
use banksman_review::Numbered;
use maud::{Markup, html};

use crate::text::Foreign;

/// A level of risk: by word first, by colour second.
pub(crate) fn risk(risk: Risk) -> Markup {
    html! { span class=(format!("risk {}", risk.as_str())) { (risk.as_str()) span.away { " risk" } } }
}

/// Where an action stands.
pub(crate) fn status(status: Status) -> Markup {
    html! { span class=(format!("status {}", status.as_str())) { (status.as_str()) } }
}

/// A hidden field.
pub(crate) fn hidden(name: &str, value: &str) -> Markup {
    html! { input type="hidden" name=(name) value=(value); }
}

/// What binds a decision to what the page shows.
pub(crate) fn binding(csrf: &str, action: &ActionView) -> Markup {
    html! {
        (hidden("csrf", csrf))
        (hidden("id", &action.id.to_string()))
        (hidden("version", &action.version.to_string()))
        (hidden("digest", &action.digest.to_string()))
    }
}

/// What reading the action found, worst first, with the numbers that the marks carry.
pub(crate) fn findings(found: &[Numbered<'_>]) -> Markup {
    let mut sorted: Vec<&Numbered<'_>> = found.iter().collect();
    sorted.sort_by_key(|found| std::cmp::Reverse(found.finding.level));
    html! {
        @if !sorted.is_empty() {
            ol.findings {
                @for found in sorted {
                    li value=(found.number) {
                        (risk(found.finding.level)) " " (Foreign(&found.finding.reason))
                        " " (finding_link(&found.finding.rule))
                    }
                }
            }
        }
    }
}

/// A choice in a filter; the first is no filter.
pub(crate) fn choice<'a>(
    name: &str,
    label: &str,
    any: &str,
    options: impl IntoIterator<Item = &'a str>,
    chosen: &str,
) -> Markup {
    html! {
        label.field { span { (label) }
            select name=(name) {
                option value="" { (any) }
                @for option in options {
                    option value=(option) selected[option == chosen] { (option) }
                }
            }
        }
    }
}

/// A line of text in a form.
pub(crate) fn line(name: &str, label: &str, value: &str, hint: &str) -> Markup {
    html! {
        label.field { span { (label) }
            input type="text" name=(name) value=(value) placeholder=(hint) autocomplete="off" spellcheck="false";
        }
    }
}

/// A text as part of an address.
pub(crate) fn percent_encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// What a part of a page is found by. Names are encoded, so that any name makes one.
pub(crate) fn anchor(of: &str, name: &str) -> String {
    format!("{of}-{}", percent_encoded(name))
}

/// A rule of the policy, and the way to its words.
pub(crate) fn rule_link(rule: &str) -> Markup {
    if let Some(found) = rule.strip_prefix("finding.") {
        let place = anchor("found", found);
        return html! { a href=(format!("/policy/built-in#{place}")) { code { (Foreign(rule)) } } };
    }
    let ours = ["risks.", "preset.", "tinman.", "defaults.", "budgets.", "severities.", "triage."];
    let place = if ours.iter().any(|own| rule.starts_with(own)) {
        "built-in".to_owned()
    } else {
        anchor("rule", rule)
    };
    html! { a href=(format!("/policy#{place}")) { code { (Foreign(rule)) } } }
}

/// A rule that reading found something by, and the way to its words.
pub(crate) fn finding_link(rule: &str) -> Markup {
    html! { a.quiet href=(format!("/policy/built-in#{}", anchor("found", rule))) { code { (Foreign(rule)) } } }
}

/// The first button of a form, for keyboards: Enter in a field presses it, and nobody sees it.
pub(crate) fn on_enter(words: &str) -> Markup {
    html! { button.away tabindex="-1" aria-hidden="true" { (words) } }
}

/// The same where Enter must not decide: it sends a decision that is none. One that is disabled would be passed over.
pub(crate) fn on_enter_nothing() -> Markup {
    html! { button.away tabindex="-1" aria-hidden="true" name="decision" value="none" formnovalidate {} }
}
