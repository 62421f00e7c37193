//! One commit inside a transaction: every guard first, then the writes.
//!
//! Many commits share a transaction, so one whose guard fails must leave no trace without a rollback. Therefore
//! no statement that changes anything runs before the last guard, except where the first write is the guard.

use std::collections::HashMap;

use banksman_core::{Status, Timestamp};
use rusqlite::{Connection, OptionalExtension, params};

use super::control::change_control;
use super::pen::Pen;
use super::rows::{action_id, digest};
use super::stroke::{Field, Stroke, count};
use super::{meters, post};
use crate::Conflict;
use crate::encode::{CaseRow, EncodedCommit, EventRow, item_bytes};

/// What the writer knows about all that is stored, kept up to date commit by commit.
#[derive(Default)]
pub(super) struct Totals {
    /// How many actions of each agent are pending.
    pub(super) pending: HashMap<String, u64>,
    /// How many are pending altogether.
    pub(super) all_pending: u64,
    /// The place of the newest audit event.
    pub(super) last_seq: u64,
    /// The epoch of the house rules.
    pub(super) epoch: u64,
    /// The epoch of people.
    pub(super) people_epoch: u64,
    /// The time at which the running transaction began.
    pub(super) now: Timestamp,
    /// Which agents gained (true) or lost a pending action in the running transaction.
    journal: Vec<(String, bool)>,
}

/// Named, because SQLite would rather look the status up and then sort a million rows by agent.
pub(super) const PENDING_BY_AGENT: &str =
    "SELECT agent, count(*) FROM actions INDEXED BY pending_by_agent WHERE status = 'pending' GROUP BY agent";

impl Totals {
    /// Counts what is stored.
    pub(super) fn load(connection: &Connection) -> rusqlite::Result<Self> {
        let mut totals = Self::default();
        let mut statement = connection.prepare(PENDING_BY_AGENT)?;
        let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, u64>(1)?)))?;
        for row in rows {
            let (agent, count) = row?;
            totals.all_pending += count;
            totals.pending.insert(agent, count);
        }
        Ok(totals)
    }

    /// Reads what another process may have written: the command line issues tokens beside the server.
    pub(super) fn refresh(&mut self, pen: &mut Pen<'_>) -> rusqlite::Result<()> {
        (self.epoch, self.people_epoch, self.last_seq) =
            pen.where_we_are.query_row([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        Ok(())
    }

    /// Starts to remember what a transaction changes.
    pub(super) fn checkpoint(&mut self) {
        self.journal.clear();
    }

    /// Takes back what a transaction that failed has changed.
    pub(super) fn restore(&mut self) {
        for (agent, began) in std::mem::take(&mut self.journal).into_iter().rev() {
            if began { self.count_down(&agent) } else { self.count_up(&agent) }
        }
    }

    fn of_agent(&self, agent: &str) -> u64 {
        self.pending.get(agent).copied().unwrap_or(0)
    }

    fn begin_pending(&mut self, agent: &str) {
        self.journal.push((agent.to_owned(), true));
        self.count_up(agent);
    }

    fn end_pending(&mut self, agent: &str) {
        self.journal.push((agent.to_owned(), false));
        self.count_down(agent);
    }

    fn count_up(&mut self, agent: &str) {
        self.all_pending += 1;
        match self.pending.get_mut(agent) {
            Some(count) => *count += 1,
            None => {
                self.pending.insert(agent.to_owned(), 1);
            }
        }
    }

    fn count_down(&mut self, agent: &str) {
        self.all_pending = self.all_pending.saturating_sub(1);
        if let Some(count) = self.pending.get_mut(agent) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.pending.remove(agent);
            }
        }
    }
}

/// Why one commit of a transaction did not happen.
pub(super) enum ApplyError {
    /// A guard did not hold, and nothing was written.
    Conflict(Conflict),
    /// The database failed; the whole transaction is to be rolled back.
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for ApplyError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// Applies one commit within the running transaction.
pub(super) fn apply(
    pen: &mut Pen<'_>,
    totals: &mut Totals,
    commit: &EncodedCommit,
) -> Result<(), ApplyError> {
    let connection = pen.connection;
    check_guards(connection, totals, commit)?;
    for row in &commit.opened {
        insert_case(pen, row, commit.opened.len() == 1 && commit.idempotency.is_none())?;
        if row.case.status() == Status::Pending {
            totals.begin_pending(&row.case.agent);
        }
    }
    for row in &commit.advanced {
        update_case(pen, totals, row)?;
    }
    for charge in &commit.charges {
        meters::charge(pen, charge)?;
    }
    if let Some(key) = &commit.idempotency {
        let action = key.action.to_bytes();
        pen.write(
            Stroke::InsertKey,
            &[
                (&key.agent).into(),
                (&key.key).into(),
                key.request.as_bytes().into(),
                (&action).into(),
                key.at.as_micros().into(),
            ],
        )?;
    }
    if let Some(batch) = &commit.batch {
        connection
            .prepare_cached("INSERT INTO batches (id, agent, created_at, items) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![
                batch.id.to_bytes(),
                batch.agent,
                batch.created_at.as_micros(),
                item_bytes(&batch.items)
            ])?;
    }
    for change in &commit.control {
        change_control(connection, change)?;
    }
    let raises = commit.raises();
    if raises.epoch || raises.people_epoch {
        totals.epoch += u64::from(raises.epoch);
        totals.people_epoch += u64::from(raises.people_epoch);
        connection
            .prepare_cached("UPDATE control SET epoch = ?1, people_epoch = ?2")?
            .execute([totals.epoch, totals.people_epoch])?;
    }
    let first_event = totals.last_seq + 1;
    for row in &commit.events {
        totals.last_seq += 1;
        insert_event(pen, totals.last_seq, row)?;
    }
    // A notice has the place of an event of its commit, and so one that is never used again: otherwise whoever settles
    // late would take away a notice that nobody has been told of.
    for (place, notice) in (first_event..=totals.last_seq).zip(&commit.notices) {
        let action = notice.action.to_bytes();
        pen.write(
            Stroke::InsertNotice,
            &[
                count(place).into(),
                (&action).into(),
                notice.notice.as_str().into(),
                notice.at.as_micros().into(),
            ],
        )?;
    }
    for id in &commit.settled_notices {
        pen.write(Stroke::SettleNotice, &[(*id).into()])?;
    }
    if let Some(written) = &commit.post {
        post::write(connection, written)?;
    }
    Ok(())
}

fn check_guards(connection: &Connection, totals: &Totals, commit: &EncodedCommit) -> Result<(), ApplyError> {
    let conflict = |conflict| Err(ApplyError::Conflict(conflict));
    if commit.control_epoch.is_some_and(|epoch| epoch != totals.epoch) {
        return conflict(Conflict::ControlMoved);
    }
    if commit.people_epoch.is_some_and(|epoch| epoch != totals.people_epoch) {
        return conflict(Conflict::PeopleMoved);
    }
    let late = |row: &&CaseRow| row.before.is_some_and(|end| end <= totals.now);
    if let Some(row) = commit.advanced.iter().find(late) {
        // Moved or late: whoever lost to another should hear of that one.
        let moved = stored_revision(connection, row.case.id)? != Some(row.case.revision - 1);
        let id = row.case.id;
        return conflict(if moved { Conflict::CaseMoved(id) } else { Conflict::TooLate(id) });
    }
    if let Some(written) = &commit.post
        && let Some(found) = post::conflict(connection, written)?
    {
        return conflict(found);
    }
    if let Some(key) = &commit.idempotency {
        let used = connection
            .prepare_cached("SELECT request, action FROM idempotency_keys WHERE agent = ?1 AND key = ?2")?
            .query_row(params![key.agent, key.key], |row| Ok((digest(row, 0)?, action_id(row, 1)?)))
            .optional()?;
        if let Some((request, action)) = used {
            return conflict(Conflict::IdempotencyKeyUsed { request, action });
        }
    }
    for reading in &commit.readings {
        if meters::read(connection, &reading.query)? != reading.total {
            return conflict(Conflict::MetersMoved);
        }
    }
    // A single new or moved action is its own guard: its statement runs first and says whether it applied. An edit
    // is not, because it can also meet an action that already asks for the same.
    let edits = commit.advanced.iter().any(|row| row.submission.is_some());
    let many = commit.opened.len() + commit.advanced.len() > 1 || commit.idempotency.is_some();
    if many || edits {
        for row in &commit.opened {
            if let Some(id) = joinable_with(connection, row)? {
                return conflict(Conflict::Joinable(id));
            }
        }
        for row in &commit.advanced {
            if stored_revision(connection, row.case.id)? != Some(row.case.revision - 1) {
                return conflict(Conflict::CaseMoved(row.case.id));
            }
            if row.submission.is_some()
                && let Some(other) = joinable_with(connection, row)?.filter(|other| *other != row.case.id)
            {
                return conflict(Conflict::Joinable(other));
            }
        }
    }
    if let Some(limits) = commit.limits {
        let held = commit.opened.iter().filter(|row| row.case.status() == Status::Pending);
        let mut more = 0;
        let mut agent = None;
        for row in held {
            more += 1;
            agent = Some(&row.case.agent);
        }
        if let Some(agent) = agent {
            // Joining beats the limit: an agent at its limit that asks again is told of what it already asked.
            let over_agent = totals.of_agent(agent) + more > limits.per_agent;
            if over_agent || totals.all_pending + more > limits.total {
                if let [row] = commit.opened.as_slice()
                    && let Some(id) = joinable_with(connection, row)?
                {
                    return conflict(Conflict::Joinable(id));
                }
                return conflict(if over_agent {
                    Conflict::TooManyPendingForAgent
                } else {
                    Conflict::TooManyPending
                });
            }
        }
    }
    Ok(())
}

fn stored_revision(connection: &Connection, id: banksman_core::ActionId) -> rusqlite::Result<Option<u64>> {
    connection
        .prepare_cached("SELECT revision FROM actions WHERE id = ?1")?
        .query_row([id.to_bytes()], |stored| stored.get(0))
        .optional()
}

/// Finds the action that a proposal of this agent would join.
pub(super) const JOINABLE: &str = "SELECT id FROM actions WHERE agent = ?1 AND digest = ?2 AND joinable = 1";

fn joinable_with(
    connection: &Connection,
    row: &CaseRow,
) -> rusqlite::Result<Option<banksman_core::ActionId>> {
    if !row.case.state.is_joinable() {
        return Ok(None);
    }
    joinable(connection, &row.case.agent, row.case.submission.digest)
}

pub(super) fn joinable(
    connection: &Connection,
    agent: &str,
    digest: banksman_core::Digest,
) -> rusqlite::Result<Option<banksman_core::ActionId>> {
    connection
        .prepare_cached(JOINABLE)?
        .query_row(params![agent, digest.as_bytes()], |found| action_id(found, 0))
        .optional()
}

fn insert_case(pen: &mut Pen<'_>, row: &CaseRow, is_own_guard: bool) -> Result<(), ApplyError> {
    let case = &row.case;
    let submission = &case.submission;
    let (id, batch) = (case.id.to_bytes(), case.batch.map(banksman_core::BatchId::to_bytes));
    let fields: [Field<'_>; 19] = [
        (&id).into(),
        (&case.agent).into(),
        case.owner.as_deref().into(),
        (&submission.action.tool).into(),
        submission.verdict.tier.as_str().into(),
        case.status().as_str().into(),
        submission.digest.as_bytes().into(),
        case.version.into(),
        count(case.revision).into(),
        batch.as_ref().into(),
        case.created_at.as_micros().into(),
        row.wake_at().into(),
        case.state.is_joinable().into(),
        row.claimed_at().into(),
        (&row.reviews).into(),
        (&row.state).into(),
        case.priority().into(),
        row.risk().into(),
        row.deadline().into(),
    ];
    if pen.write(Stroke::InsertAction, &fields)? == 0 {
        return match joinable_with(pen.connection, row)? {
            Some(id) if is_own_guard => Err(ApplyError::Conflict(Conflict::Joinable(id))),
            // Two items of one commit that join each other: the engine refuses that before it comes here.
            Some(_) | None => Err(ApplyError::Sqlite(rusqlite::Error::StatementChangedRows(0))),
        };
    }
    insert_submission(pen, row)?;
    Ok(())
}

fn insert_submission(pen: &mut Pen<'_>, row: &CaseRow) -> rusqlite::Result<()> {
    if let Some(body) = &row.submission {
        let id = row.case.id.to_bytes();
        pen.write(Stroke::InsertSubmission, &[(&id).into(), row.case.version.into(), body.into()])?;
    }
    Ok(())
}

fn update_case(pen: &mut Pen<'_>, totals: &mut Totals, row: &CaseRow) -> Result<(), ApplyError> {
    let case = &row.case;
    let submission = &case.submission;
    let id = case.id.to_bytes();
    let fields: [Field<'_>; 15] = [
        (&id).into(),
        count(case.revision - 1).into(),
        submission.verdict.tier.as_str().into(),
        case.status().as_str().into(),
        submission.digest.as_bytes().into(),
        case.version.into(),
        count(case.revision).into(),
        row.wake_at().into(),
        case.state.is_joinable().into(),
        row.claimed_at().into(),
        (&row.reviews).into(),
        (&row.state).into(),
        case.priority().into(),
        row.risk().into(),
        row.deadline().into(),
    ];
    let updated = pen.write(Stroke::MoveAction, &fields)?;
    if updated != 1 {
        return Err(match stored_revision(pen.connection, case.id)? {
            Some(revision) if revision == case.revision - 1 => {
                ApplyError::Sqlite(rusqlite::Error::StatementChangedRows(updated))
            }
            Some(_) | None => ApplyError::Conflict(Conflict::CaseMoved(case.id)),
        });
    }
    insert_submission(pen, row)?;
    if row.submission.is_some() || case.status().never_ran() {
        meters::give_back(pen, case.id)?;
    }
    match (row.was_pending, case.status() == Status::Pending) {
        (true, false) => totals.end_pending(&case.agent),
        (false, true) => totals.begin_pending(&case.agent),
        (true, true) | (false, false) => {}
    }
    Ok(())
}

fn insert_event(pen: &mut Pen<'_>, seq: u64, row: &EventRow) -> rusqlite::Result<()> {
    let event = &row.event;
    let about = event.action.as_ref();
    let action = about.map(|about| about.id.to_bytes());
    let fields: [Field<'_>; 12] = [
        count(seq).into(),
        event.at.as_micros().into(),
        event.fact.type_name().into(),
        event.actor.name().into(),
        action.as_ref().into(),
        about.map(|about| about.agent.as_str()).into(),
        about.map(|about| about.tool.as_str()).into(),
        about.map(|about| about.risk.as_str()).into(),
        event.fact.decision().map(banksman_core::Decision::as_str).into(),
        event.is_resolution().into(),
        (&row.body).into(),
        event.is_observation().into(),
    ];
    pen.write(Stroke::InsertEvent, &fields)?;
    Ok(())
}
