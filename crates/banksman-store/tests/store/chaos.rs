//! A line to the database that fails at the worst moments.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use banksman_core::{Decision, Status};
use banksman_faults::{Cluster, Moment, Proxy, SmallDisk, Trap, Weather};
use banksman_store::conformance::Database;
use banksman_store::postgres::PostgresStore;
use banksman_store::{Commit, CommitError, Committed, Conflict, Store};
use futures_util::future::join_all;
use tokio::task::JoinSet;

use crate::script::{PATIENCE, deciding, id, large, log_is_whole, node, opening, proposed, until_ok};

/// A node that reaches its database over a line that can fail, and a look at the database beside it.
struct Scene {
    line: Proxy,
    store: Arc<PostgresStore>,
    beside: Arc<PostgresStore>,
    database: Database,
}

impl Scene {
    async fn new() -> Self {
        let database = Database::fresh();
        let line = Proxy::to(&database.url()).expect("a line");
        let url = line.over(&database.url()).expect("its address");
        let store = Arc::new(PostgresStore::open(&url).await.expect("a store"));
        let beside = node(&database).await;
        Self { line, store, beside, database }
    }

    /// Commits into a trap, which has to be sprung.
    async fn commit_into(&self, at: Moment, silent: bool, commit: Commit) -> Result<Committed, CommitError> {
        let before = self.line.sprung();
        self.line.lay(Trap { at, silent });
        let answer = self.store.commit(commit).await;
        assert!(self.line.wait_until_sprung(before + 1, PATIENCE), "no commit came by: {answer:?}");
        answer
    }

    /// Commits when the line is well again.
    async fn commit(&self, number: u64) -> Result<Committed, CommitError> {
        let begin = Instant::now();
        loop {
            match self.store.commit(opening(proposed(number))).await {
                Err(CommitError::Unavailable(_)) if begin.elapsed() < PATIENCE => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                answer => return answer,
            }
        }
    }
}

fn is_lost(answer: &Result<Committed, CommitError>) -> bool {
    matches!(answer, Err(CommitError::Unavailable(_)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_line_cut_before_the_commit_leaves_nothing_and_one_cut_after_it_leaves_all() {
    let scene = Scene::new().await;
    for (number, at) in (1..).zip([Moment::BeforeCommit, Moment::AfterCommit].repeat(3)) {
        let begin = Instant::now();
        let answer = scene.commit_into(at, false, opening(proposed(number))).await;
        // Neither is called a success, and neither takes long to be called a failure.
        assert!(is_lost(&answer), "{at:?}: {answer:?}");
        assert!(begin.elapsed() < Duration::from_secs(5), "{at:?}: {:?}", begin.elapsed());
        let stored = scene.beside.case(id(number)).await.expect("a look").is_some();
        assert_eq!(stored, at == Moment::AfterCommit, "{at:?}");
        // Whoever asks again is told which of the two it was.
        match scene.commit(number).await {
            Ok(_) => assert!(!stored, "{at:?}"),
            Err(CommitError::Conflict(Conflict::Joinable(twin))) => assert!(stored && twin == id(number)),
            answer => panic!("{at:?}: {answer:?}"),
        }
    }
    assert_eq!(log_is_whole(&*scene.beside).await, 6);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_decision_whose_answer_was_lost_stands_and_is_not_made_twice() {
    let scene = Scene::new().await;
    let held = proposed(1);
    let case = held.case.clone();
    scene.store.commit(opening(held)).await.expect("a proposal");
    let approve = deciding(&case, "ann", Decision::Approve);
    assert!(is_lost(&scene.commit_into(Moment::AfterCommit, false, approve).await));
    // It stands, on every node; a second one, also the same again, meets it.
    for decision in [Decision::Deny, Decision::Approve] {
        let deny = || async {
            match scene.store.commit(deciding(&case, "bob", decision)).await {
                Err(CommitError::Unavailable(error)) => Err(error),
                answer => Ok(answer),
            }
        };
        let answer = until_ok(deny).await;
        assert!(matches!(answer, Err(CommitError::Conflict(Conflict::CaseMoved(_)))), "{answer:?}");
    }
    let stored = until_ok(|| scene.store.case(id(1))).await.expect("the action");
    assert_eq!((stored.status(), stored.reviews.len()), (Status::Authorised, 1));
    assert_eq!(log_is_whole(&*scene.beside).await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_line_that_falls_silent_around_a_commit_is_given_up_in_time() {
    // Side by side, because each takes as long as the patience with a group.
    let silence = async |at: Moment| {
        let scene = Scene::new().await;
        let begin = Instant::now();
        let answer = scene.commit_into(at, true, opening(proposed(1))).await;
        assert!(is_lost(&answer), "{at:?}: {answer:?}");
        assert!(begin.elapsed() < Duration::from_secs(15), "{at:?}: {:?}", begin.elapsed());
        let stored = scene.beside.case(id(1)).await.expect("a look").is_some();
        assert_eq!(stored, at == Moment::AfterCommit, "{at:?}");
        // The next one gets a line of its own, and the lock.
        scene.commit(2).await.expect("another proposal");
        assert_eq!(log_is_whole(&*scene.beside).await, 1 + u64::from(stored));
    };
    tokio::join!(silence(Moment::BeforeCommit), silence(Moment::AfterCommit));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_database_that_takes_connections_and_never_answers_is_as_good_as_gone() {
    let scene = Scene::new().await;
    scene.store.commit(opening(proposed(1))).await.expect("a proposal");
    scene.line.weather(Weather::Silent);
    scene.line.cut();
    // New connections are taken, and nobody answers on them: everyone is told so, however many ask.
    let mut asking = JoinSet::new();
    for number in 2..=20 {
        let store = Arc::clone(&scene.store);
        asking.spawn(async move {
            let begin = Instant::now();
            let (wrote, read) = tokio::join!(store.commit(opening(proposed(number))), store.case(id(1)));
            (is_lost(&wrote) && read.is_err(), begin.elapsed())
        });
    }
    for (refused, took) in asking.join_all().await {
        assert!(refused, "something was said to have happened");
        assert!(took < Duration::from_secs(10), "it took {took:?} to say no");
    }
    scene.line.weather(Weather::Fair);
    // Without a restart. What was on its way when the line was mended was never a commit.
    scene.commit(30).await.expect("a proposal");
    assert_eq!(log_is_whole(&*scene.beside).await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_slow_line_costs_time_and_nothing_else() {
    let scene = Scene::new().await;
    scene.line.weather(Weather::Slow(Duration::from_millis(50)));
    let begin = Instant::now();
    let mut rush = JoinSet::new();
    for number in 1..=100 {
        let store = Arc::clone(&scene.store);
        rush.spawn(async move { store.commit(opening(proposed(number))).await.map(drop) });
    }
    for answer in rush.join_all().await {
        answer.expect("a proposal");
    }
    // A round trip or two for each group, not for each commit: a hundred of those would take ten seconds.
    assert!(begin.elapsed() < Duration::from_secs(8), "{:?}", begin.elapsed());
    assert_eq!(log_is_whole(&*scene.beside).await, 100);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whatever_breaks_and_whenever_what_was_acknowledged_is_there_once() {
    let scene = Scene::new().await;
    let (next, acknowledged, over) = (AtomicU64::new(1), AtomicU64::new(0), AtomicBool::new(false));
    let propose = async || {
        let mut answers = Vec::new();
        while !over.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let answer = scene.store.commit(opening(proposed(number))).await;
            acknowledged.fetch_add(u64::from(answer.is_ok()), Ordering::Relaxed);
            answers.push((number, answer));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        answers
    };
    let break_it = async {
        for round in 0..24 {
            // As soon as something has got through since the last time, however slow the machine is.
            let enough = acknowledged.load(Ordering::Relaxed) + 5;
            let waiting = async {
                while acknowledged.load(Ordering::Relaxed) < enough {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            };
            tokio::time::timeout(Duration::from_secs(30), waiting).await.expect("something gets through");
            match round % 6 {
                0 | 3 => scene.line.lay(Trap { at: Moment::BeforeCommit, silent: false }),
                1 | 4 => scene.line.lay(Trap { at: Moment::AfterCommit, silent: false }),
                2 => scene.database.cut_connections(),
                _ => scene.line.cut(),
            }
        }
        over.store(true, Ordering::Relaxed);
    };
    let (answers, ()) = tokio::join!(join_all((0..12).map(|_| propose())), break_it);
    for (number, answer) in answers.into_iter().flatten() {
        let stored = until_ok(|| scene.beside.case(id(number))).await.is_some();
        match answer {
            Ok(_) => assert!(stored, "{number} was acknowledged and is lost"),
            // Then nobody knows, and both are right.
            Err(CommitError::Unavailable(_)) => {}
            Err(CommitError::Conflict(conflict)) => panic!("{number}: {conflict:?}"),
        }
    }
    assert!(scene.line.sprung() >= 8, "hardly any trap was sprung: {}", scene.line.sprung());
    let there = until_ok(|| scene.beside.pending_count()).await;
    assert_eq!(log_is_whole(&*scene.beside).await, there);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn when_the_databases_disk_is_full_what_was_acknowledged_is_there_and_nothing_is_half() {
    let Some(disk) = SmallDisk::of(160) else {
        return banksman_faults::skip_without_small_disk();
    };
    let mut cluster = Cluster::start_with_data(disk.path().join("data")).expect("a server on a small disk");
    let store = PostgresStore::open(&cluster.url()).await.expect("a store");
    store.commit(opening(large(1))).await.expect("a proposal");
    disk.fill().expect("a full disk");
    let mut acknowledged = vec![1];
    let mut refused = 0;
    for number in 2..=400 {
        match store.commit(opening(large(number))).await {
            Ok(_) => acknowledged.push(number),
            Err(CommitError::Unavailable(_)) => refused += 1,
            Err(CommitError::Conflict(conflict)) => panic!("{conflict:?}"),
        }
        if refused == 5 {
            break;
        }
    }
    assert_eq!(refused, 5, "the disk was never full: {} fit", acknowledged.len());
    disk.clear().expect("room");
    // Where it could not even write its log, the server has given up, and somebody starts it again.
    if store.last_seq().await.is_err() {
        let _ = cluster.crash();
        cluster.start_again().expect("the server, once there is room");
    }
    until_ok(|| store.ready()).await;
    for number in &acknowledged {
        let there = until_ok(|| store.case(id(*number))).await.is_some();
        assert!(there, "{number} was acknowledged and is lost");
    }
    store.commit(opening(large(1_000))).await.expect("a proposal");
    assert_eq!(log_is_whole(&store).await, store.pending_count().await.expect("a count"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_server_that_crashes_under_load_loses_nothing_that_it_said_was_there() {
    let mut cluster = Cluster::start().expect("a server");
    let store = Arc::new(PostgresStore::open(&cluster.url()).await.expect("a store"));
    let mut rush = JoinSet::new();
    for number in 1..=300 {
        let store = Arc::clone(&store);
        rush.spawn(async move {
            tokio::time::sleep(Duration::from_millis(number * 6)).await;
            (number, store.commit(opening(proposed(number))).await)
        });
    }
    for _ in 0..2 {
        tokio::time::sleep(Duration::from_millis(300)).await;
        cluster.crash().expect("a crash");
        cluster.start_again().expect("a recovery");
    }
    let mut acknowledged = 0;
    for (number, answer) in rush.join_all().await {
        let stored = until_ok(|| store.case(id(number))).await.is_some();
        if answer.is_ok() {
            acknowledged += 1;
            assert!(stored, "{number} was acknowledged and is lost");
        }
    }
    assert!(acknowledged > 20, "hardly anything got through: {acknowledged}");
    assert_eq!(log_is_whole(&*store).await, until_ok(|| store.pending_count()).await);
}
