//! The dialog about one action.

use std::time::Duration;

use banksman_core::json::CanonicalJson;
use banksman_core::{Decision, Timestamp};
use ratatui::text::Line;

use crate::document;
use crate::input::Input;
use crate::paint::Paint;
use crate::subject::Subject;

/// A key that comes sooner was not pressed in answer to the question: nobody has read it yet.
pub(crate) const READING_TIME: Duration = Duration::from_millis(300);

/// How far the answer has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// A key decides.
    Ask,
    /// Words are being typed for this decision.
    Say { decision: Decision, words: Input },
    /// It is on its way.
    Sending,
}

#[derive(Debug)]
pub(crate) struct Deciding {
    pub(crate) subject: Subject,
    /// Arguments that a person changed, to run instead.
    pub(crate) edit: Option<CanonicalJson>,
    pub(crate) step: Step,
    pub(crate) opened: Timestamp,
    /// What went wrong with the last try, made visible.
    pub(crate) problem: Option<String>,
    pub(crate) text: Scroll,
}

impl Deciding {
    pub(crate) fn new(subject: Subject, edit: Option<CanonicalJson>, step: Step, now: Timestamp) -> Self {
        Self { subject, edit, step, opened: now, problem: None, text: Scroll::default() }
    }

    /// What approving means here.
    pub(crate) fn approval(&self) -> Decision {
        if self.edit.is_some() { Decision::Modify } else { Decision::Approve }
    }

    pub(crate) fn lay_out(&mut self, paint: Paint, width: usize) {
        let action = self.subject.shown();
        let lines = match &self.edit {
            Some(args) => document::edit(action, args, paint, width),
            None => document::question(action, paint, width),
        };
        self.text.replace(lines);
    }

    /// Why a yes does not count yet, if that is so.
    pub(crate) fn too_early(&self, now: Timestamp) -> Option<&'static str> {
        if now.since(self.opened) < READING_TIME {
            return Some("That key came before the question was on the screen.");
        }
        (!self.text.was_seen_to_the_end()).then_some("There is more below: read to the end first.")
    }
}

/// Lines that may not fit, how far they are scrolled, and how far they have been on the screen.
#[derive(Debug, Default)]
pub(crate) struct Scroll {
    pub(crate) lines: Vec<Line<'static>>,
    pub(crate) top: usize,
    room: usize,
    seen: usize,
}

impl Scroll {
    /// Takes other lines in place of these. What was seen of the old ones is not seen of the new ones.
    pub(crate) fn replace(&mut self, lines: Vec<Line<'static>>) {
        self.lines = lines;
        self.seen = 0;
        self.show_in(self.room);
    }

    /// There are so many rows to show them in.
    pub(crate) fn show_in(&mut self, room: usize) {
        self.room = room;
        self.top = self.top.min(self.lines.len().saturating_sub(room));
        self.look();
    }

    pub(crate) fn scroll(&mut self, by: isize) {
        let last = self.lines.len().saturating_sub(self.room);
        self.top = self.top.saturating_add_signed(by).min(last);
        self.look();
    }

    /// Scrolls as little as it takes to show these lines.
    pub(crate) fn show(&mut self, from: usize, to: usize) {
        if to > self.top + self.room {
            self.top = to.saturating_sub(self.room);
        }
        if from < self.top {
            self.top = from;
        }
        self.scroll(0);
    }

    pub(crate) fn page(&self) -> isize {
        isize::try_from(self.room.saturating_sub(1).max(1)).unwrap_or(1)
    }

    /// Only what follows without a gap counts: who jumps to the end has not read the middle.
    fn look(&mut self) {
        if self.top <= self.seen {
            self.seen = self.seen.max(self.top + self.room);
        }
    }

    pub(crate) fn was_seen_to_the_end(&self) -> bool {
        self.seen >= self.lines.len()
    }

    /// How many lines are below.
    pub(crate) fn below(&self) -> usize {
        self.lines.len().saturating_sub(self.top + self.room)
    }

    pub(crate) fn visible(&self) -> &[Line<'static>] {
        let end = (self.top + self.room).min(self.lines.len());
        self.lines.get(self.top..end).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scroll(lines: usize, room: usize) -> Scroll {
        let mut scroll = Scroll::default();
        scroll.replace(vec![Line::default(); lines]);
        scroll.show_in(room);
        scroll
    }

    #[test]
    fn what_fits_is_seen_and_what_does_not_has_to_be_scrolled_through() {
        assert!(scroll(5, 5).was_seen_to_the_end());
        let mut long = scroll(12, 5);
        assert!(!long.was_seen_to_the_end());
        long.scroll(isize::MAX);
        assert_eq!((long.top, long.below()), (7, 0));
        assert!(!long.was_seen_to_the_end(), "the middle was skipped");
        long.scroll(-100);
        long.scroll(long.page());
        long.scroll(long.page());
        assert!(long.was_seen_to_the_end());
        long.replace(vec![Line::default(); 12]);
        assert!(!long.was_seen_to_the_end(), "other lines have not been seen");
    }

    #[test]
    fn a_smaller_window_loses_no_place() {
        let mut long = scroll(12, 5);
        long.scroll(3);
        long.show_in(10);
        assert_eq!(long.top, 2);
        long.show_in(2);
        long.show(11, 12);
        assert_eq!((long.top, long.visible().len()), (10, 2));
        long.show(0, 1);
        assert_eq!(long.top, 0);
    }
}
