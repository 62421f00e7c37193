//! Where the data is: in the folder, or in a PostgreSQL that several nodes share.

use std::sync::Arc;

use anyhow::Context as _;
use banksman_engine::{Clock, Signer, SteadyClock, SystemClock};
use banksman_store::Store;
use banksman_store::postgres::{Lineage, PostgresStore};

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
    pub(crate) async fn open_up_to_date(&self, folder: &Folder) -> anyhow::Result<Arc<dyn Store>> {
        Ok(match self.shared()? {
            None => folder.store(Arc::new(SystemClock))?,
            Some(url) => Arc::new(PostgresStore::open(url).await.context(CANNOT_OPEN)?),
        })
    }

    /// The store, beside whoever runs on it. A database that others share is not brought up to date by the way.
    pub(crate) async fn open(&self, folder: &Folder) -> anyhow::Result<Arc<dyn Store>> {
        Ok(match self.shared()? {
            None => folder.store(Arc::new(SystemClock))?,
            Some(url) => Arc::new(PostgresStore::open_beside(url).await.context(CANNOT_OPEN)?),
        })
    }

    /// The store, for who only looks: in an empty database there is nothing to see.
    pub(crate) async fn open_to_read(&self, folder: &Folder) -> anyhow::Result<Arc<dyn Store>> {
        Ok(match self.shared()? {
            None => folder.store(Arc::new(SystemClock))?,
            Some(url) => Arc::new(PostgresStore::open_to_read(url).await.context(CANNOT_OPEN)?),
        })
    }

    /// The store and the clock of a server that signs with this key.
    ///
    /// What is in the folder is this server's alone, and so is the time there. Where nodes share a database, all follow
    /// its clock, and one that was set right has to be right at once. The lineage is what this process knows of databases that it
    /// worked on before.
    pub(crate) async fn open_to_serve(
        &self,
        folder: &Folder,
        signer: &Signer,
        lineage: &Lineage,
    ) -> anyhow::Result<(Arc<dyn Store>, Arc<dyn Clock>)> {
        let Some(url) = self.shared()? else {
            let clock: Arc<dyn Clock> = Arc::new(SteadyClock::start());
            return Ok((folder.store(Arc::clone(&clock))?, clock));
        };
        let key = signer.key_id();
        let store = PostgresStore::open_as_node(url, key, lineage).await.context(CANNOT_OPEN)?;
        match store.other_keys().await {
            Ok(others) if others.is_empty() => {}
            // Not a reason to stay away: a key is replaced node by node.
            Ok(others) => tracing::error!(
                key,
                ?others,
                "other nodes sign with another key: whoever verifies authorisations by the key of one node refuses \
                 those of the others; give all nodes the same signing.key"
            ),
            Err(error) => tracing::warn!(%error, "whether all nodes sign with the same key cannot be seen"),
        }
        Ok((Arc::new(store), Arc::new(SystemClock)))
    }
}

const CANNOT_OPEN: &str = "cannot open the database";
