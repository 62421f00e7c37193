//! Writing what was accepted: one statement for each table, however many commits there are.

use std::sync::atomic::{AtomicBool, Ordering};

use banksman_core::meter::Charge;
use futures_util::future::{join, join_all};
use tokio_postgres::Statement;
use tokio_postgres::types::ToSql;

use super::guards::{Known, gives_back};
use super::news::CHANNEL;
use super::post::PostPens;
use super::rows::int;
use super::session::{Session, failed};
use super::{control, keys};
use crate::encode::{CaseRow, EncodedCommit, EventRow, item_bytes};
use crate::{BatchRecord, IdempotencyKey, StoreError};

/// The statements of [`write`], prepared.
pub(super) struct Pens {
    move_actions: Statement,
    open_actions: Statement,
    give_back: Statement,
    charge: Statement,
    forget: Statement,
    keys: Statement,
    batches: Statement,
    settle: Statement,
    post: PostPens,
    record: Statement,
}

/// The guarded write: only the revision that the transition was computed from may be replaced, and a claim stays.
/// What it does not move is an error in the database, so that the `COMMIT` behind it rolls back.
const MOVE_ACTIONS: &str = "\
    WITH moved AS (
    UPDATE actions a SET tier = n.tier, status = n.status, digest = n.digest, version = n.version,
                         revision = n.revision, wake_at = n.wake_at, join_key = n.join_key,
                         claimed_at = n.claimed_at, priority = n.priority, reviews = n.reviews, state = n.state,
                         risk = n.risk, deadline = coalesce(n.deadline, a.deadline)
    FROM unnest($1::bytea[], $2::text[], $3::text[], $4::bytea[], $5::bigint[], $6::bigint[], $7::bigint[],
                $8::bytea[], $9::bigint[], $10::smallint[], $11::text[], $12::text[], $13::smallint[],
                $14::bigint[])
         AS n (id, tier, status, digest, version, revision, wake_at, join_key, claimed_at, priority, reviews, state,
               risk, deadline)
    WHERE a.id = n.id AND a.revision = n.revision - 1 AND (a.claimed_at IS NULL OR a.claimed_at = n.claimed_at)
    RETURNING 1)
    SELECT CASE WHEN count(*) = cardinality($1) THEN 0
                ELSE (count(*) || ' of ' || cardinality($1) || ' actions were moved')::integer END
    FROM moved";

/// What is new, and what would run: of new actions, and of those that were edited.
const OPEN_ACTIONS: &str = "\
    WITH opened AS (
        INSERT INTO actions (id, tier, status, digest, version, revision, wake_at, join_key, claimed_at, priority,
                             reviews, state, risk, deadline, agent, owner, tool, batch, created_at)
        SELECT * FROM unnest($1::bytea[], $2::text[], $3::text[], $4::bytea[], $5::bigint[], $6::bigint[],
                             $7::bigint[], $8::bytea[], $9::bigint[], $10::smallint[], $11::text[], $12::text[],
                             $13::smallint[], $14::bigint[], $15::text[], $16::text[], $17::text[], $18::bytea[],
                             $19::bigint[]))
    INSERT INTO submissions (action, version, body)
    SELECT * FROM unnest($20::bytea[], $21::bigint[], $22::text[])";

/// What every group writes: its events, whom to tell, how many are pending, and where the log ends.
const RECORD: &str = "\
    WITH events AS (
        INSERT INTO audit (seq, at, type, actor, action, agent, tool, risk, decision, resolution, observed, body)
        SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::bytea[], $6::text[],
                             $7::text[], $8::text[], $9::text[], $10::boolean[], $11::boolean[], $12::text[])),
    notices AS (
        INSERT INTO outbox (id, action, notice, at)
        SELECT * FROM unnest($13::bigint[], $14::bytea[], $15::text[], $16::bigint[])),
    counts AS (
        INSERT INTO pending_by_agents (agent, count) SELECT * FROM unnest($17::text[], $18::bigint[])
        ON CONFLICT (agent) DO UPDATE SET count = excluded.count)
    UPDATE head SET last_seq = $19, epoch = $20, pending = $21, people_epoch = $22";

impl Pens {
    pub(super) async fn prepare(session: &Session) -> Result<Self, StoreError> {
        let prepare = async |sql: &str| session.prepare(sql).await.map_err(failed);
        // Compatible databases may know no NOTIFY; nodes look from time to time anyway.
        let notifying =
            format!("{RECORD} RETURNING CASE WHEN cardinality($1) > 0 THEN pg_notify('{CHANNEL}', '') END");
        let record = match session.prepare(&notifying).await {
            Ok(statement) => statement,
            Err(_) => prepare(RECORD).await?,
        };
        Ok(Self {
            record,
            move_actions: prepare(MOVE_ACTIONS).await?,
            open_actions: prepare(OPEN_ACTIONS).await?,
            give_back: prepare("DELETE FROM charges WHERE action = ANY ($1)").await?,
            charge: prepare(
                "INSERT INTO charges (meter, at, action, amount, value)
                 SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::bytea[], $4::bigint[], $5::bytea[])",
            )
            .await?,
            forget: prepare(
                "DELETE FROM charges c USING unnest($1::bytea[], $2::bigint[]) AS f (meter, before)
                 WHERE c.meter = f.meter AND c.at < f.before",
            )
            .await?,
            keys: prepare(
                "INSERT INTO idempotency_keys (id, agent, key, request, action, created_at)
                 SELECT * FROM unnest($1::bytea[], $2::text[], $3::text[], $4::bytea[], $5::bytea[], $6::bigint[])",
            )
            .await?,
            batches: prepare(
                "INSERT INTO batches (id, agent, created_at, items)
                 SELECT * FROM unnest($1::bytea[], $2::text[], $3::bigint[], $4::bytea[])",
            )
            .await?,
            settle: prepare("DELETE FROM outbox WHERE id = ANY ($1)").await?,
            post: PostPens::prepare(session).await?,
        })
    }
}

/// One statement with its columns.
pub(super) struct Line<'a> {
    pub(super) statement: &'a Statement,
    pub(super) columns: Vec<Column<'a>>,
}

pub(super) type Column<'a> = Box<dyn ToSql + Sync + Send + 'a>;

/// A column: one value of each item.
pub(super) fn column<'a, I, T: ToSql + Sync + Send + 'a>(
    items: &[I],
    value: impl FnMut(&I) -> T,
) -> Column<'a> {
    Box::new(items.iter().map(value).collect::<Vec<T>>())
}

/// Why a group was not written.
pub(super) enum WriteError {
    /// `COMMIT` was not sent: the transaction is open.
    Open(StoreError),
    /// A write failed, so that the database turned `COMMIT` into a roll-back, and said so.
    RolledBack(StoreError),
    /// `COMMIT` was sent and not answered: nobody knows.
    Lost(StoreError),
}

/// Writes the accepted commits of a group, whose first event follows number `last_seq`, and commits. Everything is sent
/// at once, `COMMIT` included, because the lock that all nodes want is held until it is there.
pub(super) async fn write(
    session: &Session,
    pens: &Pens,
    accepted: &[&EncodedCommit],
    known: &Known,
    last_seq: u64,
) -> Result<(), WriteError> {
    let lines = lines(pens, accepted, known, last_seq).map_err(WriteError::Open)?;
    // Rare, and written one after the other; nothing else waits to be sent.
    for change in accepted.iter().flat_map(|commit| &commit.control) {
        control::change(session, change).await.map_err(WriteError::Open)?;
    }
    let failed_already = AtomicBool::new(false);
    let writes = join_all(lines.iter().map(|line| async {
        let written = line.write(session).await;
        failed_already.fetch_or(written.is_err(), Ordering::Relaxed);
        written
    }));
    let commit = async {
        // What could not even be sent leaves no trace in the transaction, so `COMMIT` would keep the rest.
        if failed_already.load(Ordering::Relaxed) {
            return None;
        }
        // From here on it may have happened, whatever we hear.
        Some(session.client.batch_execute("COMMIT").await)
    };
    // Polled in this order, and so sent in this order, without waiting for answers in between.
    let (written, committed) = join(writes, commit).await;
    let written: Result<(), StoreError> = written.into_iter().collect();
    match (written, committed) {
        (Ok(()), Some(Ok(()))) => Ok(()),
        (Err(error), Some(Ok(()))) => Err(WriteError::RolledBack(error)),
        (Err(error), None) => Err(WriteError::Open(error)),
        (_, Some(Err(error))) => Err(WriteError::Lost(failed(error))),
        (Ok(()), None) => Err(WriteError::Open(StoreError::Failed("COMMIT was not sent".into()))),
    }
}

/// All that is to be written.
fn lines<'a>(
    pens: &'a Pens,
    accepted: &[&'a EncodedCommit],
    known: &'a Known,
    last_seq: u64,
) -> Result<Vec<Line<'a>>, StoreError> {
    let mut lines = Vec::new();
    actions(&mut lines, pens, accepted)?;
    charges(&mut lines, pens, accepted);
    requests(&mut lines, pens, accepted);
    let settled: Vec<i64> =
        accepted.iter().flat_map(|commit| commit.settled_notices.iter().copied()).collect();
    if !settled.is_empty() {
        lines.push(Line { statement: &pens.settle, columns: vec![Box::new(settled)] });
    }
    lines.extend(pens.post.lines(accepted));
    lines.push(Line { statement: &pens.record, columns: record(accepted, known, last_seq)? });
    Ok(lines)
}

impl Line<'_> {
    async fn write(&self, session: &Session) -> Result<(), StoreError> {
        let params: Vec<&(dyn ToSql + Sync)> =
            self.columns.iter().map(|column| -> &(dyn ToSql + Sync) { &**column }).collect();
        session.client.execute(self.statement, &params).await.map(drop).map_err(failed)
    }
}

/// Columns of `actions`, in the order in which both statements above take them.
fn action_columns<'a>(rows: &[&'a CaseRow]) -> Result<Vec<Column<'a>>, StoreError> {
    let revisions = rows.iter().map(|row| int(row.case.revision)).collect::<Result<Vec<_>, _>>()?;
    Ok(vec![
        column(rows, |row| row.case.id.to_bytes().to_vec()),
        column(rows, |row| row.case.submission.verdict.tier.as_str()),
        column(rows, |row| row.case.status().as_str()),
        column(rows, |row| row.case.submission.digest.as_bytes().as_slice()),
        column(rows, |row| i64::from(row.case.version)),
        Box::new(revisions),
        column(rows, |row| row.wake_at()),
        column(rows, |row| keys::join_of(row).map(|key| key.as_bytes().to_vec())),
        column(rows, |row| row.claimed_at()),
        column(rows, |row| i16::from(row.case.priority())),
        column(rows, |row| row.reviews.as_str()),
        column(rows, |row| row.state.as_str()),
        column(rows, |row| i16::from(row.risk())),
        column(rows, |row| row.deadline()),
    ])
}

/// Moves come first: a proposal may take the place of one that was denied in the same group.
fn actions<'a>(
    lines: &mut Vec<Line<'a>>,
    pens: &'a Pens,
    accepted: &[&'a EncodedCommit],
) -> Result<(), StoreError> {
    let moved: Vec<&CaseRow> = accepted.iter().flat_map(|commit| &commit.advanced).collect();
    if !moved.is_empty() {
        let columns = action_columns(&moved)?;
        lines.push(Line { statement: &pens.move_actions, columns });
    }
    let opened: Vec<&CaseRow> = accepted.iter().flat_map(|commit| &commit.opened).collect();
    let submitted = moved.iter().chain(&opened).filter_map(|row| Some((*row, row.submission.as_deref()?)));
    let submitted: Vec<(&CaseRow, &str)> = submitted.collect();
    if !opened.is_empty() || !submitted.is_empty() {
        let mut columns = action_columns(&opened)?;
        columns.push(column(&opened, |row| row.case.agent.as_str()));
        columns.push(column(&opened, |row| row.case.owner.as_deref()));
        columns.push(column(&opened, |row| row.case.submission.action.tool.as_str()));
        columns.push(column(&opened, |row| row.case.batch.map(|batch| batch.to_bytes().to_vec())));
        columns.push(column(&opened, |row| row.case.created_at.as_micros()));
        columns.push(column(&submitted, |(row, _)| row.case.id.to_bytes().to_vec()));
        columns.push(column(&submitted, |(row, _)| i64::from(row.case.version)));
        columns.push(column(&submitted, |(_, body)| *body));
        lines.push(Line { statement: &pens.open_actions, columns });
    }
    let given_back: Vec<&&CaseRow> = moved.iter().filter(|row| gives_back(row)).collect();
    if !given_back.is_empty() {
        let columns = vec![column(&given_back, |row| row.case.id.to_bytes().to_vec())];
        lines.push(Line { statement: &pens.give_back, columns });
    }
    Ok(())
}

fn charges<'a>(lines: &mut Vec<Line<'a>>, pens: &'a Pens, accepted: &[&'a EncodedCommit]) {
    let charges: Vec<&Charge> = accepted.iter().flat_map(|commit| &commit.charges).collect();
    if charges.is_empty() {
        return;
    }
    let meters = || column(&charges, |charge| charge.meter.as_bytes().to_vec());
    let columns = vec![
        meters(),
        column(&charges, |charge| charge.at.as_micros()),
        column(&charges, |charge| charge.action.to_bytes().to_vec()),
        column(&charges, |charge| charge.amount),
        column(&charges, |charge| charge.value.as_ref().map(|value| value.as_bytes().as_slice())),
    ];
    lines.push(Line { statement: &pens.charge, columns });
    let columns = vec![meters(), column(&charges, |charge| charge.forget_before.as_micros())];
    lines.push(Line { statement: &pens.forget, columns });
}

fn requests<'a>(lines: &mut Vec<Line<'a>>, pens: &'a Pens, accepted: &[&'a EncodedCommit]) {
    let used: Vec<&IdempotencyKey> =
        accepted.iter().filter_map(|commit| commit.idempotency.as_ref()).collect();
    if !used.is_empty() {
        let columns = vec![
            column(&used, |key| keys::idempotency_of(key).as_bytes().to_vec()),
            column(&used, |key| key.agent.as_str()),
            column(&used, |key| key.key.as_str()),
            column(&used, |key| key.request.as_bytes().as_slice()),
            column(&used, |key| key.action.to_bytes().to_vec()),
            column(&used, |key| key.at.as_micros()),
        ];
        lines.push(Line { statement: &pens.keys, columns });
    }
    let batches: Vec<&BatchRecord> = accepted.iter().filter_map(|commit| commit.batch.as_ref()).collect();
    if !batches.is_empty() {
        let columns = vec![
            column(&batches, |batch| batch.id.to_bytes().to_vec()),
            column(&batches, |batch| batch.agent.as_str()),
            column(&batches, |batch| batch.created_at.as_micros()),
            column(&batches, |batch| item_bytes(&batch.items)),
        ];
        lines.push(Line { statement: &pens.batches, columns });
    }
}

/// The columns of [`RECORD`].
fn record<'a>(
    accepted: &[&'a EncodedCommit],
    known: &'a Known,
    last_seq: u64,
) -> Result<Vec<Column<'a>>, StoreError> {
    let mut next = int(last_seq)? + 1;
    let (mut events, mut notices) = (Vec::new(), Vec::new());
    for commit in accepted {
        // A notice has the place of an event of its commit, and so one that is never used again: otherwise whoever
        // settles late would take away a notice that nobody has been told of.
        notices.extend((next..).zip(&commit.notices));
        for row in &commit.events {
            events.push((next, row));
            next += 1;
        }
    }
    let mut columns = event_columns(&events);
    columns.push(column(&notices, |(place, _)| *place));
    columns.push(column(&notices, |(_, notice)| notice.action.to_bytes().to_vec()));
    columns.push(column(&notices, |(_, notice)| notice.notice.as_str()));
    columns.push(column(&notices, |(_, notice)| notice.at.as_micros()));
    let agents: Vec<&str> = known.recounted.iter().map(String::as_str).collect();
    let count = |agent: &&str| int(known.pending.get(*agent).copied().unwrap_or(0));
    let counts = agents.iter().map(count).collect::<Result<Vec<_>, _>>()?;
    columns.push(Box::new(agents));
    columns.push(Box::new(counts));
    for number in [known.last_seq, known.epoch, known.all_pending, known.people_epoch] {
        columns.push(Box::new(int(number)?));
    }
    Ok(columns)
}

fn event_columns<'a>(events: &[(i64, &'a EventRow)]) -> Vec<Column<'a>> {
    let about = |row: &'a EventRow| row.event.action.as_ref();
    vec![
        column(events, |(seq, _)| *seq),
        column(events, |(_, row)| row.event.at.as_micros()),
        column(events, |(_, row)| row.event.fact.type_name()),
        column(events, |(_, row)| row.event.actor.name()),
        column(events, |(_, row)| about(row).map(|about| about.id.to_bytes().to_vec())),
        column(events, |(_, row)| about(row).map(|about| about.agent.as_str())),
        column(events, |(_, row)| about(row).map(|about| about.tool.as_str())),
        column(events, |(_, row)| about(row).map(|about| about.risk.as_str())),
        column(events, |(_, row)| row.event.fact.decision().map(banksman_core::Decision::as_str)),
        column(events, |(_, row)| row.event.is_resolution()),
        column(events, |(_, row)| row.event.is_observation()),
        column(events, |(_, row)| row.body.as_str()),
    ]
}
