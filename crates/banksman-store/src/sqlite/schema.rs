//! The tables, as a list of migrations that only ever grows.
//!
//! CHECK constraints repeat the invariants of the core, so that a row which the lifecycle could not have made
//! cannot be stored either. Times are microseconds since 1970 in UTC.

use rusqlite::{Connection, TransactionBehavior};

/// Each entry brings the schema from its index to the next number. Never change one that was released: add one.
pub(super) const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_first.sql"),
    include_str!("migrations/0002_charges.sql"),
    include_str!("migrations/0003_people.sql"),
    include_str!("migrations/0004_priority.sql"),
    include_str!("migrations/0005_inbox.sql"),
    include_str!("migrations/0006_post.sql"),
    include_str!("migrations/0007_identity.sql"),
    include_str!("migrations/0008_parcels.sql"),
    include_str!("migrations/0009_people_epoch.sql"),
    include_str!("migrations/0010_submissions_by_row.sql"),
    include_str!("migrations/0011_ledger.sql"),
    include_str!("migrations/0012_redo.sql"),
];

/// Brings a database up to date, all or nothing.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), MigrationError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found: usize = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if found > MIGRATIONS.len() {
        return Err(MigrationError::Newer { found, known: MIGRATIONS.len() });
    }
    for migration in MIGRATIONS.iter().skip(found) {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "user_version", MIGRATIONS.len())?;
    transaction.commit()?;
    Ok(())
}

/// Why a database could not be brought up to date.
#[derive(Debug, thiserror::Error)]
pub(super) enum MigrationError {
    #[error(
        "the database has schema {found}, this program knows up to {known}: it was written by a newer version"
    )]
    Newer { found: usize, known: usize },
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
}
