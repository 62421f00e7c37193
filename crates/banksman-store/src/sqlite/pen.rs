//! The statements that nearly every commit runs, prepared once for as long as the writer lives.
//!
//! Looking them up by their text took some 4 % of the writer's time.

use rusqlite::{Connection, Statement, params_from_iter};

use super::redo::Record;
use super::stroke::{Field, Stroke};

pub(super) struct Pen<'c> {
    pub(super) connection: &'c Connection,
    pub(super) begin: Statement<'c>,
    pub(super) commit: Statement<'c>,
    /// The epochs of the house rules and of people, and the place of the newest audit event.
    pub(super) where_we_are: Statement<'c>,
    /// In the order of [`Stroke::ALL`].
    strokes: Vec<Statement<'c>>,
    /// What was written since it was cleared last.
    pub(super) record: Record,
}

impl<'c> Pen<'c> {
    pub(super) fn prepare(connection: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            connection,
            begin: connection.prepare("BEGIN IMMEDIATE")?,
            commit: connection.prepare("COMMIT")?,
            where_we_are: connection.prepare(
                "SELECT epoch, people_epoch, (SELECT coalesce(max(seq), 0) FROM audit) FROM control",
            )?,
            strokes: Stroke::ALL
                .into_iter()
                .map(|stroke| connection.prepare(stroke.sql()))
                .collect::<rusqlite::Result<_>>()?,
            record: Record::default(),
        })
    }

    /// Changes rows, and keeps how. Says how many.
    pub(super) fn write(&mut self, stroke: Stroke, fields: &[Field<'_>]) -> rusqlite::Result<usize> {
        let changed = self.write_again(stroke, fields)?;
        if changed > 0 {
            self.record.put(stroke, fields);
        }
        Ok(changed)
    }

    /// Changes rows as it was done before.
    pub(super) fn write_again(&mut self, stroke: Stroke, fields: &[Field<'_>]) -> rusqlite::Result<usize> {
        let statement = self.strokes.get_mut(stroke as usize - 1).ok_or(rusqlite::Error::InvalidQuery)?;
        statement.execute(params_from_iter(fields))
    }
}
