//! Where a text came from, so that what is found in it can be shown in what the reviewer sees.

use std::ops::Range;

use banksman_core::Span;

/// The place of a text inside the outermost one.
///
/// Code inside code (`bash -c '...'`) is found at its own place as long as it stands there verbatim; once quoting,
/// variables or decoding have changed it, everything in it is shown at the place of the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origin {
    start: usize,
    end: usize,
    verbatim: bool,
}

impl Origin {
    /// A text that is the outermost one.
    pub(crate) const fn whole(text: &str) -> Self {
        Self { start: 0, end: text.len(), verbatim: true }
    }

    /// The span of a stretch of this text, in the outermost one.
    pub(crate) fn span(self, range: Range<usize>) -> Span {
        let (start, end) = if self.verbatim {
            (
                self.start.saturating_add(range.start).min(self.end),
                self.start.saturating_add(range.end).min(self.end),
            )
        } else {
            (self.start, self.end)
        };
        Span { start: clamp(start), end: clamp(end) }
    }

    /// The place of a text that stands verbatim at a stretch of this one.
    pub(crate) fn verbatim(self, range: Range<usize>) -> Self {
        if self.verbatim { Self::at(self.span(range), true) } else { self }
    }

    /// The place of a text that was made from a stretch of this one.
    pub(crate) fn derived(self, range: Range<usize>) -> Self {
        Self::at(self.span(range), false)
    }

    /// The place of a text that was made from what stands at a span.
    pub(crate) fn of_span(span: Span) -> Self {
        Self::at(span, false)
    }

    fn at(span: Span, verbatim: bool) -> Self {
        Self { start: span.start as usize, end: span.end as usize, verbatim }
    }
}

fn clamp(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}
