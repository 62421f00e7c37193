//! Reading what the guards of a group look at, all at once, under the lock.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use futures_util::future::{try_join, try_join5};
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
    questions: Questions,
    /// Which answers belong to which commit.
    answers: Vec<Range<usize>>,
    queries: Vec<&'a banksman_core::meter::MeterQuery>,
}

impl<'a> Wanted<'a> {
    pub(super) fn of(group: &'a [&EncodedCommit]) -> Self {
        let (mut actions, mut joins, mut agents) = (HashSet::new(), HashSet::new(), HashSet::new());
        let (mut used_keys, mut queries, mut answers) = (Vec::new(), Vec::new(), Vec::new());
        for commit in group {
            for row in commit.opened.iter().chain(&commit.advanced) {
                agents.insert(row.case.agent.as_str());
                joins.extend(keys::join_of(row));
            }
            actions.extend(commit.advanced.iter().map(|row| row.case.id));
            used_keys.extend(commit.idempotency.as_ref().map(keys::idempotency_of));
            let first = queries.len();
            queries.extend(commit.readings.iter().map(|reading| &reading.query));
            answers.push(first..queries.len());
        }
        Self {
            actions: actions.iter().map(|id| id.to_bytes().to_vec()).collect(),
            joins: joins.iter().map(|key| key.as_bytes().to_vec()).collect(),
            keys: used_keys.iter().map(|key| key.as_bytes().to_vec()).collect(),
            agents: agents.into_iter().collect(),
            questions: Questions::of(queries.iter().copied()),
            answers,
            queries,
        }
    }
}

/// The statements of [`read`], prepared.
pub(super) struct Looks {
    lock: Statement,
    now: Statement,
    actions: Statement,
    joins: Statement,
    keys: Statement,
    agents: Statement,
    meters: Statement,
}

impl Looks {
    pub(super) async fn prepare(session: &Session) -> Result<Self, StoreError> {
        let prepare = async |sql: &str| session.prepare(sql).await.map_err(failed);
        Ok(Self {
            lock: prepare("SELECT last_seq, epoch, pending FROM head FOR UPDATE").await?,
            now: prepare("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint").await?,
            actions: prepare("SELECT id, revision, status = 'pending' FROM actions WHERE id = ANY ($1)")
                .await?,
            joins: prepare("SELECT join_key, id FROM actions WHERE join_key = ANY ($1)").await?,
            keys: prepare("SELECT id, request, action FROM idempotency_keys WHERE id = ANY ($1)").await?,
            agents: prepare("SELECT agent, count FROM pending_by_agents WHERE agent = ANY ($1)").await?,
            meters: prepare(&meters::read_sql()).await?,
        })
    }
}

/// What was read: the state, and for each commit what its meters show.
pub(super) struct Seen {
    pub(super) known: Known,
    pub(super) readings: Vec<Vec<i64>>,
}

/// Begins the transaction, waits for the lock, and reads. All of it is sent at once and costs one round trip; each
/// statement sees what was committed when it began, and that is after the lock was taken.
pub(super) async fn read(session: &Session, looks: &Looks, wanted: &Wanted<'_>) -> Result<Seen, StoreError> {
    let client = &session.client;
    let begin = async {
        // Polled in this order, and so sent in this order.
        let params = wanted.questions.params();
        let ((), (head, now, actions, joins, (used, (agents, totals)))) = try_join(
            client.batch_execute("BEGIN"),
            try_join5(
                client.query(&looks.lock, &[]),
                // A statement of its own: in the one that waits for the lock, the time could be from before the wait.
                client.query(&looks.now, &[]),
                some(session, &looks.actions, &wanted.actions),
                some(session, &looks.joins, &wanted.joins),
                try_join(
                    some(session, &looks.keys, &wanted.keys),
                    try_join(some(session, &looks.agents, &wanted.agents), async {
                        if wanted.queries.is_empty() {
                            return Ok(Vec::new());
                        }
                        client.query(&looks.meters, &params).await
                    }),
                ),
            ),
        )
        .await?;
        Ok::<_, tokio_postgres::Error>((head, now, actions, joins, used, agents, totals))
    };
    let (head, now, actions, joins, used, agents, totals) = begin.await.map_err(failed)?;
    let missing = || StoreError::Corrupt("the row that every commit locks is gone".into());
    let (head, now) = (head.first().ok_or_else(missing)?, now.first().ok_or_else(missing)?);
    let known = Known {
        now: time(now, 0)?,
        last_seq: count(head, 0)?,
        epoch: count(head, 1)?,
        all_pending: count(head, 2)?,
        pending: each(&agents, |row| Ok((get(row, 0)?, count(row, 1)?)))?,
        actions: each(&actions, |row| {
            Ok((action_id(row, 0)?, Standing { revision: count(row, 1)?, pending: get(row, 2)? }))
        })?,
        joinable: each(&joins, |row| Ok((digest(row, 0)?, action_id(row, 1)?)))?,
        used_keys: each(&used, |row| Ok((digest(row, 0)?, (digest(row, 1)?, action_id(row, 2)?))))?,
        ..Known::default()
    };
    let totals = totals.iter().zip(&wanted.queries).map(|(row, query)| meters::total(row, query));
    let totals = totals.collect::<Result<Vec<_>, _>>()?;
    let of_commit = |range: &Range<usize>| totals.get(range.clone()).unwrap_or_default().to_vec();
    Ok(Seen { known, readings: wanted.answers.iter().map(of_commit).collect() })
}

/// Asks only where there is something to ask.
async fn some<T: tokio_postgres::types::ToSql + Sync>(
    session: &Session,
    look: &Statement,
    keys: &Vec<T>,
) -> Result<Vec<Row>, tokio_postgres::Error> {
    if keys.is_empty() { Ok(Vec::new()) } else { session.client.query(look, &[keys]).await }
}

fn each<K: Eq + std::hash::Hash, V>(
    rows: &[Row],
    entry: impl Fn(&Row) -> Result<(K, V), StoreError>,
) -> Result<HashMap<K, V>, StoreError> {
    rows.iter().map(entry).collect()
}
