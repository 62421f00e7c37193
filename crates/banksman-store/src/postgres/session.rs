//! One connection: how it is made, what it promises, which statements it has prepared.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_postgres::error::DbError;
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, Connection, NoTls, Row, Socket, Statement};

use super::address::{self, Address, CONNECT};
use super::heard::Heard;
use crate::StoreError;

/// What every session is told first.
///
/// A node that is stopped in the middle of a transaction holds the lock that all nodes want, so the database ends such
/// a session; the node finds its connection closed and cannot act on what it no longer holds. Whoever turned
/// `synchronous_commit` off for everyone did not mean us; stricter settings than `on` stay.
const SETTINGS: &str = "\
    SET statement_timeout = '10s'; \
    SET lock_timeout = '7s'; \
    SET idle_in_transaction_session_timeout = '5s'; \
    SET default_transaction_isolation = 'read committed'; \
    SET client_min_messages = warning; \
    SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'";

/// For sessions that run the same few statements all the time: plan each once, and always by index.
///
/// Left to itself the database plans most of them anew each time, because with arrays of a known length they look
/// cheaper than in general; that takes longer than running them. And a plan that was made while a table was empty would
/// read all of it when it no longer is.
const ONE_PLAN: &str = "\
    SET plan_cache_mode = force_generic_plan; SET jit = off; \
    SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off";

/// For sessions on which nothing takes long, and which hold locks that others want: they end, and the locks with them, if the
/// rest of what a node was sending never comes, because its machine or the network died half-way.
///
/// Until then the database neither runs a statement nor is idle, and the limits above do not count. The limit that does is
/// known to newer databases only; for others, what matters is that they notice soon that nobody is there.
const NEVER_HALF: &str = "\
    SELECT set_config(name, wanted, false)
    FROM pg_settings JOIN (VALUES ('transaction_timeout', '15s'), ('tcp_keepalives_idle', '5'),
                                  ('tcp_keepalives_interval', '2'), ('tcp_keepalives_count', '3'))
         AS limits (name, wanted) USING (name)";

/// How many statements one session keeps prepared. There are fewer different ones than this, but lists have filters.
const PREPARED: usize = 256;

/// What a statement is run with.
pub(super) type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Hears of a notification: which process of the database sent it, and what it says.
pub(super) type Hear = Arc<dyn Fn(i32, &str) + Send + Sync>;

/// A connection and the statements that it has prepared.
pub(super) struct Session {
    pub(super) client: Client,
    /// Its number among those that may listen, for [`Heard`]; 0 for others.
    pub(super) number: u64,
    prepared: Mutex<HashMap<String, Statement>>,
}

/// What is known of the database when a session begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Database {
    Known,
    Unknown,
}

impl Session {
    /// One to a database that is known.
    pub(super) async fn connect(address: &Address) -> Result<Self, StoreError> {
        Self::made(address, 0, None, Database::Known).await
    }

    /// The same; once it listens, what the database notifies us of is heard.
    pub(super) async fn connect_and_hear(address: &Address, heard: &Arc<Heard>) -> Result<Self, StoreError> {
        let (number, hear) = heard.ear();
        Self::made(address, number, Some(hear), Database::Known).await
    }

    /// One to a database that may be of any schema, or empty.
    pub(super) async fn first(address: &Address) -> Result<Self, StoreError> {
        Self::made(address, 0, None, Database::Unknown).await
    }

    /// The same; once it listens, what the database notifies us of is heard.
    pub(super) async fn first_and_hear(address: &Address, heard: &Arc<Heard>) -> Result<Self, StoreError> {
        let (number, hear) = heard.ear();
        Self::made(address, number, Some(hear), Database::Unknown).await
    }

    async fn made(
        address: &Address,
        number: u64,
        hear: Option<Hear>,
        database: Database,
    ) -> Result<Self, StoreError> {
        let mut problems = Vec::new();
        for (place, config) in address.hosts() {
            let connecting = async {
                let hear = hear.clone();
                let client = match &address.tls {
                    Some(tls) => attended(config.connect(tls.clone()).await, hear)?,
                    None => attended(config.connect(NoTls).await, hear)?,
                };
                client.batch_execute(SETTINGS).await.map_err(failed)?;
                address.presence.recognise(&client).await?;
                if database == Database::Known {
                    address.presence.join(&client).await?;
                    end_what_is_half(&client).await;
                }
                Ok(client)
            };
            match within(CONNECT, connecting).await {
                Ok(client) => {
                    address.note_answer(place);
                    return Ok(Self { client, number, prepared: Mutex::default() });
                }
                Err(error) => problems.push((config, error)),
            }
        }
        match <[_; 1]>::try_from(problems) {
            Ok([(_, error)]) => Err(error),
            Err(problems) => {
                let told =
                    problems.iter().map(|(config, error)| format!("{}: {error}", address::name(config)));
                Err(StoreError::Failed(told.collect::<Vec<_>>().join("; ")))
            }
        }
    }

    /// Plans statements once. Compatible databases that know no such setting plan as they do.
    pub(super) async fn plan_once(&self) {
        if let Err(error) = self.client.batch_execute(ONE_PLAN).await {
            tracing::debug!(error = told(&error), "statements are planned as the database likes");
        }
    }

    /// A statement, prepared once for each connection.
    pub(super) async fn prepare(&self, sql: &str) -> Result<Statement, tokio_postgres::Error> {
        if let Some(known) = self.prepared.lock().unwrap_or_else(PoisonError::into_inner).get(sql) {
            return Ok(known.clone());
        }
        let statement = self.client.prepare(sql).await?;
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        if prepared.len() >= PREPARED {
            prepared.clear();
        }
        prepared.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    /// The process of the database that serves this connection, or 0 where that is not known.
    pub(super) async fn process(&self) -> i32 {
        let answer = self.client.query_one("SELECT pg_backend_pid()", &[]).await;
        answer.and_then(|row| row.try_get(0)).unwrap_or(0)
    }

    pub(super) async fn query(
        &self,
        sql: &str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        let statement = self.prepare(sql).await?;
        self.client.query(&statement, params).await
    }

    pub(super) async fn execute(&self, sql: &str, params: Params<'_>) -> Result<u64, tokio_postgres::Error> {
        let statement = self.prepare(sql).await?;
        self.client.execute(&statement, params).await
    }
}

/// Ends what arrives only half, and soon what nobody is behind any more. Compatible databases may know none of that.
pub(super) async fn end_what_is_half(client: &Client) {
    if let Err(error) = client.batch_execute(NEVER_HALF).await {
        tracing::debug!(error = told(&error), "the database keeps its own limits");
    }
}

/// A connection whose messages somebody listens to, until its client is dropped or the connection is lost.
fn attended<T: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    connected: Result<(Client, Connection<Socket, T>), tokio_postgres::Error>,
    hear: Option<Hear>,
) -> Result<Client, StoreError> {
    let (client, mut connection) = connected.map_err(failed)?;
    tokio::spawn(async move {
        while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
            match (message, &hear) {
                (Ok(AsyncMessage::Notification(said)), Some(hear)) => hear(said.process_id(), said.payload()),
                (Ok(_), _) => {}
                (Err(error), _) => {
                    tracing::warn!(error = told(&error), "a connection to the database ended");
                    return;
                }
            }
        }
    });
    Ok(client)
}

/// Ends what takes too long. A connection on which that happened is not to be used again.
pub(super) async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    match tokio::time::timeout(limit, work).await {
        Ok(done) => done,
        Err(_) => Err(StoreError::Failed(format!("the database did not answer within {limit:?}"))),
    }
}

pub(crate) fn failed(error: tokio_postgres::Error) -> StoreError {
    StoreError::Failed(told(&error))
}

/// The error with what is behind it; alone it says no more than "db error".
pub(super) fn told(error: &tokio_postgres::Error) -> String {
    use std::error::Error as _;
    match (error.as_db_error(), error.source()) {
        (Some(said), _) => format!("{} ({})", said.message(), said.code().code()),
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) => error.to_string(),
    }
}

/// Whether the database knows no such statement.
pub(super) fn is_unknown(error: &tokio_postgres::Error) -> bool {
    matches!(error.as_db_error().map(class), Some("0A" | "42"))
}

/// Which of its classes the database counts an error to.
pub(super) fn class(said: &DbError) -> &str {
    said.code().code().get(..2).unwrap_or_default()
}

/// Whether an error, as it was [`told`], says that a transaction was ended because it and others waited for each other. Nothing
/// of it happened, and none of it is to blame.
pub(super) fn is_victim(error: &StoreError) -> bool {
    match error {
        StoreError::Failed(told) => told.ends_with("(40P01)") || told.ends_with("(40001)"),
        StoreError::Closed | StoreError::Corrupt(_) => false,
    }
}
