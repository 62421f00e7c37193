//! What PostgreSQL can do for a program that does nothing else: the same four durable writes a cycle, each a
//! transaction, each client with a connection of its own.

use std::sync::{Arc, Barrier};
use std::time::Instant;

use anyhow::{Context as _, ensure};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{Client, NoTls};

use super::limits;

pub(super) const SCHEMA: &str = "\
    DROP TABLE IF EXISTS approval;
    CREATE TABLE approval (id bigserial PRIMARY KEY, state int NOT NULL DEFAULT 0, args jsonb NOT NULL, decided_by text,
                           claimed_by text, outcome text, t_create timestamptz NOT NULL DEFAULT now(),
                           t_decide timestamptz, t_done timestamptz);
    CREATE INDEX pending ON approval (t_create) WHERE state = 0";

pub(super) const CREATE: &str = "INSERT INTO approval (args) VALUES ($1::text::jsonb) RETURNING id";

/// Decide, claim, outcome: each takes only what is where it should be.
pub(super) const MOVES: [&str; 3] = [
    "UPDATE approval SET state = 1, decided_by = 'alice', t_decide = now() WHERE id = $1 AND state = 0",
    "UPDATE approval SET state = 2, claimed_by = 'w1' WHERE id = $1 AND state = 1",
    "UPDATE approval SET state = 3, outcome = '{\"ok\":true}', t_done = now() WHERE id = $1 AND state = 2",
];

/// Makes an empty database on the server at `url`.
pub(crate) fn create_database(url: &str, name: &str) -> anyhow::Result<()> {
    let bare = Bare::connect(url)?;
    Ok(bare.runtime.block_on(bare.client.batch_execute(&format!("CREATE DATABASE \"{name}\"")))?)
}

/// The number of the next transaction that writes.
pub(crate) fn next_transaction(url: &str) -> anyhow::Result<u64> {
    const ASK: &str = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text";
    let bare = Bare::connect(url)?;
    let row = bare.runtime.block_on(bare.client.query_one(ASK, &[]))?;
    Ok(row.get::<_, &str>(0).parse()?)
}

/// Cycles per second of `clients` threads. Connecting and preparing are not counted.
pub(crate) fn cycles_per_second(url: &str, clients: usize, cycles: usize) -> anyhow::Result<f64> {
    let bare = Bare::connect(url)?;
    bare.runtime.block_on(bare.client.batch_execute(SCHEMA))?;
    let each = cycles / clients;
    let ready = Arc::new(Barrier::new(clients + 1));
    let workers: Vec<_> = (0..clients)
        .map(|_| {
            let (ready, url) = (Arc::clone(&ready), url.to_owned());
            std::thread::spawn(move || {
                // Whoever cannot connect must come to the barrier all the same, or nobody passes it.
                let bare = Bare::connect(&url);
                ready.wait();
                bare.and_then(|bare| bare.run(each))
            })
        })
        .collect();
    ready.wait();
    let begin = Instant::now();
    for worker in workers {
        worker.join().ok().context("a bare client panicked")??;
    }
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    Ok((each * clients) as f64 / begin.elapsed().as_secs_f64())
}

/// A connection, driven by the thread that uses it.
struct Bare {
    runtime: Runtime,
    client: Client,
}

impl Bare {
    fn connect(url: &str) -> anyhow::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (client, connection) = runtime.block_on(tokio_postgres::connect(url, NoTls))?;
        runtime.spawn(connection);
        Ok(Self { runtime, client })
    }

    fn run(&self, cycles: usize) -> anyhow::Result<()> {
        self.runtime.block_on(async {
            let create = self.client.prepare(CREATE).await?;
            let mut moves = Vec::with_capacity(MOVES.len());
            for sql in MOVES {
                moves.push(self.client.prepare(sql).await?);
            }
            for _ in 0..cycles {
                let row = self.client.query_one(&create, &[&limits::arguments()]).await?;
                let id: i64 = row.try_get(0)?;
                for statement in &moves {
                    ensure!(self.client.execute(statement, &[&id]).await? == 1, "a bare cycle failed");
                }
            }
            Ok(())
        })
    }
}
