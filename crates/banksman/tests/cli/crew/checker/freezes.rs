//! Whether what was frozen stood still, on every server and from the very moment.

use std::collections::HashMap;

use banksman_core::audit::{ActionRef, Event, Fact};
use banksman_core::{Freeze, FreezeId, Status};

use super::Findings;
use super::record::Record;

/// A freeze, from its place in the log to that of its end.
pub(super) struct Frozen<'a> {
    pub(super) freeze: &'a Freeze,
    pub(super) from: u64,
    pub(super) to: u64,
}

impl Frozen<'_> {
    /// Whether it was in force at some moment between these places of the log, for this action.
    pub(super) fn explains(&self, about: &ActionRef, first: u64, last: u64) -> bool {
        self.from <= last && first < self.to && self.freeze.covers(&about.agent, &about.tool)
    }
}

/// Every freeze that there was.
pub(super) fn all(record: &Record) -> Vec<Frozen<'_>> {
    let mut freezes: Vec<Frozen<'_>> = Vec::new();
    let mut places: HashMap<FreezeId, usize> = HashMap::new();
    for (seq, event) in &record.log {
        match &event.fact {
            Fact::Frozen { freeze } => {
                places.insert(freeze.id, freezes.len());
                freezes.push(Frozen { freeze, from: *seq, to: u64::MAX });
            }
            Fact::Unfrozen { freeze } => {
                if let Some(place) = places.get(freeze) {
                    freezes[*place].to = *seq;
                }
            }
            _ => {}
        }
    }
    freezes
}

/// While something is frozen, nothing of it is let through; and nothing else is blocked.
pub(super) fn check(record: &Record, findings: &mut Findings) {
    let freezes = all(record);
    for (seq, event) in &record.log {
        let Some(about) = &event.action else { continue };
        let frozen = freezes.iter().any(|frozen| frozen.explains(about, *seq, *seq));
        let (id, name) = (about.id, event.fact.type_name());
        findings
            .expect(!(frozen && lets_through(event, about)), || format!("{id}: {name} while frozen ({seq})"));
        let blocked = about.status == Status::Blocked;
        findings.expect(!blocked || frozen, || format!("{id}: blocked, and nothing is frozen ({seq})"));
    }
}

/// Time may end what is frozen, people may deny it, and what ran may be reported.
fn lets_through(event: &Event, about: &ActionRef) -> bool {
    match event.fact {
        Fact::Claimed { .. } | Fact::Modified { .. } => true,
        Fact::Proposed { .. } => about.status != Status::Blocked,
        Fact::Decided { .. } => about.status != Status::Denied,
        _ => false,
    }
}
