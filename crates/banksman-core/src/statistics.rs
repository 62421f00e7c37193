//! What happened lately, counted from the audit log: Tinman's statistics, by hour, tool, tier and risk.
//!
//! Every number comes from events alone, so that it can be counted again from the log by anyone.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use crate::audit::{ActionRef, FORMAT};
use crate::{Risk, Status, Tier, Timestamp};

/// One hour.
const HOUR: Duration = Duration::from_secs(3600);

/// How far back is counted.
pub const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

/// How many tools an hour names; the rest are counted together, because an agent may make names up.
const TOOLS: usize = 64;

/// What tools beyond that are counted as. No tool can be called so: it would be an empty name.
pub const OTHER_TOOLS: &str = "";

/// Until when an answer counts as given within a span: the bounds of [`Answers::within`].
pub const SPANS: [Duration; 10] = [
    Duration::from_secs(10),
    Duration::from_secs(30),
    Duration::from_secs(60),
    Duration::from_secs(2 * 60),
    Duration::from_secs(5 * 60),
    Duration::from_secs(15 * 60),
    Duration::from_secs(3600),
    Duration::from_secs(4 * 3600),
    Duration::from_secs(24 * 3600),
    Duration::MAX,
];

/// How many actions took which way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ways {
    /// Everything that agents asked for.
    pub proposed: u64,
    /// Ran without asking: policy, a preset or observation let it.
    pub auto_approved: u64,
    /// Ran without asking, because of a remembered approval.
    pub granted: u64,
    /// Held for people.
    pub held: u64,
    /// Forbidden by policy.
    pub blocked: u64,
    /// Refused without a person although policy would have asked one: a freeze, a lockdown, triage.
    pub auto_rejected: u64,
    /// People approved.
    pub approved: u64,
    /// Of those: with other arguments.
    pub edited: u64,
    /// People said no.
    pub denied: u64,
    /// Nobody decided in time.
    pub expired: u64,
    /// Withdrawn while it was held.
    pub cancelled: u64,
    /// Ran well.
    pub succeeded: u64,
    /// Ran and failed.
    pub failed: u64,
    /// Claimed, and nobody knows.
    pub unknown: u64,
}

impl Ways {
    fn add(&mut self, other: &Self) {
        for (sum, more) in self.all_mut().into_iter().zip(other.all()) {
            *sum += more;
        }
    }

    fn all(&self) -> [u64; 14] {
        let mut copy = *self;
        copy.all_mut().map(|count| *count)
    }

    fn all_mut(&mut self) -> [&mut u64; 14] {
        let Self {
            proposed,
            auto_approved,
            granted,
            held,
            blocked,
            auto_rejected,
            approved,
            edited,
            denied,
            expired,
            cancelled,
            succeeded,
            failed,
            unknown,
        } = self;
        [
            proposed,
            auto_approved,
            granted,
            held,
            blocked,
            auto_rejected,
            approved,
            edited,
            denied,
            expired,
            cancelled,
            succeeded,
            failed,
            unknown,
        ]
    }
}

/// How soon people answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Answers {
    /// How many answers were given within each span of [`SPANS`] and not within the one before.
    pub within: [u64; SPANS.len()],
}

impl Answers {
    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.within.iter().sum()
    }

    /// The shortest of [`SPANS`] within which this share of the answers, in hundredths, was given.
    #[must_use]
    pub fn share_within(&self, hundredths: u64) -> Option<Duration> {
        let wanted = (self.count() * hundredths).div_ceil(100).max(1);
        let mut seen = 0;
        self.within.iter().zip(SPANS).find_map(|(count, span)| {
            seen += count;
            (seen >= wanted).then_some(span)
        })
    }

    fn note(&mut self, took: Duration) {
        if let Some((count, _)) = self.within.iter_mut().zip(SPANS).find(|(_, span)| took <= *span) {
            *count += 1;
        }
    }
}

/// What happened in a stretch of time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// All of it.
    pub all: Ways,
    /// By tool; [`OTHER_TOOLS`] are those beyond the most that are named.
    pub by_tool: BTreeMap<String, Ways>,
    /// By tier.
    pub by_tier: BTreeMap<Tier, Ways>,
    /// By risk.
    pub by_risk: BTreeMap<Risk, Ways>,
    /// How soon people answered.
    pub answers: Answers,
}

impl Summary {
    fn add(&mut self, other: &Self) {
        self.all.add(&other.all);
        for (tool, ways) in &other.by_tool {
            self.by_tool.entry(tool.clone()).or_default().add(ways);
        }
        for (tier, ways) in &other.by_tier {
            self.by_tier.entry(*tier).or_default().add(ways);
        }
        for (risk, ways) in &other.by_risk {
            self.by_risk.entry(*risk).or_default().add(ways);
        }
        for (sum, more) in self.answers.within.iter_mut().zip(other.answers.within) {
            *sum += more;
        }
    }

    fn note(&mut self, action: &ActionRef, ways: &Ways) {
        self.all.add(ways);
        let named = self.by_tool.contains_key(&action.tool) || self.by_tool.len() < TOOLS;
        let tool = if named { action.tool.as_str() } else { OTHER_TOOLS };
        match self.by_tool.get_mut(tool) {
            Some(known) => known.add(ways),
            None => drop(self.by_tool.insert(tool.to_owned(), *ways)),
        }
        self.by_tier.entry(action.tier).or_default().add(ways);
        self.by_risk.entry(action.risk).or_default().add(ways);
    }
}

/// The last weeks, hour by hour.
#[derive(Debug, Clone, Default)]
pub struct Statistics {
    hours: BTreeMap<i64, Summary>,
}

/// What of an event is counted. Reading no more than this takes a fraction of the time.
#[derive(Deserialize)]
struct Counted {
    v: u32,
    at: Timestamp,
    #[serde(default)]
    action: Option<ActionRef>,
    #[serde(default)]
    grant: Option<serde::de::IgnoredAny>,
}

impl Statistics {
    /// Counts an event of this type. What cannot be read is not counted; it is `audit verify` that complains of it.
    pub fn add(&mut self, kind: &str, body: &str) {
        let Ok(event) = serde_json::from_str::<Counted>(body) else { return };
        let Some(action) = event.action.as_ref().filter(|_| event.v == FORMAT) else { return };
        let ways = way(kind, &event, action);
        if ways == Ways::default() {
            return;
        }
        let hour = self.hours.entry(hour(event.at)).or_default();
        hour.note(action, &ways);
        if ways.approved + ways.denied > 0 {
            hour.answers.note(event.at.since(proposed_at(action)));
        }
    }

    /// Forgets what is too old to be asked for.
    pub fn forget_before(&mut self, now: Timestamp) {
        let oldest = hour(back(now, KEPT));
        self.hours = self.hours.split_off(&oldest);
    }

    /// The last stretch of time, and how it was spread over so many equal parts, oldest first. Each part begins with a
    /// full hour.
    #[must_use]
    pub fn lately(&self, now: Timestamp, parts: u32, hours_each: u32) -> Lately {
        let (parts_count, each) = (i64::from(parts.max(1)), i64::from(hours_each.max(1)));
        let end = hour(now) + 1;
        let begin = end - parts_count * each;
        let mut lately = Lately { parts: Vec::new(), sum: Summary::default() };
        for part in 0..parts_count {
            let from = begin + part * each;
            let mut sum = Summary::default();
            for (_, summary) in self.hours.range(from..from + each) {
                sum.add(summary);
            }
            lately.sum.add(&sum);
            lately.parts.push((Timestamp::from_micros(from * micros(HOUR)), sum.all));
        }
        lately
    }
}

/// A stretch of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lately {
    /// When each part begins, and what happened in it.
    pub parts: Vec<(Timestamp, Ways)>,
    /// All of it.
    pub sum: Summary,
}

/// Which way an action took by this event.
fn way(kind: &str, event: &Counted, action: &ActionRef) -> Ways {
    let mut ways = Ways::default();
    let status = action.status;
    match kind {
        "proposed" => {
            ways.proposed = 1;
            began(&mut ways, status, event, action);
        }
        "decided" if status == Status::Denied => ways.denied = 1,
        "decided" if status == Status::Authorised => ways.approved = 1,
        "modified" if status == Status::Authorised => (ways.approved, ways.edited) = (1, 1),
        "expired" => ways.expired = 1,
        "cancelled" => ways.cancelled = 1,
        "finished" if status == Status::Succeeded => ways.succeeded = 1,
        "finished" if status == Status::Failed => ways.failed = 1,
        "lease_ended" => ways.unknown = 1,
        _ => {}
    }
    ways
}

/// What became of it at once.
fn began(ways: &mut Ways, status: Status, event: &Counted, action: &ActionRef) {
    match status {
        Status::Blocked if action.tier == Tier::Block => ways.blocked = 1,
        Status::Blocked => ways.auto_rejected = 1,
        Status::Pending => ways.held = 1,
        Status::Authorised if event.grant.is_some() => ways.granted = 1,
        // Nothing begins in one of the others; if an event says so, nobody was asked.
        Status::Authorised
        | Status::Denied
        | Status::Expired
        | Status::Cancelled
        | Status::Executing
        | Status::Succeeded
        | Status::Failed
        | Status::Unknown
        | Status::Lapsed
        | Status::Revoked => ways.auto_approved = 1,
    }
}

/// When an action was proposed: its id says so, to the millisecond.
fn proposed_at(action: &ActionRef) -> Timestamp {
    let [a, b, c, d, e, f, ..] = action.id.to_bytes();
    let millis = i64::from_be_bytes([0, 0, a, b, c, d, e, f]);
    Timestamp::from_micros(millis.saturating_mul(1000))
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

fn hour(at: Timestamp) -> i64 {
    at.as_micros().div_euclid(micros(HOUR))
}

/// A moment before another.
#[must_use]
pub fn back(now: Timestamp, span: Duration) -> Timestamp {
    Timestamp::from_micros(now.as_micros().saturating_sub(micros(span)))
}

#[cfg(test)]
mod tests;
