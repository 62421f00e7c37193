//! Moves what an embedded SQLite holds to PostgreSQL: every row, read back and compared before anything counts.
//!
//! It is one transaction on either side. The source cannot be written meanwhile, and the target holds everything or
//! nothing; a copy that was broken off is started again.

mod tables;
mod value;

use std::path::Path;
use std::pin::pin;

use futures_util::TryStreamExt;
use rusqlite::Connection;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, Transaction};

use self::tables::{TABLES, Table};
use self::value::Value;
use crate::StoreError;
use crate::postgres::{Target, failed};
use crate::sqlite::{self, open_for_copying};

/// How far a copy is.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// The table that is being copied, or compared.
    pub table: &'static str,
    /// Whether it is being compared.
    pub comparing: bool,
    /// Rows of all tables so far; each counts once when copied and once when compared.
    pub done: u64,
    /// What that will be in the end.
    pub total: u64,
}

/// How often progress is told.
const EVERY: u64 = 1000;

/// What was copied: the tables with their rows, in the order in which they were copied.
pub type Copied = Vec<(&'static str, u64)>;

/// Copies a SQLite file into an empty PostgreSQL database, and compares every row.
///
/// # Errors
/// If either cannot be used, the target is not empty, or a row does not arrive as it was sent. Then the target is as it
/// was.
pub async fn copy(
    source: &Path,
    target: &str,
    mut progress: impl FnMut(Progress),
) -> Result<Copied, StoreError> {
    let source = open_for_copying(source)?;
    let mut target = Target::open(target).await?;
    let transaction = target.begin().await?;
    must_be_empty(&transaction).await?;
    let counts = count(&source)?;
    let total = 2 * counts.iter().map(|(_, rows)| rows).sum::<u64>();
    let mut done = 0;
    for comparing in [false, true] {
        for table in TABLES {
            let mut told = |now: u64| {
                progress(Progress { table: table.name, comparing, done: done + now, total });
            };
            told(0);
            done += if comparing {
                compare(table, &source, &transaction, &mut told).await?
            } else {
                transfer(table, &source, &transaction, &mut told).await?
            };
        }
    }
    finish_head(&source, &transaction).await?;
    transaction.commit().await.map_err(failed)?;
    Ok(counts)
}

/// A database with anybody's credentials or history in it is somebody's.
async fn must_be_empty(target: &Transaction<'_>) -> Result<(), StoreError> {
    for table in TABLES {
        let sql = format!("SELECT EXISTS (SELECT 1 FROM {})", table.name);
        let row = target.query_one(&sql, &[]).await.map_err(failed)?;
        if row.try_get::<_, bool>(0).map_err(failed)? {
            return Err(StoreError::Failed(format!(
                "the database is not empty: there are rows in {}. Copy into a fresh database, before any node was \
                 started on it",
                table.name
            )));
        }
    }
    Ok(())
}

fn count(source: &Connection) -> Result<Copied, StoreError> {
    let rows = |table: &Table| {
        let sql = format!("SELECT count(*) FROM {}", table.name);
        Ok((table.name, source.query_row(&sql, [], |row| row.get(0)).map_err(sqlite::failed)?))
    };
    TABLES.iter().map(rows).collect()
}

/// Writes a table's rows, and says how many there were.
async fn transfer(
    table: &Table,
    source: &Connection,
    target: &Transaction<'_>,
    told: &mut impl FnMut(u64),
) -> Result<u64, StoreError> {
    let mut statement = source.prepare(&table.select_from_sqlite()).map_err(sqlite::failed)?;
    let mut rows = statement.query([]).map_err(sqlite::failed)?;
    let sink = target.copy_in(&table.copy_into_postgres()).await.map_err(failed)?;
    let mut writer = pin!(BinaryCopyInWriter::new(sink, &table.types()));
    let mut done = 0;
    while let Some(row) = next(table, &mut rows)? {
        let values: Vec<&(dyn ToSql + Sync)> = row.iter().map(|value| value as _).collect();
        writer.as_mut().write(&values).await.map_err(failed)?;
        done += 1;
        if done % EVERY == 0 {
            told(done);
        }
    }
    let written = writer.finish().await.map_err(failed)?;
    if written != done {
        return Err(differs(table, &format!("{done} rows were sent and {written} written")));
    }
    Ok(done)
}

/// Reads a table from both sides in the same order, and says how many rows were equal, which is all of them.
async fn compare(
    table: &Table,
    source: &Connection,
    target: &Transaction<'_>,
    told: &mut impl FnMut(u64),
) -> Result<u64, StoreError> {
    let mut statement = source.prepare(&table.select_from_sqlite()).map_err(sqlite::failed)?;
    let mut sent = statement.query([]).map_err(sqlite::failed)?;
    let none: [&(dyn ToSql + Sync); 0] = [];
    let arrived = target.query_raw(&table.select_from_postgres(), none).await.map_err(failed)?;
    let mut arrived = pin!(arrived);
    let mut done = 0;
    loop {
        let sent = next(table, &mut sent)?;
        let found = arrived.try_next().await.map_err(failed)?.map(|row| values(&row)).transpose()?;
        match (sent, found) {
            (None, None) => return Ok(done),
            (Some(sent), Some(found)) if sent == found => {}
            _ => return Err(differs(table, &format!("row {} did not arrive as it was sent", done + 1))),
        }
        done += 1;
        if done % EVERY == 0 {
            told(done);
        }
    }
}

/// The next row of SQLite, as PostgreSQL is to hold it.
fn next(table: &Table, rows: &mut rusqlite::Rows<'_>) -> Result<Option<Vec<Value>>, StoreError> {
    let Some(row) = rows.next().map_err(sqlite::failed)? else {
        return Ok(None);
    };
    let columns = row.as_ref().column_count();
    let values = (0..columns).map(|column| Value::of_sqlite(row.get_ref(column)?));
    let values = values.collect::<rusqlite::Result<Vec<_>>>().map_err(sqlite::failed)?;
    table.arriving(values).map(Some)
}

fn values(row: &Row) -> Result<Vec<Value>, StoreError> {
    (0..row.len()).map(|column| row.try_get(column).map_err(failed)).collect()
}

fn differs(table: &Table, how: &str) -> StoreError {
    StoreError::Corrupt(format!("{}: {how}; nothing was copied", table.name))
}

/// The row that commits lock counts on from where the source stands.
async fn finish_head(source: &Connection, target: &Transaction<'_>) -> Result<(), StoreError> {
    let (epoch, people_epoch, mode, fell_back_from): (i64, i64, String, Option<String>) = source
        .query_row("SELECT epoch, people_epoch, mode, fell_back_from FROM control", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })
        .map_err(sqlite::failed)?;
    target
        .execute(
            "INSERT INTO pending_by_agents
             SELECT agent, count(*) FROM actions WHERE status = 'pending' GROUP BY agent",
            &[],
        )
        .await
        .map_err(failed)?;
    target
        .execute(
            "UPDATE head SET epoch = $1, mode = $2::text, fell_back_from = $3, people_epoch = $4,
                 last_seq = (SELECT coalesce(max(seq), 0) FROM audit),
                 pending = (SELECT count(*) FROM actions WHERE status = 'pending')",
            &[&epoch, &mode, &fell_back_from, &people_epoch],
        )
        .await
        .map_err(failed)?;
    Ok(())
}

#[cfg(test)]
mod tests;
