//! Whether the order of the log agrees with time: nothing was invented, whatever was answered before something else was
//! asked stands before it, and every refusal was right at some moment between its question and its answer.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use banksman_core::audit::{ActionRef, Event, Fact};
use banksman_core::{ActionId, FreezeId, Status};

use super::record::Record;
use super::{Findings, freezes};
use crate::crew::book::{Book, Call, Reply, Wish};

/// What an event is, as far as a wish can have caused it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Cause {
    Proposal { agent: String, number: u64 },
    Decision { id: ActionId, by: String, decision: banksman_core::Decision, version: u32 },
    Claim { id: ActionId },
    Outcome { id: ActionId },
    Freeze { reason: String },
    Lift { id: FreezeId },
}

/// When an event can have happened, as clients saw it.
#[derive(Debug, Clone, Copy)]
struct Span {
    /// Not before it was first asked for.
    from: Duration,
    /// Not after it was first acknowledged, if it was.
    to: Option<Duration>,
}

pub(super) fn check(record: &Record, book: &Book, findings: &mut Findings) {
    let spans = spans(book);
    let mut placed = Vec::new();
    let mut newest = (Duration::ZERO, 0);
    let mut happened = HashSet::new();
    for (seq, event) in &record.log {
        let Some(cause) = cause(record, event) else { continue };
        let Some(span) = spans.get(&cause) else {
            findings.expect(false, || format!("{seq}: nobody asked for this {cause:?}"));
            continue;
        };
        findings.expect(happened.insert(cause.clone()), || format!("{seq}: {cause:?} happened twice"));
        // Everything before it in the log had been asked for when it was acknowledged.
        let late = span.to.is_some_and(|to| to < newest.0);
        findings.expect(!late, || {
            format!("{seq} was acknowledged before {}, which stands before it, was asked for", newest.1)
        });
        newest = newest.max((span.from, *seq));
        placed.push((*seq, *span));
    }
    let window = Windows::new(&placed);
    let histories = record.histories();
    let freezes = freezes::all(record);
    for call in &book.calls {
        let Some((answered, Reply::Refused(code))) = &call.answer else { continue };
        let (first, last) = window.between(call.asked, *answered);
        let explained = match (about(call), code.as_str()) {
            // Whoever asks again by the same key is told again, also when nothing is frozen any more.
            (None, "blocked") => blocked(record, call).is_some_and(|seq| seq <= last),
            (None, _) => continue,
            (Some(id), "frozen") => {
                let about = histories.get(&id).and_then(|history| history.first()?.1.action.as_ref());
                let explains = |about| freezes.iter().any(|frozen| frozen.explains(about, first, last));
                about.is_some_and(explains)
            }
            (Some(id), code) => {
                let history = histories.get(&id).map(Vec::as_slice).unwrap_or_default();
                moments(history, first, last).any(|past| explains(call, code, past))
            }
        };
        findings.expect(explained, || {
            let (by, wish) = (call.by, &call.wish);
            format!(
                "{by}: {wish:?} was refused by {code}, which was true at no moment from {first} to {last}"
            )
        });
    }
}

/// When everything that was asked for can have happened. What was asked for several times counts from the first.
fn spans(book: &Book) -> HashMap<Cause, Span> {
    let mut spans: HashMap<Cause, Span> = HashMap::new();
    for call in book.calls.iter().filter(|call| can_have_caused(call)) {
        let cause = match &call.wish {
            Wish::Propose { number, .. } => Cause::Proposal { agent: call.by.to_owned(), number: *number },
            Wish::Claim { id, .. } => Cause::Claim { id: *id },
            Wish::Report { id, .. } => Cause::Outcome { id: *id },
            Wish::Freeze { reason } => Cause::Freeze { reason: reason.clone() },
            Wish::Lift { id } => Cause::Lift { id: *id },
            Wish::Decide { .. } => {
                let Some((id, decision, version)) = call.decides() else { continue };
                Cause::Decision { id, by: call.by.to_owned(), decision, version }
            }
        };
        let to = call.granted().and(call.answer.as_ref()).map(|(at, _)| *at);
        let span = spans.entry(cause).or_insert(Span { from: call.asked, to });
        span.from = span.from.min(call.asked);
        span.to = match (span.to, to) {
            (Some(known), Some(other)) => Some(known.min(other)),
            (known, other) => known.or(other),
        };
    }
    spans
}

/// What was sent once and refused did nothing. If it was sent before without an answer, that may have done it.
fn can_have_caused(call: &Call) -> bool {
    match &call.answer {
        // Also what is blocked is written down.
        Some((_, Reply::Refused(code))) => call.lost > 0 || code == "blocked",
        Some(_) | None => true,
    }
}

/// What someone must have asked for, if anyone must: time ends holds and leases by itself.
fn cause(record: &Record, event: &Event) -> Option<Cause> {
    match &event.fact {
        Fact::Frozen { freeze } => return Some(Cause::Freeze { reason: freeze.reason.clone() }),
        Fact::Unfrozen { freeze } => return Some(Cause::Lift { id: *freeze }),
        _ => {}
    }
    let ActionRef { id, agent, version, .. } = event.action.as_ref()?;
    let by = || event.actor.name().unwrap_or_default().to_owned();
    match &event.fact {
        Fact::Proposed { .. } => {
            let number = record.actions.get(id).map_or(u64::MAX, |action| action.number);
            Some(Cause::Proposal { agent: agent.clone(), number })
        }
        Fact::Claimed { .. } => Some(Cause::Claim { id: *id }),
        Fact::Finished { .. } => Some(Cause::Outcome { id: *id }),
        fact => {
            let decision = fact.decision()?;
            Some(Cause::Decision { id: *id, by: by(), decision, version: *version })
        }
    }
}

fn about(call: &Call) -> Option<ActionId> {
    match call.wish {
        Wish::Propose { .. } | Wish::Freeze { .. } | Wish::Lift { .. } => None,
        Wish::Decide { id, .. } | Wish::Claim { id, .. } | Wish::Report { id, .. } => Some(id),
    }
}

/// Where in the log the action of a proposal was blocked.
fn blocked(record: &Record, call: &Call) -> Option<u64> {
    let Wish::Propose { number, .. } = call.wish else { return None };
    record.log.iter().find_map(|(seq, event)| {
        let about = event.action.as_ref().filter(|about| about.status == Status::Blocked)?;
        let action = record.actions.get(&about.id)?;
        (action.number == number && action.agent == call.by).then_some(*seq)
    })
}

/// Which part of the log a moment between two times can be behind.
struct Windows {
    /// By the time of the acknowledgement: the highest place that was acknowledged by then.
    over: Vec<(Duration, u64)>,
    /// By the time of the question: the lowest place that was asked for only then or later.
    to_come: Vec<(Duration, u64)>,
}

impl Windows {
    fn new(placed: &[(u64, Span)]) -> Self {
        let mut over: Vec<_> = placed.iter().filter_map(|(seq, span)| Some((span.to?, *seq))).collect();
        over.sort_unstable();
        let mut highest = 0;
        for (_, seq) in &mut over {
            highest = highest.max(*seq);
            *seq = highest;
        }
        let mut to_come: Vec<_> = placed.iter().map(|(seq, span)| (span.from, *seq)).collect();
        to_come.sort_unstable();
        let mut lowest = u64::MAX;
        for (_, seq) in to_come.iter_mut().rev() {
            lowest = lowest.min(*seq);
            *seq = lowest;
        }
        Self { over, to_come }
    }

    /// The first and the last place that the log can have ended with at some moment from `asked` to `answered`.
    fn between(&self, asked: Duration, answered: Duration) -> (u64, u64) {
        let over = self.over.partition_point(|(at, _)| *at <= asked);
        let first = over.checked_sub(1).map_or(0, |place| self.over[place].1);
        let to_come = self.to_come.partition_point(|(at, _)| *at < answered);
        let last = self.to_come.get(to_come).map_or(u64::MAX, |(_, seq)| seq - 1);
        (first, last)
    }
}

/// What had happened to an action, at each moment of such a window.
fn moments<'a>(
    history: &'a [(u64, &'a Event)],
    first: u64,
    last: u64,
) -> impl Iterator<Item = &'a [(u64, &'a Event)]> {
    let start = history.partition_point(|(seq, _)| *seq <= first);
    let end = history.partition_point(|(seq, _)| *seq <= last).max(start);
    (start..=end).map(|count| &history[..count])
}

/// Whether a refusal is right after these events.
fn explains(call: &Call, code: &str, past: &[(u64, &Event)]) -> bool {
    let Some(now) = past.last().and_then(|(_, event)| event.action.as_ref()) else { return false };
    let seen = match call.wish {
        Wish::Decide { version, .. } | Wish::Claim { version, .. } => version,
        Wish::Propose { .. } | Wish::Report { .. } | Wish::Freeze { .. } | Wish::Lift { .. } => return false,
    };
    match code {
        "already_decided" => now.status != Status::Pending,
        "stale_version" | "digest_mismatch" => now.version != seen,
        "already_voted" => past.iter().any(|(_, event)| {
            event.actor.name() == Some(call.by)
                && event.fact.decision().is_some()
                && event.action.as_ref().is_some_and(|about| about.version == now.version)
        }),
        "already_claimed" => past.iter().any(|(_, event)| matches!(event.fact, Fact::Claimed { .. })),
        // By the clock, which may be ahead of whoever keeps it.
        "lapsed" => matches!(now.status, Status::Authorised | Status::Lapsed),
        "not_authorised" => now.status != Status::Authorised,
        _ => false,
    }
}
