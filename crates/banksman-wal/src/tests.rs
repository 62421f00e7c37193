//! Through the layer and beside it: the same data, fewer calls, and nothing shown or lost that should not be.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

use crate::{lazily, syncs, vfs};

struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("a.db")
    }

    fn gathering(&self) -> Connection {
        prepared(
            Connection::open_with_flags_and_vfs(self.path(), OpenFlags::default(), vfs().unwrap()).unwrap(),
        )
    }

    fn plain(&self) -> Connection {
        prepared(Connection::open(self.path()).unwrap())
    }
}

fn prepared(connection: Connection) -> Connection {
    connection.pragma_update(None, "journal_mode", "WAL").unwrap();
    connection.pragma_update(None, "synchronous", "FULL").unwrap();
    connection
        .execute_batch("CREATE TABLE IF NOT EXISTS t (k INTEGER PRIMARY KEY, v BLOB NOT NULL)")
        .unwrap();
    connection
}

/// A value that no other key has.
fn value(key: usize, length: usize) -> Vec<u8> {
    (0..length).map(|at| u8::try_from((key * 31 + at * 7) % 251).unwrap()).collect()
}

fn insert(connection: &Connection, keys: std::ops::Range<usize>, length: usize) {
    for key in keys {
        let mut insert = connection.prepare_cached("INSERT OR REPLACE INTO t VALUES (?1, ?2)").unwrap();
        insert.execute((i64::try_from(key).unwrap(), value(key, length))).unwrap();
    }
}

fn holds(connection: &Connection, keys: std::ops::Range<usize>, length: usize) {
    let mut select = connection.prepare("SELECT k, v FROM t ORDER BY k").unwrap();
    let rows: Vec<(i64, Vec<u8>)> =
        select.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect();
    assert_eq!(rows.len(), keys.len());
    for (key, (found, bytes)) in keys.zip(rows) {
        assert_eq!(i64::try_from(key).unwrap(), found);
        assert!(bytes == value(key, length), "the value of {key} is another");
    }
    let sound: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
}

/// The files as a machine that lost its power now would find them, if everything written had reached the disk.
fn as_left_by_a_kill(path: &Path) -> Place {
    let place = Place::new();
    for end in ["", "-wal"] {
        let from = format!("{}{end}", path.display());
        fs::copy(from, format!("{}{end}", place.path().display())).unwrap();
    }
    place
}

#[test]
fn another_connection_reads_what_was_committed_and_nothing_else() {
    let place = Place::new();
    let (writer, reader) = (place.gathering(), place.plain());
    writer.execute_batch("BEGIN").unwrap();
    insert(&writer, 0..200, 1000);
    holds(&writer, 0..200, 1000);
    holds(&reader, 0..0, 1000);
    writer.execute_batch("COMMIT").unwrap();
    holds(&reader, 0..200, 1000);
}

#[test]
fn what_is_committed_is_in_the_files_at_once() {
    let place = Place::new();
    let writer = place.gathering();
    for round in 0..20 {
        insert(&writer, round..round + 1, 3000);
        let left = as_left_by_a_kill(&place.path());
        holds(&left.plain(), 0..round + 1, 3000);
    }
}

#[test]
fn a_transaction_larger_than_the_cache_and_the_buffer_reads_its_own_pages_back() {
    let place = Place::new();
    let writer = place.gathering();
    // Ten pages: what does not fit goes to the log before the commit, and comes back from there.
    writer.pragma_update(None, "cache_size", 10).unwrap();
    writer.execute_batch("BEGIN").unwrap();
    insert(&writer, 0..3000, 3500);
    insert(&writer, 0..3000, 3600);
    holds(&writer, 0..3000, 3600);
    writer.execute_batch("COMMIT").unwrap();
    holds(&place.plain(), 0..3000, 3600);
    holds(&as_left_by_a_kill(&place.path()).plain(), 0..3000, 3600);
}

#[test]
fn a_rollback_leaves_no_trace_even_of_what_went_to_the_log() {
    let place = Place::new();
    let writer = place.gathering();
    writer.pragma_update(None, "cache_size", 10).unwrap();
    insert(&writer, 0..50, 2000);
    writer.execute_batch("BEGIN").unwrap();
    insert(&writer, 0..500, 2500);
    writer.execute_batch("ROLLBACK").unwrap();
    holds(&writer, 0..50, 2000);
    insert(&writer, 50..60, 2000);
    holds(&place.plain(), 0..60, 2000);
    holds(&as_left_by_a_kill(&place.path()).plain(), 0..60, 2000);
}

#[test]
fn the_log_starts_again_after_a_checkpoint_by_either_side() {
    let place = Place::new();
    let (writer, other) = (place.gathering(), place.plain());
    for round in 0..10 {
        insert(&writer, round * 20..(round + 1) * 20, 1500);
        let by = if round % 2 == 0 { &writer } else { &other };
        by.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    }
    holds(&other, 0..200, 1500);
    drop((writer, other));
    holds(&place.plain(), 0..200, 1500);
}

/// System calls that wrote something, by this process.
fn writes_of(work: impl FnOnce()) -> u64 {
    let count = || {
        let io = fs::read_to_string("/proc/self/io").unwrap();
        let line = io.lines().find_map(|line| line.strip_prefix("syscw: ")).unwrap();
        line.parse::<u64>().unwrap()
    };
    let before = count();
    work();
    count() - before
}

#[test]
fn a_transaction_is_written_with_few_calls() {
    let pages = |connection: &Connection| {
        connection.execute_batch("BEGIN").unwrap();
        insert(connection, 0..100, 3900);
        connection.execute_batch("COMMIT").unwrap();
    };
    let (gathering, plain) = (Place::new(), Place::new());
    let (ours, theirs) = (gathering.gathering(), plain.plain());
    let gathered = writes_of(|| pages(&ours));
    let usual = writes_of(|| pages(&theirs));
    // About 420 kB: seven pieces of 64 kB against two calls for each of a hundred pages.
    assert!(usual > 200, "{usual}");
    assert!(gathered < 20, "{gathered}");
}

#[test]
fn what_is_committed_lazily_is_seen_and_not_waited_for_and_the_next_one_brings_it_to_the_disk() {
    let place = Place::new();
    let (writer, reader) = (place.gathering(), place.plain());
    insert(&writer, 0..1, 1000);
    let before = syncs();
    for key in 1..20 {
        lazily(|| insert(&writer, key..key + 1, 1000));
        holds(&reader, 0..key + 1, 1000);
        holds(&as_left_by_a_kill(&place.path()).plain(), 0..key + 1, 1000);
    }
    assert_eq!(syncs(), before);
    insert(&writer, 20..21, 1000);
    assert_eq!(syncs(), before + 1);
    holds(&reader, 0..21, 1000);
}

#[test]
fn the_start_of_a_log_is_always_synced() {
    let place = Place::new();
    let writer = place.gathering();
    for round in 0..3 {
        insert(&writer, round..round + 1, 1000);
        // Everything is in the main file now, and the next commit writes over the log from its start.
        writer.execute_batch("PRAGMA wal_checkpoint(RESTART)").unwrap();
        let before = syncs();
        lazily(|| insert(&writer, round..round + 1, 1000));
        assert_eq!(syncs(), before + 1, "in round {round}");
    }
}

#[test]
fn whoever_panics_while_lazy_is_not_lazy_for_ever() {
    let place = Place::new();
    let writer = place.gathering();
    insert(&writer, 0..1, 10);
    let panicked = std::panic::catch_unwind(|| lazily(|| panic!("on purpose")));
    assert!(panicked.is_err());
    let before = syncs();
    insert(&writer, 1..2, 10);
    assert_eq!(syncs(), before + 1);
}
