//! Messages, jobs and what came back, as rows.

use banksman_core::Timestamp;
use tokio_postgres::{Row, Statement};

use super::columns::column;
use super::keys;
use super::lists::DIALECT;
use super::rows::{action_id, get, moment, name, small, time};
use super::session::{Session, failed};
use super::writes::Line;
use crate::encode::EncodedCommit;
use crate::listing::{self, Listing};
use crate::{
    Attempt, Delivery, DeliveryQuery, Job, JobQuery, LogReading, NewDelivery, NewJob, Post, Run, SeenEvent,
    StoreError,
};

/// The statements that write them, prepared.
pub(super) struct PostPens {
    plan: Statement,
    bundle: Statement,
    conclude: Statement,
    redeliver: Statement,
    begin: Statement,
    finish: Statement,
    rerun: Statement,
    read_on: Statement,
    forget: Statement,
    see: Statement,
}

impl PostPens {
    pub(super) async fn prepare(session: &Session) -> Result<Self, StoreError> {
        let prepare = async |sql: &str| session.prepare(sql).await.map_err(failed);
        Ok(Self {
            plan: prepare(
                "INSERT INTO deliveries (id, action, version, purpose, round, channel, recipient, status, attempt,
                                         next_at, created_at, updated_at)
                 SELECT id, action, version, purpose, round, channel, recipient, 'queued', 0, next_at, at, at
                 FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::text[],
                             $8::bigint[], $9::bigint[])
                      AS n (id, action, version, purpose, round, channel, recipient, next_at, at)
                 ON CONFLICT DO NOTHING",
            )
            .await?,
            bundle: prepare(
                "UPDATE deliveries d SET bundle = n.first
                 FROM unnest($1::bigint[], $2::bigint[]) AS n (id, first)
                 WHERE d.id = n.id AND d.next_at IS NOT NULL",
            )
            .await?,
            conclude: prepare(
                "UPDATE deliveries d SET attempt = n.attempt, status = n.status, next_at = n.next_at,
                        message = n.message, provider_id = n.provider_id, error = n.error, updated_at = n.at,
                        bundle = n.bundle, strikes = n.strikes, taken_until = '-infinity'
                 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[],
                             $7::text[], $8::text[], $9::bigint[], $10::bigint[], $11::bigint[])
                      AS n (id, after, attempt, status, next_at, message, provider_id, error, at, bundle, strikes)
                 WHERE d.id = n.id AND d.attempt = n.after AND d.next_at IS NOT NULL",
            )
            .await?,
            redeliver: prepare(
                "UPDATE deliveries d SET status = 'queued', attempt = 0, strikes = 0, bundle = NULL, next_at = n.at,
                        updated_at = n.at
                 FROM unnest($1::bigint[], $2::bigint[]) AS n (id, at) WHERE d.id = n.id AND d.status = 'failed'",
            )
            .await?,
            begin: prepare(
                "INSERT INTO jobs (id, action, status, attempt, next_at, created_at, updated_at)
                 SELECT id, action, 'waiting', 0, at, at, at
                 FROM unnest($1::bigint[], $2::bytea[], $3::bigint[]) AS n (id, action, at) ON CONFLICT DO NOTHING",
            )
            .await?,
            // What was dropped stays so, unless the agent's side has taken it meanwhile.
            finish: prepare(
                "UPDATE jobs j SET attempt = n.attempt, status = n.status, next_at = n.next_at, error = n.error,
                        updated_at = n.at, taken_until = '-infinity'
                 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::text[],
                             $7::bigint[]) AS n (id, after, attempt, status, next_at, error, at)
                 WHERE j.id = n.id AND j.attempt = n.after
                       AND (j.status = 'waiting' OR (j.status <> 'done' AND n.status IN ('dropped', 'done')))",
            )
            .await?,
            rerun: prepare(
                "UPDATE jobs j SET status = 'waiting', attempt = 0, next_at = n.at, updated_at = n.at
                 FROM unnest($1::bigint[], $2::bigint[]) AS n (id, at) WHERE j.id = n.id AND j.status <> 'done'",
            )
            .await?,
            read_on: prepare(
                "INSERT INTO log_readers (reader, seq)
                 SELECT reader, max(seq) FROM unnest($1::text[], $2::bigint[]) AS n (reader, seq) GROUP BY reader
                 ON CONFLICT (reader) DO UPDATE SET seq = excluded.seq",
            )
            .await?,
            forget: prepare("DELETE FROM seen_events WHERE at < $1").await?,
            see: prepare(
                "INSERT INTO seen_events (id, channel, event, at)
                 SELECT * FROM unnest($1::bytea[], $2::text[], $3::text[], $4::bigint[])",
            )
            .await?,
        })
    }

    /// All that is to be written.
    pub(super) fn lines<'a>(&self, accepted: &[&'a EncodedCommit]) -> Vec<Line<'a>> {
        let post: Vec<&'a Post> = accepted.iter().filter_map(|commit| commit.post.as_deref()).collect();
        let mut lines = Vec::new();
        if post.is_empty() {
            return lines;
        }
        self.deliveries(&mut lines, &post);
        self.jobs(&mut lines, &post);
        let readings: Vec<&LogReading> = post.iter().filter_map(|post| post.reading.as_ref()).collect();
        if !readings.is_empty() {
            let columns = vec![
                column(&readings, |reading| reading.reader),
                column(&readings, |reading| i64::try_from(reading.to).unwrap_or(i64::MAX)),
            ];
            lines.push(Line { statement: self.read_on.clone(), columns });
        }
        let seen: Vec<&SeenEvent> = post.iter().filter_map(|post| post.seen.as_ref()).collect();
        if let Some(before) = seen.iter().map(|seen| seen.forget_before.as_micros()).min() {
            lines.push(Line { statement: self.forget.clone(), columns: vec![Box::new(before)] });
            let columns = vec![
                column(&seen, |seen| keys::seen(&seen.channel, &seen.event).as_bytes().to_vec()),
                column(&seen, |seen| seen.channel.as_str()),
                column(&seen, |seen| seen.event.as_str()),
                column(&seen, |seen| seen.at.as_micros()),
            ];
            lines.push(Line { statement: self.see.clone(), columns });
        }
        lines
    }

    fn deliveries<'a>(&self, lines: &mut Vec<Line<'a>>, post: &[&'a Post]) {
        let new: Vec<&NewDelivery> = post.iter().flat_map(|post| &post.deliveries).collect();
        if !new.is_empty() {
            let columns = vec![
                column(&new, |new| new.id),
                column(&new, |new| new.action.to_bytes().to_vec()),
                column(&new, |new| i64::from(new.version)),
                column(&new, |new| new.purpose.as_str()),
                column(&new, |new| new.round),
                column(&new, |new| new.channel.as_str()),
                column(&new, |new| new.recipient.as_str()),
                column(&new, |new| new.next_at.as_micros()),
                column(&new, |new| new.at.as_micros()),
            ];
            lines.push(Line { statement: self.plan.clone(), columns });
        }
        let bundles: Vec<&(i64, i64)> = post.iter().flat_map(|post| &post.bundles).collect();
        if !bundles.is_empty() {
            let columns = vec![column(&bundles, |(id, _)| *id), column(&bundles, |(_, first)| *first)];
            lines.push(Line { statement: self.bundle.clone(), columns });
        }
        let attempts: Vec<&Attempt> = post.iter().flat_map(|post| &post.attempts).collect();
        if !attempts.is_empty() {
            let columns = vec![
                column(&attempts, |attempt| attempt.id),
                column(&attempts, |attempt| i64::from(attempt.after)),
                column(&attempts, |attempt| i64::from(attempt.attempt)),
                column(&attempts, |attempt| attempt.status.as_str()),
                column(&attempts, |attempt| attempt.next_at.map(Timestamp::as_micros)),
                column(&attempts, |attempt| attempt.message),
                column(&attempts, |attempt| attempt.provider_id.as_deref()),
                column(&attempts, |attempt| attempt.error.as_deref()),
                column(&attempts, |attempt| attempt.at.as_micros()),
                column(&attempts, |attempt| attempt.bundle),
                column(&attempts, |attempt| i64::from(attempt.strikes)),
            ];
            lines.push(Line { statement: self.conclude.clone(), columns });
        }
        again(lines, &self.redeliver, post.iter().flat_map(|post| &post.redeliveries));
    }

    fn jobs<'a>(&self, lines: &mut Vec<Line<'a>>, post: &[&'a Post]) {
        let new: Vec<&NewJob> = post.iter().flat_map(|post| &post.jobs).collect();
        if !new.is_empty() {
            let columns = vec![
                column(&new, |new| new.id),
                column(&new, |new| new.action.to_bytes().to_vec()),
                column(&new, |new| new.at.as_micros()),
            ];
            lines.push(Line { statement: self.begin.clone(), columns });
        }
        let runs: Vec<&Run> = post.iter().flat_map(|post| &post.runs).collect();
        if !runs.is_empty() {
            let columns = vec![
                column(&runs, |run| run.id),
                column(&runs, |run| i64::from(run.after)),
                column(&runs, |run| i64::from(run.attempt)),
                column(&runs, |run| run.status.as_str()),
                column(&runs, |run| run.next_at.map(Timestamp::as_micros)),
                column(&runs, |run| run.error.as_deref()),
                column(&runs, |run| run.at.as_micros()),
            ];
            lines.push(Line { statement: self.finish.clone(), columns });
        }
        again(lines, &self.rerun, post.iter().flat_map(|post| &post.reruns));
    }
}

fn again<'a>(
    lines: &mut Vec<Line<'a>>,
    statement: &Statement,
    which: impl Iterator<Item = &'a (i64, Timestamp)>,
) {
    let which: Vec<_> = which.collect();
    if !which.is_empty() {
        let columns = vec![column(&which, |(id, _)| *id), column(&which, |(_, at)| at.as_micros())];
        lines.push(Line { statement: statement.clone(), columns });
    }
}

const DELIVERY_COLUMNS: &str = "id, action, version, purpose, round, channel, recipient, status, attempt, next_at, \
                                message, provider_id, error, created_at, updated_at, bundle, strikes";

pub(super) fn delivery(row: &Row) -> Result<Delivery, StoreError> {
    Ok(Delivery {
        id: get(row, 0)?,
        action: action_id(row, 1)?,
        version: small(row, 2)?,
        purpose: name(row, 3)?,
        round: get(row, 4)?,
        channel: get(row, 5)?,
        recipient: get(row, 6)?,
        status: name(row, 7)?,
        attempt: small(row, 8)?,
        next_at: moment(row, 9)?,
        message: get(row, 10)?,
        provider_id: get(row, 11)?,
        error: get(row, 12)?,
        created_at: time(row, 13)?,
        updated_at: time(row, 14)?,
        bundle: get(row, 15)?,
        strikes: small(row, 16)?,
    })
}

const JOB_COLUMNS: &str = "id, action, status, attempt, next_at, error, created_at, updated_at";

pub(super) fn job(row: &Row) -> Result<Job, StoreError> {
    Ok(Job {
        id: get(row, 0)?,
        action: action_id(row, 1)?,
        status: name(row, 2)?,
        attempt: small(row, 3)?,
        next_at: moment(row, 4)?,
        error: get(row, 5)?,
        created_at: time(row, 6)?,
        updated_at: time(row, 7)?,
    })
}

pub(super) fn deliveries(query: &DeliveryQuery) -> Listing {
    listing::deliveries(&DIALECT, DELIVERY_COLUMNS, query)
}

pub(super) fn jobs(query: &JobQuery) -> Listing {
    listing::jobs(&DIALECT, JOB_COLUMNS, query)
}

/// Nodes that ask at the same time get different ones.
pub(super) fn take_deliveries() -> String {
    format!(
        "WITH taken AS (
            UPDATE deliveries SET taken_until = clock_timestamp() + make_interval(secs => $4)
            WHERE id IN (SELECT id FROM deliveries
                         WHERE channel = $1 AND next_at IS NOT NULL AND next_at <= $2
                               AND taken_until <= clock_timestamp()
                         ORDER BY next_at, id LIMIT $3 FOR UPDATE SKIP LOCKED)
            RETURNING {DELIVERY_COLUMNS})
         SELECT {DELIVERY_COLUMNS} FROM taken ORDER BY next_at, id"
    )
}

pub(super) fn take_jobs() -> String {
    format!(
        "WITH taken AS (
            UPDATE jobs SET taken_until = clock_timestamp() + make_interval(secs => $3)
            WHERE id IN (SELECT id FROM jobs
                         WHERE next_at IS NOT NULL AND next_at <= $1 AND taken_until <= clock_timestamp()
                         ORDER BY next_at, id LIMIT $2 FOR UPDATE SKIP LOCKED)
            RETURNING {JOB_COLUMNS})
         SELECT {JOB_COLUMNS} FROM taken ORDER BY next_at, id"
    )
}

/// What another node has in hand is its own affair.
pub(super) const NEXT_DELIVERY: &str = "\
    SELECT min(next_at) FROM deliveries
    WHERE channel = $1 AND next_at IS NOT NULL AND taken_until <= clock_timestamp()";

pub(super) const NEXT_JOB: &str =
    "SELECT min(next_at) FROM jobs WHERE next_at IS NOT NULL AND taken_until <= clock_timestamp()";

pub(super) fn earliest(rows: &[Row]) -> Result<Option<Timestamp>, StoreError> {
    rows.first().map_or(Ok(None), |row| moment(row, 0))
}

pub(super) const TOLD: &str = "\
    SELECT count(DISTINCT message) FROM deliveries
    WHERE channel = $1 AND recipient = $2 AND updated_at > $3 AND message IS NOT NULL AND purpose <> 'settled'";
