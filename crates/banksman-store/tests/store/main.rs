//! The conformance suite, against each store that there is.

#![expect(clippy::expect_used, reason = "without a place for its database a test stops")]

mod alone;
mod chaos;
mod failover;
mod million;
mod nodes;
mod postgres;
mod presence;
mod rows;
mod script;
mod telling;
mod terms;
mod tls;
mod turns;
mod untold;
mod upgrade;

mod sqlite {
    use std::sync::Arc;

    use banksman_store::Store;
    use banksman_store::conformance::Harness;
    use banksman_store::sqlite::SqliteStore;
    use tempfile::TempDir;

    /// A database file in a folder of its own.
    struct Sqlite(TempDir);

    impl Harness for Sqlite {
        async fn fresh() -> Self {
            Self(TempDir::new().expect("a folder for the database"))
        }

        async fn open(&self) -> Arc<dyn Store> {
            Arc::new(SqliteStore::open(&self.0.path().join("banksman.db")).expect("a database"))
        }
    }

    banksman_store::conformance_suite!(Sqlite);
}
