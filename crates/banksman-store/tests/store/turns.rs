//! What the writer sends in one go, and taking turns: a commit is whole or not at all, and judged by the time at which it
//! got its turn.

use std::sync::Arc;
use std::time::Duration;

use banksman_core::Decision;
use banksman_store::conformance::Database;
use banksman_store::{CommitError, Conflict, Store as _};
use tokio::task::JoinSet;

use crate::script::{deciding, log_is_whole, node, now, opening, proposed};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_write_that_does_less_than_it_should_takes_its_commit_with_it() {
    let database = Database::fresh();
    let store = node(&database).await;
    let transition = proposed(1);
    let case = transition.case.clone();
    store.commit(opening(transition)).await.expect("a proposal");
    // Someone who writes without the lock could have come between; here the row just does not move.
    database
        .execute(
            "CREATE FUNCTION stay() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
             CREATE TRIGGER stay BEFORE UPDATE ON actions FOR EACH ROW EXECUTE FUNCTION stay()",
        )
        .expect("a trigger");
    let mut rush = JoinSet::new();
    let both = [deciding(&case, "ann", Decision::Approve), opening(proposed(2))];
    for commit in both {
        let store = Arc::clone(&store);
        rush.spawn(async move { store.commit(commit).await });
    }
    let answers = rush.join_all().await;
    let refused: Vec<String> =
        answers.iter().filter_map(|answer| Some(answer.as_ref().err()?.to_string())).collect();
    assert_eq!(refused.len(), 1, "the other commit is not to blame: {refused:?}");
    assert!(refused.iter().all(|text| text.contains("0 of 1 actions were moved")), "{refused:?}");
    // Neither its event nor its count is there.
    assert_eq!(log_is_whole(&*store).await, 2);
    assert_eq!(store.pending_count().await.expect("a count"), 2);
    database.execute("DROP TRIGGER stay ON actions").expect("no trigger");
    store.commit(deciding(&case, "ann", Decision::Approve)).await.expect("the session is fine");
    assert_eq!(log_is_whole(&*store).await, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_was_in_time_when_it_asked_is_late_if_its_turn_comes_late() {
    let database = Database::fresh();
    let store = node(&database).await;
    let transition = proposed(1);
    let case = transition.case.clone();
    store.commit(opening(transition)).await.expect("a proposal");
    let config: tokio_postgres::Config = database.url().parse().expect("an address");
    let (holder, connection) = config.connect(tokio_postgres::NoTls).await.expect("a connection");
    tokio::spawn(connection);
    holder.batch_execute("BEGIN; SELECT * FROM head FOR UPDATE").await.expect("the lock");
    let mut commit = deciding(&case, "ann", Decision::Approve);
    for advanced in &mut commit.advanced {
        advanced.before = Some(now().after(Duration::from_millis(400)));
    }
    let waiting = tokio::spawn(async move { store.commit(commit).await });
    tokio::time::sleep(Duration::from_millis(900)).await;
    holder.batch_execute("COMMIT").await.expect("the lock is free");
    let answer = waiting.await.expect("an answer");
    assert!(matches!(answer, Err(CommitError::Conflict(Conflict::TooLate(_)))), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nodes_that_all_write_at_once_lose_and_repeat_nothing() {
    let database = Database::fresh();
    let nodes = [node(&database).await, node(&database).await, node(&database).await];
    let mut rush = JoinSet::new();
    for number in 1..=240 {
        let store = Arc::clone(nodes.get(number as usize % nodes.len()).expect("a node"));
        rush.spawn(async move {
            let transition = proposed(number);
            let case = transition.case.clone();
            store.commit(opening(transition)).await.expect("a proposal");
            store.commit(deciding(&case, "ann", Decision::Deny)).await.expect("a decision");
        });
    }
    rush.join_all().await;
    let [first, ..] = &nodes;
    assert_eq!(log_is_whole(&**first).await, 480);
    assert_eq!(first.pending_count().await.expect("a count"), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nodes_that_decide_the_same_actions_at_once_decide_each_once() {
    const ACTIONS: u64 = 60;
    let database = Database::fresh();
    let nodes = [node(&database).await, node(&database).await, node(&database).await];
    let [first, ..] = &nodes;
    let mut cases = Vec::new();
    for number in 1..=ACTIONS {
        let transition = proposed(number);
        cases.push(transition.case.clone());
        first.commit(opening(transition)).await.expect("a proposal");
    }
    let mut rush = JoinSet::new();
    for (store, by) in nodes.iter().zip(["ann", "bob", "eve"]) {
        for case in cases.clone() {
            let store = Arc::clone(store);
            rush.spawn(async move { store.commit(deciding(&case, by, Decision::Approve)).await });
        }
    }
    let (decided, lost): (Vec<_>, Vec<_>) = rush.join_all().await.into_iter().partition(Result::is_ok);
    assert_eq!(decided.len() as u64, ACTIONS);
    for answer in lost {
        assert!(matches!(answer, Err(CommitError::Conflict(Conflict::CaseMoved(_)))), "{answer:?}");
    }
    assert_eq!(log_is_whole(&**first).await, 2 * ACTIONS);
}
