//! PostgreSQL, for many nodes: each has one writer that groups commits, and readers beside it.

mod address;
mod ahead;
mod clock;
mod columns;
mod control;
mod desk;
mod entry;
mod examine;
mod guards;
mod heard;
pub(crate) mod keys;
mod lists;
mod meters;
mod news;
mod own;
mod post;
mod presence;
mod readers;
mod records;
mod rows;
pub(crate) mod schema;
mod session;
mod target;
mod telling;
mod terms;
mod untold;
mod wanted;
mod writer;
mod writes;

use std::sync::Arc;
use std::time::Duration;

use banksman_core::meter::{MeterQuery, Reading};
use banksman_core::{ActionId, BatchId, Case, Digest, Mode, Submission, Timestamp};
use tokio::sync::mpsc;
use tokio_postgres::Row;

pub use self::examine::examine;
pub use self::presence::Lineage;
pub(crate) use self::session::failed;
pub(crate) use self::target::Target;

use self::address::Address;
use self::clock::NodeClock;
use self::heard::Heard;
use self::lists::{DIALECT, params};
use self::own::Own;
use self::readers::Readers;
use self::rows::{CASE_COLUMNS, CREDENTIAL_COLUMNS, count, documents, get, time};
use self::schema::Purpose;
use self::session::{Params, Session};
use self::untold::EVERY;
use self::writer::Writer;
use crate::encode::{EncodedCommit, of_rank};
use crate::health::written;
use crate::listing;
use crate::{
    BatchRecord, CaseQuery, Commit, CommitError, Committed, Control, Credential, Delivery, DeliveryQuery,
    EventQuery, Job, JobQuery, News, PendingCounts, Person, SignedCheckpoint, Store, StoreError, StoredEvent,
    StoredNotice,
};

/// A store in a PostgreSQL database, which other nodes may use at the same time.
pub struct PostgresStore {
    address: Address,
    writer: Writer,
    readers: Readers,
    own: Arc<Own>,
    heard: Arc<Heard>,
    clock: NodeClock,
}

impl PostgresStore {
    /// Connects to the database at `postgres://...` and brings its schema up to date.
    ///
    /// # Errors
    /// If the address cannot be read, the database cannot be reached or written, or it is of a newer version than
    /// this program.
    pub async fn open(url: &str) -> Result<Self, StoreError> {
        Self::open_by(Address::read(url)?, clock::system(), EVERY, Purpose::Serve).await
    }

    /// The same beside nodes, for what is done and over soon: a database of an earlier version is left alone.
    ///
    /// # Errors
    /// As [`PostgresStore::open`], and if the database would have to be brought up to date.
    pub async fn open_beside(url: &str) -> Result<Self, StoreError> {
        Self::open_by(Address::read(url)?, clock::system(), EVERY, Purpose::Change).await
    }

    /// The same for who only reads: a database that has nothing of ours is left alone as well.
    ///
    /// # Errors
    /// As [`PostgresStore::open_beside`], and if there is nothing to read.
    pub async fn open_to_read(url: &str) -> Result<Self, StoreError> {
        Self::open_by(Address::read(url)?, clock::system(), EVERY, Purpose::Read).await
    }

    /// The same, for a node that signs with the key of this name, which is shown to others. Where the process worked on a
    /// database before, an empty one is not the one that is meant, and nothing older is believed.
    ///
    /// # Errors
    /// As [`PostgresStore::open`].
    pub async fn open_as_node(url: &str, key: &str, lineage: &Lineage) -> Result<Self, StoreError> {
        let purpose = if lineage.is_empty() { Purpose::Serve } else { Purpose::ServeAgain };
        let address = Address::read(url)?.signing_with(key).following(lineage);
        Self::open_by(address, clock::system(), EVERY, purpose).await
    }

    /// The names of other keys that nodes on this database sign with at this moment.
    ///
    /// # Errors
    /// If the database cannot say.
    pub async fn other_keys(&self) -> Result<Vec<String>, StoreError> {
        self.readers.query(OTHER_KEYS, &[]).await?.iter().map(|row| get(row, 0)).collect()
    }

    /// The same, with another clock than the machine's.
    ///
    /// # Errors
    /// As [`PostgresStore::open`].
    pub async fn open_with_clock(
        url: &str,
        clock: impl Fn() -> Timestamp + Send + Sync + 'static,
    ) -> Result<Self, StoreError> {
        Self::open_by(Address::read(url)?, Arc::new(clock), EVERY, Purpose::Serve).await
    }

    /// The same, for a node that tells others of its commits as often as this. Others wait for 10 milliseconds for what they were not
    /// told, and then look for it, so for more than that it is for tests.
    ///
    /// # Errors
    /// As [`PostgresStore::open`].
    pub async fn open_telling_every(url: &str, every: Duration) -> Result<Self, StoreError> {
        Self::open_by(Address::read(url)?, clock::system(), every, Purpose::Serve).await
    }

    async fn open_by(
        address: Address,
        clock: NodeClock,
        every: Duration,
        purpose: Purpose,
    ) -> Result<Self, StoreError> {
        let (own, heard) = (Arc::<Own>::default(), Arc::<Heard>::default());
        let mut session = Session::first_and_hear(&address, &heard).await?;
        schema::settle(&mut session.client, purpose).await?;
        address.presence.take_stock(&session.client).await?;
        address.presence.join(&session.client).await?;
        // Not before: bringing a database up to date may take long.
        session::end_what_is_half(&session.client).await;
        let (to_own, to_heard) = (Arc::clone(&own), Arc::clone(&heard));
        let writer = Writer::start(address.clone(), session, to_own, to_heard, Arc::clone(&clock), every);
        Ok(Self { writer, readers: Readers::new(address.clone()), address, own, heard, clock })
    }

    async fn one_row(&self, sql: &str) -> Result<Row, StoreError> {
        let mut rows = self.readers.query(sql, &[]).await?;
        rows.pop().ok_or_else(|| StoreError::Corrupt("the row that there always is, is gone".into()))
    }
}

const CONTROL: &str = "\
    SELECT epoch, mode, fell_back_from,
           ARRAY(SELECT body FROM freezes ORDER BY id),
           ARRAY(SELECT body FROM grants ORDER BY id),
           ARRAY(SELECT body FROM delegations ORDER BY id),
           people_epoch
    FROM head";

/// Nodes show the key in the name of their connections, this one included.
const OTHER_KEYS: &str = "\
    SELECT DISTINCT split_part(application_name, ' ', 2) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name LIKE 'banksman %'
          AND application_name <> current_setting('application_name')
    ORDER BY 1";

const DUE: &str =
    "SELECT id FROM actions WHERE wake_at IS NOT NULL AND wake_at <= $1 ORDER BY wake_at LIMIT $2";

/// Nodes that ask at the same time get different ones.
const TAKE: &str = "\
    WITH taken AS (
        UPDATE outbox SET taken_until = clock_timestamp() + make_interval(secs => $2)
        WHERE id IN (SELECT id FROM outbox WHERE taken_until <= clock_timestamp()
                     ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED)
        RETURNING id, action, notice, at)
    SELECT id, action, notice, at FROM taken ORDER BY id";

#[async_trait::async_trait]
impl Store for PostgresStore {
    async fn commit(&self, commit: Commit) -> Result<Committed, CommitError> {
        self.writer.commit(EncodedCommit::of(commit)?).await
    }

    async fn case(&self, id: ActionId) -> Result<Option<Case>, StoreError> {
        let sql = format!("SELECT {CASE_COLUMNS} FROM actions a WHERE a.id = $1");
        let found = self.readers.query(&sql, &[&id.to_bytes().as_slice()]).await?;
        found.first().map(rows::case).transpose()
    }

    async fn submission(&self, id: ActionId, version: u32) -> Result<Option<Submission>, StoreError> {
        let sql = "SELECT body FROM submissions WHERE action = $1 AND version = $2";
        let found = self.readers.query(sql, &[&id.to_bytes().as_slice(), &i64::from(version)]).await?;
        found.first().map(|row| rows::from_json(get(row, 0)?)).transpose()
    }

    async fn cases(&self, query: CaseQuery) -> Result<Vec<Case>, StoreError> {
        let listing = listing::cases(&DIALECT, &query);
        let found = self.readers.query(&listing.sql, &params(&listing)).await?;
        found.iter().map(rows::case).collect()
    }

    async fn place(&self, query: CaseQuery, steps: usize) -> Result<Option<ActionId>, StoreError> {
        let listing = listing::place(&DIALECT, &query, steps);
        let found = self.readers.query(&listing.sql, &params(&listing)).await?;
        found.first().map(|row| rows::action_id(row, 0)).transpose()
    }

    async fn batch(&self, id: BatchId) -> Result<Option<BatchRecord>, StoreError> {
        let sql = "SELECT agent, created_at, items FROM batches WHERE id = $1";
        let found = self.readers.query(sql, &[&id.to_bytes().as_slice()]).await?;
        let record = |row: &Row| {
            let (ids, _) = get::<&[u8]>(row, 2)?.as_chunks();
            let items = ids.iter().copied().map(ActionId::from_bytes).collect();
            Ok(BatchRecord { id, agent: get(row, 0)?, created_at: rows::time(row, 1)?, items })
        };
        found.first().map(record).transpose()
    }

    async fn due(&self, by: Timestamp, limit: usize) -> Result<Vec<ActionId>, StoreError> {
        let found = self.readers.query(DUE, &[&by.as_micros(), &listing::limit(limit)]).await?;
        found.iter().map(|row| rows::action_id(row, 0)).collect()
    }

    async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        let row = self.one_row("SELECT min(wake_at) FROM actions WHERE wake_at IS NOT NULL").await?;
        Ok(get::<Option<i64>>(&row, 0)?.map(Timestamp::from_micros))
    }

    async fn control(&self) -> Result<Control, StoreError> {
        // One statement, so that the epoch belongs to the lists.
        let row = self.one_row(CONTROL).await?;
        // The CHECK allows only known modes; if it is none all the same, be strict.
        let mode = |text: &str| text.parse().unwrap_or(Mode::Production);
        Ok(Control {
            epoch: count(&row, 0)?,
            people_epoch: count(&row, 6)?,
            mode: mode(get(&row, 1)?),
            fell_back_from: get::<Option<&str>>(&row, 2)?.map(mode),
            freezes: documents(&row, 3)?,
            grants: documents(&row, 4)?,
            delegations: documents(&row, 5)?,
        })
    }

    async fn credential(&self, secret_hash: Digest) -> Result<Option<Credential>, StoreError> {
        let sql = format!("SELECT {CREDENTIAL_COLUMNS} FROM credentials WHERE secret_hash = $1");
        let found = self.readers.query(&sql, &[&secret_hash.as_bytes().as_slice()]).await?;
        found.first().map(rows::credential).transpose()
    }

    async fn credentials(&self) -> Result<Vec<Credential>, StoreError> {
        let sql = format!("SELECT {CREDENTIAL_COLUMNS} FROM credentials ORDER BY id");
        self.readers.query(&sql, &[]).await?.iter().map(rows::credential).collect()
    }

    async fn person(&self, name: &str) -> Result<Option<Person>, StoreError> {
        let found = self.readers.query("SELECT body FROM people WHERE name = $1", &[&name]).await?;
        found.first().map(|row| rows::from_json(get(row, 0)?)).transpose()
    }

    async fn people(&self) -> Result<Vec<Person>, StoreError> {
        let found = self.readers.query("SELECT body FROM people ORDER BY id", &[]).await?;
        found.iter().map(|row| rows::from_json(get(row, 0)?)).collect()
    }

    async fn is_spent(&self, key: Digest) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM spent WHERE key = $1";
        Ok(!self.readers.query(sql, &[&key.as_bytes().as_slice()]).await?.is_empty())
    }

    async fn events(&self, query: EventQuery) -> Result<Vec<StoredEvent>, StoreError> {
        let listing = listing::events(&DIALECT, &query);
        let found = self.readers.query(&listing.sql, &params(&listing)).await?;
        let event =
            |row: &Row| Ok(StoredEvent { seq: count(row, 0)?, kind: get(row, 1)?, body: get(row, 2)? });
        found.iter().map(event).collect()
    }

    async fn last_seq(&self) -> Result<u64, StoreError> {
        count(&self.one_row("SELECT last_seq FROM head").await?, 0)
    }

    async fn ledger_pages(&self, from: u64) -> Result<Vec<Digest>, StoreError> {
        let sql = "SELECT hash FROM ledger_pages WHERE page >= $1 ORDER BY page";
        let found = self.readers.query(sql, &[&rows::int(from)?]).await?;
        found.iter().map(|row| rows::digest(row, 0)).collect()
    }

    async fn checkpoints(&self, beyond: u64, limit: usize) -> Result<Vec<SignedCheckpoint>, StoreError> {
        let sql = "SELECT size, at, note FROM checkpoints WHERE size > $1 ORDER BY size LIMIT $2";
        let found = self.readers.query(sql, &[&rows::int(beyond)?, &listing::limit(limit)]).await?;
        found.iter().map(rows::checkpoint).collect()
    }

    async fn last_checkpoint(&self) -> Result<Option<SignedCheckpoint>, StoreError> {
        let sql = "SELECT size, at, note FROM checkpoints ORDER BY size DESC LIMIT 1";
        self.readers.query(sql, &[]).await?.first().map(rows::checkpoint).transpose()
    }

    async fn notices(&self, limit: usize) -> Result<Vec<StoredNotice>, StoreError> {
        let sql = "SELECT id, action, notice, at FROM outbox ORDER BY id LIMIT $1";
        let found = self.readers.query(sql, &[&listing::limit(limit)]).await?;
        found.iter().map(rows::notice).collect()
    }

    async fn take_notices(&self, limit: usize, lease: Duration) -> Result<Vec<StoredNotice>, StoreError> {
        let found = self.readers.query(TAKE, &[&listing::limit(limit), &lease.as_secs_f64()]).await?;
        found.iter().map(rows::notice).collect()
    }

    async fn deliveries(&self, query: DeliveryQuery) -> Result<Vec<Delivery>, StoreError> {
        let listing = post::deliveries(&query);
        self.readers.query(&listing.sql, &params(&listing)).await?.iter().map(post::delivery).collect()
    }

    async fn take_deliveries(
        &self,
        channel: &str,
        by: Timestamp,
        limit: usize,
        lease: Duration,
    ) -> Result<Vec<Delivery>, StoreError> {
        // What it sends is not undone by a refusal to write that down.
        self.check_clock().await?;
        let params: Params<'_> = &[&channel, &by.as_micros(), &listing::limit(limit), &lease.as_secs_f64()];
        self.readers.query(&post::take_deliveries(), params).await?.iter().map(post::delivery).collect()
    }

    async fn next_delivery(&self, channel: &str) -> Result<Option<Timestamp>, StoreError> {
        let rows = self.readers.query(post::NEXT_DELIVERY, &[&channel]).await?;
        post::earliest(&rows)
    }

    async fn told(&self, channel: &str, recipient: &str, since: Timestamp) -> Result<u64, StoreError> {
        let rows = self.readers.query(post::TOLD, &[&channel, &recipient, &since.as_micros()]).await?;
        rows.first().map_or(Ok(0), |row| count(row, 0))
    }

    async fn jobs(&self, query: JobQuery) -> Result<Vec<Job>, StoreError> {
        let listing = post::jobs(&query);
        self.readers.query(&listing.sql, &params(&listing)).await?.iter().map(post::job).collect()
    }

    async fn take_jobs(&self, by: Timestamp, limit: usize, lease: Duration) -> Result<Vec<Job>, StoreError> {
        self.check_clock().await?;
        let params: Params<'_> = &[&by.as_micros(), &listing::limit(limit), &lease.as_secs_f64()];
        self.readers.query(&post::take_jobs(), params).await?.iter().map(post::job).collect()
    }

    async fn next_job(&self) -> Result<Option<Timestamp>, StoreError> {
        post::earliest(&self.readers.query(post::NEXT_JOB, &[]).await?)
    }

    async fn log_place(&self, reader: &str) -> Result<u64, StoreError> {
        let rows = self.readers.query("SELECT seq FROM log_readers WHERE reader = $1", &[&reader]).await?;
        rows.first().map_or(Ok(0), |row| count(row, 0))
    }

    async fn joinable(&self, agent: &str, digest: Digest) -> Result<Option<ActionId>, StoreError> {
        let key = keys::join(agent, digest);
        let sql = "SELECT id FROM actions WHERE join_key = $1";
        let found = self.readers.query(sql, &[&key.as_bytes().as_slice()]).await?;
        found.first().map(|row| rows::action_id(row, 0)).transpose()
    }

    async fn readings(&self, queries: Vec<MeterQuery>) -> Result<Vec<Reading>, StoreError> {
        let questions = meters::Questions::of(&queries);
        let found = self.readers.query(&meters::read_sql(), &questions.params()).await?;
        let answer = |(row, query)| Ok(Reading { total: meters::total(row, &query)?, query });
        found.iter().zip(queries).map(answer).collect()
    }

    async fn pending_count(&self) -> Result<u64, StoreError> {
        count(&self.one_row("SELECT pending FROM head").await?, 0)
    }

    async fn pending_counts(&self) -> Result<PendingCounts, StoreError> {
        let mut counts = PendingCounts::default();
        for row in self.readers.query(lists::PENDING_COUNTS, &[&listing::limit(PendingCounts::NAMED)]).await?
        {
            let (of, name, count): (&str, &str, u64) = (get(&row, 0)?, get(&row, 1)?, count(&row, 2)?);
            match (of, name.parse(), name.parse()) {
                ("risk", Ok(rank), _) => drop(counts.by_risk.insert(of_rank(rank), count)),
                ("tier", _, Ok(tier)) => drop(counts.by_tier.insert(tier, count)),
                ("tool", ..) => counts.by_tool.push((name.to_owned(), count)),
                ("agent", ..) => counts.by_agent.push((name.to_owned(), count)),
                _ => return Err(StoreError::Corrupt(format!("{of} {name:?} is not known"))),
            }
        }
        Ok(counts)
    }

    async fn ready(&self) -> Result<(), StoreError> {
        if self.writer.health.is_failing() {
            written(self.commit(Commit::default()).await)?;
        }
        self.last_seq().await.map(drop)
    }

    async fn over(&self) -> StoreError {
        self.address.presence.over().await
    }

    async fn check_clock(&self) -> Result<(), StoreError> {
        let before = (self.clock)();
        let there = time(&self.one_row(clock::THERE).await?, 0)?;
        clock::check_between(before, there, (self.clock)())
    }

    fn follow(&self, after: u64) -> Option<mpsc::Receiver<News>> {
        Some(news::follow(self.address.clone(), Arc::clone(&self.own), Arc::clone(&self.heard), after))
    }
}
