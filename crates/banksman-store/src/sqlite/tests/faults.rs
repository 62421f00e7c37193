//! When the disk is full, or one commit of many breaks: what fails, fails alone and whole.

use std::sync::Arc;

use banksman_core::{Tier, Timestamp};
use tokio::task::JoinSet;

use super::{File, id, number, opening, proposed, proposed_with};
use crate::sqlite::recover::take_over;
use crate::sqlite::redo::Missing;
use crate::sqlite::writer::Writer;
use crate::sqlite::{Readers, SqliteStore, configure};
use crate::{Commit, CommitError, Committed, Conflict, EventQuery, PendingLimits, Store};

type Answers = Vec<Result<Committed, CommitError>>;

/// Commits that the writer finds in its inbox all at once, and so takes into one transaction.
///
/// Another connection holds the lock while they are sent; the writer waits for it with the first one in its hands.
async fn in_one_group(file: &File, store: &Arc<SqliteStore>, commits: Vec<Commit>) -> Answers {
    let neighbour = file.connect();
    neighbour.execute_batch("BEGIN IMMEDIATE").unwrap();
    let send = |commit: Commit| {
        let store = Arc::clone(store);
        async move { store.commit(commit).await }
    };
    let busy = tokio::spawn(send(Commit::default()));
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    let mut tasks = JoinSet::new();
    for (place, commit) in commits.into_iter().enumerate() {
        let commit = send(commit);
        tasks.spawn(async move { (place, commit.await) });
    }
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    neighbour.execute_batch("COMMIT").unwrap();
    busy.await.unwrap().unwrap();
    let mut answers = tasks.join_all().await;
    answers.sort_by_key(|(place, _)| *place);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

/// One more pending action than there may be.
async fn assert_pending_count_is_exact(store: &SqliteStore, expected: u64, fresh: u64) {
    assert_eq!(store.pending_count().await.unwrap(), expected);
    let within = |limit| Commit {
        limits: Some(PendingLimits { per_agent: limit, total: 1_000 }),
        ..opening(proposed(fresh, Tier::Approve))
    };
    let full = store.commit(within(expected)).await;
    assert!(matches!(full, Err(CommitError::Conflict(Conflict::TooManyPendingForAgent))), "{full:?}");
    store.commit(within(expected + 1)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_culprit_of_a_group_fails_alone() {
    let file = File::new();
    let store = Arc::new(file.store());
    store.commit(opening(proposed(1, Tier::Approve))).await.unwrap();
    let commits = (0..24).map(|place| match place {
        // Two actions by one id: SQLite refuses the second, in the middle of the transaction.
        7 | 15 => opening(proposed_with(1, Tier::Approve, &format!(r#"{{"impostor":{place}}}"#))),
        _ => opening(proposed(100 + place, Tier::Approve)),
    });
    let answers = in_one_group(&file, &store, commits.collect()).await;
    for (place, answer) in answers.iter().enumerate() {
        let culprit = matches!(place, 7 | 15);
        assert_eq!(matches!(answer, Err(CommitError::Unavailable(_))), culprit, "{place}: {answer:?}");
        assert_eq!(answer.is_ok(), !culprit, "{place}: {answer:?}");
    }
    let events = store.events(EventQuery::following(0, 1_000)).await.unwrap();
    assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), (1..=23).collect::<Vec<_>>());
    let kept = store.case(id(1)).await.unwrap().unwrap();
    assert_eq!(kept.submission.action.args.as_str(), r#"{"n":1}"#);
    assert_pending_count_is_exact(&store, 23, 999).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_conflict_in_a_group_is_only_its_own() {
    let file = File::new();
    let store = Arc::new(file.store());
    // Within one transaction, each commit meets what those before it wrote.
    let commits = (0..20).map(|place| opening(proposed_with(100 + place, Tier::Approve, r#"{"n":1}"#)));
    let answers = in_one_group(&file, &store, commits.collect()).await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1);
    assert_eq!(store.last_seq().await.unwrap(), 1);
    assert_pending_count_is_exact(&store, 1, 999).await;
}

/// A store on a disk that is full: the file may not grow beyond what it is, of which a part can be cleared away.
fn on_a_full_disk(file: &File) -> SqliteStore {
    drop(file.store());
    let connection = file.connect();
    configure(&connection).unwrap();
    connection
        .execute_batch("CREATE TABLE ballast (x BLOB); INSERT INTO ballast VALUES (zeroblob(4000000));")
        .unwrap();
    let pages = number(&connection, "PRAGMA page_count");
    connection.pragma_update(None, "synchronous", "FULL").unwrap();
    connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(())).unwrap();
    let readers = Arc::new(Readers::of(&file.path()));
    let redo = take_over(&connection, &file.path(), Missing::Make).unwrap();
    let writer = Writer::start(connection, &file.path(), Box::new(Timestamp::default), redo).unwrap();
    SqliteStore { writer, readers }
}

fn large(number: u64) -> Commit {
    let body = "x".repeat(100_000);
    opening(proposed_with(number, Tier::Approve, &format!(r#"{{"n":{number},"body":"{body}"}}"#)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_full_disk_stores_nothing_half_and_heals_without_a_restart() {
    let file = File::new();
    let store = on_a_full_disk(&file);
    for number in 1..=5 {
        let answer = store.commit(large(number)).await;
        let Err(CommitError::Unavailable(error)) = answer else {
            panic!("stored on a full disk: {answer:?}")
        };
        assert!(error.to_string().contains("full"), "{error}");
        assert_eq!(store.case(id(number)).await.unwrap(), None);
    }
    let look = file.connect();
    for table in ["actions", "submissions", "audit", "outbox", "idempotency_keys"] {
        assert_eq!(number(&look, &format!("SELECT count(*) FROM {table}")), 0, "{table}");
    }
    assert_eq!(look.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0)).unwrap(), "ok");

    // Someone clears the disk.
    look.execute_batch("DROP TABLE ballast").unwrap();
    for number in 1..=5 {
        store.commit(large(number)).await.unwrap();
    }
    assert_eq!(store.last_seq().await.unwrap(), 5);
    assert_pending_count_is_exact(&store, 5, 999).await;
    drop(store);
    let reopened = file.store();
    assert!(reopened.case(id(5)).await.unwrap().is_some());
}

#[tokio::test]
async fn a_file_that_has_become_read_only_stores_nothing_says_so_and_can_be_looked_at() {
    let file = File::new();
    let store = file.store();
    store.commit(opening(proposed(1, Tier::Approve))).await.unwrap();
    drop(store);
    let connection = file.connect();
    configure(&connection).unwrap();
    let redo = take_over(&connection, &file.path(), Missing::Make).unwrap();
    connection.pragma_update(None, "query_only", true).unwrap();
    let readers = Arc::new(Readers::of(&file.path()));
    let writer = Writer::start(connection, &file.path(), Box::new(Timestamp::default), redo).unwrap();
    let store = SqliteStore { writer, readers };
    store.ready().await.unwrap();
    for _ in 0..2 {
        let answer = store.commit(opening(proposed(2, Tier::Approve))).await;
        let Err(CommitError::Unavailable(error)) = answer else { panic!("{answer:?}") };
        assert!(error.to_string().contains("readonly"), "{error}");
        assert!(store.ready().await.is_err(), "it says that it is ready");
        assert!(store.case(id(1)).await.unwrap().is_some());
    }
    assert_eq!(store.last_seq().await.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_fits_on_a_filling_disk_is_stored_and_the_rest_is_not() {
    let file = File::new();
    let store = Arc::new(on_a_full_disk(&file));
    // Room for some, but not for all of a group.
    file.connect()
        .execute_batch("DELETE FROM ballast; INSERT INTO ballast VALUES (zeroblob(3000000));")
        .unwrap();
    let answers = in_one_group(&file, &store, (1..=20).map(large).collect()).await;
    let stored = answers.iter().filter(|answer| answer.is_ok()).count();
    assert!((1..20).contains(&stored), "{stored} of 20 were stored");
    for (number, answer) in (1..).zip(&answers) {
        assert_eq!(store.case(id(number)).await.unwrap().is_some(), answer.is_ok(), "{number}: {answer:?}");
    }
    let stored = u64::try_from(stored).unwrap();
    assert_eq!(store.last_seq().await.unwrap(), stored);
    file.connect().execute_batch("DROP TABLE ballast").unwrap();
    assert_pending_count_is_exact(&store, stored, 999).await;
}

#[tokio::test]
async fn what_was_asked_for_is_written_even_if_nobody_waits_for_the_answer() {
    let file = File::new();
    let store = file.store();
    let neighbour = file.connect();
    neighbour.execute_batch("BEGIN IMMEDIATE").unwrap();
    let asked = store.commit(opening(proposed(1, Tier::Approve)));
    // The client hangs up while the writer waits for the lock.
    assert!(tokio::time::timeout(std::time::Duration::from_millis(20), asked).await.is_err());
    neighbour.execute_batch("COMMIT").unwrap();
    drop(store);
    assert!(file.store().case(id(1)).await.unwrap().is_some());
}
