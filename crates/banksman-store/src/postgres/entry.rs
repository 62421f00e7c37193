//! The statement that enters a group: where actions stand, what would run, what happened, whom to tell, how many are
//! pending, and where the log ends.
//!
//! It is one statement because each costs the database an answer and us a wake-up. Everything in it waits for the row of
//! `head`, which it locks first, and is written only if the terms hold for that row; what does not hold for another row
//! is an error, which takes all of it back. It is made of the parts that a group needs; each that there is, is prepared once.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use banksman_core::{Status, Timestamp};

use super::clock;
use super::columns::{self, Column, Rows, column};
use super::guards::gives_back;
use super::news::CHANNEL;
use super::rows::int;
use super::telling::tell;
use super::terms::Terms;
use crate::StoreError;
use crate::encode::{CaseRow, EncodedCommit};

/// A statement with its columns.
pub(super) struct Entry<'a> {
    pub(super) sql: String,
    pub(super) columns: Vec<Column<'a>>,
    /// How many events it adds to the log.
    events: u64,
    /// Whether there is only one commit.
    alone: bool,
}

/// Locks the row, and goes on only if the terms hold. The time that is compared with ours is that at which the transaction
/// arrived, before it waited for anything; the one that deadlines are compared with is that at which the lock was had.
const HEAD: &str = "\
    WITH locked AS (
        UPDATE head SET last_seq = last_seq + ?::bigint, pending = pending + ?::bigint, epoch = epoch + ?::bigint,
                        people_epoch = people_epoch + ?::bigint
        WHERE one = 1 AND epoch = coalesce(?::bigint, epoch) AND people_epoch = coalesce(?::bigint, people_epoch)
              AND pending <= ?::bigint
              AND abs(coalesce(?::bigint - (extract(epoch FROM transaction_timestamp()) * 1000000)::bigint, 0))
                  <= ?::bigint
        RETURNING last_seq - ?::bigint AS before, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now)";

/// The guarded write: only the revision that the transition was computed from may be replaced, and a claim stays.
const MOVED: &str = ",
    moved AS (
        UPDATE actions a SET tier = n.tier, status = n.status, digest = n.digest, version = n.version,
                             revision = n.revision, wake_at = n.wake_at, join_key = n.join_key,
                             claimed_at = n.claimed_at, priority = n.priority, reviews = n.reviews,
                             state = n.state, risk = n.risk, deadline = coalesce(n.deadline, a.deadline)
        FROM locked, unnest(?::bytea[], ?::text[], ?::text[], ?::bytea[], ?::bigint[], ?::bigint[], ?::bigint[],
                            ?::bytea[], ?::bigint[], ?::smallint[], ?::text[], ?::text[], ?::smallint[], ?::bigint[],
                            ?::bigint[])
             AS n (id, tier, status, digest, version, revision, wake_at, join_key, claimed_at, priority, reviews,
                   state, risk, deadline, before)
        WHERE a.id = n.id AND a.revision = n.revision - 1 AND (a.claimed_at IS NULL OR a.claimed_at = n.claimed_at)
              AND (n.before IS NULL OR n.before > locked.now)
        RETURNING 1)";

const OPENED: &str = ",
    opened AS (
        INSERT INTO actions (id, tier, status, digest, version, revision, wake_at, join_key, claimed_at, priority,
                             reviews, state, risk, deadline, agent, owner, tool, batch, created_at)
        SELECT n.* FROM locked,
               unnest(?::bytea[], ?::text[], ?::text[], ?::bytea[], ?::bigint[], ?::bigint[], ?::bigint[], ?::bytea[],
                      ?::bigint[], ?::smallint[], ?::text[], ?::text[], ?::smallint[], ?::bigint[], ?::text[],
                      ?::text[], ?::text[], ?::bytea[], ?::bigint[]) AS n";

/// A proposal may take the place of one that is denied in the same group, which therefore comes first.
const AFTER_MOVED: &str = " WHERE (SELECT count(*) FROM moved) >= 0";

const SUBMITTED: &str = ",
    submitted AS (
        INSERT INTO submissions (action, version, body)
        SELECT n.* FROM locked, unnest(?::bytea[], ?::bigint[], ?::text[]) AS n)";

/// What did not run, or runs otherwise, has added nothing to meters.
const GIVEN_BACK: &str = ",
    given_back AS (DELETE FROM charges USING locked WHERE action = ANY (?::bytea[]))";

const KEYS: &str = ",
    keys AS (
        INSERT INTO idempotency_keys (id, agent, key, request, action, created_at)
        SELECT n.* FROM locked, unnest(?::bytea[], ?::text[], ?::text[], ?::bytea[], ?::bytea[], ?::bigint[]) AS n)";

const EVENTS: &str = ",
    events AS (
        INSERT INTO audit (seq, at, type, actor, action, agent, tool, risk, decision, resolution, observed, body)
        SELECT locked.before + place, at, type, actor, action, agent, tool, risk, decision, resolution, observed, body
        FROM locked, unnest(?::bigint[], ?::bigint[], ?::text[], ?::text[], ?::bytea[], ?::text[], ?::text[],
                            ?::text[], ?::text[], ?::boolean[], ?::boolean[], ?::text[])
             AS n (place, at, type, actor, action, agent, tool, risk, decision, resolution, observed, body))";

const NOTICES: &str = ",
    notices AS (
        INSERT INTO outbox (id, action, notice, at)
        SELECT locked.before + place, action, notice, at
        FROM locked, unnest(?::bigint[], ?::bytea[], ?::text[], ?::bigint[]) AS n (place, action, notice, at))";

const SETTLED: &str = ",
    settled AS (DELETE FROM outbox USING locked WHERE id = ANY (?::bigint[]))";

const COUNTED: &str = ",
    counted AS (
        INSERT INTO pending_by_agents AS p (agent, count)
        SELECT n.* FROM locked, unnest(?::text[], ?::bigint[]) AS n
        ON CONFLICT (agent) DO UPDATE SET count = p.count + excluded.count
        RETURNING agent, count)";

/// Apart from the others: what would be new must not be negative, and is checked even where it only adds to what is there.
const COUNTED_DOWN: &str = ",
    counted_down AS (
        UPDATE pending_by_agents p SET count = p.count + n.change
        FROM locked, unnest(?::text[], ?::bigint[]) AS n (agent, change) WHERE p.agent = n.agent COLLATE \"C\")";

/// Where the log ended before. What did not move, and what is too much, cannot be made a number of: an error.
const ANSWER: &str = "
    SELECT before";
const ALL_MOVED: &str = ",
    (SELECT CASE WHEN count(*) = ?::bigint THEN 0
                 ELSE (count(*) || ' of ' || ?::bigint || ' actions were moved')::integer END FROM moved)";
const ALL_WITHIN: &str = ",
    (SELECT CASE WHEN count(*) = 0 THEN 0 ELSE (count(*) || ' agents hold too much')::integer END
     FROM counted c JOIN unnest(?::text[], ?::bigint[]) AS n (agent, most) ON n.agent COLLATE \"C\" = c.agent
     WHERE c.count > n.most)";

/// What is told where others listen; nothing more where it is empty.
const NOTIFIED: &str = ", pg_notify('CHANNEL', before || ' ' || ?::text)";

impl<'a> Entry<'a> {
    /// What enters a group, on terms or, after looking, without; `notifies` tells other nodes.
    pub(super) fn of(
        group: &[&'a EncodedCommit],
        terms: &Terms<'_>,
        notifies: bool,
    ) -> Result<Self, StoreError> {
        let counts = counts(group);
        let (mut events, mut notices) = (Vec::new(), Vec::new());
        for (commit, next) in group.iter().zip(places(group)) {
            // A notice has the place of an event of its commit, and so one that is never used again: otherwise whoever
            // settles late would take away a notice that nobody has been told of.
            notices.extend((next..).zip(&commit.notices));
            events.extend((next..).zip(&commit.events));
        }
        let mut entry = Self {
            sql: String::with_capacity(6000),
            columns: Vec::with_capacity(80),
            events: u64::try_from(events.len()).unwrap_or(u64::MAX),
            alone: group.len() == 1,
        };
        entry.head(group, terms, counts.values().sum())?;
        let moves = entry.actions(group, terms)?;
        let used: Vec<_> = group.iter().filter_map(|commit| commit.idempotency.as_ref()).collect();
        entry.part_of(&used, KEYS, |rows, used| columns::idempotency_keys(rows, used).into());
        entry.part_of(&events, EVENTS, |rows, events| columns::events(rows, events).into());
        entry.part_of(&notices, NOTICES, |rows, notices| columns::notices(rows, notices).into());
        let settled: Vec<i64> =
            group.iter().flat_map(|commit| commit.settled_notices.iter().copied()).collect();
        entry.part_of(&settled, SETTLED, |_, settled| vec![column(settled, |id| *id)]);
        let changes = |(agent, change): &(&str, i64)| *change != 0 || terms.most_of.contains_key(agent);
        let changed = counts.into_iter().filter(changes);
        let (down, up): (Vec<_>, Vec<_>) = changed.partition(|(_, change)| *change < 0);
        entry.part_of(&up, COUNTED, |rows, up| columns::numbers(rows, up).into());
        entry.part_of(&down, COUNTED_DOWN, |rows, down| columns::numbers(rows, down).into());
        entry.answer(group, moves, &up, terms, notifies)?;
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
    fn part_of<T>(&mut self, items: &[T], sql: &str, columns: impl FnOnce(Rows, &[T]) -> Vec<Column<'a>>) {
        if !items.is_empty() {
            let rows = self.rows(items);
            self.part(&handed_over(rows, sql), columns(rows, items));
        }
    }

    /// Only a single commit is handed over by its values: with groups there would be too many statements to plan.
    fn rows<T>(&self, items: &[T]) -> Rows {
        if self.alone && items.len() == 1 { Rows::One } else { Rows::Many }
    }

    fn head(&mut self, group: &[&EncodedCommit], terms: &Terms<'_>, change: i64) -> Result<(), StoreError> {
        let raised = |which: fn(&EncodedCommit) -> bool| -> i64 {
            group.iter().map(|commit| i64::from(which(commit))).sum()
        };
        let events = int(self.events)?;
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
    fn actions(&mut self, group: &[&'a EncodedCommit], terms: &Terms<'_>) -> Result<i64, StoreError> {
        let moved: Vec<&CaseRow> = group.iter().flat_map(|commit| &commit.advanced).collect();
        let opened: Vec<&CaseRow> = group.iter().flat_map(|commit| &commit.opened).collect();
        if !moved.is_empty() {
            let rows = self.rows(&moved);
            let mut columns = columns::standings(rows, &moved)?;
            // Without terms it was looked at already, and judged by the same clock.
            let end = |row: &&CaseRow| row.before.filter(|_| terms.here.is_some()).map(Timestamp::as_micros);
            columns.push(columns::ends(rows, &moved.iter().map(end).collect::<Vec<_>>()));
            self.part(&handed_over(rows, MOVED), columns);
        }
        if !opened.is_empty() {
            let rows = self.rows(&opened);
            let mut columns = columns::standings(rows, &opened)?;
            columns.extend(columns::origins(rows, &opened));
            self.part(&handed_over(rows, OPENED), columns);
            self.sql.push_str(if moved.is_empty() { "" } else { AFTER_MOVED });
            self.sql.push(')');
        }
        let submitted =
            moved.iter().chain(&opened).filter_map(|row| Some((*row, row.submission.as_deref()?)));
        let submitted: Vec<(&CaseRow, &str)> = submitted.collect();
        self.part_of(&submitted, SUBMITTED, |rows, submitted| columns::submissions(rows, submitted).into());
        let given_back: Vec<&&CaseRow> = moved.iter().filter(|row| gives_back(row)).collect();
        self.part_of(&given_back, GIVEN_BACK, |_, cases| {
            vec![column(cases, |row| row.case.id.to_bytes().to_vec())]
        });
        Ok(i64::try_from(moved.len()).unwrap_or(i64::MAX))
    }

    fn answer(
        &mut self,
        group: &[&EncodedCommit],
        moves: i64,
        more: &[(&'a str, i64)],
        terms: &Terms<'_>,
        notifies: bool,
    ) -> Result<(), StoreError> {
        self.sql.push_str(ANSWER);
        if moves > 0 {
            self.part(ALL_MOVED, [Box::new(moves) as Column<'a>, Box::new(moves)]);
        }
        let limits = more.iter().filter_map(|(agent, _)| Some((*agent, int(*terms.most_of.get(agent)?))));
        let limits: Vec<(&'a str, i64)> =
            limits.map(|(agent, most)| Ok((agent, most?))).collect::<Result<_, StoreError>>()?;
        self.part_of(&limits, ALL_WITHIN, |rows, limits| columns::numbers(rows, limits).into());
        if notifies && self.events > 0 {
            self.part(&NOTIFIED.replace("CHANNEL", CHANNEL), [Box::new(tell(group)) as Column<'a>]);
        }
        self.sql.push_str(" FROM locked");
        Ok(())
    }
}

/// A part of the statement, for rows that are handed over like that: one row needs no arrays.
fn handed_over(rows: Rows, sql: &str) -> Cow<'_, str> {
    let Some((before, arrays)) = sql.split_once("unnest(").filter(|_| rows == Rows::One) else {
        return sql.into();
    };
    let (arrays, behind) = arrays.split_once(')').unwrap_or((arrays, ""));
    format!("{before}(VALUES ({})){behind}", arrays.replace("[]", "")).into()
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
