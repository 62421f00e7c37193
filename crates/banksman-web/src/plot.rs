//! Plots, drawn by us: rectangles only. Words and numbers stand beside them as text, in a size that does not shrink with
//! the picture, and everything that a picture shows is in a table too.

use maud::{Markup, html};

/// One kind of thing in a plot: how it is coloured, and what it is called.
#[derive(Clone, Copy)]
pub(crate) struct Series {
    pub(crate) class: &'static str,
    pub(crate) name: &'static str,
}

/// A stretch of time, or a bar.
pub(crate) struct Bar {
    pub(crate) label: String,
    /// As many as there are series.
    pub(crate) counts: Vec<u64>,
}

impl Bar {
    fn total(&self) -> u64 {
        self.counts.iter().sum()
    }
}

/// The size of the drawing. It is stretched to its place.
const WIDTH: u64 = 1200;
const HEIGHT: u64 = 240;

/// A part of a length.
fn scaled(part: u64, whole: u64, length: u64) -> u64 {
    part.saturating_mul(length) / whole.max(1)
}

/// Columns over time, what is in each one upon the other.
pub(crate) fn columns(id: &str, title: &str, series: &[Series], bars: &[Bar]) -> Markup {
    let highest = bars.iter().map(Bar::total).max().unwrap_or(0);
    let width = WIDTH / u64::try_from(bars.len().max(1)).unwrap_or(1);
    let sum: u64 = bars.iter().map(Bar::total).sum();
    let (heading, words) = (format!("{id}-title"), format!("{id}-words"));
    html! {
        figure.plot {
            figcaption {
                strong { (title) }
                ul.legend { @for kind in series { li { span class=(format!("swatch {}", kind.class)) aria-hidden="true" {} (kind.name) } } }
            }
            div.drawing {
                span.most aria-hidden="true" { (highest) }
                svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) preserveAspectRatio="none" role="img" aria-labelledby=(format!("{heading} {words}")) {
                    title #(heading) { (title) }
                    desc #(words) { (sum) " in all, at most " (highest) " at a time. The table below has every number." }
                    @for line in [0, HEIGHT / 2, HEIGHT - 1] { rect.line x="0" y=(line) width=(WIDTH) height="1" {} }
                    @for (at, bar) in (0..).zip(bars) {
                        @for (class, from, height) in stacked(series, bar, highest) {
                            rect class=(class) x=(at * width + 2) y=(from) width=(width.saturating_sub(4).max(1)) height=(height) {}
                        }
                    }
                }
            }
            @if let (Some(first), Some(last)) = (bars.first(), bars.last()) {
                p.ends aria-hidden="true" { span { (first.label) } span { (last.label) } }
            }
            details { summary { "The same as a table" }
                div.wide role="region" aria-label=(title) tabindex="0" {
                    table.numbers {
                        thead { tr { th scope="col" { "From" } @for kind in series { th scope="col" { (kind.name) } } } }
                        tbody { @for bar in bars { tr { th scope="row" { (bar.label) } @for count in &bar.counts { td { (count) } } } } }
                    }
                }
            }
        }
    }
}

/// What stands upon what: class, upper end, height.
fn stacked(series: &[Series], bar: &Bar, highest: u64) -> Vec<(&'static str, u64, u64)> {
    let mut below = 0;
    let mut pieces = Vec::new();
    for (kind, count) in series.iter().zip(&bar.counts) {
        let (low, high) = (scaled(below, highest, HEIGHT), scaled(below + count, highest, HEIGHT));
        below += count;
        // Something that happened is seen, however rare.
        let height = if *count == 0 { 0 } else { (high - low).max(2) };
        if height > 0 {
            pieces.push((kind.class, (HEIGHT - low).saturating_sub(height), height));
        }
    }
    pieces
}

/// A bar in a cell of a table, beside the numbers that it shows.
pub(crate) fn bar(series: &[Series], counts: &[u64], most: u64) -> Markup {
    let mut left = 0;
    let mut pieces = Vec::new();
    for (kind, count) in series.iter().zip(counts).filter(|(_, count)| **count > 0) {
        let width = scaled(*count, most, WIDTH).max(6);
        pieces.push((kind.class, left, width));
        left += width;
    }
    html! {
        svg.bar-of viewBox=(format!("0 0 {WIDTH} 10")) preserveAspectRatio="none" aria-hidden="true" focusable="false" {
            @for (class, x, width) in pieces { rect class=(class) x=(x) y="0" width=(width) height="10" {} }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERIES: &[Series] = &[Series { class: "a", name: "A" }, Series { class: "b", name: "B" }];

    fn plot(counts: &[[u64; 2]]) -> String {
        let bars: Vec<Bar> =
            counts.iter().map(|counts| Bar { label: "then".into(), counts: counts.to_vec() }).collect();
        columns("p", "Things", SERIES, &bars).into_string()
    }

    #[test]
    fn nothing_is_drawn_outside() {
        for counts in [&[[0, 0]][..], &[[u64::MAX / 4, 1], [0, 3]], &[[1, 1_000_000]], &[]] {
            let drawn = plot(counts);
            for rect in drawn.split("<rect ").skip(1) {
                let value = |name: &str| -> u64 {
                    let (_, rest) = rect.split_once(&format!("{name}=\"")).unwrap();
                    rest.split('"').next().unwrap().parse().unwrap()
                };
                assert!(value("y") + value("height") <= HEIGHT, "{rect}");
                assert!(value("x") + value("width") <= WIDTH, "{rect}");
            }
        }
    }

    #[test]
    fn what_is_rare_is_seen_and_what_is_not_there_is_not() {
        let drawn = plot(&[[1, 1_000_000], [0, 5]]);
        assert_eq!(drawn.matches("<rect class=\"a\"").count(), 1);
        assert_eq!(drawn.matches("<rect class=\"b\"").count(), 2);
    }

    #[test]
    fn every_number_is_in_the_table() {
        let drawn = plot(&[[17, 4], [0, 23]]);
        for number in [17, 4, 0, 23] {
            assert!(drawn.contains(&format!("<td>{number}</td>")), "{number}");
        }
    }
}
