//! Messages, jobs and what came back, as rows.

use banksman_core::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::lists::{DIALECT, listed};
use super::rows;
use crate::Conflict;
use crate::listing::{self, limit};
use crate::post::{Attempt, Delivery, DeliveryQuery, Job, JobQuery, NewDelivery, NewJob, Post, Run};

/// Which guard does not hold, if one does not.
pub(super) fn conflict(connection: &Connection, post: &Post) -> rusqlite::Result<Option<Conflict>> {
    if let Some(reading) = &post.reading
        && place(connection, reading.reader)? != reading.from
    {
        return Ok(Some(Conflict::ReadOn));
    }
    if let Some(seen) = &post.seen {
        let before = connection
            .prepare_cached("SELECT 1 FROM seen_events WHERE channel = ?1 AND event = ?2")?
            .exists(params![seen.channel, seen.event])?;
        if before {
            return Ok(Some(Conflict::EventSeen));
        }
    }
    Ok(None)
}

pub(super) fn write(connection: &Connection, post: &Post) -> rusqlite::Result<()> {
    for delivery in &post.deliveries {
        plan(connection, delivery)?;
    }
    for (id, first) in &post.bundles {
        connection
            .prepare_cached("UPDATE deliveries SET bundle = ?2 WHERE id = ?1 AND next_at IS NOT NULL")?
            .execute([id, first])?;
    }
    for attempt in &post.attempts {
        conclude(connection, attempt)?;
    }
    for (id, at) in &post.redeliveries {
        connection
            .prepare_cached(
                "UPDATE deliveries SET status = 'queued', attempt = 0, strikes = 0, bundle = NULL, next_at = ?2,
                                       updated_at = ?2
                 WHERE id = ?1 AND status = 'failed'",
            )?
            .execute(params![id, at.as_micros()])?;
    }
    for job in &post.jobs {
        begin(connection, job)?;
    }
    for run in &post.runs {
        finish(connection, run)?;
    }
    for (id, at) in &post.reruns {
        connection
            .prepare_cached(
                "UPDATE jobs SET status = 'waiting', attempt = 0, next_at = ?2, updated_at = ?2
                 WHERE id = ?1 AND status <> 'done'",
            )?
            .execute(params![id, at.as_micros()])?;
    }
    if let Some(reading) = &post.reading {
        connection
            .prepare_cached(
                "INSERT INTO log_readers (reader, seq) VALUES (?1, ?2)
                 ON CONFLICT (reader) DO UPDATE SET seq = excluded.seq",
            )?
            .execute(params![reading.reader, reading.to])?;
    }
    if let Some(seen) = &post.seen {
        connection
            .prepare_cached("DELETE FROM seen_events WHERE at < ?1")?
            .execute([seen.forget_before.as_micros()])?;
        connection
            .prepare_cached("INSERT INTO seen_events (channel, event, at) VALUES (?1, ?2, ?3)")?
            .execute(params![seen.channel, seen.event, seen.at.as_micros()])?;
    }
    Ok(())
}

fn plan(connection: &Connection, delivery: &NewDelivery) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO deliveries (id, action, version, purpose, round, channel, recipient, status, attempt,
                                     next_at, created_at, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'queued', 0, ?8, ?9, ?9) ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            delivery.id,
            delivery.action.to_bytes(),
            delivery.version,
            delivery.purpose.as_str(),
            delivery.round,
            delivery.channel,
            delivery.recipient,
            delivery.next_at.as_micros(),
            delivery.at.as_micros(),
        ])?;
    Ok(())
}

fn conclude(connection: &Connection, attempt: &Attempt) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE deliveries SET attempt = ?3, status = ?4, next_at = ?5, message = ?6, provider_id = ?7,
                                   error = ?8, updated_at = ?9, bundle = ?10, strikes = ?11
             WHERE id = ?1 AND attempt = ?2 AND next_at IS NOT NULL",
        )?
        .execute(params![
            attempt.id,
            attempt.after,
            attempt.attempt,
            attempt.status.as_str(),
            attempt.next_at.map(Timestamp::as_micros),
            attempt.message,
            attempt.provider_id,
            attempt.error,
            attempt.at.as_micros(),
            attempt.bundle,
            attempt.strikes,
        ])?;
    Ok(())
}

fn begin(connection: &Connection, job: &NewJob) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO jobs (id, action, status, attempt, next_at, created_at, updated_at)
             VALUES (?1, ?2, 'waiting', 0, ?3, ?3, ?3) ON CONFLICT DO NOTHING",
        )?
        .execute(params![job.id, job.action.to_bytes(), job.at.as_micros()])?;
    Ok(())
}

/// What was dropped stays so, unless the agent's side has taken it meanwhile.
fn finish(connection: &Connection, run: &Run) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE jobs SET attempt = ?3, status = ?4, next_at = ?5, error = ?6, updated_at = ?7
             WHERE id = ?1 AND attempt = ?2
                   AND (status = 'waiting' OR (status <> 'done' AND ?4 IN ('dropped', 'done')))",
        )?
        .execute(params![
            run.id,
            run.after,
            run.attempt,
            run.status.as_str(),
            run.next_at.map(Timestamp::as_micros),
            run.error,
            run.at.as_micros(),
        ])?;
    Ok(())
}

/// How far a reader has read the log.
pub(super) fn place(connection: &Connection, reader: &str) -> rusqlite::Result<u64> {
    let place = connection
        .prepare_cached("SELECT seq FROM log_readers WHERE reader = ?1")?
        .query_row([reader], |row| row.get(0))
        .optional()?;
    Ok(place.unwrap_or(0))
}

const DELIVERY_COLUMNS: &str = "id, action, version, purpose, round, channel, recipient, status, attempt, next_at, \
                                message, provider_id, error, created_at, updated_at, bundle, strikes";

fn delivery(row: &Row<'_>) -> rusqlite::Result<Delivery> {
    Ok(Delivery {
        id: row.get(0)?,
        action: rows::action_id(row, 1)?,
        version: row.get(2)?,
        purpose: rows::name(row, 3)?,
        round: row.get(4)?,
        channel: row.get(5)?,
        recipient: row.get(6)?,
        status: rows::name(row, 7)?,
        attempt: row.get(8)?,
        next_at: rows::moment(row, 9)?,
        message: row.get(10)?,
        provider_id: row.get(11)?,
        error: row.get(12)?,
        created_at: rows::time(row, 13)?,
        updated_at: rows::time(row, 14)?,
        bundle: row.get(15)?,
        strikes: row.get(16)?,
    })
}

const JOB_COLUMNS: &str = "id, action, status, attempt, next_at, error, created_at, updated_at";

fn job(row: &Row<'_>) -> rusqlite::Result<Job> {
    Ok(Job {
        id: row.get(0)?,
        action: rows::action_id(row, 1)?,
        status: rows::name(row, 2)?,
        attempt: row.get(3)?,
        next_at: rows::moment(row, 4)?,
        error: row.get(5)?,
        created_at: rows::time(row, 6)?,
        updated_at: rows::time(row, 7)?,
    })
}

pub(super) fn deliveries(connection: &Connection, query: &DeliveryQuery) -> rusqlite::Result<Vec<Delivery>> {
    listed(connection, listing::deliveries(&DIALECT, DELIVERY_COLUMNS, query), delivery)
}

pub(super) fn due_deliveries_sql() -> String {
    format!(
        "SELECT {DELIVERY_COLUMNS} FROM deliveries INDEXED BY deliveries_due
         WHERE channel = ?1 AND next_at IS NOT NULL AND next_at <= ?2 ORDER BY next_at, id LIMIT ?3"
    )
}

pub(super) fn due_deliveries(
    connection: &Connection,
    channel: &str,
    by: Timestamp,
    rows: usize,
) -> rusqlite::Result<Vec<Delivery>> {
    connection
        .prepare_cached(&due_deliveries_sql())?
        .query_map(params![channel, by.as_micros(), limit(rows)], delivery)?
        .collect()
}

pub(super) const NEXT_DELIVERY: &str =
    "SELECT min(next_at) FROM deliveries WHERE channel = ?1 AND next_at IS NOT NULL";

pub(super) fn next_delivery(connection: &Connection, channel: &str) -> rusqlite::Result<Option<Timestamp>> {
    let next: Option<i64> =
        connection.prepare_cached(NEXT_DELIVERY)?.query_row([channel], |row| row.get(0))?;
    Ok(next.map(Timestamp::from_micros))
}

pub(super) const TOLD: &str = "SELECT count(DISTINCT message) FROM deliveries
    WHERE channel = ?1 AND recipient = ?2 AND updated_at > ?3 AND message IS NOT NULL AND purpose <> 'settled'";

pub(super) fn told(
    connection: &Connection,
    channel: &str,
    recipient: &str,
    since: Timestamp,
) -> rusqlite::Result<u64> {
    connection
        .prepare_cached(TOLD)?
        .query_row(params![channel, recipient, since.as_micros()], |row| row.get(0))
}

pub(super) fn jobs(connection: &Connection, query: &JobQuery) -> rusqlite::Result<Vec<Job>> {
    listed(connection, listing::jobs(&DIALECT, JOB_COLUMNS, query), job)
}

pub(super) fn due_jobs(connection: &Connection, by: Timestamp, rows: usize) -> rusqlite::Result<Vec<Job>> {
    connection
        .prepare_cached(&format!(
            "SELECT {JOB_COLUMNS} FROM jobs WHERE next_at IS NOT NULL AND next_at <= ?1 ORDER BY next_at, id LIMIT ?2"
        ))?
        .query_map(params![by.as_micros(), limit(rows)], job)?
        .collect()
}

pub(super) fn next_job(connection: &Connection) -> rusqlite::Result<Option<Timestamp>> {
    let next: Option<i64> = connection
        .prepare_cached("SELECT min(next_at) FROM jobs WHERE next_at IS NOT NULL")?
        .query_row([], |row| row.get(0))?;
    Ok(next.map(Timestamp::from_micros))
}
