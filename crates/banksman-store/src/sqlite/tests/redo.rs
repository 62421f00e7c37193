//! What was answered is there, whatever ends the server and at whatever moment, and nothing is written twice.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use banksman_core::{ActionId, Status, Tier};
use banksman_faults::SmallDisk;

use super::beside::token;
use super::{File, advancing, approved, id, number, opening, proposed, proposed_with};
use crate::sqlite::redo::path_of;
use crate::sqlite::{SqliteStore, back_up, examine};
use crate::{Commit, EventQuery, Store};

/// The files as they are at this moment. `wal` is the log as it was when SQLite last waited for the disk, if the power
/// fails; a process that is killed leaves all that it has written.
fn left_behind(file: &File, wal: Option<&[u8]>) -> File {
    let after = File::new();
    for suffix in ["", "-wal", "-redo"] {
        let name = |file: &File| format!("{}{suffix}", file.path().display());
        match wal.filter(|_| suffix == "-wal") {
            Some(bytes) => fs::write(name(&after), bytes).unwrap(),
            None => drop(fs::copy(name(file), name(&after)).unwrap()),
        }
    }
    after
}

fn wal_of(file: &File) -> Vec<u8> {
    fs::read(format!("{}-wal", file.path().display())).unwrap()
}

/// What is known to have been answered.
#[derive(Default, Clone)]
struct Answered {
    actions: BTreeMap<ActionId, Status>,
    events: u64,
}

impl Answered {
    async fn is_there(&self, store: &SqliteStore, when: &str) {
        for (id, status) in &self.actions {
            let case = store.case(*id).await.unwrap().unwrap_or_else(|| panic!("{when}: {id} is lost"));
            assert_eq!(case.status(), *status, "{when}");
        }
        let events = store.events(EventQuery::following(0, 100_000)).await.unwrap();
        let places: Vec<u64> = events.iter().map(|event| event.seq).collect();
        assert_eq!(places, (1..=self.events).collect::<Vec<_>>(), "{when}");
        let pending = self.actions.values().filter(|status| **status == Status::Pending).count();
        assert_eq!(store.pending_count().await.unwrap(), u64::try_from(pending).unwrap(), "{when}");
    }
}

/// A world in which things happen by chance, the same each time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_or_without_power_at_any_moment_nothing_that_was_answered_is_lost() {
    for seed in 0..6 {
        let mut chance = Chance(seed);
        let (mut file, mut answered, mut next) = (File::new(), Answered::default(), 1);
        let mut store = file.store();
        // SQLite waited for the disk when it opened the file.
        let mut synced = wal_of(&file);
        for step in 0..150 {
            match chance.below(20) {
                0..10 => {
                    store.commit(opening(proposed(next, Tier::Approve))).await.unwrap();
                    answered.actions.insert(id(next), Status::Pending);
                    answered.events += 1;
                    next += 1;
                }
                10..15 => {
                    let waiting = answered.actions.iter().find(|(_, status)| **status == Status::Pending);
                    let Some((&id, _)) = waiting else { continue };
                    let case = store.case(id).await.unwrap().unwrap();
                    store.commit(advancing(approved(&case))).await.unwrap();
                    answered.actions.insert(id, Status::Authorised);
                    answered.events += 1;
                }
                15 => {
                    let before = banksman_wal::syncs();
                    store.commit(token(next)).await.unwrap();
                    answered.events += 1;
                    next += 1;
                    if banksman_wal::syncs() > before {
                        synced = wal_of(&file);
                    }
                }
                16 => drop(store.last_seq().await.unwrap()),
                17 => tokio::time::sleep(Duration::from_millis(8)).await,
                kind => {
                    let power = kind == 19;
                    // Checkpoints sync the log, and write the main file: what was synced is not known any more.
                    let wal = (power && wal_of(&file).len() < 100 * 4096).then_some(synced.as_slice());
                    let after = left_behind(&file, wal);
                    let when = format!("seed {seed}, step {step}, power cut: {power}");
                    answered.is_there(&SqliteStore::open(&after.path()).unwrap(), &when).await;
                    store = after.store();
                    file = after;
                    synced = wal_of(&file);
                }
            }
        }
        answered.is_there(&store, "at the end").await;
        drop(store);
        answered.is_there(&file.store(), "after a clean end").await;
    }
}

/// A store with so many actions that SQLite has not committed, or only some of.
async fn with_unpublished(actions: u64) -> (File, SqliteStore) {
    let file = File::new();
    let store = file.store();
    for number in 1..=actions {
        store.commit(opening(proposed(number, Tier::Approve))).await.unwrap();
    }
    (file, store)
}

/// What a server leaves that is killed when it has answered so many proposals and SQLite has committed none of them.
async fn killed_with_unpublished(actions: u64) -> File {
    for _ in 0..200 {
        let (file, store) = with_unpublished(actions).await;
        let after = left_behind(&file, None);
        drop(store);
        let connection = after.connect();
        // SQLite commits after a moment in which nothing happens; that may have been before the files were copied.
        if number(&connection, "SELECT count(*) FROM actions") == 0 {
            return after;
        }
    }
    panic!("SQLite is always faster than this test");
}

#[tokio::test]
async fn the_last_record_counts_if_it_is_whole() {
    for (flipped, expected) in [(None, 3), (Some(0), 2), (Some(200), 2), (Some(usize::MAX), 0)] {
        let after = killed_with_unpublished(3).await;
        let mut bytes = fs::read(path_of(&after.path())).unwrap();
        let end = bytes.iter().rposition(|byte| *byte != 0).unwrap();
        if let Some(from_end) = flipped {
            // In the last record, or, if that is asked too much, in the first.
            bytes[end.checked_sub(from_end).unwrap_or(40)] ^= 1;
        }
        fs::write(path_of(&after.path()), bytes).unwrap();
        assert_eq!(after.store().last_seq().await.unwrap(), expected, "flipped at {flipped:?}");
    }
}

#[tokio::test]
async fn a_record_that_does_not_fit_the_database_stops_everything_and_changes_nothing() {
    let after = killed_with_unpublished(2).await;
    let connection = after.connect();
    // Somebody has written an event of their own where the next one belongs.
    connection.execute_batch("INSERT INTO audit (seq, at, type, actor, resolution, body, observed) VALUES (2, 1, 'x', 'x', 0, '{}', 0)").unwrap();
    drop(connection);
    let Err(error) = SqliteStore::open(&after.path()) else { panic!("it was opened") };
    assert!(error.to_string().contains("redo log beside the database does not fit"), "{error}");
    assert_eq!(number(&after.connect(), "SELECT count(*) FROM actions"), 0);
}

#[tokio::test]
async fn what_was_written_again_is_not_written_a_third_time() {
    let after = killed_with_unpublished(5).await;
    let redo = fs::read(path_of(&after.path())).unwrap();
    for _ in 0..3 {
        let store = after.store();
        assert_eq!(store.last_seq().await.unwrap(), 5);
        // Killed right after it has begun, with the file as it was.
        let again = left_behind(&after, None);
        fs::write(path_of(&again.path()), &redo).unwrap();
        assert_eq!(again.store().last_seq().await.unwrap(), 5);
    }
}

#[tokio::test]
async fn laps_do_not_grow_and_large_texts_do_not_go_through_it() {
    let file = File::new();
    let store = file.store();
    for number in 1..=300 {
        store.commit(opening(proposed(number, Tier::Approve))).await.unwrap();
    }
    assert!(fs::metadata(path_of(&file.path())).unwrap().len() <= 128 << 10);
    let text = "x".repeat(100_000);
    let large = opening(proposed_with(301, Tier::Approve, &format!(r#"{{"n":"{text}"}}"#)));
    store.commit(large).await.unwrap();
    assert!(fs::metadata(path_of(&file.path())).unwrap().len() <= 128 << 10);
    let after = left_behind(&file, None);
    // All of it is with SQLite.
    fs::remove_file(path_of(&after.path())).unwrap();
    assert_eq!(after.store().last_seq().await.unwrap(), 301);
}

#[tokio::test]
async fn a_clean_end_leaves_nothing_in_it() {
    let (file, store) = with_unpublished(4).await;
    drop(store);
    assert_eq!(fs::metadata(path_of(&file.path())).unwrap().len(), 0);
    assert_eq!(number(&file.connect(), "SELECT count(*) FROM actions"), 4);
}

#[tokio::test]
async fn who_reads_the_file_from_outside_is_given_what_a_killed_server_left() {
    let (examined, saved) = (killed_with_unpublished(4).await, killed_with_unpublished(4).await);
    let (restored, redo) = (File::new(), fs::read(path_of(&saved.path())).unwrap());
    assert_eq!(examine(&examined.path()).unwrap().actions, 4);
    let backup = saved.path().with_extension("backup");
    back_up(&saved.path(), &backup).unwrap();
    assert_eq!(examine(&backup).unwrap().actions, 4);
    // Beside another redo log, whatever lap it is of, a backup is what it is.
    fs::copy(&backup, restored.path()).unwrap();
    fs::write(path_of(&restored.path()), redo).unwrap();
    assert_eq!(restored.store().last_seq().await.unwrap(), 4);
}

#[tokio::test]
async fn a_neighbour_goes_on_from_what_a_server_left_that_was_killed_meanwhile() {
    let after = killed_with_unpublished(3).await;
    // A server lives, has the redo log, and nothing in it that SQLite has not.
    let records = fs::read(path_of(&after.path())).unwrap();
    let server = fs::File::create(path_of(&after.path())).unwrap();
    server.lock().unwrap();
    let neighbour = after.store();
    // It answers, and is killed before SQLite has committed.
    server.write_all_at(&records, 0).unwrap();
    drop(server);
    assert_eq!(neighbour.commit(token(1)).await.unwrap().last_seq, 4);
    assert_eq!(neighbour.commit(token(2)).await.unwrap().last_seq, 5);
    drop(neighbour);
    let store = after.store();
    assert_eq!(store.last_seq().await.unwrap(), 5);
    assert_eq!(store.pending_count().await.unwrap(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_neighbour_does_not_take_the_places_of_what_a_server_has_yet_to_bring_in() {
    let after = killed_with_unpublished(3).await;
    // A server lives and has the redo log, but, after a failure of its own, not SQLite's lock.
    let server = fs::File::open(path_of(&after.path())).unwrap();
    server.lock().unwrap();
    let path = after.path();
    let neighbour = tokio::task::spawn_blocking(move || SqliteStore::open(&path).unwrap());
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!neighbour.is_finished(), "it goes on without what was answered");
    // The server ends; whoever waits brings it in.
    drop(server);
    let neighbour = neighbour.await.unwrap();
    assert_eq!(neighbour.commit(token(1)).await.unwrap().last_seq, 4);
}

#[tokio::test]
async fn after_a_group_that_failed_what_came_before_it_is_brought_in_unasked() {
    let (file, store) = with_unpublished(3).await;
    let broken = store.commit(opening(proposed_with(1, Tier::Approve, r#"{"impostor":1}"#))).await;
    assert!(broken.is_err(), "{broken:?}");
    let begin = Instant::now();
    while number(&file.connect(), "SELECT count(*) FROM actions") < 3 {
        assert!(begin.elapsed() < Duration::from_secs(5), "nobody asks, and nothing happens");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(store.commit(opening(proposed(9, Tier::Approve))).await.unwrap().last_seq, 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_neighbour_gets_its_turn_beside_a_server_that_never_rests() {
    let file = File::new();
    let server = Arc::new(file.store());
    let enough = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> = (0..4u64)
        .map(|client| {
            let (server, enough) = (Arc::clone(&server), Arc::clone(&enough));
            tokio::spawn(async move {
                for number in 0.. {
                    if enough.load(Ordering::Relaxed) {
                        return;
                    }
                    let number = client * 1_000_000 + number;
                    server.commit(opening(proposed(number, Tier::Approve))).await.unwrap();
                }
            })
        })
        .collect();
    let begin = Instant::now();
    for number in 1..=5 {
        let neighbour = file.store();
        neighbour.commit(token(number)).await.unwrap();
    }
    // Each of them opens, reads and writes; without turns, one that is unlucky takes five seconds and fails.
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    enough.store(true, Ordering::Relaxed);
    for client in clients {
        client.await.unwrap();
    }
}

#[tokio::test]
async fn what_sqlite_cannot_take_is_kept_and_nothing_more_is_taken_on_until_it_can() {
    // Without root there is no such disk; then the test of the whole server, which says so, is what is left.
    let Some(disk) = SmallDisk::of(8) else { return };
    let path = disk.path().join("banksman.db");
    let store = SqliteStore::open(&path).unwrap();
    store.commit(token(1)).await.unwrap();
    store.commit(opening(proposed(1, Tier::Approve))).await.unwrap();
    store.last_seq().await.unwrap();
    // The redo log has its room by now, SQLite's does not.
    disk.fill().unwrap();
    let mut answered = Vec::new();
    for number in 2..200 {
        match store.commit(opening(proposed(number, Tier::Approve))).await {
            Ok(_) => answered.push(number),
            Err(_) => break,
        }
    }
    assert!(answered.len() < 150, "the disk is not full");
    assert!(store.commit(Commit::default()).await.is_err(), "it says that it can write");
    assert!(store.ready().await.is_err());
    disk.clear().unwrap();
    for number in answered {
        assert!(store.case(id(number)).await.unwrap().is_some(), "{number} is lost");
    }
    store.ready().await.unwrap();
    store.commit(opening(proposed(500, Tier::Approve))).await.unwrap();
}
