//! Changes of the house rules, as rows.

use banksman_core::Timestamp;

use super::rows::int;
use super::session::{Session, failed};
use crate::encode::json;
use crate::{ControlChange, SignedCheckpoint, StoreError};

pub(super) async fn change(session: &Session, change: &ControlChange) -> Result<(), StoreError> {
    let run = async |sql: &str, params: super::session::Params<'_>| {
        session.execute(sql, params).await.map(drop).map_err(failed)
    };
    match change {
        ControlChange::Freeze(freeze) => {
            let sql = "INSERT INTO freezes (id, body) VALUES ($1, $2)";
            run(sql, &[&freeze.id.to_bytes().as_slice(), &json(freeze)?]).await
        }
        ControlChange::Unfreeze(id) => {
            run("DELETE FROM freezes WHERE id = $1", &[&id.to_bytes().as_slice()]).await
        }
        ControlChange::Grant(grant) => {
            let sql = "INSERT INTO grants (id, expires_at, body) VALUES ($1, $2, $3)";
            let expires_at = grant.expires_at.as_micros();
            run(sql, &[&grant.id.to_bytes().as_slice(), &expires_at, &json(grant)?]).await?;
            // Grants that ended before this one began are no longer of use; the audit log remembers them.
            run("DELETE FROM grants WHERE expires_at <= $1", &[&grant.at.as_micros()]).await
        }
        ControlChange::RevokeGrant(id) => {
            run("DELETE FROM grants WHERE id = $1", &[&id.to_bytes().as_slice()]).await
        }
        ControlChange::UseGrant(grant) => {
            let sql = "UPDATE grants SET body = $2 WHERE id = $1";
            run(sql, &[&grant.id.to_bytes().as_slice(), &json(grant)?]).await
        }
        ControlChange::Delegate(delegation) => {
            let sql = "INSERT INTO delegations (id, ends_at, body) VALUES ($1, $2, $3)";
            let ends_at = delegation.ends_at.as_micros();
            run(sql, &[&delegation.id.to_bytes().as_slice(), &ends_at, &json(delegation)?]).await?;
            // As with grants: what was over before this one was made is remembered by the audit log alone.
            run("DELETE FROM delegations WHERE ends_at <= $1", &[&delegation.at.as_micros()]).await
        }
        ControlChange::RevokeDelegation(id) => {
            run("DELETE FROM delegations WHERE id = $1", &[&id.to_bytes().as_slice()]).await
        }
        ControlChange::SetMode(mode) => {
            run("UPDATE head SET mode = $1::text, fell_back_from = NULL", &[&mode.as_str()]).await
        }
        ControlChange::FallBack { from, to } => {
            run("UPDATE head SET mode = $1::text, fell_back_from = $2", &[&to.as_str(), &from.as_str()]).await
        }
        ControlChange::AddCredential(credential) => {
            let sql =
                "INSERT INTO credentials (id, secret_hash, kind, name, owner, roles, created_at, expires_at,
                                                revoked_at, session)
                       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
            if credential.session.is_some() {
                let over = "DELETE FROM credentials WHERE session IS NOT NULL AND expires_at <= $1";
                run(over, &[&credential.created_at.as_micros()]).await?;
            }
            let session = credential.session.as_ref().map(json).transpose()?;
            run(
                sql,
                &[
                    &credential.id.to_bytes().as_slice(),
                    &credential.secret_hash.as_bytes().as_slice(),
                    &credential.kind.as_str(),
                    &credential.name,
                    &credential.owner,
                    &json(&credential.roles)?,
                    &credential.created_at.as_micros(),
                    &credential.expires_at.map(Timestamp::as_micros),
                    &credential.revoked_at.map(Timestamp::as_micros),
                    &session,
                ],
            )
            .await
        }
        ControlChange::RevokeCredential { id, at } => {
            let sql = "UPDATE credentials SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL";
            run(sql, &[&id.to_bytes().as_slice(), &at.as_micros()]).await
        }
        ControlChange::PutPerson(person) | ControlChange::NotePerson(person) => {
            let sql = "INSERT INTO people (id, name, kind, standing, body) VALUES ($1, $2, $3, $4, $5)
                       ON CONFLICT (id) DO UPDATE SET kind = $3, standing = $4, body = $5 WHERE people.name = $2";
            let (kind, standing) = (person.kind.as_str(), person.standing.as_str());
            run(sql, &[&person.id.to_bytes().as_slice(), &person.name, &kind, &standing, &json(person)?])
                .await
        }
        ControlChange::Spend { key, at, until } => {
            run("DELETE FROM spent WHERE until <= $1", &[&at.as_micros()]).await?;
            let sql = "INSERT INTO spent (key, until) VALUES ($1, $2)";
            run(sql, &[&key.as_bytes().as_slice(), &until.as_micros()]).await
        }
        ControlChange::Seal(seal) => {
            let numbers = (seal.first_page..).zip(&seal.pages).map(|(page, _)| int(page));
            let numbers = numbers.collect::<Result<Vec<i64>, _>>()?;
            let hashes: Vec<&[u8]> = seal.pages.iter().map(|hash| hash.as_bytes().as_slice()).collect();
            let sql = "INSERT INTO ledger_pages (page, hash) SELECT * FROM unnest($1::bigint[], $2::bytea[])
                       ON CONFLICT DO NOTHING";
            run(sql, &[&numbers, &hashes]).await?;
            let SignedCheckpoint { size, at, note } = &seal.checkpoint;
            let sql = "INSERT INTO checkpoints (size, at, note) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
            run(sql, &[&int(*size)?, &at.as_micros(), note]).await
        }
    }
}
