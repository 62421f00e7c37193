//! Several nodes over one database, and a database that goes away: what only a shared store can get wrong.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use banksman_core::{Decision, Timestamp};
use banksman_store::conformance::Database;
use banksman_store::postgres::{PostgresStore, examine};
use banksman_store::{Commit, CommitError, Conflict, Control, ControlChange, NewsOf, PendingLimits, Store};
use tokio::task::JoinSet;

use crate::script::{PATIENCE, deciding, id, log_is_whole, node, now, opening, proposed, until_ok};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_decisions_on_many_nodes_one_wins() {
    let database = Database::fresh();
    let (a, b, c) = (node(&database).await, node(&database).await, node(&database).await);
    for number in 1..=20 {
        let transition = proposed(number);
        let case = transition.case.clone();
        a.commit(opening(transition)).await.expect("a proposal");
        let mut rush = JoinSet::new();
        for (racer, store) in [&a, &b, &c].into_iter().cycle().take(12).enumerate() {
            let decision = if racer % 2 == 0 { Decision::Approve } else { Decision::Deny };
            let (store, commit) = (Arc::clone(store), deciding(&case, &format!("ann {racer}"), decision));
            rush.spawn(async move { store.commit(commit).await });
        }
        let (won, lost): (Vec<_>, Vec<_>) = rush.join_all().await.into_iter().partition(Result::is_ok);
        assert_eq!(won.len(), 1);
        for answer in lost {
            assert!(matches!(answer, Err(CommitError::Conflict(Conflict::CaseMoved(_)))), "{answer:?}");
        }
    }
    assert_eq!(log_is_whole(&*c).await, 40);
    assert_eq!(b.pending_count().await.expect("a count"), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_limit_is_exact_over_all_nodes() {
    let database = Database::fresh();
    let nodes = [node(&database).await, node(&database).await, node(&database).await];
    let mut rush = JoinSet::new();
    for number in 1..=90 {
        let store = Arc::clone(nodes.get(usize::try_from(number % 3).expect("small")).expect("a node"));
        let limits = Some(PendingLimits { per_agent: 50, total: 1_000 });
        let commit = Commit { limits, ..opening(proposed(number)) };
        rush.spawn(async move { store.commit(commit).await });
    }
    let (done, refused): (Vec<_>, Vec<_>) = rush.join_all().await.into_iter().partition(Result::is_ok);
    assert_eq!((done.len(), refused.len()), (50, 40));
    for answer in refused {
        assert!(matches!(answer, Err(CommitError::Conflict(Conflict::TooManyPendingForAgent))), "{answer:?}");
    }
    assert_eq!(log_is_whole(&*nodes[0]).await, 50);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_one_node_commits_the_others_hear_at_once_and_in_order() {
    let database = Database::fresh();
    let (a, b) = (node(&database).await, node(&database).await);
    let mut news = b.follow(0).expect("news");
    // Its first look, at an empty log, is over when this has come through.
    let heard = async |news: &mut tokio::sync::mpsc::Receiver<banksman_store::News>| {
        tokio::time::timeout(PATIENCE, news.recv()).await.expect("news in time").expect("news")
    };
    a.commit(opening(proposed(1))).await.expect("a proposal");
    assert_eq!(heard(&mut news).await.last_seq, 1);
    let mut slowest = Duration::ZERO;
    for number in 2..=20 {
        let transition = proposed(number);
        let wakes_at = transition.case.state.wakes_at();
        a.commit(opening(transition)).await.expect("a proposal");
        let begin = Instant::now();
        let next = heard(&mut news).await;
        slowest = slowest.max(begin.elapsed());
        let of = NewsOf::Action { id: id(number), wakes_at, makes_room_for: None };
        assert_eq!((next.last_seq, next.of), (number, vec![of]));
    }
    // What people need not look at any more makes room for another.
    let case = a.case(id(20)).await.expect("a look").expect("the action");
    a.commit(deciding(&case, "ann", Decision::Deny)).await.expect("a decision");
    let of = NewsOf::Action { id: id(20), wakes_at: None, makes_room_for: Some("riley".into()) };
    assert_eq!(heard(&mut news).await.of, [of]);
    // Nineteen looks by the clock alone would take nineteen seconds, each up to one.
    assert!(slowest < Duration::from_millis(900), "{slowest:?}");
    // Its own commits are no news.
    b.commit(opening(proposed(30))).await.expect("a proposal");
    a.commit(opening(proposed(31))).await.expect("a proposal");
    let mut of = Vec::new();
    while of.is_empty() || !of.contains(&id(31)) {
        for about in heard(&mut news).await.of {
            match about {
                NewsOf::Action { id, .. } => of.push(id),
                NewsOf::House => panic!("nobody changed the house rules"),
            }
        }
    }
    assert!(of.ends_with(&[id(31)]), "{of:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_was_missed_while_the_line_was_cut_is_heard_afterwards() {
    let database = Database::fresh();
    let (a, b) = (node(&database).await, node(&database).await);
    let mut news = b.follow(0).expect("news");
    let mut heard = HashSet::new();
    for number in 1..=10 {
        if number % 4 == 0 {
            database.cut_connections();
        }
        // A cut may come between any two steps, and then nobody knows; asking again says that it is there.
        loop {
            match a.commit(opening(proposed(number))).await {
                Ok(_) | Err(CommitError::Conflict(Conflict::Joinable(_))) => break,
                Err(CommitError::Unavailable(_)) => tokio::time::sleep(Duration::from_millis(20)).await,
                Err(error) => panic!("{error}"),
            }
        }
    }
    while heard.len() < 10 {
        let next = tokio::time::timeout(PATIENCE, news.recv()).await.expect("news in time").expect("news");
        for about in next.of {
            if let NewsOf::Action { id, .. } = about {
                assert!(heard.insert(id), "{id} twice");
            }
        }
    }
    assert_eq!(log_is_whole(&*b).await, 10);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn while_the_database_is_away_nothing_is_said_to_have_happened() {
    let database = Database::fresh();
    let store = node(&database).await;
    store.commit(opening(proposed(1))).await.expect("a proposal");
    database.admit(false);
    database.cut_connections();
    for number in 2..=5 {
        let begin = Instant::now();
        let answer = store.commit(opening(proposed(number))).await;
        assert!(matches!(answer, Err(CommitError::Unavailable(_))), "{answer:?}");
        assert!(store.case(id(1)).await.is_err());
        assert!(begin.elapsed() < Duration::from_secs(5), "it took {:?} to say no", begin.elapsed());
    }
    database.admit(true);
    // Without a restart.
    assert_eq!(until_ok(|| store.last_seq()).await, 1);
    let again = async || match store.commit(opening(proposed(2))).await {
        Ok(committed) => Ok(committed.last_seq),
        Err(CommitError::Unavailable(error)) => Err(error),
        Err(CommitError::Conflict(conflict)) => panic!("{conflict:?}"),
    };
    assert_eq!(until_ok(again).await, 2);
    assert_eq!(log_is_whole(&*store).await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn connections_cut_at_any_moment_lose_nothing_and_invent_nothing() {
    let database = Database::fresh();
    let store = node(&database).await;
    let mut rush = JoinSet::new();
    for number in 1..=200 {
        let store = Arc::clone(&store);
        rush.spawn(async move {
            tokio::time::sleep(Duration::from_millis(number * 5)).await;
            (number, store.commit(opening(proposed(number))).await)
        });
    }
    for _ in 0..8 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        database.cut_connections();
    }
    let mut answered_yes = 0;
    for (number, answer) in rush.join_all().await {
        let stored = until_ok(|| store.case(id(number))).await;
        match answer {
            Ok(_) => {
                answered_yes += 1;
                assert!(stored.is_some(), "{number} was acknowledged and is lost");
            }
            // Then nobody knows, and both are right.
            Err(CommitError::Unavailable(_)) => {}
            Err(CommitError::Conflict(conflict)) => panic!("{conflict:?}"),
        }
    }
    let there = until_ok(|| store.pending_count()).await;
    assert!(there >= answered_yes && answered_yes > 0, "{there} {answered_yes}");
    assert_eq!(log_is_whole(&*store).await, there);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whoever_stops_while_holding_the_lock_loses_it() {
    let database = Database::fresh();
    let store = node(&database).await;
    // A node that was stopped in the middle of a commit, with the session that every node has.
    let config: tokio_postgres::Config = database.url().parse().expect("an address");
    let (frozen, connection) = config.connect(tokio_postgres::NoTls).await.expect("a connection");
    tokio::spawn(connection);
    let hold = "SET idle_in_transaction_session_timeout = '5s'; BEGIN; SELECT * FROM head FOR UPDATE";
    frozen.batch_execute(hold).await.expect("the lock");
    let begin = Instant::now();
    store.commit(opening(proposed(1))).await.expect("the lock, once the other has lost it");
    assert!(begin.elapsed() < Duration::from_secs(8), "{:?}", begin.elapsed());
    assert!(frozen.batch_execute("UPDATE head SET epoch = 99; COMMIT").await.is_err());
    assert_eq!(store.control().await.expect("the rules").epoch, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_notice_is_in_the_hands_of_one_node_at_a_time() {
    let database = Database::fresh();
    let nodes = [node(&database).await, node(&database).await];
    for number in 1..=40 {
        nodes[0].commit(opening(proposed(number))).await.expect("a proposal");
    }
    let lease = Duration::from_secs(3);
    let mut rush = JoinSet::new();
    for store in nodes.iter().cycle().take(10) {
        let store = Arc::clone(store);
        rush.spawn(async move { store.take_notices(7, lease).await.expect("notices") });
    }
    let mut taken = HashSet::new();
    for notice in rush.join_all().await.into_iter().flatten() {
        assert!(taken.insert(notice.id), "{} was given to two", notice.id);
    }
    assert_eq!(taken.len(), 40);
    assert_eq!(nodes[1].take_notices(50, lease).await.expect("notices"), Vec::new());
    // The node that took them is gone: another gets them when the lease is over.
    tokio::time::sleep(lease).await;
    assert_eq!(nodes[1].take_notices(50, lease).await.expect("notices").len(), 40);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nodes_that_start_together_make_the_tables_once() {
    let database = Database::fresh();
    let url = database.url();
    let mut starts = JoinSet::new();
    for _ in 0..6 {
        let url = url.clone();
        starts.spawn(async move { PostgresStore::open(&url).await.map(drop) });
    }
    for start in starts.join_all().await {
        start.expect("a store");
    }
    let found = examine(&url).await.expect("a sound database");
    assert_eq!((found.schema, found.actions, found.events), (10, 0, 0));
    database.execute("UPDATE schema_version SET version = 99").expect("a newer version");
    let error = PostgresStore::open(&url).await.err().expect("a refusal");
    assert!(error.to_string().contains("newer version"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn house_rules_that_changed_on_one_node_bind_the_others_at_once() {
    let database = Database::fresh();
    let (a, b) = (node(&database).await, node(&database).await);
    let Control { epoch, .. } = b.control().await.expect("the rules");
    let change = ControlChange::SetMode(banksman_core::Mode::Shadow);
    a.commit(Commit { control: vec![change], ..Commit::default() }).await.expect("a change");
    let stale = Commit { control_epoch: Some(epoch), ..opening(proposed(1)) };
    let answer = b.commit(stale).await;
    assert!(matches!(answer, Err(CommitError::Conflict(Conflict::ControlMoved))), "{answer:?}");
}

#[tokio::test]
async fn an_address_that_cannot_be_read_is_refused_without_showing_its_password() {
    let error = PostgresStore::open("postgres://u:hunter2@host:port/db").await.err().expect("a refusal");
    assert!(error.to_string().contains("address of the database"), "{error}");
    assert!(!error.to_string().contains("hunter2"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_node_whose_clock_is_off_writes_nothing_says_so_and_recovers_when_it_is_set_right() {
    let database = Database::fresh();
    let off = Arc::new(AtomicI64::new(0));
    let clock = {
        let off = Arc::clone(&off);
        move || Timestamp::from_micros(now().as_micros() + 1_000_000 * off.load(Ordering::SeqCst))
    };
    let store = Arc::new(PostgresStore::open_with_clock(&database.url(), clock).await.expect("a store"));
    store.commit(opening(proposed(1))).await.expect("a proposal");
    for (jump, said) in [(3_600, "ahead of"), (-3_600, "behind"), (30, "ahead of"), (-30, "behind")] {
        off.store(jump, Ordering::SeqCst);
        // Many at once are told at once, and not each after a try of its own.
        let begin = Instant::now();
        let mut rush = JoinSet::new();
        for number in 2..=60 {
            let store = Arc::clone(&store);
            rush.spawn(async move { store.commit(opening(proposed(number))).await });
        }
        for answer in rush.join_all().await {
            let Err(CommitError::Unavailable(error)) = answer else { panic!("{jump}: {answer:?}") };
            assert!(error.to_string().contains(said), "{jump}: {error}");
        }
        assert!(begin.elapsed() < Duration::from_secs(3), "{jump}: {:?}", begin.elapsed());
        // It may look all the same.
        assert!(store.case(id(1)).await.expect("a look").is_some());
    }
    assert_eq!(log_is_whole(&*store).await, 1);
    off.store(-4, Ordering::SeqCst);
    store.commit(opening(proposed(2))).await.expect("a proposal, a little off");
    off.store(0, Ordering::SeqCst);
    store.commit(opening(proposed(3))).await.expect("a proposal");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_lock_that_is_not_to_be_had_is_told_to_all_at_once() {
    let database = Database::fresh();
    let store = node(&database).await;
    // Not one of our sessions, which the database would end: someone's forgotten transaction.
    let config: tokio_postgres::Config = database.url().parse().expect("an address");
    let (other, connection) = config.connect(tokio_postgres::NoTls).await.expect("a connection");
    tokio::spawn(connection);
    other.batch_execute("BEGIN; SELECT * FROM head FOR UPDATE").await.expect("the lock");
    let begin = Instant::now();
    let mut rush = JoinSet::new();
    for number in 1..=60 {
        let store = Arc::clone(&store);
        rush.spawn(async move { store.commit(opening(proposed(number))).await });
    }
    for answer in rush.join_all().await {
        assert!(matches!(answer, Err(CommitError::Unavailable(_))), "{answer:?}");
    }
    // The first may have gone alone, and then the rest waited for it: twice the database's limit, not sixty times.
    assert!(begin.elapsed() < Duration::from_secs(16), "{:?}", begin.elapsed());
    other.batch_execute("ROLLBACK").await.expect("the end");
    store.commit(opening(proposed(1))).await.expect("a proposal");
    assert_eq!(log_is_whole(&*store).await, 1);
}
