//! On which terms the database itself takes a group, without having been looked at first. Nothing here does I/O.
//!
//! Most commits have guards that the statement which writes them can hold: actions stand where they stood, the epochs are
//! the ones that were read, there is room for what is new, it is not too late. Such a group needs one round trip, and
//! takes and releases the lock within one statement. What the database does not take on these terms is looked at (see
//! [`super::guards`]), which also finds out why.

use std::collections::{BTreeMap, HashMap, HashSet};

use banksman_core::{Status, Timestamp};

use super::keys;
use crate::PendingLimits;
use crate::encode::EncodedCommit;

/// What must hold, or nothing is written.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Terms<'a> {
    pub(super) epoch: Option<u64>,
    pub(super) people_epoch: Option<u64>,
    /// How many actions may be pending afterwards.
    pub(super) most: Option<u64>,
    /// How many of each agent.
    pub(super) most_of: HashMap<&'a str, u64>,
    /// What this machine takes for the time.
    pub(super) here: Option<Timestamp>,
    /// Before when its turn has to come, by the database's clock.
    pub(super) before: Option<Timestamp>,
}

impl<'a> Terms<'a> {
    /// The terms of a group, or none if the database has to be looked at.
    pub(super) fn of(group: &[&'a EncodedCommit]) -> Option<Self> {
        if !group.iter().all(|commit| is_plain(commit)) || meet(group) {
            return None;
        }
        let mut terms = Self {
            epoch: agreed(group.iter().map(|commit| commit.control_epoch))?,
            people_epoch: agreed(group.iter().map(|commit| commit.people_epoch))?,
            before: group.iter().flat_map(|commit| &commit.advanced).filter_map(|row| row.before).min(),
            ..Self::default()
        };
        // Nothing has to be written to find out that there is no room.
        let has_room = |limits: &PendingLimits| limits.total > 0 && limits.per_agent > 0;
        for commit in group {
            let mut held = commit.opened.iter().filter(|row| row.case.status() == Status::Pending).peekable();
            let (Some(limits), Some(_)) = (commit.limits, held.peek()) else { continue };
            if !has_room(&limits) {
                return None;
            }
            terms.most = Some(terms.most.map_or(limits.total, |most| most.min(limits.total)));
            for row in held {
                let most = terms.most_of.entry(&row.case.agent).or_insert(limits.per_agent);
                *most = limits.per_agent.min(*most);
            }
        }
        Some(terms)
    }
}

/// How many more actions of each agent are pending afterwards.
pub(super) fn counts<'a>(group: &[&'a EncodedCommit]) -> BTreeMap<&'a str, i64> {
    let mut counts = BTreeMap::new();
    for row in group.iter().flat_map(|commit| commit.opened.iter().chain(&commit.advanced)) {
        let change = i64::from(row.case.status() == Status::Pending) - i64::from(row.was_pending);
        *counts.entry(row.case.agent.as_str()).or_default() += change;
    }
    counts
}

/// Whether all that it guards and writes is within the one statement.
fn is_plain(commit: &EncodedCommit) -> bool {
    commit.readings.is_empty()
        && commit.charges.is_empty()
        && commit.batch.is_none()
        && commit.control.is_empty()
        && commit.post.is_none()
}

/// Whether two of a group are about the same, so that one of them has to come first.
fn meet(group: &[&EncodedCommit]) -> bool {
    let (mut actions, mut joins, mut used) = (HashSet::new(), HashSet::new(), HashSet::new());
    group.iter().any(|commit| {
        let mut rows = commit.opened.iter().chain(&commit.advanced);
        rows.any(|row| {
            !actions.insert(row.case.id) || keys::join_of(row).is_some_and(|key| !joins.insert(key))
        }) || commit.idempotency.as_ref().is_some_and(|key| !used.insert(keys::idempotency_of(key)))
    })
}

/// What all that say something agree on; `None` if they do not.
fn agreed(mut said: impl Iterator<Item = Option<u64>>) -> Option<Option<u64>> {
    said.try_fold(None, |agreed: Option<u64>, next| match (agreed, next) {
        (Some(agreed), Some(next)) if agreed != next => None,
        (agreed, next) => Some(agreed.or(next)),
    })
}
