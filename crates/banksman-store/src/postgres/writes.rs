//! Writing what was accepted: one statement for each table, however many commits there are.

use banksman_core::meter::Charge;
use futures_util::future::try_join_all;
use tokio_postgres::Statement;
use tokio_postgres::types::ToSql;

use super::guards::{Known, gives_back};
use super::rows::int;
use super::session::{Session, failed};
use super::{control, keys, news};
use crate::encode::{CaseRow, EncodedCommit, EventRow, item_bytes};
use crate::{BatchRecord, IdempotencyKey, StoreError};

/// The statements of [`write`], prepared.
pub(super) struct Pens {
    move_actions: Statement,
    open_actions: Statement,
    submissions: Statement,
    give_back: Statement,
    charge: Statement,
    forget: Statement,
    keys: Statement,
    batches: Statement,
    events: Statement,
    notices: Statement,
    settle: Statement,
    pending: Statement,
    head: Statement,
    /// Compatible databases may know no NOTIFY; nodes look from time to time anyway.
    notify: Option<Statement>,
}

/// The guarded write: only the revision that the transition was computed from may be replaced, and a claim stays.
const MOVE_ACTIONS: &str = "\
    UPDATE actions a SET tier = n.tier, status = n.status, digest = n.digest, version = n.version,
                         revision = n.revision, wake_at = n.wake_at, join_key = n.join_key,
                         claimed_at = n.claimed_at, priority = n.priority, reviews = n.reviews, state = n.state
    FROM unnest($1::bytea[], $2::text[], $3::text[], $4::bytea[], $5::bigint[], $6::bigint[], $7::bigint[],
                $8::bytea[], $9::bigint[], $10::smallint[], $11::text[], $12::text[])
         AS n (id, tier, status, digest, version, revision, wake_at, join_key, claimed_at, priority, reviews, state)
    WHERE a.id = n.id AND a.revision = n.revision - 1 AND (a.claimed_at IS NULL OR a.claimed_at = n.claimed_at)";

const OPEN_ACTIONS: &str = "\
    INSERT INTO actions (id, tier, status, digest, version, revision, wake_at, join_key, claimed_at, priority,
                         reviews, state, agent, owner, tool, batch, created_at)
    SELECT * FROM unnest($1::bytea[], $2::text[], $3::text[], $4::bytea[], $5::bigint[], $6::bigint[],
                         $7::bigint[], $8::bytea[], $9::bigint[], $10::smallint[], $11::text[], $12::text[],
                         $13::text[], $14::text[], $15::text[], $16::bytea[], $17::bigint[])";

const EVENTS: &str = "\
    INSERT INTO audit (seq, at, type, actor, action, agent, tool, risk, decision, resolution, observed, body)
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::bytea[], $6::text[], $7::text[],
                         $8::text[], $9::text[], $10::boolean[], $11::boolean[], $12::text[])";

impl Pens {
    pub(super) async fn prepare(session: &Session) -> Result<Self, StoreError> {
        let prepare = async |sql: &str| session.prepare(sql).await.map_err(failed);
        Ok(Self {
            move_actions: prepare(MOVE_ACTIONS).await?,
            open_actions: prepare(OPEN_ACTIONS).await?,
            submissions: prepare(
                "INSERT INTO submissions (action, version, body)
                 SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::text[])",
            )
            .await?,
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
            events: prepare(EVENTS).await?,
            notices: prepare(
                "INSERT INTO outbox (id, action, notice, at)
                 SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::text[], $4::bigint[])",
            )
            .await?,
            settle: prepare("DELETE FROM outbox WHERE id = ANY ($1)").await?,
            pending: prepare(
                "INSERT INTO pending_by_agents (agent, count) SELECT * FROM unnest($1::text[], $2::bigint[])
                 ON CONFLICT (agent) DO UPDATE SET count = excluded.count",
            )
            .await?,
            notify: session.prepare("SELECT pg_notify($1, '')").await.ok(),
            head: prepare("UPDATE head SET last_seq = $1, epoch = $2, pending = $3").await?,
        })
    }
}

/// One statement with its columns, and how many rows it must change.
struct Line<'a> {
    statement: &'a Statement,
    columns: Vec<Column<'a>>,
    rows: Option<usize>,
}

type Column<'a> = Box<dyn ToSql + Sync + Send + 'a>;

/// A column: one value of each item.
fn column<'a, I, T: ToSql + Sync + Send + 'a>(items: &[I], value: impl FnMut(&I) -> T) -> Column<'a> {
    Box::new(items.iter().map(value).collect::<Vec<T>>())
}

/// Writes the accepted commits of a group, whose first event follows number `last_seq`. Everything is sent at once,
/// and nothing is committed yet.
pub(super) async fn write(
    session: &Session,
    pens: &Pens,
    accepted: &[&EncodedCommit],
    known: &Known,
    last_seq: u64,
) -> Result<(), StoreError> {
    let mut lines = Vec::new();
    actions(&mut lines, pens, accepted)?;
    charges(&mut lines, pens, accepted);
    requests(&mut lines, pens, accepted);
    events(&mut lines, pens, accepted, last_seq)?;
    let counts: Vec<_> = known.recounted.iter().map(|agent| (agent, known.pending.get(agent))).collect();
    if !counts.is_empty() {
        let count = |count: Option<&u64>| int(count.copied().unwrap_or(0));
        let numbers = counts.iter().map(|(_, number)| count(*number)).collect::<Result<Vec<_>, _>>()?;
        let columns = vec![column(&counts, |(agent, _)| agent.as_str()), Box::new(numbers) as Column<'_>];
        lines.push(Line { statement: &pens.pending, columns, rows: Some(counts.len()) });
    }
    let head = [known.last_seq, known.epoch, known.all_pending].map(int);
    let columns = head.into_iter().map(|number| Ok(Box::new(number?) as Column<'_>));
    let columns = columns.collect::<Result<_, StoreError>>()?;
    lines.push(Line { statement: &pens.head, columns, rows: Some(1) });

    if let Some(notify) = pens.notify.as_ref().filter(|_| known.last_seq > last_seq) {
        lines.push(Line { statement: notify, columns: vec![Box::new(news::CHANNEL)], rows: None });
    }

    // Polled in this order, and so sent in this order, without waiting for answers in between.
    try_join_all(lines.iter().map(|line| line.write(session))).await?;
    for change in accepted.iter().flat_map(|commit| &commit.control) {
        control::change(session, change).await?;
    }
    Ok(())
}

impl Line<'_> {
    async fn write(&self, session: &Session) -> Result<(), StoreError> {
        let params: Vec<&(dyn ToSql + Sync)> =
            self.columns.iter().map(|column| -> &(dyn ToSql + Sync) { &**column }).collect();
        let changed = session.client.execute(self.statement, &params).await.map_err(failed)?;
        match self.rows.and_then(|rows| u64::try_from(rows).ok()) {
            // Only someone who writes without the lock can have come between.
            Some(rows) if rows != changed => {
                Err(StoreError::Failed(format!("{changed} rows were changed instead of {rows}")))
            }
            Some(_) | None => Ok(()),
        }
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
        lines.push(Line { statement: &pens.move_actions, columns, rows: Some(moved.len()) });
    }
    let opened: Vec<&CaseRow> = accepted.iter().flat_map(|commit| &commit.opened).collect();
    if !opened.is_empty() {
        let mut columns = action_columns(&opened)?;
        columns.push(column(&opened, |row| row.case.agent.as_str()));
        columns.push(column(&opened, |row| row.case.owner.as_deref()));
        columns.push(column(&opened, |row| row.case.submission.action.tool.as_str()));
        columns.push(column(&opened, |row| row.case.batch.map(|batch| batch.to_bytes().to_vec())));
        columns.push(column(&opened, |row| row.case.created_at.as_micros()));
        lines.push(Line { statement: &pens.open_actions, columns, rows: Some(opened.len()) });
    }
    let submitted = moved.iter().chain(&opened).filter_map(|row| Some((*row, row.submission.as_deref()?)));
    let submitted: Vec<(&CaseRow, &str)> = submitted.collect();
    if !submitted.is_empty() {
        let columns = vec![
            column(&submitted, |(row, _)| row.case.id.to_bytes().to_vec()),
            column(&submitted, |(row, _)| i64::from(row.case.version)),
            column(&submitted, |(_, body)| *body),
        ];
        lines.push(Line { statement: &pens.submissions, columns, rows: Some(submitted.len()) });
    }
    let given_back: Vec<&&CaseRow> = moved.iter().filter(|row| gives_back(row)).collect();
    if !given_back.is_empty() {
        let columns = vec![column(&given_back, |row| row.case.id.to_bytes().to_vec())];
        lines.push(Line { statement: &pens.give_back, columns, rows: None });
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
    lines.push(Line { statement: &pens.charge, columns, rows: Some(charges.len()) });
    let columns = vec![meters(), column(&charges, |charge| charge.forget_before.as_micros())];
    lines.push(Line { statement: &pens.forget, columns, rows: None });
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
        lines.push(Line { statement: &pens.keys, columns, rows: Some(used.len()) });
    }
    let batches: Vec<&BatchRecord> = accepted.iter().filter_map(|commit| commit.batch.as_ref()).collect();
    if !batches.is_empty() {
        let columns = vec![
            column(&batches, |batch| batch.id.to_bytes().to_vec()),
            column(&batches, |batch| batch.agent.as_str()),
            column(&batches, |batch| batch.created_at.as_micros()),
            column(&batches, |batch| item_bytes(&batch.items)),
        ];
        lines.push(Line { statement: &pens.batches, columns, rows: Some(batches.len()) });
    }
}

fn events<'a>(
    lines: &mut Vec<Line<'a>>,
    pens: &'a Pens,
    accepted: &[&'a EncodedCommit],
    last_seq: u64,
) -> Result<(), StoreError> {
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
    if !events.is_empty() {
        let columns = event_columns(&events);
        lines.push(Line { statement: &pens.events, columns, rows: Some(events.len()) });
    }
    if !notices.is_empty() {
        let columns = vec![
            column(&notices, |(place, _)| *place),
            column(&notices, |(_, notice)| notice.action.to_bytes().to_vec()),
            column(&notices, |(_, notice)| notice.notice.as_str()),
            column(&notices, |(_, notice)| notice.at.as_micros()),
        ];
        lines.push(Line { statement: &pens.notices, columns, rows: Some(notices.len()) });
    }
    let settled: Vec<i64> =
        accepted.iter().flat_map(|commit| commit.settled_notices.iter().copied()).collect();
    if !settled.is_empty() {
        lines.push(Line { statement: &pens.settle, columns: vec![Box::new(settled)], rows: None });
    }
    Ok(())
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
