//! A text with the stretches underlined that an analyser pointed at, folded if it is long.

use std::fmt::Write as _;

use banksman_review::{Numbered, Stretch, stretches};
use maud::{Markup, PreEscaped};

use crate::text::{Breaks, push};

/// What stays in sight of a long text, at its start and at its end: so many bytes, and no more than so many lines.
const HEAD: usize = 1600;
const TAIL: usize = 600;
const HEAD_LINES: usize = 40;
const TAIL_LINES: usize = 12;

/// Longer texts, and those of more lines, fold.
const MOST_BYTES: usize = HEAD + TAIL + 400;
const MOST_LINES: usize = 60;

/// Whether a text is so long that its middle is folded.
pub(crate) fn folds(text: &str) -> bool {
    middle(text).is_some()
}

/// Where the part begins and ends that is folded, if any is.
fn middle(text: &str) -> Option<(usize, usize)> {
    let breaks: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
    if text.len() <= MOST_BYTES && breaks.len() < MOST_LINES {
        return None;
    }
    let head = breaks.get(HEAD_LINES - 1).copied().unwrap_or(text.len());
    let tail = breaks.len().checked_sub(TAIL_LINES).and_then(|at| breaks.get(at).copied()).unwrap_or(0);
    Some((floor(text, HEAD).min(head), floor(text, text.len().saturating_sub(TAIL)).max(tail)))
}

/// The text, with what was found in it underlined.
pub(crate) fn marked(text: &str, findings: &[Numbered<'_>]) -> Markup {
    let stretches = stretches(text, findings);
    let mut out = String::from("<bdi>");
    if let Some((head, tail)) = middle(text) {
        let hides_a_mark = stretches
            .iter()
            .any(|stretch| stretch.level.is_some() && stretch.start < tail && stretch.end > head);
        stretches.iter().for_each(|stretch| draw(&mut out, text, stretch, 0, head));
        // What was found must not be folded away with what was not.
        let open = if hides_a_mark { " open" } else { "" };
        let folded = text.get(head..tail).unwrap_or_default();
        let (more, lines) = (folded.chars().count(), folded.matches('\n').count());
        let _ = write!(out, "<details class=\"fold\"{open}><summary>{more} more characters in between");
        if lines > 0 {
            let _ = write!(out, ", {lines} lines");
        }
        out.push_str("</summary>");
        stretches.iter().for_each(|stretch| draw(&mut out, text, stretch, head, tail));
        out.push_str("</details>");
        stretches.iter().for_each(|stretch| draw(&mut out, text, stretch, tail, text.len()));
    } else {
        stretches.iter().for_each(|stretch| draw(&mut out, text, stretch, 0, text.len()));
    }
    out.push_str("</bdi>");
    PreEscaped(out)
}

/// Draws the part of a stretch that lies within the window.
fn draw(out: &mut String, text: &str, stretch: &Stretch, from: usize, to: usize) {
    let (start, end) = (stretch.start.max(from), stretch.end.min(to));
    let Some(part) = text.get(start..end).filter(|part| !part.is_empty()) else { return };
    match stretch.level {
        None => push(out, part, Breaks::Kept),
        Some(level) => {
            let _ = write!(out, "<mark class=\"risky {}\">", level.as_str());
            push(out, part, Breaks::Kept);
            out.push_str("</mark>");
        }
    }
    if end == stretch.end {
        for number in &stretch.ending {
            let _ = write!(out, "<sup class=\"note\">{number}</sup>");
        }
    }
}

/// The nearest character boundary at or before a byte.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use banksman_core::{Finding, Risk, Span};
    use banksman_review::numbered;

    use super::*;

    fn found(level: Risk, start: u32, end: u32) -> Finding {
        Finding { span: Some(Span { start, end }), ..Finding::new("rule", level, "why") }
    }

    fn shown(text: &str, findings: &[Finding]) -> String {
        marked(text, &numbered(findings)).0
    }

    #[test]
    fn what_was_found_is_underlined_and_numbered() {
        assert_eq!(
            shown("git push -f", &[found(Risk::High, 9, 11)]),
            "<bdi>git push <mark class=\"risky high\">-f</mark><sup class=\"note\">1</sup></bdi>"
        );
    }

    #[test]
    fn marks_that_overlap_keep_the_text_in_order() {
        let page = shown("abcdef", &[found(Risk::Low, 0, 4), found(Risk::High, 2, 6)]);
        assert_eq!(
            page,
            "<bdi><mark class=\"risky low\">ab</mark><mark class=\"risky high\">cd</mark><sup class=\"note\">1</sup>\
             <mark class=\"risky high\">ef</mark><sup class=\"note\">2</sup></bdi>"
        );
    }

    #[test]
    fn spans_that_do_not_fit_do_no_harm() {
        for (start, end) in [(0, 99), (99, 100), (3, 1), (1, 2)] {
            let page = shown("é<é", &[found(Risk::High, start, end)]);
            let plain: String = page
                .split('<')
                .map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text))
                .collect::<String>()
                .replace('1', "");
            assert_eq!(plain, "é&lt;é", "{start}..{end}: {page}");
        }
    }

    #[test]
    fn a_long_text_folds_in_the_middle_and_shows_its_end() {
        let text = format!("{}the end", "word ".repeat(2000));
        let page = shown(&text, &[]);
        assert!(page.contains("<details class=\"fold\"><summary>"), "{page}");
        assert!(page.ends_with("the end</bdi>"));
        let (start, end) = (5000, 5004);
        assert!(shown(&text, &[found(Risk::High, start, end)]).contains("<details class=\"fold\" open>"));
    }
    #[test]
    fn many_lines_fold_like_many_characters() {
        let lines = |count: usize| (0..count).map(|n| format!("line {n}\n")).collect::<String>() + "the end";
        assert!(!folds(&lines(59)) && folds(&lines(60)));
        for text in [lines(60), lines(2_300), format!("{}the end", "\n".repeat(2_300)), "x\n".repeat(1_500)] {
            let page = shown(&text, &[]);
            assert!(page.contains("<details class=\"fold\"><summary>"), "{page}");
            let (before, after) = page.split_once("<details").unwrap();
            let after = after.rsplit_once("</details>").unwrap().1;
            assert!(before.lines().count() + after.lines().count() < MOST_LINES, "{page}");
            assert!(after.trim_end().ends_with("</bdi>"));
        }
    }
}
