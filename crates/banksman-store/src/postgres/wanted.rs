//! Reading what the guards of a group look at, all at once, under the lock.

use std::collections::HashSet;
use std::ops::Range;

use banksman_core::Timestamp;
use futures_util::future::{try_join3, try_join4};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, Statement};

use super::guards::{Known, Standing};
use super::keys;
use super::meters::{self, Questions};
use super::rows::{action_id, count, digest, get, time};
use super::session::{Session, failed};
use crate::StoreError;
use crate::encode::EncodedCommit;

/// What a group's guards look at.
pub(super) struct Wanted<'a> {
    actions: Vec<Vec<u8>>,
    joins: Vec<Vec<u8>>,
    keys: Vec<Vec<u8>>,
    agents: Vec<&'a str>,
    /// Who has read the log how far, and what providers have told us before. Rarely anything.
    readers: Vec<&'a str>,
    seen: Vec<Vec<u8>>,
    questions: Questions,
    /// Which answers belong to which commit.
    answers: Vec<Range<usize>>,
    queries: Vec<&'a banksman_core::meter::MeterQuery>,
}

impl<'a> Wanted<'a> {
    pub(super) fn of(group: &'a [&EncodedCommit]) -> Self {
        let (mut actions, mut joins, mut agents) = (HashSet::new(), HashSet::new(), HashSet::new());
        let (mut readers, mut seen) = (Vec::new(), Vec::new());
        let (mut used_keys, mut queries, mut answers) = (Vec::new(), Vec::new(), Vec::new());
        for commit in group {
            for row in commit.opened.iter().chain(&commit.advanced) {
                agents.insert(row.case.agent.as_str());
                joins.extend(keys::join_of(row));
            }
            actions.extend(commit.advanced.iter().map(|row| row.case.id));
            used_keys.extend(commit.idempotency.as_ref().map(keys::idempotency_of));
            if let Some(post) = &commit.post {
                readers.extend(post.reading.iter().map(|reading| reading.reader));
                seen.extend(
                    post.seen.iter().map(|seen| keys::seen(&seen.channel, &seen.event).as_bytes().to_vec()),
                );
            }
            let first = queries.len();
            queries.extend(commit.readings.iter().map(|reading| &reading.query));
            answers.push(first..queries.len());
        }
        Self {
            actions: actions.iter().map(|id| id.to_bytes().to_vec()).collect(),
            joins: joins.iter().map(|key| key.as_bytes().to_vec()).collect(),
            keys: used_keys.iter().map(|key| key.as_bytes().to_vec()).collect(),
            agents: agents.into_iter().collect(),
            readers,
            seen,
            questions: Questions::of(queries.iter().copied()),
            answers,
            queries,
        }
    }

    /// What [`ROWS`] takes.
    fn params(&self) -> [&(dyn ToSql + Sync); 4] {
        [&self.actions, &self.joins, &self.keys, &self.agents]
    }
}

/// The statements of [`read`], prepared.
pub(super) struct Looks {
    /// Waits for whoever moves these actions, in the order that everyone moves them in.
    actions: Statement,
    /// Waits for the lock, within a transaction.
    lock: Statement,
    rows: Statement,
    meters: Statement,
    post: Statement,
}

/// The time is read outside the part that waits for the lock: inside, it could be from before the wait.
const LOCK: &str = "\
    SELECT last_seq, epoch, pending, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, people_epoch
    FROM (SELECT last_seq, epoch, pending, people_epoch FROM head FOR UPDATE) locked";

/// Before the lock, because whoever moves an action may do so before having it, and then waits for it: two would wait for
/// each other.
const ACTIONS: &str = "SELECT 1 FROM actions WHERE id = ANY ($1) ORDER BY id FOR UPDATE";

/// Where actions stand, who holds join keys, what idempotency keys led to, and how many actions agents have pending: in
/// one statement, because asking costs more than looking. The first column says which it is.
const ROWS: &str = "\
    SELECT 1, id, NULL::bytea, NULL::bytea, revision, status = 'pending', NULL::text FROM actions WHERE id = ANY ($1)
    UNION ALL
    SELECT 2, join_key, id, NULL, NULL, NULL, NULL FROM actions WHERE join_key = ANY ($2)
    UNION ALL
    SELECT 3, id, action, request, NULL, NULL, NULL FROM idempotency_keys WHERE id = ANY ($3)
    UNION ALL
    SELECT 4, NULL, NULL, NULL, count, NULL, agent FROM pending_by_agents WHERE agent = ANY ($4)";

/// The same for what few commits guard.
const POST: &str = "\
    SELECT reader, seq, NULL::bytea FROM log_readers WHERE reader = ANY ($1)
    UNION ALL
    SELECT NULL, NULL, id FROM seen_events WHERE id = ANY ($2)";

impl Looks {
    pub(super) async fn prepare(session: &Session) -> Result<Self, StoreError> {
        let prepare = async |sql: &str| session.prepare(sql).await.map_err(failed);
        Ok(Self {
            actions: prepare(ACTIONS).await?,
            lock: prepare(LOCK).await?,
            rows: prepare(ROWS).await?,
            meters: prepare(&meters::read_sql()).await?,
            post: prepare(POST).await?,
        })
    }
}

/// What was read: the state, and for each commit what its meters show.
pub(super) struct Seen {
    pub(super) known: Known,
    pub(super) readings: Vec<Vec<i64>>,
}

/// What the locked row holds, and the database's time when it was locked.
struct Head {
    now: Timestamp,
    last_seq: u64,
    epoch: u64,
    people_epoch: u64,
    pending: u64,
}

impl Head {
    fn of(rows: &[Row]) -> Result<Self, StoreError> {
        let missing = || StoreError::Corrupt("the row that every commit locks is gone".into());
        let row = rows.first().ok_or_else(missing)?;
        Ok(Self {
            now: time(row, 3)?,
            last_seq: count(row, 0)?,
            epoch: count(row, 1)?,
            people_epoch: count(row, 4)?,
            pending: count(row, 2)?,
        })
    }
}

/// Begins the transaction and waits for the lock, in one round trip.
async fn lock(session: &Session, looks: &Looks, wanted: &Wanted<'_>) -> Result<Head, StoreError> {
    let client = &session.client;
    let moved = async {
        if wanted.actions.is_empty() {
            return Ok(Vec::new());
        }
        client.query(&looks.actions, &[&wanted.actions]).await
    };
    // Polled in this order, and so sent in this order.
    let asked = try_join3(client.batch_execute("BEGIN"), moved, client.query(&looks.lock, &[])).await;
    Head::of(&asked.map_err(failed)?.2)
}

/// Takes the lock, and reads what the guards look at. All of it is sent at once and costs one round trip; each statement sees what was committed when it began, and that is after the lock was taken.
pub(super) async fn read(session: &Session, looks: &Looks, wanted: &Wanted<'_>) -> Result<Seen, StoreError> {
    let (questions, keys) = (wanted.questions.params(), wanted.params());
    let looking = async { session.client.query(&looks.rows, &keys).await.map_err(failed) };
    let metering = async {
        if wanted.queries.is_empty() {
            return Ok(Vec::new());
        }
        session.client.query(&looks.meters, &questions).await.map_err(failed)
    };
    let posting = async {
        if wanted.readers.is_empty() && wanted.seen.is_empty() {
            return Ok(Vec::new());
        }
        session.client.query(&looks.post, &[&wanted.readers, &wanted.seen]).await.map_err(failed)
    };
    // Polled in this order, and so sent in this order.
    let (head, rows, totals, post) =
        try_join4(lock(session, looks, wanted), looking, metering, posting).await?;
    let mut known = Known {
        now: head.now,
        last_seq: head.last_seq,
        epoch: head.epoch,
        people_epoch: head.people_epoch,
        all_pending: head.pending,
        ..Known::default()
    };
    for row in &rows {
        enter(&mut known, row)?;
    }
    for row in &post {
        if let Some(reader) = get::<Option<String>>(row, 0)? {
            known.places.insert(reader, count(row, 1)?);
        } else {
            known.seen.insert(digest(row, 2)?);
        }
    }
    let totals = totals.iter().zip(&wanted.queries).map(|(row, query)| meters::total(row, query));
    let totals = totals.collect::<Result<Vec<_>, _>>()?;
    let of_commit = |range: &Range<usize>| totals.get(range.clone()).unwrap_or_default().to_vec();
    Ok(Seen { known, readings: wanted.answers.iter().map(of_commit).collect() })
}

/// Enters a row of [`ROWS`].
fn enter(known: &mut Known, row: &Row) -> Result<(), StoreError> {
    match get::<i32>(row, 0)? {
        1 => {
            let standing = Standing { revision: count(row, 4)?, pending: get(row, 5)? };
            known.actions.insert(action_id(row, 1)?, standing);
        }
        2 => {
            known.joinable.insert(digest(row, 1)?, action_id(row, 2)?);
        }
        3 => {
            known.used_keys.insert(digest(row, 1)?, (digest(row, 3)?, action_id(row, 2)?));
        }
        4 => {
            known.pending.insert(get(row, 6)?, count(row, 4)?);
        }
        which => return Err(StoreError::Corrupt(format!("a row of an unknown kind, {which}"))),
    }
    Ok(())
}
