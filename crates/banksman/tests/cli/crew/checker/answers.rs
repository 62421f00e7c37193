//! Whether everything that was acknowledged is there, as it was acknowledged.

use std::collections::{HashMap, HashSet};

use banksman_core::audit::{Event, Fact};
use banksman_core::{ActionId, Decision, Digest, FreezeId, Status, Timestamp};

use super::Findings;
use super::record::{Record, Standing, Vote};
use crate::crew::book::{Book, Call, Reply, Wish};

pub(super) fn check(record: &Record, book: &Book, now: Timestamp, findings: &mut Findings) {
    let mut checker = Answers { record, histories: record.histories(), findings };
    checker.proposals(book);
    checker.decisions(book);
    checker.claims(book);
    checker.outcomes(book);
    checker.claims_without_outcome(book, now);
    checker.freezes(book);
}

struct Answers<'a> {
    record: &'a Record,
    histories: HashMap<ActionId, Vec<(u64, &'a Event)>>,
    findings: &'a mut Findings,
}

impl<'a> Answers<'a> {
    fn expect(&mut self, holds: bool, finding: impl FnOnce() -> String) {
        self.findings.expect(holds, finding);
    }

    /// Calls it gone if it is.
    fn action(&mut self, id: ActionId, what: &str) -> Option<&'a Standing> {
        let action = self.record.actions.get(&id);
        self.expect(action.is_some(), || format!("{id}: {what} was acknowledged and the action is gone"));
        action
    }

    fn log_has(&self, id: ActionId, wanted: impl Fn(&Event) -> bool) -> bool {
        self.histories.get(&id).is_some_and(|history| history.iter().any(|(_, event)| wanted(event)))
    }

    /// Every proposal that was answered is there as it was answered, and each wish made one action at the most.
    fn proposals(&mut self, book: &Book) {
        let mut by_key: HashMap<(&str, &str), ActionId> = HashMap::new();
        let mut wished = HashSet::new();
        for call in &book.calls {
            let Wish::Propose { number, key } = &call.wish else { continue };
            wished.insert(*number);
            let Some(Reply::Proposed { id, version, digest }) = call.granted() else { continue };
            let first = *by_key.entry((call.by, key)).or_insert(*id);
            self.expect(first == *id, || format!("{key} led to {first} and to {id}"));
            let Some(action) = self.action(*id, "a proposal") else { continue };
            let same = action.agent == call.by && action.number == *number;
            self.expect(same, || format!("{id} is not what {key} proposed"));
            self.digest(*id, *version, *digest, "a proposal");
        }
        let mut numbers = HashSet::new();
        for (id, action) in &self.record.actions {
            let number = action.number;
            self.expect(wished.contains(&number), || format!("{id}: nobody wished {number}"));
            self.expect(numbers.insert(number), || {
                format!("{id}: {number} was wished once and is there twice")
            });
        }
    }

    /// The log knows this version of the action by this digest.
    fn digest(&mut self, id: ActionId, version: u32, digest: Digest, what: &str) {
        let known = self.log_has(id, |event| {
            event.action.as_ref().is_some_and(|about| (about.version, about.digest) == (version, digest))
        });
        self.expect(known, || format!("{id}: {what} named version {version} {digest}, the log does not"));
    }

    /// Every decision that was answered is there, with who made it, in the action and in the log.
    fn decisions(&mut self, book: &Book) {
        let made = book.calls.iter().filter(|call| call.granted().is_some());
        for (call, (id, decision, version)) in made.filter_map(|call| Some((call, call.decides()?))) {
            let by = call.by;
            let Some(action) = self.action(id, "a decision") else { continue };
            // Among others: whoever approved what waits for a second person may still say no.
            let vote = Vote { by: by.to_owned(), version, decision };
            self.expect(action.votes.contains(&vote), || {
                format!(
                    "{id}: {by} was told that \"{decision}\" is recorded, and it is not: {:?}",
                    action.votes
                )
            });
            let logged = self.log_has(id, |event| {
                event.actor.name() == Some(by)
                    && event.fact.decision() == Some(decision)
                    && event.action.as_ref().is_some_and(|about| about.version == version)
            });
            self.expect(logged, || format!("{id}: the log lacks the {decision} of {by}"));
            // A no stands: whoever was told "denied" must not find it run.
            if let Decision::Deny | Decision::Respond = decision {
                let status = action.status;
                self.expect(status == Status::Denied, || format!("{id}: denied, and yet {status}"));
            }
        }
    }

    /// No action was claimed twice by anyone, and what was claimed is what was decided.
    fn claims(&mut self, book: &Book) {
        let (mut claimed, mut keys) = (HashSet::new(), HashSet::new());
        for (id, reply) in book.calls.iter().filter_map(claim) {
            let Reply::Claimed { number, idempotency_key, digest, lease_expires_at } = reply else {
                continue;
            };
            self.expect(claimed.insert(id), || format!("{id} was claimed twice"));
            self.expect(keys.insert(idempotency_key), || format!("{idempotency_key} twice"));
            let Some(action) = self.action(id, "a claim") else { continue };
            let mine = *digest == action.digest
                && *number == action.number
                && *idempotency_key == format!("{id}.{}", action.version);
            self.expect(mine, || format!("{id}: what was claimed is not what is there"));
            self.expect(was_claimed(action.status), || format!("{id}: claimed, and yet {}", action.status));
            let lease = Fact::Claimed { lease_expires_at: *lease_expires_at };
            let logged = self.log_has(id, |event| event.fact == lease);
            self.expect(logged, || format!("{id}: the log lacks the claim"));
        }
    }

    fn outcomes(&mut self, book: &Book) {
        for call in book.calls.iter().filter(|call| call.granted().is_some()) {
            let Wish::Report { id, status, result } = &call.wish else { continue };
            let Some(action) = self.action(*id, "an outcome") else { continue };
            let same = action.outcome.as_ref() == Some(&(*status, result.clone()));
            self.expect(same && action.status == *status, || {
                format!("{id}: reported {status}, found {:?}", action.outcome)
            });
        }
    }

    /// Every freeze that was acknowledged is in the log, and so is every end of one.
    fn freezes(&mut self, book: &Book) {
        let facts = || self.record.log.iter().map(|(_, event)| &event.fact);
        let frozen: HashMap<FreezeId, &str> = facts()
            .filter_map(|fact| match fact {
                Fact::Frozen { freeze } => Some((freeze.id, freeze.reason.as_str())),
                _ => None,
            })
            .collect();
        let lifted: HashSet<FreezeId> = facts()
            .filter_map(|fact| match fact {
                Fact::Unfrozen { freeze } => Some(*freeze),
                _ => None,
            })
            .collect();
        for call in &book.calls {
            let found = match (&call.wish, call.granted()) {
                (Wish::Freeze { reason }, Some(Reply::Frozen { id })) => {
                    frozen.get(id) == Some(&reason.as_str())
                }
                (Wish::Lift { id }, Some(_)) => lifted.contains(id),
                _ => continue,
            };
            self.expect(found, || format!("the log lacks {:?}", call.wish));
        }
    }

    /// Nobody reported it: it runs, or its lease is over and nobody knows.
    fn claims_without_outcome(&mut self, book: &Book, now: Timestamp) {
        let reported: HashSet<ActionId> = book.calls.iter().filter_map(report).collect();
        let (mut unknown, mut claims) = (0, 0);
        for (id, reply) in book.calls.iter().filter_map(claim) {
            let Reply::Claimed { lease_expires_at, .. } = reply else { continue };
            claims += 1;
            let Some(action) = self.record.actions.get(&id).filter(|_| !reported.contains(&id)) else {
                continue;
            };
            let status = action.status;
            let expected = if *lease_expires_at < now { Status::Unknown } else { Status::Executing };
            unknown += u64::from(status == Status::Unknown);
            self.expect(status == expected, || {
                format!("{id}: nobody reported it, the lease ends {lease_expires_at}, it is {status}")
            });
        }
        self.expect(unknown > 0 || claims < 100, || "no lease ended in this run".into());
    }
}

fn claim(call: &Call) -> Option<(ActionId, &Reply)> {
    match call.wish {
        Wish::Claim { id, .. } => Some((id, call.granted()?)),
        Wish::Propose { .. }
        | Wish::Decide { .. }
        | Wish::Report { .. }
        | Wish::Freeze { .. }
        | Wish::Lift { .. } => None,
    }
}

fn report(call: &Call) -> Option<ActionId> {
    match call.wish {
        Wish::Report { id, .. } => Some(id),
        Wish::Propose { .. }
        | Wish::Decide { .. }
        | Wish::Claim { .. }
        | Wish::Freeze { .. }
        | Wish::Lift { .. } => None,
    }
}

fn was_claimed(status: Status) -> bool {
    matches!(status, Status::Executing | Status::Succeeded | Status::Failed | Status::Unknown)
}
