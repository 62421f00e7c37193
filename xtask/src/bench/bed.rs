//! What a benchmark runs on: our binary, a folder on the disk that is measured, and a PostgreSQL if it is about that.

use std::path::{Path, PathBuf};

use anyhow::bail;
use tempfile::TempDir;

use super::bare_http::Servers;
use super::server::{self, House};
use super::{bare_postgres, limits};
use crate::postgres::Cluster;

/// Where nodes keep what they hold.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Database {
    Sqlite,
    Postgres,
}

impl Database {
    pub(crate) fn named(word: &str) -> anyhow::Result<Self> {
        match word {
            "sqlite" => Ok(Self::Sqlite),
            "postgres" => Ok(Self::Postgres),
            _ => bail!("--database is sqlite or postgres, not {word}"),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }
}

pub(crate) struct Bed {
    binary: PathBuf,
    folder: TempDir,
    cluster: Option<Cluster>,
}

impl Bed {
    /// Builds our binary unless there is one, and starts what is needed besides.
    pub(crate) fn make(binary: Option<PathBuf>, database: Database) -> anyhow::Result<Self> {
        let binary = match binary {
            Some(binary) => binary,
            None => server::build()?,
        };
        let cluster = match database {
            Database::Sqlite => None,
            Database::Postgres => Some(Cluster::start_durable()?),
        };
        Ok(Self { binary, folder: tempfile::tempdir()?, cluster })
    }

    pub(crate) fn binary(&self) -> &Path {
        &self.binary
    }

    pub(crate) fn cluster(&self) -> Option<&Cluster> {
        self.cluster.as_ref()
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Starts nodes on an empty store. The name has not been used before.
    pub(crate) fn house(&self, name: &str, nodes: usize) -> anyhow::Result<House> {
        self.house_of(&self.binary, name, nodes)
    }

    /// The same, of another build.
    pub(crate) fn house_of(&self, binary: &Path, name: &str, nodes: usize) -> anyhow::Result<House> {
        let folders = (0..nodes).map(|node| self.folder.path().join(format!("{name}-{node}"))).collect();
        let database = match &self.cluster {
            Some(cluster) => {
                bare_postgres::create_database(&cluster.url(), name)?;
                Some(cluster.url_of(name))
            }
            None if nodes == 1 => None,
            None => bail!("several nodes share a PostgreSQL: --database postgres"),
        };
        House::start(binary, folders, database)
    }

    /// What the database itself can do, with the same writes and nothing else.
    pub(crate) fn bare_cycles_per_second(&self, clients: usize, cycles: usize) -> anyhow::Result<f64> {
        match &self.cluster {
            Some(cluster) => bare_postgres::cycles_per_second(&cluster.url(), clients, cycles),
            None => limits::bare_cycles_per_second(self.folder(), clients, cycles),
        }
    }

    /// Servers that put nothing but HTTP before what the database itself can do. Its tables are there: the bare loop has run.
    pub(crate) fn bare_servers(&self, count: usize) -> anyhow::Result<Option<Servers>> {
        self.cluster.as_ref().map(|cluster| Servers::start(&cluster.url(), count)).transpose()
    }

    /// How many transactions have written to the database so far.
    pub(crate) fn database_transactions(&self) -> anyhow::Result<u64> {
        self.cluster.as_ref().map_or(Ok(0), |cluster| bare_postgres::next_transaction(&cluster.url()))
    }

    /// Processor time of the database's own processes, in seconds.
    pub(crate) fn database_cpu(&self) -> anyhow::Result<f64> {
        self.cluster.as_ref().map_or(Ok(0.0), |cluster| server::cpu_of_children(cluster.pid()))
    }
}
