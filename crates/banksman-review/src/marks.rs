//! The stretches of a text that an analyser pointed at.

use banksman_core::{Finding, Risk};

/// A finding, with the number that a surface gives it.
#[derive(Debug, Clone, Copy)]
pub struct Numbered<'a> {
    /// From one.
    pub number: usize,
    /// What was found.
    pub finding: &'a Finding,
}

/// Numbers findings, for the list and for the marks in the text.
#[must_use]
pub fn numbered(findings: &[Finding]) -> Vec<Numbered<'_>> {
    findings.iter().enumerate().map(|(at, finding)| Numbered { number: at + 1, finding }).collect()
}

/// A stretch of a text under the same marks. Stretches follow each other without gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// Where it begins, in bytes, on a character boundary.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// The worst that was found here, if anything was.
    pub level: Option<Risk>,
    /// Numbers of the findings that end here.
    pub ending: Vec<usize>,
}

/// The whole text in stretches, with what was found in it.
#[must_use]
pub fn stretches(text: &str, findings: &[Numbered<'_>]) -> Vec<Stretch> {
    let spans: Vec<(usize, usize, &Numbered<'_>)> = findings
        .iter()
        .filter_map(|found| {
            let span = found.finding.span?;
            let (start, end) = (floor(text, span.start as usize), ceiling(text, span.end as usize));
            (start < end).then_some((start, end, found))
        })
        .collect();
    let mut cuts: Vec<usize> = spans.iter().flat_map(|(start, end, _)| [*start, *end]).collect();
    cuts.extend([0, text.len()]);
    cuts.sort_unstable();
    cuts.dedup();
    cuts.windows(2)
        .filter_map(|pair| if let [start, end] = pair { Some((*start, *end)) } else { None })
        .map(|(start, end)| {
            let over = spans.iter().filter(|(from, to, _)| *from <= start && end <= *to);
            Stretch {
                start,
                end,
                level: over.clone().map(|(_, _, found)| found.finding.level).max(),
                ending: over.filter(|(_, to, _)| *to == end).map(|(_, _, found)| found.number).collect(),
            }
        })
        .collect()
}

/// The nearest character boundary at or before a byte: what an analyser says about one text may be shown with another.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The nearest character boundary at or behind a byte.
fn ceiling(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use banksman_core::Span;

    use super::*;

    #[test]
    fn stretches_follow_each_other_whatever_the_spans() {
        for text in ["", "é<é", "日本 rm", "abcdef"] {
            for (start, end) in [(0, 0), (0, 99), (99, 100), (3, 1), (1, 2), (2, 6)] {
                let finding =
                    Finding { span: Some(Span { start, end }), ..Finding::new("rule", Risk::High, "why") };
                let findings = [finding];
                let found = stretches(text, &numbered(&findings));
                let joined: String = found.iter().map(|stretch| &text[stretch.start..stretch.end]).collect();
                assert_eq!(joined, text, "{start}..{end}");
            }
        }
    }
}
