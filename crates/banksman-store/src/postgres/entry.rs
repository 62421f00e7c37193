//! The statements that enter a group: where actions stand, what would run, what happened, whom to tell, how many are
//! pending, and where the log ends.
//!
//! Where no other node writes it is one statement, because each costs the database an answer and us a wake-up. Everything in
//! it waits for the row of `head`, which it locks first, and is written only if the terms hold for that row; what does not
//! hold for another row is an error, which takes all of it back.
//!
//! Where others write it is two, in one transaction: where actions stand does not wait for the row of `head`, and so is
//! written while others have it; only the log does. A statement is made of the parts that a group needs; each that there is,
//! is prepared once.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use banksman_core::{Status, Timestamp};

use super::clock;
use super::columns::{Column, column};
use super::guards::gives_back;
use super::news::CHANNEL;
use super::records;
use super::rows::int;
use super::telling::tell;
use super::terms::Terms;
use crate::StoreError;
use crate::encode::{CaseRow, EncodedCommit};

/// A statement with its parameters.
pub(super) struct Entry<'a> {
    pub(super) sql: String,
    pub(super) columns: Vec<Column<'a>>,
}

/// What of a group a statement enters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// All of it.
    Whole,
    /// Where actions stand and what would run, whoever has the row of `head`.
    Standings,
    /// The rest, in the transaction that has entered the standings and waited for that row.
    Log,
}

/// Takes the turn: locks the row, and goes on only if the terms hold. The time that is compared with ours is that at which the
/// transaction arrived, before it waited for anything; the one that deadlines are compared with is that at which the lock was had.
const HEAD: &str = "\
    WITH turn AS (
        UPDATE head SET last_seq = last_seq + ?::bigint, pending = pending + ?::bigint, epoch = epoch + ?::bigint,
                        people_epoch = people_epoch + ?::bigint
        WHERE one = 1 AND epoch = coalesce(?::bigint, epoch) AND people_epoch = coalesce(?::bigint, people_epoch)
              AND pending <= ?::bigint
              AND abs(coalesce(?::bigint - (extract(epoch FROM transaction_timestamp()) * 1000000)::bigint, 0))
                  <= ?::bigint
        RETURNING last_seq - ?::bigint AS before, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now)";

/// Nobody's turn has to come for what follows.
const NO_TURN: &str = "WITH turn AS (SELECT)";

/// The guarded write: only the revision that the transition was computed from may be replaced, and a claim stays.
const MOVED: &str = ",
    moved AS (
        UPDATE actions a SET tier = n.tier, status = n.status, digest = n.digest, version = n.version,
                             revision = n.revision, wake_at = n.wake_at, join_key = n.join_key,
                             claimed_at = n.claimed_at, priority = n.priority, reviews = n.reviews,
                             state = n.state, risk = n.risk, deadline = coalesce(n.deadline, a.deadline)
        FROM turn, unnest(?::action_row[]) AS n
        WHERE a.id = n.id AND a.revision = n.revision - 1 AND (a.claimed_at IS NULL OR a.claimed_at = n.claimed_at)
        RETURNING 1)";

const OPENED: &str = ",
    opened AS (
        INSERT INTO actions (id, tier, status, digest, version, revision, wake_at, join_key, claimed_at, priority,
                             reviews, state, risk, deadline, agent, owner, tool, batch, created_at)
        SELECT n.* FROM turn, unnest(?::action_row[]) AS n";

/// A proposal may take the place of one that is denied in the same group, which therefore comes first.
const AFTER_MOVED: &str = " WHERE (SELECT count(*) FROM moved) >= 0";

const SUBMITTED: &str = ",
    submitted AS (
        INSERT INTO submissions (action, version, body)
        SELECT n.* FROM turn, unnest(?::submission_row[]) AS n)";

/// What did not run, or runs otherwise, has added nothing to meters.
const GIVEN_BACK: &str = ",
    given_back AS (DELETE FROM charges USING turn WHERE action = ANY (?::bytea[]))";

const KEYS: &str = ",
    keys AS (
        INSERT INTO idempotency_keys (id, agent, key, request, action, created_at)
        SELECT n.* FROM turn, unnest(?::idempotency_key_row[]) AS n)";

const EVENTS: &str = ",
    events AS (
        INSERT INTO audit (seq, at, type, actor, action, agent, tool, risk, decision, resolution, observed, body)
        SELECT turn.before + n.place, n.at, n.type, n.actor, n.action, n.agent, n.tool, n.risk, n.decision,
               n.resolution, n.observed, n.body
        FROM turn, unnest(?::event_row[]) AS n)";

const NOTICES: &str = ",
    notices AS (
        INSERT INTO outbox (id, action, notice, at)
        SELECT turn.before + n.place, n.action, n.notice, n.at FROM turn, unnest(?::notice_row[]) AS n)";

const SETTLED: &str = ",
    settled AS (DELETE FROM outbox USING turn WHERE id = ANY (?::bigint[]))";

const COUNTED: &str = ",
    counted AS (
        INSERT INTO pending_by_agents AS p (agent, count)
        SELECT n.* FROM turn, unnest(?::agent_row[]) AS n
        ON CONFLICT (agent) DO UPDATE SET count = p.count + excluded.count
        RETURNING agent, count)";

/// Apart from the others: what would be new must not be negative, and is checked even where it only adds to what is there.
const COUNTED_DOWN: &str = ",
    counted_down AS (
        UPDATE pending_by_agents p SET count = p.count + n.number
        FROM turn, unnest(?::agent_row[]) AS n WHERE p.agent = n.agent COLLATE \"C\")";

/// Where the log ended before. What did not move, is late, or is too much, cannot be made a number of: an error.
const BEFORE: &str = "
    SELECT before";
const STANDING: &str = "
    SELECT 0";
const ALL_MOVED: &str = ",
    (SELECT CASE WHEN count(*) = ?::bigint THEN 0
                 ELSE (count(*) || ' of ' || ?::bigint || ' actions were moved')::integer END FROM moved)";
const IN_TIME: &str = ",
    CASE WHEN now < ?::bigint THEN 0 ELSE ('late by ' || now - ?::bigint || ' microseconds')::integer END";
const ALL_WITHIN: &str = ",
    (SELECT CASE WHEN count(*) = 0 THEN 0 ELSE (count(*) || ' agents hold too much')::integer END
     FROM counted c JOIN unnest(?::agent_row[]) AS n ON n.agent COLLATE \"C\" = c.agent
     WHERE c.count > n.number)";

/// What is told where others listen; nothing more where it is empty.
const NOTIFIED: &str = ", pg_notify('CHANNEL', before || ' ' || ?::text)";

/// If the terms do not hold, a statement that enters everything answers with no row, and has written nothing.
const FROM_TURN: &str = "
    FROM turn";

/// One that follows another must fail, so that nothing of that one stays either.
const FROM_THE_TURN: &str = "
    FROM (SELECT CASE WHEN count(*) = 1 THEN min(before)
                      ELSE (count(*) || ' rows are as the terms say')::bigint END AS before, min(now) AS now
          FROM turn) AS had";

impl<'a> Entry<'a> {
    /// What enters a group, or this much of it, on terms or, after looking, without; `notifies` tells other nodes.
    pub(super) fn of(
        scope: Scope,
        group: &[&'a EncodedCommit],
        terms: &Terms<'_>,
        notifies: bool,
    ) -> Result<Self, StoreError> {
        let mut entry = Self { sql: String::with_capacity(4000), columns: Vec::with_capacity(24) };
        let counts = counts(group);
        if scope == Scope::Standings {
            entry.part(NO_TURN, []);
        } else {
            entry.head(group, terms, counts.values().sum())?;
        }
        let moves = if scope == Scope::Log { 0 } else { entry.standings(group)? };
        let up = if scope == Scope::Standings { Vec::new() } else { entry.log(group, terms, counts) };
        entry.part(if scope == Scope::Standings { STANDING } else { BEFORE }, []);
        if moves > 0 {
            entry.part(ALL_MOVED, [Box::new(moves) as Column<'a>, Box::new(moves)]);
        }
        match scope {
            Scope::Standings => return Ok(entry),
            Scope::Whole => entry.checks(group, &up, terms, notifies, FROM_TURN)?,
            Scope::Log => entry.checks(group, &up, terms, notifies, FROM_THE_TURN)?,
        }
        Ok(entry)
    }

    /// Appends a part of the statement, and numbers its parameters.
    fn part(
        &mut self,
        sql: &str,
        columns: impl IntoIterator<Item = Column<'a>, IntoIter: ExactSizeIterator>,
    ) {
        let columns = columns.into_iter();
        debug_assert_eq!(sql.matches('?').count(), columns.len(), "{sql}");
        let mut pieces = sql.split('?');
        self.sql.push_str(pieces.next().unwrap_or_default());
        for (piece, column) in pieces.zip(columns) {
            self.columns.push(column);
            let _ = write!(self.sql, "${}{piece}", self.columns.len());
        }
    }

    /// The same for rows, if there are any.
    fn rows(&mut self, sql: &str, rows: Vec<records::Record<'a>>) {
        if !rows.is_empty() {
            self.part(sql, [Box::new(rows) as Column<'a>]);
        }
    }

    fn head(&mut self, group: &[&EncodedCommit], terms: &Terms<'_>, change: i64) -> Result<(), StoreError> {
        let raised = |which: fn(&EncodedCommit) -> bool| -> i64 {
            group.iter().map(|commit| i64::from(which(commit))).sum()
        };
        let events = int(group.iter().map(|commit| commit.events.len() as u64).sum())?;
        let most = terms.most.map(int).transpose()?.map_or(i64::MAX, |most| most.saturating_sub(change));
        let columns: [Column<'a>; 10] = [
            Box::new(events),
            Box::new(change),
            Box::new(raised(|commit| commit.raises().epoch)),
            Box::new(raised(|commit| commit.raises().people_epoch)),
            Box::new(terms.epoch.map(int).transpose()?),
            Box::new(terms.people_epoch.map(int).transpose()?),
            Box::new(most),
            Box::new(terms.here.map(Timestamp::as_micros)),
            Box::new(clock::APART_MICROS),
            Box::new(events),
        ];
        self.part(HEAD, columns);
        Ok(())
    }

    /// Moves, openings and what would run. Says how many actions are to move.
    ///
    /// Whoever moves several actions does so in the same order as everyone else, or two would wait for each other. New ones
    /// stay in the order in which they came, so that the table is in the order in which it is read.
    fn standings(&mut self, group: &[&'a EncodedCommit]) -> Result<i64, StoreError> {
        let mut moved: Vec<&'a CaseRow> = group.iter().flat_map(|commit| &commit.advanced).collect();
        moved.sort_unstable_by_key(|row| row.case.id);
        let opened: Vec<&'a CaseRow> = group.iter().flat_map(|commit| &commit.opened).collect();
        let rows = |cases: &[&'a CaseRow]| -> Result<Vec<_>, StoreError> {
            cases.iter().map(|row| records::action(row)).collect()
        };
        self.rows(MOVED, rows(&moved)?);
        if !opened.is_empty() {
            self.rows(OPENED, rows(&opened)?);
            self.sql.push_str(if moved.is_empty() { "" } else { AFTER_MOVED });
            self.sql.push(')');
        }
        let submitted = moved.iter().chain(&opened).filter_map(|row| Some((row, row.submission.as_deref()?)));
        self.rows(SUBMITTED, submitted.map(|(row, body)| records::submission(row, body)).collect());
        let given_back: Vec<&&CaseRow> = moved.iter().filter(|row| gives_back(row)).collect();
        if !given_back.is_empty() {
            self.part(GIVEN_BACK, [column(&given_back, |row| row.case.id.to_bytes().to_vec())]);
        }
        let mut used: Vec<_> = group.iter().filter_map(|commit| commit.idempotency.as_ref()).collect();
        used.sort_unstable_by_key(|key| (&key.agent, &key.key));
        self.rows(KEYS, used.into_iter().map(records::idempotency_key).collect());
        Ok(i64::try_from(moved.len()).unwrap_or(i64::MAX))
    }

    /// What happened, whom to tell, and how many are pending. Says of whom more are.
    fn log(
        &mut self,
        group: &[&'a EncodedCommit],
        terms: &Terms<'_>,
        counts: BTreeMap<&'a str, i64>,
    ) -> Vec<(&'a str, i64)> {
        let (mut events, mut notices) = (Vec::new(), Vec::new());
        for (commit, next) in group.iter().zip(places(group)) {
            // A notice has the place of an event of its commit, and so one that is never used again: otherwise whoever
            // settles late would take away a notice that nobody has been told of.
            notices.extend((next..).zip(&commit.notices).map(|(place, row)| records::notice(place, row)));
            events.extend((next..).zip(&commit.events).map(|(place, row)| records::event(place, row)));
        }
        self.rows(EVENTS, events);
        self.rows(NOTICES, notices);
        let settled: Vec<i64> =
            group.iter().flat_map(|commit| commit.settled_notices.iter().copied()).collect();
        if !settled.is_empty() {
            self.part(SETTLED, [column(&settled, |id| *id)]);
        }
        let changes = |(agent, change): &(&str, i64)| *change != 0 || terms.most_of.contains_key(agent);
        let changed = counts.into_iter().filter(changes);
        let (down, up): (Vec<_>, Vec<_>) = changed.partition(|(_, change)| *change < 0);
        self.rows(COUNTED, up.iter().map(|(agent, change)| records::agent(agent, *change)).collect());
        self.rows(COUNTED_DOWN, down.iter().map(|(agent, change)| records::agent(agent, *change)).collect());
        up
    }

    /// What else must hold, and what others are told.
    fn checks(
        &mut self,
        group: &[&'a EncodedCommit],
        more: &[(&'a str, i64)],
        terms: &Terms<'_>,
        notifies: bool,
        from: &str,
    ) -> Result<(), StoreError> {
        if let Some(end) = terms.before {
            let end = end.as_micros();
            self.part(IN_TIME, [Box::new(end) as Column<'a>, Box::new(end)]);
        }
        let limits = more.iter().filter_map(|(agent, _)| Some((*agent, *terms.most_of.get(agent)?)));
        let limits = limits.map(|(agent, most)| Ok(records::agent(agent, int(most)?)));
        self.rows(ALL_WITHIN, limits.collect::<Result<_, StoreError>>()?);
        if notifies && group.iter().any(|commit| !commit.events.is_empty()) {
            self.part(&NOTIFIED.replace("CHANNEL", CHANNEL), [Box::new(tell(group)) as Column<'a>]);
        }
        self.part(from, []);
        Ok(())
    }
}

/// The place of the first event of each commit, counted from 1.
fn places(group: &[&EncodedCommit]) -> impl Iterator<Item = i64> {
    let lengths = group.iter().map(|commit| i64::try_from(commit.events.len()).unwrap_or(i64::MAX));
    lengths.scan(1, |next, length| {
        let place = *next;
        *next += length;
        Some(place)
    })
}

/// How many more actions of each agent are pending afterwards.
fn counts<'a>(group: &[&'a EncodedCommit]) -> BTreeMap<&'a str, i64> {
    let mut counts = BTreeMap::new();
    for row in group.iter().flat_map(|commit| commit.opened.iter().chain(&commit.advanced)) {
        let change = i64::from(row.case.status() == Status::Pending) - i64::from(row.was_pending);
        *counts.entry(row.case.agent.as_str()).or_default() += change;
    }
    counts
}
