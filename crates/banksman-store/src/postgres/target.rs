//! A database that everything is copied into, in one transaction that may take as long as it takes.

use tokio_postgres::Transaction;

use super::address::Address;
use super::schema::{self, Purpose};
use super::session::{Session, failed};
use crate::StoreError;

pub(crate) struct Target(Session);

impl Target {
    /// Connects and brings the schema up to date.
    pub(crate) async fn open(url: &str) -> Result<Self, StoreError> {
        let address = Address::read(url)?;
        let mut session = Session::first(&address).await?;
        schema::settle(&mut session.client, Purpose::Serve).await?;
        address.presence.join(&session.client).await?;
        Ok(Self(session))
    }

    /// A transaction in which no node can write: it holds the row that every commit locks.
    pub(crate) async fn begin(&mut self) -> Result<Transaction<'_>, StoreError> {
        let transaction = self.0.client.transaction().await.map_err(failed)?;
        transaction
            .batch_execute(
                "SET LOCAL statement_timeout = 0; \
                 SET LOCAL idle_in_transaction_session_timeout = 0; \
                 SELECT FROM head FOR UPDATE",
            )
            .await
            .map_err(failed)?;
        Ok(transaction)
    }
}
