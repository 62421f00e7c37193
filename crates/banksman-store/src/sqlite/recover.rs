//! Writing again what was durable and not yet in the database.

use std::path::Path;

use rusqlite::{Connection, params};

use super::pen::Pen;
use super::redo::{Missing, Redo, records};
use super::stroke::Strokes;
use super::writer::failed;
use crate::StoreError;

/// Writes into the running transaction what the file holds of the lap that the database knows, and the database does not.
/// Says whether there was anything.
pub(super) fn write_again(pen: &mut Pen<'_>, redo: &Redo) -> Result<bool, StoreError> {
    let (lap, applied): (i64, u64) = pen
        .connection
        .prepare_cached("SELECT lap, applied FROM redo")
        .and_then(|mut known| known.query_row([], |row| Ok((row.get(0)?, row.get(1)?))))
        .map_err(failed)?;
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

/// Takes the file beside a database, if nobody else has it, and brings the database up to date with it.
pub(super) fn take_over(
    connection: &Connection,
    path: &Path,
    missing: Missing,
) -> Result<Option<Redo>, StoreError> {
    let mut pen = Pen::prepare(connection).map_err(failed)?;
    pen.begin.execute([]).map_err(failed)?;
    let taken = bring_up_to_date(&mut pen, path, missing);
    // The file is free again by now if this failed, and only then is SQLite's lock: see `redo.rs`.
    if taken.is_err() {
        let _ = connection.execute_batch("ROLLBACK");
    }
    taken
}

fn bring_up_to_date(pen: &mut Pen<'_>, path: &Path, missing: Missing) -> Result<Option<Redo>, StoreError> {
    let mut redo = Redo::take(path, missing).map_err(unreadable)?;
    if let Some(redo) = &mut redo {
        if write_again(pen, redo)? {
            tracing::info!(
                "wrote again what was durable when the last server ended, and not yet in the database"
            );
        }
        let lap = new_lap()?;
        note(pen.connection, lap, 0)?;
        pen.commit.execute([]).map_err(failed)?;
        redo.begin_lap(lap);
    } else {
        pen.commit.execute([]).map_err(failed)?;
    }
    Ok(redo)
}

pub(super) fn unreadable(error: std::io::Error) -> StoreError {
    StoreError::Failed(format!("the redo log beside the database: {error}"))
}

fn does_not_fit(what: &str) -> StoreError {
    StoreError::Corrupt(format!("the redo log beside the database does not fit it: {what}"))
}
