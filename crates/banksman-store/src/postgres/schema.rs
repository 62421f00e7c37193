//! The tables, as a list of migrations that only ever grows, applied under a lock of their own.

use tokio_postgres::Client;

use super::session::failed;
use crate::StoreError;

/// Each entry brings the schema from its index to the next number. Never change one that was released: add one.
pub(super) const MIGRATIONS: &[&str] = &[
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

/// Brings a database up to date, all or nothing.
pub(super) async fn migrate(client: &mut Client) -> Result<(), StoreError> {
    let transaction = client.transaction().await.map_err(failed)?;
    // A long migration on another node is waited for, however long it takes.
    transaction
        .batch_execute("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0")
        .await
        .map_err(failed)?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await.map_err(failed)?;
    transaction
        .batch_execute("CREATE TABLE IF NOT EXISTS schema_version (version bigint NOT NULL)")
        .await
        .map_err(failed)?;
    let row = transaction
        .query_one("SELECT coalesce(max(version), 0)::bigint FROM schema_version", &[])
        .await
        .map_err(failed)?;
    let found = usize::try_from(row.try_get::<_, i64>(0).map_err(failed)?).unwrap_or(usize::MAX);
    let known = MIGRATIONS.len();
    if found > known {
        return Err(StoreError::Failed(format!(
            "the database has schema {found}, this program knows up to {known}: it was written by a newer version"
        )));
    }
    if found == known {
        return transaction.rollback().await.map_err(failed);
    }
    for migration in MIGRATIONS.iter().skip(found) {
        transaction.batch_execute(migration).await.map_err(failed)?;
    }
    let version = i64::try_from(known).unwrap_or(i64::MAX);
    transaction
        .execute(
            "WITH old AS (DELETE FROM schema_version) INSERT INTO schema_version VALUES ($1)",
            &[&version],
        )
        .await
        .map_err(failed)?;
    transaction.commit().await.map_err(failed)
}
