//! The conformance suite against PostgreSQL.

use std::sync::Arc;

use banksman_store::Store;
use banksman_store::conformance::{Database, Harness};
use banksman_store::postgres::PostgresStore;

/// A database of its own.
struct Postgres(Database);

impl Harness for Postgres {
    async fn fresh() -> Self {
        Self(Database::fresh())
    }

    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(PostgresStore::open(&self.0.url()).await.expect("a store"))
    }
}

banksman_store::conformance_suite!(Postgres);
