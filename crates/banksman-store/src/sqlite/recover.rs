//! Writing again what was durable and not yet in the database.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};

use super::BUSY_TIMEOUT;
use super::pen::Pen;
use super::redo::{Missing, Redo, peek, records};
use super::stroke::Strokes;
use super::writer::failed;
use crate::StoreError;

/// Writes into the running transaction what the file holds of the lap that the database knows, and the database does not.
/// Says whether there was anything.
pub(super) fn write_again(pen: &mut Pen<'_>, redo: &Redo) -> Result<bool, StoreError> {
    let (lap, applied) = known(pen.connection)?;
    let bytes = redo.read().map_err(unreadable)?;
    let mut any = false;
    for (_, strokes) in records(&bytes, lap).skip_while(|(number, _)| *number <= applied) {
        any = true;
        for stroke in Strokes(strokes) {
            let (stroke, fields) = stroke.map_err(|_| does_not_fit("it holds what no version writes"))?;
            let changed =
                pen.write_again(stroke, &fields).map_err(|error| does_not_fit(&error.to_string()))?;
            // Only what changed something was kept.
            if changed == 0 {
                return Err(does_not_fit(&format!("{stroke:?} changes nothing")));
            }
        }
    }
    Ok(any)
}

/// The lap that the database knows, and how many of its records it has.
fn known(connection: &Connection) -> Result<(i64, u64), StoreError> {
    connection
        .prepare_cached("SELECT lap, applied FROM redo")
        .and_then(|mut known| known.query_row([], |row| Ok((row.get(0)?, row.get(1)?))))
        .map_err(failed)
}

/// Notes in the running transaction which lap is written, and how much of it is in the database.
pub(super) fn note(connection: &Connection, lap: i64, applied: u64) -> Result<(), StoreError> {
    let noted = connection
        .prepare_cached("UPDATE redo SET lap = ?1, applied = ?2")
        .and_then(|mut note| note.execute(params![lap, applied]));
    noted.map(drop).map_err(failed)
}

/// The number of a lap that no other has.
pub(super) fn new_lap() -> Result<i64, StoreError> {
    let drawn = getrandom::u64().map_err(|error| StoreError::Failed(error.to_string()))?;
    // Not zero, which is what a database begins with.
    Ok((drawn >> 1).cast_signed().max(1))
}

/// Begins a transaction that has in it all that was durable before. The redo log, if nobody else has it, is the caller's
/// until the transaction has ended.
///
/// A server that lives may be ahead of SQLite without having its lock, for a moment after a transaction of its own failed.
/// Whoever wrote then would take the places of events that were answered; so this waits for the server.
pub(super) fn begin_with_all(
    pen: &mut Pen<'_>,
    path: &Path,
    missing: Missing,
) -> Result<Option<Redo>, StoreError> {
    let until = Instant::now() + BUSY_TIMEOUT;
    loop {
        pen.begin.execute([]).map_err(failed)?;
        if let Some(redo) = Redo::take(path, missing).map_err(unreadable)? {
            if write_again(pen, &redo)? {
                tracing::info!(
                    "wrote again what was durable when a server ended, and not yet in the database"
                );
            }
            return Ok(Some(redo));
        }
        let (lap, applied) = known(pen.connection)?;
        if records(&peek(path).map_err(unreadable)?, lap).all(|(number, _)| number <= applied) {
            return Ok(None);
        }
        pen.connection.execute_batch("ROLLBACK").map_err(failed)?;
        if Instant::now() > until {
            return Err(StoreError::Failed(
                "the server cannot bring what is durable into its database; see its log".into(),
            ));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Takes the file beside a database, if nobody else has it, and brings the database up to date with it.
pub(super) fn take_over(
    connection: &Connection,
    path: &Path,
    missing: Missing,
) -> Result<Option<Redo>, StoreError> {
    let mut pen = Pen::prepare(connection).map_err(failed)?;
    let taken = bring_up_to_date(&mut pen, path, missing);
    // The file is free again by now if this failed, and only then is SQLite's lock: see `redo.rs`.
    if taken.is_err() {
        let _ = connection.execute_batch("ROLLBACK");
    }
    taken
}

fn bring_up_to_date(pen: &mut Pen<'_>, path: &Path, missing: Missing) -> Result<Option<Redo>, StoreError> {
    let mut redo = begin_with_all(pen, path, missing)?;
    let lap = new_lap()?;
    if redo.is_some() {
        note(pen.connection, lap, 0)?;
    }
    pen.commit.execute([]).map_err(failed)?;
    if let Some(redo) = &mut redo {
        redo.begin_lap(lap);
    }
    Ok(redo)
}

pub(super) fn unreadable(error: std::io::Error) -> StoreError {
    StoreError::Failed(format!("the redo log beside the database: {error}"))
}

fn does_not_fit(what: &str) -> StoreError {
    StoreError::Corrupt(format!("the redo log beside the database does not fit it: {what}"))
}
