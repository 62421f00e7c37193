//! A PostgreSQL database for one test, on the server that `cargo xtask test` starts.

use std::sync::atomic::{AtomicU32, Ordering};

use tokio_postgres::{Config, NoTls, SimpleQueryMessage};

use crate::postgres::schema::MIGRATIONS;

/// Where the server is, and who its superuser is.
const VARIABLE: &str = "BANKSMAN_TEST_POSTGRES";

/// An empty database, removed when this is dropped.
#[derive(Debug)]
pub struct Database {
    server: String,
    name: String,
}

impl Database {
    /// Makes one.
    ///
    /// # Panics
    /// If there is no server.
    #[must_use]
    pub fn fresh() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let server = std::env::var(VARIABLE).unwrap_or_else(|_| {
            panic!("{VARIABLE} is not set: use `cargo xtask test` or `cargo xtask postgres cargo nextest run ...`")
        });
        let name = format!("test_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let database = Self { server, name };
        database.on_server(&format!("CREATE DATABASE {}", database.name)).unwrap();
        database
    }

    /// One as the program left it whose schema had this number.
    ///
    /// # Panics
    /// If there is no server, or never was such a schema.
    #[must_use]
    pub fn of_schema(number: usize) -> Self {
        let database = Self::fresh();
        for migration in &MIGRATIONS[..number] {
            database.execute(migration).unwrap();
        }
        let version =
            "CREATE TABLE schema_version (version bigint NOT NULL); INSERT INTO schema_version VALUES";
        database.execute(&format!("{version} ({number})")).unwrap();
        database
    }

    /// The number of the schema that this program writes.
    pub const SCHEMA: usize = MIGRATIONS.len();

    /// How to reach it.
    #[must_use]
    pub fn url(&self) -> String {
        let (server, _) = self.server.rsplit_once('/').unwrap();
        format!("{server}/{}", self.name)
    }

    /// Runs a statement beside whoever uses it.
    ///
    /// # Errors
    /// If the server refuses it.
    pub fn execute(&self, sql: &str) -> Result<(), tokio_postgres::Error> {
        run(&self.url(), sql).map(drop)
    }

    /// How many pages all statements in it have read so far. It takes a server with `pg_stat_statements`.
    ///
    /// # Panics
    /// If the server refuses to say.
    #[must_use]
    pub fn pages_read(&self) -> u64 {
        self.on_server("CREATE EXTENSION IF NOT EXISTS pg_stat_statements").unwrap();
        let sum = format!(
            "SELECT coalesce(sum(shared_blks_hit + shared_blks_read), 0)
             FROM pg_stat_statements JOIN pg_database ON oid = dbid WHERE datname = '{}'",
            self.name
        );
        self.on_server(&sum).unwrap().unwrap().parse().unwrap()
    }

    /// The first column of the first row that a query answers with.
    ///
    /// # Panics
    /// If the server refuses it, or there is no row.
    #[must_use]
    pub fn ask(&self, sql: &str) -> String {
        run(&self.url(), sql).unwrap().unwrap()
    }

    /// Runs a statement of those that concern databases as a whole.
    fn on_server(&self, sql: &str) -> Result<Option<String>, tokio_postgres::Error> {
        run(&self.server, sql)
    }

    /// Ends every connection to it, in the middle of whatever they do.
    ///
    /// # Panics
    /// If the server refuses that.
    pub fn cut_connections(&self) {
        let name = &self.name;
        let cut = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'");
        self.on_server(&cut).unwrap();
    }

    /// Whether it lets anyone in. Those who are in stay in.
    ///
    /// # Panics
    /// If the server refuses that.
    pub fn admit(&self, anyone: bool) {
        self.alter(&format!("ALLOW_CONNECTIONS {anyone}"));
    }

    /// Changes a setting of it, for connections that are made from now on.
    ///
    /// # Panics
    /// If the server refuses that.
    pub fn alter(&self, how: &str) {
        self.on_server(&format!("ALTER DATABASE {} {how}", self.name)).unwrap();
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // The server goes soon anyway.
        let _ = self.on_server(&format!("DROP DATABASE {} WITH (FORCE)", self.name));
    }
}

/// Answers with the first column of the first row, if there is any. On a thread of its own, because tests call this with
/// and without a runtime around them.
fn run(url: &str, sql: &str) -> Result<Option<String>, tokio_postgres::Error> {
    let work = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let config: Config = url.parse()?;
            let (client, connection) = config.connect(NoTls).await?;
            tokio::spawn(connection);
            let answers = client.simple_query(sql).await?;
            let mut rows = answers.iter().filter_map(|answer| match answer {
                SimpleQueryMessage::Row(row) => row.get(0).map(String::from),
                _ => None,
            });
            Ok(rows.next())
        })
    };
    std::thread::scope(|scope| scope.spawn(work).join().unwrap())
}
