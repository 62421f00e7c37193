//! The conformance suite against PostgreSQL.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use banksman_store::Store;
use banksman_store::conformance::Harness;
use banksman_store::postgres::PostgresStore;
use tokio_postgres::{Client, Config, NoTls};

/// A database of its own on the server that `cargo xtask test` starts.
pub(crate) struct Database {
    name: String,
}

/// The server, as its superuser.
fn server() -> String {
    std::env::var("BANKSMAN_TEST_POSTGRES")
        .expect("BANKSMAN_TEST_POSTGRES: run `cargo xtask test`, or `cargo xtask postgres cargo nextest run ...`")
}

async fn connect(url: &str) -> Client {
    let config: Config = url.parse().expect("an address");
    let (client, connection) = config.connect(NoTls).await.expect("a PostgreSQL server");
    tokio::spawn(connection);
    client
}

impl Database {
    pub(crate) async fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("test_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let create = format!("CREATE DATABASE {name}");
        connect(&server()).await.batch_execute(&create).await.expect("a database");
        Self { name }
    }

    pub(crate) fn url(&self) -> String {
        let server = server();
        let (before, _) = server.rsplit_once('/').expect("the name of a database");
        format!("{before}/{}", self.name)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let drop = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        let work = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async { connect(&server()).await.batch_execute(&drop).await }).ok();
            std::io::Result::Ok(())
        };
        // A runtime cannot wait within another one, so a thread does.
        std::thread::spawn(work).join().ok();
    }
}

impl Harness for Database {
    async fn fresh() -> Self {
        Self::new().await
    }

    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(PostgresStore::open(&self.url()).await.expect("a store"))
    }
}

banksman_store::conformance_suite!(Database);
