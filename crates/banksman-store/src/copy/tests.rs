//! Whatever a migration adds, the copy must learn of.

use std::collections::BTreeSet;

use super::tables::TABLES;
use crate::sqlite::SqliteStore;

/// Tables that are not copied as they are, or, because they are about a file beside SQLite's, not at all.
const OTHERWISE: &[&str] = &["control", "redo"];

#[test]
fn every_column_of_every_table_goes_along() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("banksman.db");
    drop(SqliteStore::open(&path).unwrap());
    let connection = rusqlite::Connection::open(&path).unwrap();
    let mut statement = connection
        .prepare(
            "SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c
             WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'",
        )
        .unwrap();
    let there: BTreeSet<(String, String)> =
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect();
    let known = |table: &str, column: &str| {
        OTHERWISE.contains(&table)
            || TABLES.iter().filter(|known| known.name == table).any(|known| {
                known.left_behind == Some(column) || known.columns.iter().any(|(name, _)| *name == column)
            })
    };
    for (table, column) in &there {
        assert!(known(table, column), "{table}.{column} would be left behind");
    }
}
