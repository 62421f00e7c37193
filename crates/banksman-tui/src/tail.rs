//! The end of the audit log, as it grows.

use std::collections::VecDeque;

use banksman_core::Timestamp;

/// Older lines are for `banksman audit query`.
const MOST: usize = 2_000;

/// An event in a line. The texts are others' words, as they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) seq: u64,
    pub(crate) at: Option<Timestamp>,
    pub(crate) kind: String,
    pub(crate) by: String,
    pub(crate) what: String,
}

#[derive(Debug, Default)]
pub(crate) struct Tail {
    entries: VecDeque<Entry>,
    /// How many newer lines are out of sight, because someone reads older ones.
    behind: usize,
}

impl Tail {
    pub(crate) fn add(&mut self, entry: Entry) {
        if self.entries.back().is_some_and(|last| last.seq >= entry.seq) {
            return;
        }
        self.entries.push_back(entry);
        if self.behind > 0 {
            self.behind += 1;
        }
        if self.entries.len() > MOST {
            self.entries.pop_front();
        }
        self.scroll(0);
    }

    /// Towards older lines by so many, or back.
    pub(crate) fn scroll(&mut self, by: isize) {
        self.behind = self.behind.saturating_add_signed(by).min(self.entries.len().saturating_sub(1));
    }

    pub(crate) fn behind(&self) -> usize {
        self.behind
    }

    /// The lines in sight, oldest first.
    pub(crate) fn window(&self, rows: usize) -> impl Iterator<Item = &Entry> {
        let end = self.entries.len() - self.behind;
        self.entries.range(end.saturating_sub(rows)..end)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(seq: u64) -> Entry {
        Entry { seq, at: None, kind: String::new(), by: String::new(), what: String::new() }
    }

    fn seen(tail: &Tail) -> Vec<u64> {
        tail.window(3).map(|entry| entry.seq).collect()
    }

    #[test]
    fn it_follows_until_someone_reads_older_lines() {
        let mut tail = Tail::default();
        (1..=5).for_each(|seq| tail.add(entry(seq)));
        assert_eq!(seen(&tail), [3, 4, 5]);
        tail.scroll(1);
        tail.add(entry(6));
        assert_eq!(seen(&tail), [2, 3, 4]);
        tail.scroll(-100);
        assert_eq!(seen(&tail), [4, 5, 6]);
        tail.scroll(100);
        assert_eq!(seen(&tail), [1]);
    }

    #[test]
    fn what_comes_twice_is_there_once_and_what_is_old_goes() {
        let mut tail = Tail::default();
        for seq in [1, 2, 2, 1, 3] {
            tail.add(entry(seq));
        }
        assert_eq!(seen(&tail), [1, 2, 3]);
        (4..4_000).for_each(|seq| tail.add(entry(seq)));
        assert_eq!(tail.entries.len(), MOST);
    }
}
