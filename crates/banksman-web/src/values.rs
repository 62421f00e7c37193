//! Arguments, as a table and as the exact text.

use banksman_core::json::{CanonicalJson, Json};
use banksman_core::visible::{one_line, pretty};
use banksman_review::{Numbered, Oddity, Row, oddities, rows};
use maud::{Markup, html};

use crate::marks::marked;
use crate::text::{Foreign, ForeignLines};

/// Beyond this the exact text is the better picture, and it is always there.
const MOST_ROWS: usize = 200;

/// The arguments as a table, one row a value, with what was found underlined.
pub(crate) fn table(args: &CanonicalJson, findings: &[Numbered<'_>]) -> Markup {
    let Ok(json) = args.to_json() else {
        return html! { pre { (Foreign(args.as_str())) } };
    };
    let rows = rows(&json);
    let left_out = rows.len().saturating_sub(MOST_ROWS);
    let odd = oddities(&json);
    html! {
        @if rows.is_empty() {
            p.quiet { "No arguments." }
        } @else {
            table.args {
                thead.away { tr { th scope="col" { "Argument" } th scope="col" { "Value" } } }
                tbody {
                    @for row in rows.iter().take(MOST_ROWS) {
                        tr {
                            th scope="row" { (Foreign(&row.path)) }
                            td { (cell(row, findings)) }
                        }
                    }
                }
            }
        }
        @if left_out > 0 {
            p.caution { "The table leaves out " (left_out) " more values. The exact text below has all of them." }
        }
        (odd_hosts(&odd))
    }
}

fn cell(row: &Row<'_>, findings: &[Numbered<'_>]) -> Markup {
    match row.value {
        Json::String(text) if text.is_empty() => html! { span.quiet { "empty text" } },
        Json::String(text) => {
            let here: Vec<Numbered<'_>> = findings
                .iter()
                .filter(|found| found.finding.argument.as_deref() == Some(&row.pointer))
                .copied()
                .collect();
            html! { div.value { (marked(text, &here)) } }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => {
            html! { div.value.literal { (Foreign(CanonicalJson::of(row.value).as_str())) } }
        }
    }
}

/// What to say about host names that are not what they look like.
pub(crate) fn odd_hosts(found: &[Oddity]) -> Markup {
    html! {
        @if !found.is_empty() {
            ul.caution {
                @for oddity in found {
                    li { "Look closely: " code { (Foreign(&oddity.host)) } " " (oddity.problem) " " code { (Foreign(&oddity.like)) } }
                }
            }
        }
    }
}

/// The exact canonical text that the digest is made of.
pub(crate) fn canonical(args: &CanonicalJson) -> Markup {
    html! { pre.exact tabindex="0" { (ForeignLines(&one_line(args))) } }
}

/// A value on several lines.
pub(crate) fn block(value: &CanonicalJson) -> Markup {
    let text = pretty(value);
    html! { div.value.literal { (marked(&text, &[])) } }
}
