//! Where the data is: in the folder, or in a PostgreSQL that several nodes share.

use std::sync::Arc;

use anyhow::Context as _;
use banksman_engine::{Clock, SteadyClock, SystemClock};
use banksman_store::Store;
use banksman_store::postgres::PostgresStore;

use crate::cli::Secret;
use crate::exit::{Exit, stop};
use crate::folder::Folder;

/// For the commands that open the store themselves.
#[derive(Debug, clap::Args)]
pub(crate) struct DatabaseArgs {
    /// A PostgreSQL that holds the data instead of DATA/banksman.db, such as postgres://USER@HOST/NAME
    #[arg(long, value_name = "URL", env = "BANKSMAN_DATABASE", hide_env_values = true)]
    database: Option<Secret>,
}

impl DatabaseArgs {
    /// The address of a shared database, if there is one. BANKSMAN_DATABASE= in an environment file means none.
    pub(crate) fn shared(&self) -> anyhow::Result<Option<&str>> {
        match self.database.as_ref().map(Secret::reveal) {
            None | Some("") => Ok(None),
            Some(url) if url.starts_with("postgres://") || url.starts_with("postgresql://") => Ok(Some(url)),
            // Not what was given: there may be a password in it.
            Some(_) => Err(stop(Exit::Usage, "--database: expected postgres://USER@HOST/NAME")),
        }
    }

    /// The store, with its schema brought up to date.
    pub(crate) async fn open(&self, folder: &Folder) -> anyhow::Result<Arc<dyn Store>> {
        self.open_for(folder, Arc::new(SystemClock)).await
    }

    /// The clock of whoever serves. What is in the folder is this server's alone, and so is the time there; where nodes
    /// share a database, all are to follow one clock, and a node that was set right is right at once.
    pub(crate) fn clock(&self) -> anyhow::Result<Arc<dyn Clock>> {
        Ok(match self.shared()? {
            None => Arc::new(SteadyClock::start()),
            Some(_) => Arc::new(SystemClock),
        })
    }

    /// The same as [`DatabaseArgs::open`], for someone with this clock.
    pub(crate) async fn open_for(
        &self,
        folder: &Folder,
        clock: Arc<dyn Clock>,
    ) -> anyhow::Result<Arc<dyn Store>> {
        Ok(match self.shared()? {
            None => folder.store(clock)?,
            Some(url) => Arc::new(PostgresStore::open(url).await.context("cannot open the database")?),
        })
    }
}
