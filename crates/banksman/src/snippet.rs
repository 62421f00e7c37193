//! A place in a text by someone else, underlined.

use banksman_core::Span;

use crate::display::{Visible, cut, width};

/// The line that a span begins in, with the span underlined, each behind a gutter with the line's number.
///
/// The text is made visible first and the underline counted in columns of what is shown, so it stays under what it
/// is about whatever the text holds. A long line is cut around the span.
pub(crate) fn underline(text: &str, span: Span, columns: usize) -> Vec<String> {
    let (start, end) = clamp(text, span);
    let before = text.get(..start).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line_end = text.get(start..).and_then(|rest| rest.find('\n')).map_or(text.len(), |at| start + at);
    let number = before.matches('\n').count() + 1;

    let shown = |from: usize, to: usize| Visible(text.get(from..to).unwrap_or_default()).to_string();
    let mut lead = shown(line_start, start);
    let marked = shown(start, end.min(line_end).max(start));
    let rest = shown(end.min(line_end).max(start), line_end);

    let gutter = format!("{number:>4} | ");
    let room = columns.saturating_sub(gutter.len()).max(20);
    let lead_room = room.saturating_sub(width(&marked).min(room / 2)) / 2;
    if width(&lead) + width(&marked) > room && width(&lead) > lead_room {
        lead = format!("…{}", tail(&lead, lead_room.saturating_sub(1)));
    }
    let line = cut(&format!("{lead}{marked}{rest}"), room);
    let carets = width(&marked).max(1).min(room.saturating_sub(width(&lead)).max(1));
    let more = if end > line_end { " …" } else { "" };
    vec![
        format!("{gutter}{line}"),
        format!("{:>4} | {}{}{more}", "", " ".repeat(width(&lead)), "^".repeat(carets)),
    ]
}

/// The end of a text, at most so many columns of it.
fn tail(text: &str, most: usize) -> String {
    let mut taken = 0;
    let mut kept: Vec<char> = text
        .chars()
        .rev()
        .take_while(|c| {
            taken += width(c.encode_utf8(&mut [0; 4]));
            taken <= most
        })
        .collect();
    kept.reverse();
    kept.into_iter().collect()
}

/// The span within the text, on character boundaries.
fn clamp(text: &str, span: Span) -> (usize, usize) {
    let floor = |at: u32| {
        let mut at = (at as usize).min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let start = floor(span.start);
    (start, floor(span.end).max(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, start: u32, end: u32) -> String {
        underline(text, Span { start, end }, 40).join("\n")
    }

    #[test]
    fn the_span_is_underlined() {
        assert_eq!(shown("git push -f origin", 9, 11), "   1 | git push -f origin\n     |          ^^");
    }

    #[test]
    fn the_line_that_it_begins_in_is_shown() {
        assert_eq!(shown("echo a\nrm -rf /\nls", 7, 18), "   2 | rm -rf /\n     | ^^^^^^^^ …");
    }

    #[test]
    fn what_hides_is_counted_as_it_is_shown() {
        assert_eq!(shown("\u{1b}[2Jrm x", 4, 6), "   1 | \\u{1b}[2Jrm x\n     |          ^^");
        assert_eq!(shown("日本 rm", 7, 9), "   1 | 日本 rm\n     |      ^^");
    }

    #[test]
    fn a_long_line_is_cut_around_the_span() {
        let text = format!("{}rm -rf /{}", "x".repeat(100), "y".repeat(100));
        let lines = underline(&text, Span { start: 100, end: 108 }, 40);
        assert!(lines.iter().all(|line| width(line) <= 40), "{lines:?}");
        let [line, marks] = lines.as_slice() else { panic!("{lines:?}") };
        let at = marks.find('^').unwrap();
        assert!(line.chars().skip(at).collect::<String>().starts_with("rm -rf /"), "{lines:?}");
    }

    #[test]
    fn a_span_that_does_not_fit_is_no_reason_to_fail() {
        for (start, end) in [(0, 0), (5, 2), (900, 999), (1, 2), (0, u32::MAX)] {
            for text in ["", "é", "a\nb", "日本語"] {
                assert_eq!(underline(text, Span { start, end }, 40).len(), 2);
            }
        }
    }
}
