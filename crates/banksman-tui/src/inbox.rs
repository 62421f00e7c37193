//! What waits: its order, what of it is wanted, where the cursor is, what is marked.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use banksman_core::wire::ActionView;
use banksman_core::{ActionId, Risk};

use crate::input::Input;

/// In which order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Sort {
    /// What triage calls urgent, then what expires first, then the worst.
    #[default]
    Deadline,
    /// The worst first, then what expires first.
    Risk,
    /// The oldest first.
    Age,
}

impl Sort {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Deadline => "deadline",
            Self::Risk => "risk",
            Self::Age => "age",
        }
    }

    fn next(self) -> Self {
        match self {
            Self::Deadline => Self::Risk,
            Self::Risk => Self::Age,
            Self::Age => Self::Deadline,
        }
    }

    fn arrange(self, actions: &mut [ActionView]) {
        let priority =
            |action: &ActionView| action.assessment.triage.as_ref().and_then(|triage| triage.priority);
        let deadline = |action: &ActionView| (action.expires_at.is_none(), action.expires_at);
        let risk = |action: &ActionView| Reverse(action.verdict.risk);
        match self {
            Self::Deadline => actions
                .sort_by_key(|action| (Reverse(priority(action)), deadline(action), risk(action), action.id)),
            Self::Risk => actions.sort_by_key(|action| (risk(action), deadline(action), action.id)),
            Self::Age => actions.sort_by_key(|action| action.id),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Inbox {
    /// All that is known to wait, in order.
    actions: Vec<ActionView>,
    /// Whether more waits than was fetched.
    pub(crate) more: bool,
    pub(crate) sort: Sort,
    /// The filter in force, and whether it is being typed.
    pub(crate) filter: Input,
    pub(crate) is_typing: bool,
    /// The action under the cursor, and the row that it was in: the cursor stays with the action.
    cursor: Option<ActionId>,
    row: usize,
    marked: BTreeSet<ActionId>,
}

impl Inbox {
    /// Takes a fresh list.
    pub(crate) fn load(&mut self, actions: Vec<ActionView>, more: bool) {
        self.actions = actions;
        self.more = more;
        self.sort.arrange(&mut self.actions);
        let known: BTreeSet<ActionId> = self.actions.iter().map(|action| action.id).collect();
        self.marked.retain(|id| known.contains(id));
        self.settle();
    }

    pub(crate) fn all(&self) -> &[ActionView] {
        &self.actions
    }

    pub(crate) fn count(&self, risk: Risk) -> usize {
        self.actions.iter().filter(|action| action.verdict.risk == risk).count()
    }

    /// What is wanted, in order.
    pub(crate) fn shown(&self) -> Vec<&ActionView> {
        self.actions.iter().filter(|action| wants(self.filter.text(), action)).collect()
    }

    pub(crate) fn current(&self) -> Option<&ActionView> {
        let id = self.cursor?;
        self.actions.iter().find(|action| action.id == id)
    }

    pub(crate) fn row(&self) -> usize {
        self.row
    }

    pub(crate) fn is_marked(&self, id: ActionId) -> bool {
        self.marked.contains(&id)
    }

    /// What is marked, in order.
    pub(crate) fn marked(&self) -> Vec<&ActionView> {
        self.actions.iter().filter(|action| self.marked.contains(&action.id)).collect()
    }

    pub(crate) fn turn_mark(&mut self) {
        if let Some(id) = self.cursor
            && !self.marked.remove(&id)
        {
            self.marked.insert(id);
        }
    }

    pub(crate) fn clear_marks(&mut self) {
        self.marked.clear();
    }

    pub(crate) fn unmark(&mut self, id: ActionId) {
        self.marked.remove(&id);
    }

    /// Marks what came in the same batch as the action under the cursor. Whether there is a batch.
    pub(crate) fn mark_batch(&mut self) -> bool {
        let Some(batch) = self.current().and_then(|action| action.batch) else { return false };
        let same = self.actions.iter().filter(|action| action.batch == Some(batch)).map(|action| action.id);
        self.marked.extend(same.collect::<Vec<_>>());
        true
    }

    /// Moves the cursor by so many rows.
    pub(crate) fn step(&mut self, by: isize) {
        self.go_to(self.row.saturating_add_signed(by));
    }

    /// Puts the cursor on a row, or on the last one.
    pub(crate) fn go_to(&mut self, row: usize) {
        let shown = self.shown();
        let row = row.min(shown.len().saturating_sub(1));
        let cursor = shown.get(row).map(|action| action.id);
        (self.row, self.cursor) = (row, cursor);
    }

    pub(crate) fn sort_otherwise(&mut self) {
        self.sort = self.sort.next();
        self.sort.arrange(&mut self.actions);
        self.settle();
    }

    /// Finds the cursor's action again. If it is gone, the cursor stays in its row.
    pub(crate) fn settle(&mut self) {
        let row = self.shown().iter().position(|action| Some(action.id) == self.cursor);
        self.go_to(row.unwrap_or(self.row));
    }
}

/// Whether an action fits all words of a filter: `agent:`, `tool:`, `tier:` and `risk:` ask for one thing, any other
/// word may be anywhere.
fn wants(filter: &str, action: &ActionView) -> bool {
    let has = |text: &str, word: &str| text.to_lowercase().contains(word);
    filter.to_lowercase().split_whitespace().all(|word| match word.split_once(':') {
        Some(("agent", name)) => has(&action.agent, name),
        Some(("tool", name)) => has(&action.tool, name),
        Some(("tier", name)) => action.verdict.tier.as_str().starts_with(name),
        Some(("risk", name)) => action.verdict.risk.as_str().starts_with(name),
        Some(_) | None => {
            has(&action.tool, word)
                || has(&action.agent, word)
                || has(action.args.as_str(), word)
                || has(&action.id.to_string(), word)
                || action.context.description.as_deref().is_some_and(|text| has(text, word))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::sample;

    fn inbox() -> Inbox {
        let mut inbox = Inbox::default();
        let actions = (0..4).map(|number| sample::numbered(number, Risk::ALL[number + 1])).collect();
        inbox.load(actions, false);
        inbox
    }

    fn rows(inbox: &Inbox) -> Vec<usize> {
        inbox.shown().iter().map(|action| sample::number_of(action)).collect()
    }

    #[test]
    fn what_expires_first_comes_first_and_other_orders_are_a_key_away() {
        let mut inbox = inbox();
        assert_eq!(rows(&inbox), [3, 2, 1, 0]);
        inbox.sort_otherwise();
        assert_eq!((inbox.sort, rows(&inbox)), (Sort::Risk, vec![3, 2, 1, 0]));
        inbox.sort_otherwise();
        assert_eq!((inbox.sort, rows(&inbox)), (Sort::Age, vec![0, 1, 2, 3]));
    }

    #[test]
    fn the_cursor_stays_with_its_action() {
        let mut inbox = inbox();
        inbox.go_to(2);
        let chosen = inbox.current().unwrap().id;
        inbox.sort_otherwise();
        inbox.sort_otherwise();
        assert_eq!((inbox.current().unwrap().id, inbox.row()), (chosen, 1));
        let rest: Vec<ActionView> =
            inbox.all().iter().filter(|action| action.id != chosen).cloned().collect();
        inbox.load(rest, false);
        assert_eq!(inbox.row(), 1);
        assert_ne!(inbox.current().unwrap().id, chosen);
        inbox.load(Vec::new(), false);
        assert!(inbox.current().is_none());
    }

    #[test]
    fn marks_go_with_what_they_mark() {
        let mut inbox = inbox();
        inbox.turn_mark();
        inbox.step(1);
        inbox.turn_mark();
        assert_eq!(inbox.marked().len(), 2);
        let rest = inbox.all()[1..].to_vec();
        inbox.load(rest, false);
        assert_eq!(inbox.marked().len(), 1);
        inbox.turn_mark();
        assert_eq!(inbox.marked().len(), 0);
    }

    #[test]
    fn a_filter_asks_for_words_and_for_fields() {
        let action = sample::action();
        for wanted in
            ["", "refund", "REFUND 899", "agent:support", "tool:refund tier:esc", "risk:high", "p0r1sb"]
        {
            assert!(wants(wanted, &action), "{wanted}");
        }
        for unwanted in ["mail", "agent:other", "tier:approve", "risk:low", "refund mail", "tool:899"] {
            assert!(!wants(unwanted, &action), "{unwanted}");
        }
    }
}
