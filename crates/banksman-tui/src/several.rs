//! The dialog about several actions at once: every one of them in sight, each with its own answer.

use banksman_core::{ActionId, Decision, Timestamp};
use ratatui::text::Line;

use crate::deciding::{READING_TIME, Scroll, Step};
use crate::document;
use crate::paint::{Paint, Tone, foreign};
use crate::sheet::Sheet;
use crate::subject::Subject;

#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) subject: Subject,
    /// Whether the decision is about this one too.
    pub(crate) chosen: bool,
    pub(crate) answer: Answer,
}

/// What came of the decision about one item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    None,
    Sent,
    /// In a few words, made visible.
    Done(String),
    Refused(String),
}

#[derive(Debug)]
pub(crate) struct Several {
    pub(crate) items: Vec<Item>,
    pub(crate) cursor: usize,
    pub(crate) step: Step,
    pub(crate) opened: Timestamp,
    pub(crate) text: Scroll,
    /// Where each item begins among the lines, and where the last one ends.
    starts: Vec<usize>,
    paint: Paint,
    width: usize,
}

impl Several {
    pub(crate) fn new(subjects: Vec<Subject>, step: Step, now: Timestamp, paint: Paint) -> Self {
        let items = subjects
            .into_iter()
            .map(|subject| Item { subject, chosen: true, answer: Answer::None })
            .collect();
        Self {
            items,
            cursor: 0,
            step,
            opened: now,
            text: Scroll::default(),
            starts: Vec::new(),
            paint,
            width: 0,
        }
    }

    /// Writes all items anew. What has been read stays read if only the heads of items changed.
    pub(crate) fn lay_out(&mut self, width: usize) {
        let mut sheet = Sheet::new(self.paint, width);
        self.starts.clear();
        for (position, item) in self.items.iter().enumerate() {
            if position > 0 {
                sheet.blank();
            }
            self.starts.push(sheet.len());
            sheet.own(Tone::Bold, "");
            document::item(&mut sheet, item.subject.shown());
        }
        self.starts.push(sheet.len());
        self.width = width;
        self.text.replace(sheet.into_lines());
    }

    /// The line that begins an item: what it is, whether it is chosen, what became of it.
    pub(crate) fn head(&self, position: usize, now: Timestamp) -> Option<Line<'static>> {
        let item = self.items.get(position)?;
        let action = item.subject.shown();
        let at = if position == self.cursor { '>' } else { ' ' };
        let mark = if item.chosen { "[x]" } else { "[ ]" };
        let (tone, said) = match &item.answer {
            Answer::Done(words) => (Tone::Fine, words.clone()),
            Answer::Refused(words) => (Tone::Alarm, words.clone()),
            Answer::Sent => (Tone::Faint, "sent ...".into()),
            Answer::None => match item.subject.objection(Decision::Approve, now) {
                Some(objection) => (Tone::Alarm, objection),
                None => (action.verdict.risk.into(), action.verdict.risk.as_str().to_uppercase()),
            },
        };
        let head = format!("{at} {mark} {}. {}  ", position + 1, foreign(&action.tool));
        let room = self.width.saturating_sub(banksman_core::visible::width(&head)).max(12);
        let said = banksman_core::visible::cut(&said, room);
        let head = banksman_core::visible::cut(
            &head,
            self.width.saturating_sub(banksman_core::visible::width(&said)),
        );
        Some(vec![self.paint.span(Tone::Bold, head), self.paint.span(tone, said)].into())
    }

    /// Which item begins in this line.
    pub(crate) fn item_at(&self, line: usize) -> Option<usize> {
        let position = self.starts.iter().position(|start| *start == line)?;
        (position < self.items.len()).then_some(position)
    }

    /// Moves the cursor, and shows the item that it is on.
    pub(crate) fn step_to(&mut self, by: isize) {
        self.cursor = self.cursor.saturating_add_signed(by).min(self.items.len().saturating_sub(1));
        if let (Some(from), Some(to)) = (self.starts.get(self.cursor), self.starts.get(self.cursor + 1)) {
            self.text.show(*from, *to);
        }
    }

    pub(crate) fn turn_choice(&mut self) {
        if let Some(item) = self.items.get_mut(self.cursor).filter(|item| item.answer == Answer::None) {
            item.chosen = !item.chosen;
        }
    }

    /// The items that this decision, taken now, is about.
    pub(crate) fn open(&self, decision: Decision, now: Timestamp) -> impl Iterator<Item = &Item> {
        let can = move |item: &&Item| {
            item.chosen && item.answer == Answer::None && item.subject.objection(decision, now).is_none()
        };
        self.items.iter().filter(can)
    }

    /// Whether policy asks for a reason for any of them.
    pub(crate) fn needs_reason(&self, decision: Decision, now: Timestamp) -> bool {
        self.open(decision, now).any(|item| item.subject.shown().verdict.require_reason)
    }

    /// Why a yes does not count yet, if that is so.
    pub(crate) fn too_early(&self, now: Timestamp) -> Option<&'static str> {
        if now.since(self.opened) < READING_TIME {
            return Some("That key came before the question was on the screen.");
        }
        (!self.text.was_seen_to_the_end()).then_some("There is more below: read to the end first.")
    }

    pub(crate) fn item_mut(&mut self, id: ActionId) -> Option<&mut Item> {
        self.items.iter_mut().find(|item| item.subject.id() == id)
    }

    /// Whether every decision that was sent has been answered.
    pub(crate) fn is_answered(&self) -> bool {
        !self.items.iter().any(|item| item.answer == Answer::Sent)
    }

    /// The requests for a decision about all open items, which then wait for their answers.
    pub(crate) fn send(
        &mut self,
        decision: Decision,
        reason: Option<String>,
        now: Timestamp,
    ) -> Vec<(ActionId, banksman_core::wire::DecisionRequest)> {
        let ids: Vec<ActionId> = self.open(decision, now).map(|item| item.subject.id()).collect();
        let mut orders = Vec::new();
        for id in ids {
            if let Some(item) = self.item_mut(id) {
                item.answer = Answer::Sent;
                let request = item.subject.request(decision);
                orders.push((id, banksman_core::wire::DecisionRequest { reason: reason.clone(), ..request }));
            }
        }
        orders
    }
}
