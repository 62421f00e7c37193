//! What a change changes, line by line.

use banksman_review::{Change, ChangedLine, Comparison};
use maud::{Markup, html};

use crate::text::ForeignLines;

/// The change, added and removed lines marked by sign, word and colour.
pub(crate) fn show(change: &Change) -> Markup {
    show_of(change, "")
}

/// The same, on a page with several: of which item it is.
pub(crate) fn show_of(change: &Change, of: &str) -> Markup {
    let places = match change.compare() {
        Comparison::TooLong { before, after } => {
            return html! {
                p.caution { "Too long to compare here: " (before) " bytes before, " (after) " after." }
            };
        }
        Comparison::Places(places) => places,
    };
    html! {
        div.diff role="region" aria-label=(format!("{}{of}", change.title)) tabindex="0" {
            @if places.is_empty() { p.quiet { "Nothing differs." } }
            @for (position, lines) in places.iter().enumerate() {
                @if position > 0 { div.gap { "⋯" } }
                @for line in lines {
                    @let (class, sign, word, text) = match line {
                        ChangedLine::Gone(text) => ("gone", "−", "removed: ", text),
                        ChangedLine::New(text) => ("new", "+", "added: ", text),
                        ChangedLine::Same(text) => ("same", " ", "", text),
                    };
                    div class=(format!("line {class}")) {
                        span.sign aria-hidden="true" { (sign) }
                        span.away { (word) }
                        span.code { (ForeignLines(text)) }
                    }
                }
            }
        }
    }
}
