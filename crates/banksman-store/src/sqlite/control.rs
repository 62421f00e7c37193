//! Changes of the house rules, as rows.

use rusqlite::{Connection, params};

use super::apply::ApplyError;
use super::ledger;
use crate::ControlChange;

pub(super) fn change_control(connection: &Connection, change: &ControlChange) -> Result<(), ApplyError> {
    let to_json = |value: serde_json::Result<String>| {
        value.map_err(|error| ApplyError::Sqlite(rusqlite::Error::ToSqlConversionFailure(Box::new(error))))
    };
    match change {
        ControlChange::Freeze(freeze) => {
            let body = to_json(serde_json::to_string(freeze))?;
            connection
                .prepare_cached("INSERT INTO freezes (id, body) VALUES (?1, ?2)")?
                .execute(params![freeze.id.to_bytes(), body])?;
        }
        ControlChange::Unfreeze(id) => {
            connection.prepare_cached("DELETE FROM freezes WHERE id = ?1")?.execute([id.to_bytes()])?;
        }
        ControlChange::Grant(grant) => {
            let body = to_json(serde_json::to_string(grant))?;
            connection
                .prepare_cached("INSERT INTO grants (id, expires_at, body) VALUES (?1, ?2, ?3)")?
                .execute(params![grant.id.to_bytes(), grant.expires_at.as_micros(), body])?;
            // Grants that ended before this one began are no longer of use; the audit log remembers them.
            connection
                .prepare_cached("DELETE FROM grants WHERE expires_at <= ?1")?
                .execute([grant.at.as_micros()])?;
        }
        ControlChange::RevokeGrant(id) => {
            connection.prepare_cached("DELETE FROM grants WHERE id = ?1")?.execute([id.to_bytes()])?;
        }
        ControlChange::UseGrant(grant) => {
            let body = to_json(serde_json::to_string(grant))?;
            connection
                .prepare_cached("UPDATE grants SET body = ?2 WHERE id = ?1")?
                .execute(params![grant.id.to_bytes(), body])?;
        }
        ControlChange::Delegate(delegation) => {
            let body = to_json(serde_json::to_string(delegation))?;
            connection
                .prepare_cached("INSERT INTO delegations (id, ends_at, body) VALUES (?1, ?2, ?3)")?
                .execute(params![delegation.id.to_bytes(), delegation.ends_at.as_micros(), body])?;
            // As with grants: what was over before this one was made is remembered by the audit log alone.
            connection
                .prepare_cached("DELETE FROM delegations WHERE ends_at <= ?1")?
                .execute([delegation.at.as_micros()])?;
        }
        ControlChange::RevokeDelegation(id) => {
            connection.prepare_cached("DELETE FROM delegations WHERE id = ?1")?.execute([id.to_bytes()])?;
        }
        ControlChange::SetMode(mode) => {
            connection
                .prepare_cached("UPDATE control SET mode = ?1, fell_back_from = NULL")?
                .execute([mode.as_str()])?;
        }
        ControlChange::FallBack { from, to } => {
            connection
                .prepare_cached("UPDATE control SET mode = ?1, fell_back_from = ?2")?
                .execute([to.as_str(), from.as_str()])?;
        }
        ControlChange::AddCredential(credential) => {
            let roles = to_json(serde_json::to_string(&credential.roles))?;
            let session = credential.session.as_ref().map(|mark| to_json(serde_json::to_string(mark)));
            if credential.session.is_some() {
                connection
                    .prepare_cached("DELETE FROM credentials WHERE session IS NOT NULL AND expires_at <= ?1")?
                    .execute([credential.created_at.as_micros()])?;
            }
            connection
                .prepare_cached(
                    "INSERT INTO credentials (id, secret_hash, kind, name, owner, roles, created_at, expires_at,
                                              revoked_at, session)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                )?
                .execute(params![
                    credential.id.to_bytes(),
                    credential.secret_hash.as_bytes(),
                    credential.kind.as_str(),
                    credential.name,
                    credential.owner,
                    roles,
                    credential.created_at.as_micros(),
                    credential.expires_at.map(banksman_core::Timestamp::as_micros),
                    credential.revoked_at.map(banksman_core::Timestamp::as_micros),
                    session.transpose()?,
                ])?;
        }
        ControlChange::RevokeCredential { id, at } => {
            connection
                .prepare_cached(
                    "UPDATE credentials SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL",
                )?
                .execute(params![id.to_bytes(), at.as_micros()])?;
        }
        ControlChange::PutPerson(person) | ControlChange::NotePerson(person) => {
            let body = to_json(serde_json::to_string(person))?;
            connection
                .prepare_cached(
                    "INSERT INTO people (id, name, kind, standing, body) VALUES (?1, ?2, ?3, ?4, ?5)
                     ON CONFLICT (id) DO UPDATE SET kind = ?3, standing = ?4, body = ?5 WHERE name = ?2",
                )?
                .execute(params![
                    person.id.to_bytes(),
                    person.name,
                    person.kind.as_str(),
                    person.standing.as_str(),
                    body
                ])?;
        }
        ControlChange::Spend { key, at, until } => {
            connection.prepare_cached("DELETE FROM spent WHERE until <= ?1")?.execute([at.as_micros()])?;
            connection
                .prepare_cached("INSERT INTO spent (key, until) VALUES (?1, ?2)")?
                .execute(params![key.as_bytes(), until.as_micros()])?;
        }
        ControlChange::Seal(seal) => ledger::write(connection, seal)?,
    }
    Ok(())
}
