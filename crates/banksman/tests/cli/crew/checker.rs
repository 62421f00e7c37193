//! Proves that what everyone was told is true, or says what is not. Nothing here does I/O but [`record`].
//!
//! The log is the order in which things happened. It is shown to be a possible one ([`history`]): audit numbers without
//! gaps, each event possible after the one before, no second claim, none that nobody asked for. It holds everything
//! that was acknowledged ([`answers`]), and it respects time ([`order`]): whatever was answered before something else
//! was asked stands before it. Together: decisions, claims and outcomes are linearizable, on however many servers. And
//! what was frozen stood still ([`freezes`]).

mod answers;
#[cfg(test)]
mod forged;
mod freezes;
mod history;
mod order;
mod record;

use banksman_core::Timestamp;

pub(crate) use self::record::{Record, read};
use super::book::Book;

/// Everything that is not as it has to be, each in a sentence.
pub(crate) fn check(record: &Record, book: &Book, now: Timestamp) -> Vec<String> {
    let mut findings = Findings(book.broken.clone());
    history::check(record, &mut findings);
    answers::check(record, book, now, &mut findings);
    order::check(record, book, &mut findings);
    freezes::check(record, &mut findings);
    findings.0
}

struct Findings(Vec<String>);

impl Findings {
    fn expect(&mut self, holds: bool, finding: impl FnOnce() -> String) {
        // Beyond a screenful nobody reads on.
        if !holds && self.0.len() < 50 {
            self.0.push(finding());
        }
    }
}
