//! Writing a group, however many commits it has: in one statement if the database takes it on terms, and otherwise what
//! was accepted in one transaction.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};

use banksman_core::meter::Charge;
use futures_util::StreamExt as _;
use futures_util::future::{join, join_all};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, Statement};

use super::columns::{Column, column};
use super::control;
use super::entry::{Entry, Turn};
use super::news::CHANNEL;
use super::post::PostPens;
use super::rows::count;
use super::session::{Session, class, failed, told};
use super::telling::Telling;
use super::terms::Terms;
use crate::encode::{EncodedCommit, item_bytes};
use crate::{BatchRecord, StoreError};

/// The statements of [`write`], prepared; those of entries are when they are first needed.
pub(super) struct Pens {
    charge: Statement,
    forget: Statement,
    batches: Statement,
    post: PostPens,
    /// Tells other nodes. Compatible databases may know no `NOTIFY`; nodes look from time to time anyway.
    pub(super) notify: Option<Statement>,
}

impl Pens {
    pub(super) async fn prepare(session: &Session) -> Result<Self, StoreError> {
        let prepare = async |sql: &str| session.prepare(sql).await.map_err(failed);
        let notify = session.prepare(&format!("SELECT pg_notify('{CHANNEL}', $1)")).await.ok();
        Ok(Self {
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
            batches: prepare(
                "INSERT INTO batches (id, agent, created_at, items)
                 SELECT * FROM unnest($1::bytea[], $2::text[], $3::bigint[], $4::bytea[])",
            )
            .await?,
            post: PostPens::prepare(session).await?,
            notify,
        })
    }
}

/// One statement with its columns.
pub(super) struct Line<'a> {
    pub(super) statement: Statement,
    pub(super) columns: Vec<Column<'a>>,
}

/// Why a group was not written.
pub(super) enum WriteError {
    /// Something could not even be sent, so `COMMIT` was not either: the transaction is open.
    Open(StoreError),
    /// A write failed, so that the database turned `COMMIT` into a roll-back, and said so.
    RolledBack(StoreError),
    /// `COMMIT` was sent and not answered: nobody knows.
    Lost(StoreError),
}

/// What became of a group that was sent on terms.
pub(super) enum Taken {
    /// It is written. The log ended here before.
    Whole { before: u64 },
    /// Nothing is written: the terms do not hold, or something else is in its way.
    Not,
    /// Nothing is written, and that has nothing to do with what is in it.
    Barred(StoreError),
    /// Nobody knows.
    Lost(StoreError),
}

/// Writes a group by one statement, which is a transaction of its own: nobody holds the lock while we think.
pub(super) async fn write_on_terms(
    session: &Session,
    group: &[&EncodedCommit],
    terms: &Terms<'_>,
    turn: Turn,
    telling: Option<Telling<'_>>,
) -> Taken {
    let Ok(Entry { sql, columns }) = Entry::of(group, terms, turn, telling) else { return Taken::Not };
    let statement = match session.prepare(&sql).await {
        Ok(statement) => statement,
        Err(error) => return not_taken(&error),
    };
    let line = Line { statement, columns };
    let mut rows = match session.client.query_raw(&line.statement, line.params()).await {
        Ok(rows) => pin!(rows),
        Err(error) => return not_taken(&error),
    };
    let mut before = None;
    while let Some(row) = rows.next().await {
        match row.map(|row| count(&row, 0)) {
            Ok(Ok(place)) => before = Some(place),
            Ok(Err(error)) => return Taken::Lost(error),
            // What goes wrong after it was done, as passing on what others say may, takes nothing of it back.
            Err(error) if rows.rows_affected().is_some() => return Taken::Lost(failed(error)),
            Err(error) => return not_taken(&error),
        }
    }
    match before {
        Some(before) => Taken::Whole { before },
        // It is committed, and must not be tried again.
        None => Taken::Lost(StoreError::Failed("a group was committed without an answer".into())),
    }
}

/// What the database says, it says after taking everything back.
fn not_taken(error: &tokio_postgres::Error) -> Taken {
    let said = StoreError::Failed(told(error));
    match error.as_db_error().map(class) {
        None => Taken::Lost(said),
        // Data, integrity and deadlocks; our own triggers; and what a compatible database does not know.
        Some("22" | "23" | "40" | "P0" | "0A" | "42") => {
            tracing::debug!(%said, "a group was not taken on terms");
            Taken::Not
        }
        Some(_) => Taken::Barred(said),
    }
}

/// Writes the accepted commits of a group, and commits. Everything is sent at once, `COMMIT` included, because the lock
/// that all nodes want is held until it is there.
pub(super) async fn write(
    session: &Session,
    pens: &Pens,
    accepted: &[&EncodedCommit],
    telling: Option<Telling<'_>>,
) -> Result<(), WriteError> {
    let entry = Entry::of(accepted, &Terms::default(), Turn::Asked, telling).map_err(WriteError::Open)?;
    let statement = session.prepare(&entry.sql).await.map_err(|error| WriteError::Open(failed(error)))?;
    // Before what else there is: an edited action gives back what it added, and then adds anew.
    let mut lines = vec![Line { statement, columns: entry.columns }];
    charges(&mut lines, pens, accepted);
    batches(&mut lines, pens, accepted);
    lines.extend(pens.post.lines(accepted));
    // Rare, and written one after the other; nothing else waits to be sent.
    for change in accepted.iter().flat_map(|commit| &commit.control) {
        control::change(session, change).await.map_err(WriteError::Open)?;
    }
    send(session, &lines).await
}

/// Sends statements and `COMMIT`, without waiting for answers in between.
async fn send(session: &Session, lines: &[Line<'_>]) -> Result<(), WriteError> {
    let failed_already = AtomicBool::new(false);
    let writes = join_all(lines.iter().map(|line| async {
        let written = line.run(session).await;
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
    // Polled in this order, and so sent in this order. After an error the database refuses what follows, so that the first one
    // says what is wrong.
    let (written, committed) = join(writes, commit).await;
    match (written.into_iter().find_map(Result::err), committed) {
        (_, Some(Err(error))) => Err(WriteError::Lost(failed(error))),
        (None, Some(Ok(()))) => Ok(()),
        (Some(error), Some(Ok(()))) => Err(WriteError::RolledBack(failed(error))),
        (Some(error), None) => Err(WriteError::Open(failed(error))),
        (None, None) => Err(WriteError::Open(StoreError::Failed("COMMIT was not sent".into()))),
    }
}

impl Line<'_> {
    async fn run(&self, session: &Session) -> Result<Vec<Row>, tokio_postgres::Error> {
        session.client.query(&self.statement, &self.params()).await
    }

    fn params(&self) -> Vec<&(dyn ToSql + Sync)> {
        self.columns.iter().map(|column| -> &(dyn ToSql + Sync) { &**column }).collect()
    }
}

fn charges<'a>(lines: &mut Vec<Line<'a>>, pens: &Pens, accepted: &[&'a EncodedCommit]) {
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
    lines.push(Line { statement: pens.charge.clone(), columns });
    let columns = vec![meters(), column(&charges, |charge| charge.forget_before.as_micros())];
    lines.push(Line { statement: pens.forget.clone(), columns });
}

fn batches<'a>(lines: &mut Vec<Line<'a>>, pens: &Pens, accepted: &[&'a EncodedCommit]) {
    let batches: Vec<&BatchRecord> = accepted.iter().filter_map(|commit| commit.batch.as_ref()).collect();
    if !batches.is_empty() {
        let columns = vec![
            column(&batches, |batch| batch.id.to_bytes().to_vec()),
            column(&batches, |batch| batch.agent.as_str()),
            column(&batches, |batch| batch.created_at.as_micros()),
            column(&batches, |batch| item_bytes(&batch.items)),
        ];
        lines.push(Line { statement: pens.batches.clone(), columns });
    }
}
