//! What this machine can do at all: bare fsyncs, and a bare SQLite loop with the same group commit and no more.

use std::fs::File;
use std::io::{Seek, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rusqlite::{Connection, params};

/// Fsyncs per second of one thread that overwrites a small file.
pub(crate) fn fsyncs_per_second(folder: &Path) -> anyhow::Result<f64> {
    let mut file = File::create(folder.join("fsync-probe"))?;
    file.write_all(&vec![0; 512 * 2000])?;
    file.sync_all()?;
    file.rewind()?;
    let begin = Instant::now();
    let mut count = 0u32;
    while begin.elapsed() < Duration::from_millis(400) && count < 2000 {
        file.write_all(&[1; 512])?;
        file.sync_data()?;
        count += 1;
    }
    Ok(f64::from(count) / begin.elapsed().as_secs_f64())
}

#[derive(Clone, Copy)]
enum Step {
    Create,
    Decide,
    Claim,
    Outcome,
}

struct Job {
    step: Step,
    id: usize,
    done: SyncSender<bool>,
}

/// Cycles per second of `clients` threads that create, decide, claim and finish rows through one writer thread,
/// which commits whatever is queued in one durable transaction. No HTTP, no JSON, no policy, no audit.
pub(crate) fn bare_cycles_per_second(folder: &Path, clients: usize, cycles: usize) -> anyhow::Result<f64> {
    let path = folder.join("bare.db");
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{suffix}", path.display()));
    }
    let connection = Connection::open(&path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.execute_batch(
        "CREATE TABLE approval (id INTEGER PRIMARY KEY, state INT NOT NULL, args TEXT NOT NULL, decided_by TEXT,
                                claimed_by TEXT, outcome TEXT, t_create INT, t_decide INT, t_done INT);
         CREATE INDEX pending ON approval (t_create) WHERE state = 0;",
    )?;
    let (jobs, inbox) = channel::<Job>();
    let writer = std::thread::spawn(move || write(&connection, &inbox));
    let begin = Instant::now();
    let each = cycles / clients;
    let workers: Vec<_> = (0..clients)
        .map(|client| {
            let jobs = jobs.clone();
            std::thread::Builder::new().stack_size(256 * 1024).spawn(move || {
                let (done, answered) = sync_channel(1);
                for cycle in 0..each {
                    let id = client * each + cycle + 1;
                    for step in [Step::Create, Step::Decide, Step::Claim, Step::Outcome] {
                        if jobs.send(Job { step, id, done: done.clone() }).is_err()
                            || answered.recv() != Ok(true)
                        {
                            return false;
                        }
                    }
                }
                true
            })
        })
        .collect::<Result<_, _>>()?;
    let fine = workers.into_iter().all(|worker| worker.join().unwrap_or(false));
    let elapsed = begin.elapsed().as_secs_f64();
    drop(jobs);
    writer.join().ok().context("the writer panicked")??;
    anyhow::ensure!(fine, "a bare cycle failed");
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    Ok((each * clients) as f64 / elapsed)
}

/// What is proposed: about 300 bytes.
pub(crate) fn arguments() -> String {
    let memo = "x".repeat(220);
    format!(r#"{{"tool":"send_wire_transfer","args":{{"to":"ACME Corp","amount":1200.5,"memo":"{memo}"}}}}"#)
}

fn write(connection: &Connection, inbox: &Receiver<Job>) -> rusqlite::Result<()> {
    let mut group = Vec::new();
    while let Ok(first) = inbox.recv() {
        group.push(first);
        group.extend(inbox.try_iter().take(255));
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let mut changed = Vec::with_capacity(group.len());
        for job in &group {
            changed.push(execute(connection, job)? == 1);
        }
        connection.prepare_cached("COMMIT")?.execute([])?;
        for (job, changed) in group.drain(..).zip(changed) {
            let _ = job.done.send(changed);
        }
    }
    Ok(())
}

fn execute(connection: &Connection, job: &Job) -> rusqlite::Result<usize> {
    match job.step {
        Step::Create => {
            connection
                .prepare_cached("INSERT INTO approval (id, state, args, t_create) VALUES (?1, 0, ?2, ?1)")?
                .execute(params![job.id, arguments()])
        }
        Step::Decide => connection
            .prepare_cached("UPDATE approval SET state = 1, decided_by = 'alice', t_decide = 1 WHERE id = ?1 AND state = 0")?
            .execute([job.id]),
        Step::Claim => connection
            .prepare_cached("UPDATE approval SET state = 2, claimed_by = 'w1' WHERE id = ?1 AND state = 1")?
            .execute([job.id]),
        Step::Outcome => connection
            .prepare_cached("UPDATE approval SET state = 3, outcome = '{\"ok\":true}', t_done = 1 WHERE id = ?1 AND state = 2")?
            .execute([job.id]),
    }
}
