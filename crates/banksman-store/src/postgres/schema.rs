//! The tables, as a list of migrations that only ever grows, applied under a lock of their own.

use std::cmp::Ordering;
use std::time::Duration;

use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, GenericClient};

use super::news::LISTENING;
use super::presence::PRESENT;
use super::session::failed;
use crate::StoreError;

/// Each entry brings the schema from its index to the next number. Never change one that was released: add one.
pub(crate) const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_first.sql"),
    include_str!("migrations/0002_inbox.sql"),
    include_str!("migrations/0003_post.sql"),
    include_str!("migrations/0004_identity.sql"),
    include_str!("migrations/0005_parcels.sql"),
    include_str!("migrations/0006_people_epoch.sql"),
    include_str!("migrations/0007_ledger.sql"),
    include_str!("migrations/0008_rows_at_once.sql"),
    include_str!("migrations/0009_turns.sql"),
    include_str!("migrations/0010_still_too_many.sql"),
];

/// Nodes that start together migrate one after the other. The number is any that no one else on the server uses.
const LOCK: i64 = 0x6261_6e6b_736d_616e;

/// How long a migration waits for tables that somebody else uses. All nodes are stopped meanwhile.
const BUSY: &str = "SET LOCAL lock_timeout = '60s'";

/// How often, and how long apart, it is looked whether all are gone who have just been stopped.
const GOING: u32 = 20;
const A_MOMENT: Duration = Duration::from_millis(100);

/// Who is connected and would not understand the schema any more: by the lock that all sessions share, and by that of those
/// who listen, which older versions have alone.
const OTHERS: &str = "\
    SELECT string_agg(format('%s from %s (processes %s)', name, place, processes), ', ' ORDER BY name, place)
    FROM (SELECT a.application_name AS name, coalesce(host(a.client_addr), 'the same machine') AS place,
                 string_agg(DISTINCT a.pid::text, ' ') AS processes
          FROM pg_locks l JOIN pg_stat_activity a USING (pid)
          WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted AND a.datname = current_database()
                AND l.classid::bigint << 32 | l.objid::bigint IN ($1, $2) AND l.pid <> pg_backend_pid()
          GROUP BY 1, 2) AS others";

/// What a database is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To run on: it is brought up to date, all or nothing.
    Serve,
    /// To run on by a process that did so before: an empty one is not where it was.
    ServeAgain,
    /// To change something and be gone: nodes may run on it that know its schema, so that is left alone.
    Change,
    /// To read: one without anything of ours is not the one that was meant.
    Read,
}

/// Makes sure that a database is of this program's version. An empty one that may be written always is afterwards.
pub(super) async fn settle(client: &mut Client, purpose: Purpose) -> Result<(), StoreError> {
    // Without the lock, and without a write: mostly there is nothing to do, and whoever only reads may have no right to more.
    match (found(client).await?, purpose) {
        (Found::Current, _) => Ok(()),
        (Found::Nothing, Purpose::Serve | Purpose::Change)
        | (Found::Earlier(_), Purpose::Serve | Purpose::ServeAgain) => migrate(client).await,
        (Found::Nothing, Purpose::ServeAgain | Purpose::Read) => {
            Err(StoreError::Failed("there is nothing of Banksman's in this database".into()))
        }
        (Found::Earlier(found), Purpose::Change | Purpose::Read) => Err(StoreError::Failed(format!(
            "the database has schema {found}, this program wants {}: stop all nodes, then `banksman migrate` brings it \
             up to date",
            MIGRATIONS.len()
        ))),
    }
}

/// What there is in a database.
enum Found {
    Nothing,
    Earlier(usize),
    Current,
}

/// Whether our first table is there, looked up in the catalogue itself. `to_regclass` asks only what the session remembers
/// of the catalogue, which waiting for an advisory lock does not bring up to date: whoever waited while another node
/// made the tables would make them once more, and fail.
const IS_OURS: &str =
    "SELECT EXISTS (SELECT FROM pg_class WHERE relname = 'schema_version' AND pg_table_is_visible(oid))";

async fn found(client: &impl GenericClient) -> Result<Found, StoreError> {
    let row = client.query_one(IS_OURS, &[]).await.map_err(failed)?;
    if !row.try_get::<_, bool>(0).map_err(failed)? {
        return Ok(Found::Nothing);
    }
    let row = client
        .query_one("SELECT coalesce(max(version), 0)::bigint FROM schema_version", &[])
        .await
        .map_err(failed)?;
    let found = usize::try_from(row.try_get::<_, i64>(0).map_err(failed)?).unwrap_or(usize::MAX);
    let known = MIGRATIONS.len();
    match found.cmp(&known) {
        Ordering::Less if found == 0 => Ok(Found::Nothing),
        Ordering::Less => Ok(Found::Earlier(found)),
        Ordering::Equal => Ok(Found::Current),
        Ordering::Greater => Err(StoreError::Failed(format!(
            "the database has schema {found}, this program knows up to {known}: it was written by a newer version"
        ))),
    }
}

async fn migrate(client: &mut Client) -> Result<(), StoreError> {
    let transaction = client.transaction().await.map_err(failed)?;
    // A long migration on another node is waited for, however long it takes.
    transaction
        .batch_execute("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0")
        .await
        .map_err(failed)?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await.map_err(failed)?;
    let applied = match found(&transaction).await? {
        // Whoever had the lock before has done it.
        Found::Current => return transaction.rollback().await.map_err(failed),
        Found::Earlier(applied) => {
            nobody_else(&transaction).await?;
            applied
        }
        Found::Nothing => {
            let table = "CREATE TABLE IF NOT EXISTS schema_version (version bigint NOT NULL)";
            transaction.batch_execute(table).await.map_err(failed)?;
            0
        }
    };
    transaction.batch_execute(BUSY).await.map_err(failed)?;
    for migration in MIGRATIONS.iter().skip(applied) {
        transaction.batch_execute(migration).await.map_err(busy)?;
    }
    let version = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    transaction
        .execute(
            "WITH old AS (DELETE FROM schema_version) INSERT INTO schema_version VALUES ($1)",
            &[&version],
        )
        .await
        .map_err(failed)?;
    transaction.commit().await.map_err(failed)
}

/// Makes sure, until the transaction ends, that nobody has a session who would not understand the schema any more.
async fn nobody_else(client: &impl GenericClient) -> Result<(), StoreError> {
    let mut others = None;
    for _ in 0..GOING {
        let lock =
            client.query_one("SELECT pg_try_advisory_xact_lock($1)", &[&PRESENT]).await.map_err(failed)?;
        let row = client.query_one(OTHERS, &[&PRESENT, &LISTENING]).await.map_err(failed)?;
        others = row.try_get::<_, Option<String>>(0).map_err(failed)?;
        if lock.try_get(0).map_err(failed)? && others.is_none() {
            return Ok(());
        }
        tokio::time::sleep(A_MOMENT).await;
    }
    Err(StoreError::Failed(format!(
        "others use this database, which would have to be brought up to date for this program: {}. Stop them first; \
         what is left of a node whose machine is gone, `SELECT pg_terminate_backend(PROCESS)` ends",
        others.as_deref().unwrap_or("they come and go")
    )))
}

/// What a migration failed of, with what helps.
fn busy(error: tokio_postgres::Error) -> StoreError {
    let waited = error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE);
    match failed(error) {
        StoreError::Failed(told) if waited => StoreError::Failed(format!(
            "{told}: something else uses the tables, such as a backup or a session that was left open; \
             `SELECT pid, query FROM pg_stat_activity` shows what. Nothing was changed"
        )),
        error => error,
    }
}
