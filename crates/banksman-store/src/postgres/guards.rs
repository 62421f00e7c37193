//! Whether commits may happen, judged one after the other against what the database holds. Nothing here does I/O.
//!
//! Everything that the guards of a whole group look at was read under the lock that all writers need, so it cannot
//! change before the group is written. What an accepted commit changes is entered here, so that the next one meets it.

use std::collections::{HashMap, HashSet};

use banksman_core::meter::MeterId;
use banksman_core::{ActionId, Digest, Status, Timestamp};

use super::keys;
use crate::encode::{CaseRow, EncodedCommit};
use crate::{Conflict, Post};

/// Where an action stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Standing {
    pub(super) revision: u64,
    pub(super) pending: bool,
}

/// What the database holds of all that the guards of a group ask for.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The database's time.
    pub(super) now: Timestamp,
    pub(super) last_seq: u64,
    pub(super) epoch: u64,
    pub(super) people_epoch: u64,
    /// How many actions are pending altogether.
    pub(super) all_pending: u64,
    /// How many of each agent.
    pub(super) pending: HashMap<String, u64>,
    pub(super) actions: HashMap<ActionId, Standing>,
    /// Who holds these join keys.
    pub(super) joinable: HashMap<Digest, ActionId>,
    /// What idempotency keys led to: the request and the action.
    pub(super) used_keys: HashMap<Digest, (Digest, ActionId)>,
    /// How far readers have read the log.
    pub(super) places: HashMap<String, u64>,
    /// What providers have told us before.
    pub(super) seen: HashSet<Digest>,
    /// Actions that a commit of this group has written.
    pub(super) touched: HashSet<ActionId>,
    /// Meters that a commit of this group has added to.
    pub(super) charged: HashSet<MeterId>,
    /// Whether one took back what it had added, to whichever meters.
    pub(super) gave_back: bool,
}

/// What becomes of a commit.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    /// All guards hold.
    Accepted,
    /// One does not.
    Refused(Conflict),
    /// It depends on rows that an earlier commit of the group changes in ways that are not tracked here. The next
    /// group starts with it, and its first commit is never put off.
    PutOff,
}

impl Known {
    /// Judges the next commit of the group, and enters its changes if it is accepted. `readings` is what the meters
    /// of its guards show.
    pub(super) fn judge(&mut self, commit: &EncodedCommit, readings: &[i64]) -> Judgement {
        if let Some(conflict) = self.conflict(commit) {
            return Judgement::Refused(conflict);
        }
        if self.depends_on_untracked(commit) {
            return Judgement::PutOff;
        }
        let moved = commit.readings.iter().zip(readings).any(|(read, now)| read.total != *now);
        if moved || commit.readings.len() != readings.len() {
            return Judgement::Refused(Conflict::MetersMoved);
        }
        if let Some(conflict) = self.full(commit) {
            return Judgement::Refused(conflict);
        }
        self.enter(commit);
        Judgement::Accepted
    }

    fn conflict(&self, commit: &EncodedCommit) -> Option<Conflict> {
        if commit.control_epoch.is_some_and(|epoch| epoch != self.epoch) {
            return Some(Conflict::ControlMoved);
        }
        if commit.people_epoch.is_some_and(|epoch| epoch != self.people_epoch) {
            return Some(Conflict::PeopleMoved);
        }
        let late = |row: &&CaseRow| row.before.is_some_and(|end| end <= self.now);
        if let Some(row) = commit.advanced.iter().find(late) {
            // Moved or late: whoever lost to another should hear of that one.
            let id = row.case.id;
            return Some(if self.has_moved(row) { Conflict::CaseMoved(id) } else { Conflict::TooLate(id) });
        }
        if let Some(conflict) = commit.post.as_ref().and_then(|post| self.post_conflict(post)) {
            return Some(conflict);
        }
        if let Some(key) = &commit.idempotency
            && let Some((request, action)) = self.used_keys.get(&keys::idempotency_of(key))
        {
            return Some(Conflict::IdempotencyKeyUsed { request: *request, action: *action });
        }
        // Joining beats every limit: an agent at its limit that asks again is told of what it already asked.
        let joined = |row: &CaseRow| keys::join_of(row).and_then(|key| self.joinable.get(&key)).copied();
        if let Some(id) = commit.opened.iter().find_map(joined) {
            return Some(Conflict::Joinable(id));
        }
        commit.advanced.iter().find_map(|row| {
            if self.has_moved(row) {
                return Some(Conflict::CaseMoved(row.case.id));
            }
            let other = joined(row).filter(|other| row.submission.is_some() && *other != row.case.id);
            other.map(Conflict::Joinable)
        })
    }

    fn post_conflict(&self, post: &Post) -> Option<Conflict> {
        if let Some(reading) = &post.reading
            && self.places.get(reading.reader).copied().unwrap_or(0) != reading.from
        {
            return Some(Conflict::ReadOn);
        }
        let seen = post
            .seen
            .as_ref()
            .is_some_and(|seen| self.seen.contains(&keys::seen(&seen.channel, &seen.event)));
        seen.then_some(Conflict::EventSeen)
    }

    /// Whether a move was computed from another revision than the one that is there.
    fn has_moved(&self, row: &CaseRow) -> bool {
        let stored = self.actions.get(&row.case.id).map(|standing| standing.revision);
        stored.is_none() || stored != row.case.revision.checked_sub(1)
    }

    fn depends_on_untracked(&self, commit: &EncodedCommit) -> bool {
        let mut rows = commit.opened.iter().chain(&commit.advanced);
        rows.any(|row| self.touched.contains(&row.case.id))
            || (self.gave_back && !commit.readings.is_empty())
            || commit.readings.iter().any(|reading| self.charged.contains(&reading.query.meter))
    }

    fn full(&self, commit: &EncodedCommit) -> Option<Conflict> {
        let limits = commit.limits?;
        let mut more: HashMap<&str, u64> = HashMap::new();
        for row in commit.opened.iter().filter(|row| row.case.status() == Status::Pending) {
            *more.entry(&row.case.agent).or_default() += 1;
        }
        let over = |(agent, more): (&&str, &u64)| {
            self.pending.get(*agent).copied().unwrap_or(0) + more > limits.per_agent
        };
        if more.iter().any(over) {
            return Some(Conflict::TooManyPendingForAgent);
        }
        let all: u64 = more.values().sum();
        (all > 0 && self.all_pending + all > limits.total).then_some(Conflict::TooManyPending)
    }

    fn enter(&mut self, commit: &EncodedCommit) {
        for row in commit.opened.iter().chain(&commit.advanced) {
            let case = &row.case;
            let pending = case.status() == Status::Pending;
            let standing = Standing { revision: case.revision, pending };
            let before = self.actions.insert(case.id, standing).is_some_and(|standing| standing.pending);
            self.count(&case.agent, before, pending);
            self.joinable.retain(|_, holder| *holder != case.id);
            if let Some(key) = keys::join_of(row) {
                self.joinable.insert(key, case.id);
            }
            self.touched.insert(case.id);
        }
        self.gave_back |= commit.advanced.iter().any(gives_back);
        self.charged.extend(commit.charges.iter().map(|charge| charge.meter));
        if let Some(key) = &commit.idempotency {
            self.used_keys.insert(keys::idempotency_of(key), (key.request, key.action));
        }
        if let Some(post) = &commit.post {
            self.places.extend(post.reading.iter().map(|reading| (reading.reader.to_owned(), reading.to)));
            self.seen.extend(post.seen.iter().map(|seen| keys::seen(&seen.channel, &seen.event)));
        }
        let raises = commit.raises();
        self.epoch += u64::from(raises.epoch);
        self.people_epoch += u64::from(raises.people_epoch);
        self.last_seq += u64::try_from(commit.events.len()).unwrap_or(u64::MAX);
    }

    fn count(&mut self, agent: &str, was_pending: bool, is_pending: bool) {
        let change = i64::from(is_pending) - i64::from(was_pending);
        if change == 0 {
            return;
        }
        self.all_pending = self.all_pending.saturating_add_signed(change);
        let count = self.pending.entry(agent.to_owned()).or_default();
        *count = count.saturating_add_signed(change);
    }
}

/// An edited action adds anew, and one that ends without having run has added nothing.
pub(super) fn gives_back(row: &CaseRow) -> bool {
    row.submission.is_some() || row.case.status().never_ran()
}
