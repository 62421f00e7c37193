//! The statements that nearly every commit runs, prepared once for as long as the writer lives.
//!
//! Looking them up by their text took some 4 % of the writer's time.

use rusqlite::{Connection, Statement};

pub(super) struct Pen<'c> {
    pub(super) connection: &'c Connection,
    pub(super) begin: Statement<'c>,
    pub(super) commit: Statement<'c>,
    /// The epochs of the house rules and of people, and the place of the newest audit event.
    pub(super) where_we_are: Statement<'c>,
    pub(super) insert_action: Statement<'c>,
    pub(super) move_action: Statement<'c>,
    pub(super) insert_submission: Statement<'c>,
    pub(super) insert_event: Statement<'c>,
    pub(super) insert_notice: Statement<'c>,
    pub(super) settle_notice: Statement<'c>,
}

/// An action that joins another is not inserted.
const INSERT_ACTION: &str = "\
    INSERT INTO actions (id, agent, owner, tool, tier, status, digest, version, revision, batch, created_at, wake_at,
                         joinable, claimed_at, reviews, state, priority, risk, deadline)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)
    ON CONFLICT (agent, digest) WHERE joinable = 1 DO NOTHING";

/// The guarded write: only the revision that the transition was computed from may be replaced.
///
/// A claim, once taken, is never changed nor given back, whatever the code above believes. A trigger could say so
/// too, but SQLite then updates through a temporary table, which costs more than all the rest of a commit.
const MOVE_ACTION: &str = "\
    UPDATE actions SET tier = ?3, status = ?4, digest = ?5, version = ?6, revision = ?7, wake_at = ?8, joinable = ?9,
                       claimed_at = ?10, reviews = ?11, state = ?12, priority = ?13, risk = ?14,
                       deadline = coalesce(?15, deadline)
    WHERE id = ?1 AND revision = ?2 AND (claimed_at IS NULL OR claimed_at = ?10)";

const INSERT_EVENT: &str = "\
    INSERT INTO audit (seq, at, type, actor, action, agent, tool, risk, decision, resolution, body, observed)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";

impl<'c> Pen<'c> {
    pub(super) fn prepare(connection: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            connection,
            begin: connection.prepare("BEGIN IMMEDIATE")?,
            commit: connection.prepare("COMMIT")?,
            where_we_are: connection.prepare(
                "SELECT epoch, people_epoch, (SELECT coalesce(max(seq), 0) FROM audit) FROM control",
            )?,
            insert_action: connection.prepare(INSERT_ACTION)?,
            move_action: connection.prepare(MOVE_ACTION)?,
            insert_submission: connection
                .prepare("INSERT INTO submissions (action, version, body) VALUES (?1, ?2, ?3)")?,
            insert_event: connection.prepare(INSERT_EVENT)?,
            insert_notice: connection
                .prepare("INSERT INTO outbox (id, action, notice, at) VALUES (?1, ?2, ?3, ?4)")?,
            settle_notice: connection.prepare("DELETE FROM outbox WHERE id = ?1")?,
        })
    }
}
