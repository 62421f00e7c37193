//! Holds a log against what the ledger knows of it: the hashes of its pages, and signed checkpoints.

use std::collections::BTreeMap;

use banksman_core::Digest;
use banksman_ledger::{Checkpoint, Frontier, NoteKey, PAGE, leaf, page_hash};

/// A log as it is read, and what it has to come to.
#[derive(Debug, Default)]
pub(super) struct Sealed {
    key: Option<NoteKey>,
    log: Frontier,
    rest: Vec<Digest>,
    pages: Vec<Digest>,
    checkpoints: BTreeMap<u64, Digest>,
    /// How many checkpoints it came to, and how far the last of them goes.
    pub(super) held: u64,
    pub(super) up_to: u64,
    /// Once something does not fit, nothing after it can.
    lost: bool,
    page_lost: bool,
}

impl Sealed {
    /// With the key that checkpoints have to be signed with. Without one they are taken at their word.
    pub(super) fn with(key: Option<NoteKey>) -> Self {
        Self { key, ..Self::default() }
    }

    pub(super) const fn checks_signatures(&self) -> bool {
        self.key.is_some()
    }

    /// The hashes of the pages from the beginning on.
    pub(super) fn expect_pages(&mut self, pages: Vec<Digest>) {
        self.pages = pages;
    }

    /// A checkpoint that the log has to come to. `Err` says why it is none.
    pub(super) fn expect(&mut self, note: &str) -> Result<(), String> {
        let opened = match &self.key {
            Some(key) => Checkpoint::open(note, key),
            None => Checkpoint::unsigned(note),
        };
        let checkpoint = opened.map_err(|error| error.to_string())?;
        match self.checkpoints.insert(checkpoint.size, checkpoint.root) {
            Some(other) if other != checkpoint.root => Err(format!(
                "two checkpoints say different things of the same {} events: one of the two logs is forged",
                checkpoint.size
            )),
            Some(_) | None => Ok(()),
        }
    }

    /// The next event. Answers what does not fit.
    pub(super) fn take(&mut self, seq: u64, body: &str) -> Vec<String> {
        let mut flaws = Vec::new();
        if seq != self.log.size() + 1 {
            // Numbers that leave something out are told by whoever counts them.
            self.lost = true;
            return flaws;
        }
        let hash = leaf(body.as_bytes());
        self.log.push(hash);
        self.rest.push(hash);
        if let Some(found) = page_hash(&self.rest) {
            self.rest.clear();
            let number = seq / PAGE - 1;
            let known = usize::try_from(number).ok().and_then(|number| self.pages.get(number));
            if known.is_some_and(|known| *known != found) && !self.page_lost {
                self.page_lost = true;
                flaws.push(format!(
                    "events {} to {seq} are not those that were taken into the ledger: at least one of them was changed",
                    seq + 1 - PAGE
                ));
            }
        }
        while let Some(next) = self.checkpoints.first_entry().filter(|next| *next.key() <= seq) {
            let (size, root) = next.remove_entry();
            if self.lost {
                continue;
            }
            if size == seq && root == self.log.root() {
                self.held += 1;
                self.up_to = size;
            } else {
                self.lost = true;
                let from = self.up_to + 1;
                flaws.push(format!(
                    "events {from} to {size} are not those that were signed: something was changed, removed or inserted"
                ));
            }
        }
        flaws
    }

    /// Nothing more comes. Answers what is missing.
    pub(super) fn end(&self) -> Option<String> {
        let (last, _) = self.checkpoints.last_key_value()?;
        let size = self.log.size();
        (!self.lost && *last > size)
            .then(|| format!("it ends with event {size}, and a checkpoint covers {last}: its end is missing"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(events: u64) -> Sealed {
        let mut sealed = Sealed::default();
        for seq in 1..=events {
            assert_eq!(sealed.take(seq, &format!("event {seq}")), Vec::<String>::new());
        }
        sealed
    }

    fn note(size: u64) -> String {
        let checkpoint = Checkpoint { size, root: log(size).log.root() };
        format!("{}\n\u{2014} banksman AAAA\n", checkpoint.text())
    }

    fn read(notes: &[u64], body: impl Fn(u64) -> String, events: u64) -> (Sealed, Vec<String>) {
        let mut sealed = Sealed::default();
        for size in notes {
            sealed.expect(&note(*size)).unwrap();
        }
        let mut flaws: Vec<String> = (1..=events).flat_map(|seq| sealed.take(seq, &body(seq))).collect();
        flaws.extend(sealed.end());
        (sealed, flaws)
    }

    #[test]
    fn what_was_signed_is_found_again() {
        let (sealed, flaws) = read(&[3, 300, 512], |seq| format!("event {seq}"), 600);
        assert_eq!((sealed.held, sealed.up_to, flaws.len()), (3, 512, 0));
    }

    #[test]
    fn one_changed_event_is_one_flaw_and_said_between_which() {
        let (_, flaws) = read(&[3, 300, 512], |seq| format!("event {}", if seq == 5 { 6 } else { seq }), 600);
        assert_eq!(flaws.len(), 1, "{flaws:?}");
        assert!(flaws[0].starts_with("events 4 to 300 are not those that were signed"), "{flaws:?}");
    }

    #[test]
    fn an_end_that_is_missing_is_missed() {
        let (_, flaws) = read(&[300], |seq| format!("event {seq}"), 299);
        assert_eq!(flaws, ["it ends with event 299, and a checkpoint covers 300: its end is missing"]);
    }

    #[test]
    fn a_page_says_where() {
        let mut sealed = Sealed::default();
        let leaves: Vec<Digest> = (1..=256).map(|seq| leaf(format!("event {seq}").as_bytes())).collect();
        sealed.expect_pages(vec![page_hash(&leaves).unwrap(), page_hash(&leaves).unwrap()]);
        let flaws: Vec<String> =
            (1..=600).flat_map(|seq| sealed.take(seq, &format!("event {seq}"))).collect();
        assert_eq!(flaws.len(), 1, "{flaws:?}");
        assert!(flaws[0].starts_with("events 257 to 512 are not those"), "{flaws:?}");
    }
}
