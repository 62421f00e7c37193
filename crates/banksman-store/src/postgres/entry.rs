//! The statement that enters a group: where actions stand, what would run, what happened, whom to tell, how many are
//! pending, and where the log ends.
//!
//! It is one, because each costs the database an answer and us a wake-up. Where actions stand is entered first, while other nodes may
//! have the row of `head`; the log, the counts and the notification wait for the turn that locks it. What does not hold is an
//! error, which takes all of it back. A statement is made of the parts that a group needs; each that there is, is prepared once.

use std::fmt::Write as _;

use banksman_core::Timestamp;

use super::clock;
use super::columns::{Column, column};
use super::guards::gives_back;
use super::news::CHANNEL;
use super::records;
use super::rows::int;
use super::telling::{Telling, tell_with};
use super::terms::{Terms, counts};
use crate::StoreError;
use crate::encode::{CaseRow, EncodedCommit};

/// A statement with its parameters.
pub(super) struct Entry<'a> {
    pub(super) sql: String,
    pub(super) columns: Vec<Column<'a>>,
}

/// The guarded write: only the revision that the transition was computed from may be replaced, and a claim stays.
const MOVED: &str = "
    moved AS (
        UPDATE actions a SET tier = n.tier, status = n.status, digest = n.digest, version = n.version,
                             revision = n.revision, wake_at = n.wake_at, join_key = n.join_key,
                             claimed_at = n.claimed_at, priority = n.priority, reviews = n.reviews,
                             state = n.state, risk = n.risk, deadline = coalesce(n.deadline, a.deadline)
        FROM unnest(?::action_row[]) AS n
        WHERE a.id = n.id AND a.revision = n.revision - 1 AND (a.claimed_at IS NULL OR a.claimed_at = n.claimed_at)
        RETURNING 1),";

const OPENED: &str = "
    opened AS (
        INSERT INTO actions (id, tier, status, digest, version, revision, wake_at, join_key, claimed_at, priority,
                             reviews, state, risk, deadline, agent, owner, tool, batch, created_at)
        SELECT n.* FROM unnest(?::action_row[]) AS n
        RETURNING 1),";

/// A proposal may take the place of one that is denied in the same group, which therefore comes first.
const OPENED_AFTER_MOVED: &str = "
    opened AS (
        INSERT INTO actions (id, tier, status, digest, version, revision, wake_at, join_key, claimed_at, priority,
                             reviews, state, risk, deadline, agent, owner, tool, batch, created_at)
        SELECT n.* FROM unnest(?::action_row[]) AS n WHERE (SELECT count(*) FROM moved) >= 0
        RETURNING 1),";

const SUBMITTED: &str = "
    submitted AS (
        INSERT INTO submissions (action, version, body)
        SELECT n.* FROM unnest(?::submission_row[]) AS n
        RETURNING 1),";

/// What did not run, or runs otherwise, has added nothing to meters.
const GIVEN_BACK: &str = "
    given_back AS (DELETE FROM charges WHERE action = ANY (?::bytea[])),";

const KEYS: &str = "
    keys AS (
        INSERT INTO idempotency_keys (id, agent, key, request, action, created_at)
        SELECT n.* FROM unnest(?::idempotency_key_row[]) AS n
        RETURNING 1),";

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

/// Where the log ended before. What is late, or is too much, cannot be made a number of: an error.
const BEFORE: &str = "
    SELECT before";
const IN_TIME: &str = ",
    CASE WHEN now < ?::bigint THEN 0 ELSE ('late by ' || now - ?::bigint || ' microseconds')::integer END";
/// Of agents that have more, and of those that have fewer: these may still have too many.
const ALL_WITHIN: &str = ",
    (SELECT CASE WHEN count(*) = 0 THEN 0 ELSE (count(*) || ' agents hold too much')::integer END
     FROM counted c JOIN unnest(?::agent_row[]) AS n ON n.agent COLLATE \"C\" = c.agent
     WHERE c.count > n.number)";
const ALL_STILL_WITHIN: &str = ",
    (SELECT CASE WHEN count(*) = 0 THEN 0 ELSE (count(*) || ' agents still hold too much')::integer END
     FROM counted_down c JOIN unnest(?::agent_row[]) AS n ON n.agent COLLATE \"C\" = c.agent
     WHERE c.count > n.number)";

/// What is told where others listen, if it is time; nothing more where it is empty.
const NOTIFIED: &str =
    ", CASE WHEN ?::boolean THEN pg_notify('CHANNEL', ?::text || before || ' ' || ?::text) END";

const FROM_TURN: &str = "
    FROM turn";

/// The same where the turn was not taken by asking for it: terms that do not hold are an error here.
const FROM_THE_TURN: &str = "
    FROM (SELECT CASE WHEN count(*) = 1 THEN min(before)
                      ELSE (count(*) || ' rows are as the terms say')::bigint END AS before, min(now) AS now
          FROM turn) AS had";

/// Apart from those who have more: what would be new must not be negative, and is checked even where it only adds to what
/// is there.
const COUNTED_DOWN: &str = ",
    counted_down AS (
        UPDATE pending_by_agents p SET count = p.count + n.number
        FROM turn, unnest(?::agent_row[]) AS n WHERE p.agent = n.agent COLLATE \"C\"
        RETURNING p.agent, p.count)";

/// How a group takes its turn. Both ways hold the same terms, once in SQL of `take_turn` (migration 10) and once here: tests try both
/// (`tests/store/terms.rs`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// By a function, which may have to wait for other nodes.
    Asked,
    /// By the statement itself, which costs less where nobody has to be waited for. If somebody has after all, it takes longer.
    Taken,
}

/// What is entered before the turn.
struct Standings {
    /// How many actions are to move.
    moves: i64,
    /// The names of the parts that enter something else.
    entered: Vec<&'static str>,
}

/// Agents of whom more are pending, or fewer.
struct Agents<'a> {
    /// How many more or fewer.
    changes: Vec<records::Record<'a>>,
    /// How many there may be, of those that there is a limit for.
    most: Vec<records::Record<'a>>,
}

impl<'a> Agents<'a> {
    fn of(changes: &[(&'a str, i64)], terms: &Terms<'_>) -> Result<Self, StoreError> {
        let most = changes.iter().filter_map(|(agent, _)| Some((*agent, *terms.most_of.get(agent)?)));
        Ok(Self {
            changes: changes.iter().map(|(agent, change)| records::agent(agent, *change)).collect(),
            most: most
                .map(|(agent, most)| Ok(records::agent(agent, int(most)?)))
                .collect::<Result<_, StoreError>>()?,
        })
    }
}

impl Standings {
    /// The part that takes the turn. It asks for what the parts before it did, so that they have done it.
    fn turn(&self, turn: Turn) -> String {
        let done = |part: &&str| format!("(SELECT count(*) FROM {part})");
        let moved = if self.moves > 0 { done(&"moved") } else { "0".to_owned() };
        let entered: Vec<String> = self.entered.iter().map(done).collect();
        let entered = if entered.is_empty() { "0".to_owned() } else { entered.join(" + ") };
        match turn {
            Turn::Asked => format!(
                "
    turn AS (
        SELECT before, now FROM take_turn({moved}, ?, {entered}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?))"
            ),
            Turn::Taken => format!(
                "
    turn AS (
        UPDATE head SET last_seq = last_seq + terms.events, pending = pending + terms.more,
                        epoch = head.epoch + terms.epochs, people_epoch = head.people_epoch + terms.people_epochs
        FROM (SELECT ?::bigint AS moves, ?::bigint AS events, ?::bigint AS more, ?::bigint AS epochs,
                     ?::bigint AS people_epochs, ?::bigint AS epoch, ?::bigint AS people_epoch, ?::bigint AS most,
                     ?::bigint AS here, ?::bigint AS apart) AS terms
        WHERE one = 1 AND {moved} = terms.moves AND {entered} >= 0
              AND head.epoch = coalesce(terms.epoch, head.epoch)
              AND head.people_epoch = coalesce(terms.people_epoch, head.people_epoch) AND pending <= terms.most
              AND abs(coalesce(terms.here - (extract(epoch FROM transaction_timestamp()) * 1000000)::bigint, 0))
                  <= terms.apart
        RETURNING last_seq - terms.events AS before, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now)"
            ),
        }
    }
}

impl<'a> Entry<'a> {
    /// What enters a group, on terms or, after looking, without; and tells others, if there are any.
    pub(super) fn of(
        group: &[&'a EncodedCommit],
        terms: &Terms<'_>,
        turn: Turn,
        telling: Option<Telling<'_>>,
    ) -> Result<Self, StoreError> {
        let mut entry = Self { sql: String::with_capacity(4000), columns: Vec::with_capacity(24) };
        let counts = counts(group);
        let change = counts.values().sum();
        let changes = |(agent, change): &(&str, i64)| *change != 0 || terms.most_of.contains_key(agent);
        let (fewer, more): (Vec<_>, Vec<_>) =
            counts.into_iter().filter(changes).partition(|(_, change)| *change < 0);
        let (fewer, more) = (Agents::of(&fewer, terms)?, Agents::of(&more, terms)?);
        entry.part("WITH", []);
        let standings = entry.standings(group)?;
        let still = entry.turn(group, terms, turn, &standings, change, fewer)?;
        entry.log(group, more.changes);
        entry.part(BEFORE, []);
        entry.checks(group, more.most, still, terms, telling);
        entry.part(if turn == Turn::Asked { FROM_TURN } else { FROM_THE_TURN }, []);
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

    /// The same for rows. Says whether there are any.
    fn rows(&mut self, sql: &str, rows: Vec<records::Record<'a>>) -> bool {
        let any = !rows.is_empty();
        if any {
            self.part(sql, [Box::new(rows) as Column<'a>]);
        }
        any
    }

    /// Moves, openings and what would run.
    ///
    /// Whoever moves several actions does so in the same order as everyone else, or two would wait for each other. New ones
    /// stay in the order in which they came, so that the table is in the order in which it is read.
    fn standings(&mut self, group: &[&'a EncodedCommit]) -> Result<Standings, StoreError> {
        let mut moved: Vec<&'a CaseRow> = group.iter().flat_map(|commit| &commit.advanced).collect();
        moved.sort_unstable_by_key(|row| row.case.id);
        let opened: Vec<&'a CaseRow> = group.iter().flat_map(|commit| &commit.opened).collect();
        let rows = |cases: &[&'a CaseRow]| -> Result<Vec<_>, StoreError> {
            cases.iter().map(|row| records::action(row)).collect()
        };
        let mut entered = Vec::with_capacity(3);
        self.rows(MOVED, rows(&moved)?);
        let opens = if moved.is_empty() { OPENED } else { OPENED_AFTER_MOVED };
        entered.extend(self.rows(opens, rows(&opened)?).then_some("opened"));
        let submitted = moved.iter().chain(&opened).filter_map(|row| Some((row, row.submission.as_deref()?)));
        let submitted = submitted.map(|(row, body)| records::submission(row, body)).collect();
        entered.extend(self.rows(SUBMITTED, submitted).then_some("submitted"));
        let given_back: Vec<&&CaseRow> = moved.iter().filter(|row| gives_back(row)).collect();
        if !given_back.is_empty() {
            self.part(GIVEN_BACK, [column(&given_back, |row| row.case.id.to_bytes().to_vec())]);
        }
        let mut used: Vec<_> = group.iter().filter_map(|commit| commit.idempotency.as_ref()).collect();
        used.sort_unstable_by_key(|key| (&key.agent, &key.key));
        let used = used.into_iter().map(records::idempotency_key).collect();
        entered.extend(self.rows(KEYS, used).then_some("keys"));
        Ok(Standings { moves: int(moved.len() as u64)?, entered })
    }

    /// The turn, and what it does for agents of whom fewer are pending. Hands back whose limits are still to be checked.
    fn turn(
        &mut self,
        group: &[&EncodedCommit],
        terms: &Terms<'_>,
        turn: Turn,
        standings: &Standings,
        change: i64,
        fewer: Agents<'a>,
    ) -> Result<Vec<records::Record<'a>>, StoreError> {
        let raised = |which: fn(&EncodedCommit) -> bool| -> i64 {
            group.iter().map(|commit| i64::from(which(commit))).sum()
        };
        let most = terms.most.map(int).transpose()?.map_or(i64::MAX, |most| most.saturating_sub(change));
        let mut columns: Vec<Column<'a>> = vec![
            Box::new(standings.moves),
            Box::new(int(group.iter().map(|commit| commit.events.len() as u64).sum())?),
            Box::new(change),
            Box::new(raised(|commit| commit.raises().epoch)),
            Box::new(raised(|commit| commit.raises().people_epoch)),
            Box::new(terms.epoch.map(int).transpose()?),
            Box::new(terms.people_epoch.map(int).transpose()?),
            Box::new(most),
            Box::new(terms.here.map(Timestamp::as_micros)),
            Box::new(clock::APART_MICROS),
        ];
        match turn {
            Turn::Asked => {
                columns.extend(
                    [fewer.changes, fewer.most]
                        .map(|rows| -> Column<'a> { Box::new(Some(rows).filter(|rows| !rows.is_empty())) }),
                );
                self.part(&standings.turn(turn), columns);
                Ok(Vec::new())
            }
            Turn::Taken => {
                self.part(&standings.turn(turn), columns);
                self.rows(COUNTED_DOWN, fewer.changes);
                Ok(fewer.most)
            }
        }
    }

    /// What happened, whom to tell, and of whom more are pending.
    fn log(&mut self, group: &[&'a EncodedCommit], more: Vec<records::Record<'a>>) {
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
        self.rows(COUNTED, more);
    }

    /// What else must hold, and what others are told.
    fn checks(
        &mut self,
        group: &[&'a EncodedCommit],
        most: Vec<records::Record<'a>>,
        still_most: Vec<records::Record<'a>>,
        terms: &Terms<'_>,
        telling: Option<Telling<'_>>,
    ) {
        if let Some(end) = terms.before {
            let end = end.as_micros();
            self.part(IN_TIME, [Box::new(end) as Column<'a>, Box::new(end)]);
        }
        self.rows(ALL_WITHIN, most);
        self.rows(ALL_STILL_WITHIN, still_most);
        if let Some(Telling { earlier, is_time }) = telling {
            let (earlier, items) = if is_time { tell_with(earlier, group) } else { Default::default() };
            let columns: [Column<'a>; 3] = [Box::new(is_time), Box::new(earlier), Box::new(items)];
            self.part(&NOTIFIED.replace("CHANNEL", CHANNEL), columns);
        }
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
