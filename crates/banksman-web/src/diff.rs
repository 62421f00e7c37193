//! What a change changes, line by line.

use banksman_review::{Change, ChangedLine, Comparison};
use maud::{Markup, html};

use crate::text::ForeignLines;

/// More lines are left out in the middle: a page of some hundred thousand opens in no browser.
const MOST: usize = 1000;

/// The same in a batch, whose items share a page.
const MOST_SHARED: usize = 200;

/// How many of the last lines stay in sight.
const LAST: usize = 100;

/// What stands in a row of the picture.
enum Drawn<'a> {
    Line(&'a ChangedLine),
    Unchanged,
    LeftOut(usize),
}

fn drawn(places: &[Vec<ChangedLine>], most: usize) -> Vec<Drawn<'_>> {
    let total: usize = places.iter().map(Vec::len).sum();
    let left_out = if total > most { most - LAST..total - LAST } else { 0..0 };
    let mut drawn = Vec::new();
    let mut number = 0;
    for (position, lines) in places.iter().enumerate() {
        if position > 0 && !left_out.contains(&number) {
            drawn.push(Drawn::Unchanged);
        }
        for line in lines {
            if !left_out.contains(&number) {
                drawn.push(Drawn::Line(line));
            } else if number == left_out.start {
                drawn.push(Drawn::LeftOut(left_out.len()));
            }
            number += 1;
        }
    }
    drawn
}

/// The change, added and removed lines marked by sign, word and colour.
pub(crate) fn show(change: &Change) -> Markup {
    draw(change, "", MOST)
}

/// The same, on a page with several: of which item it is.
pub(crate) fn show_of(change: &Change, of: &str) -> Markup {
    draw(change, of, MOST_SHARED)
}

fn draw(change: &Change, of: &str, most: usize) -> Markup {
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
            @for row in drawn(&places, most) {
                @match row {
                    Drawn::Unchanged => div.gap { "⋯" },
                    Drawn::LeftOut(count) => p.caution { (count) " more lines of the change are left out here." },
                    Drawn::Line(line) => (changed(line)),
                }
            }
        }
    }
}

fn changed(line: &ChangedLine) -> Markup {
    let (class, sign, word, text) = match line {
        ChangedLine::Gone(text) => ("gone", "−", "removed: ", text),
        ChangedLine::New(text) => ("new", "+", "added: ", text),
        ChangedLine::Same(text) => ("same", " ", "", text),
    };
    html! {
        div class=(format!("line {class}")) {
            span.sign aria-hidden="true" { (sign) }
            span.away { (word) }
            span.code { (ForeignLines(text)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use banksman_review::sample::json;

    use super::*;

    #[test]
    fn a_change_of_very_many_lines_shows_its_ends_and_says_how_many_it_leaves_out() {
        let list = |count: usize| json(&format!("[{}0]", "1,".repeat(count)));
        for (lines, most, left_out) in [(900, MOST, 0), (5_000, MOST, 4_003), (5_000, MOST_SHARED, 4_803)] {
            // Two brackets, and one item that both have.
            let change = Change::of_versions("What differs", &list(0), &list(lines));
            let page = draw(&change, "", most).0;
            assert_eq!(page.contains("left out"), left_out > 0);
            assert_eq!(page.matches("class=\"line ").count() + left_out, lines + 3);
            if left_out > 0 {
                assert!(page.contains(&format!("{left_out} more lines")), "{lines} {most}");
            }
            assert!(page.trim_end_matches("</div>").ends_with("]</bdi></span>"), "the end is in sight");
        }
    }
}
