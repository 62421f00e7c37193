//! Looking a database over, without changing it.

use super::address::Address;
use super::rows::count;
use super::session::{Session, failed};
use crate::{Findings, StoreError};

/// Checks the database at `postgres://...`, beside running servers or without them.
///
/// # Errors
/// If it cannot be reached, or has no tables of ours.
pub async fn examine(url: &str) -> Result<Findings, StoreError> {
    let session = Session::first(&Address::read(url)?).await?;
    let number = async |sql: &str| {
        let row = session.client.query_one(sql, &[]).await.map_err(failed)?;
        count(&row, 0)
    };
    Ok(Findings {
        schema: number("SELECT max(version) FROM schema_version").await?,
        actions: number("SELECT count(*) FROM actions").await?,
        events: number("SELECT count(*) FROM audit").await?,
    })
}
