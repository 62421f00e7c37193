//! What a notification tells is taken for news as it is, and the log is read only where something was missed.

use std::time::{Duration, Instant};

use banksman_store::conformance::Database;
use banksman_store::{News, NewsOf, Store as _};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::script::{PATIENCE, id, node, opening, proposed};

async fn next(news: &mut mpsc::Receiver<News>) -> News {
    tokio::time::timeout(PATIENCE, news.recv()).await.expect("news in time").expect("news")
}

fn about(number: u64) -> NewsOf {
    NewsOf::Action { id: id(number), wakes_at: None, makes_room_for: None }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn only_what_follows_on_what_is_known_is_believed() {
    let database = Database::fresh();
    let (writer, follower) = (node(&database).await, node(&database).await);
    writer.commit(opening(proposed(1))).await.expect("a proposal");
    let mut news = follower.follow(0).expect("news");
    assert_eq!(next(&mut news).await.last_seq, 1);
    // Both have to know that they are not alone, and the follower has to have looked once.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let notify = |before: u64, number: u64| {
        let said = format!("SELECT pg_notify('banksman', '{before} [[\"{}\",null,null]]')", id(number));
        database.execute(&said).expect("a notification");
    };
    notify(1, 50);
    assert_eq!(next(&mut news).await, News { last_seq: 2, of: vec![about(50)] });
    // One is missing before this: there is nothing more in the log, so it comes to nothing.
    notify(3, 60);
    let nothing = tokio::time::timeout(Duration::from_millis(300), news.recv()).await;
    assert!(nothing.is_err(), "{nothing:?}");
    notify(2, 51);
    assert_eq!(next(&mut news).await, News { last_seq: 3, of: vec![about(51)] });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_node_that_writes_nothing_hears_again_after_its_connections_were_lost() {
    let database = Database::fresh();
    let follower = node(&database).await;
    let mut news = follower.follow(0).expect("news");
    let lose = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid()";
    for number in 1.. {
        // What is said here is not in the log: only who listens can know of it.
        let before = number - 1;
        let said = format!("SELECT pg_notify('banksman', '{before} [[\"{}\",null,null]]')", id(number));
        let begin = Instant::now();
        while {
            database.execute(&said).expect("a notification");
            tokio::time::timeout(Duration::from_millis(100), news.recv()).await.is_err()
        } {
            assert!(begin.elapsed() < PATIENCE, "it does not hear any more");
        }
        if number > 2 {
            break;
        }
        database.execute(lose).expect("connections are lost");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn however_much_is_committed_at_once_everything_is_heard_of_once() {
    const MANY: u64 = 600;
    let database = Database::fresh();
    let (writer, follower) = (node(&database).await, node(&database).await);
    let mut news = follower.follow(0).expect("news");
    // Groups of up to 256, of which there is more to tell than a notification can hold.
    let mut rush = JoinSet::new();
    for number in 1..=MANY {
        let writer = std::sync::Arc::clone(&writer);
        rush.spawn(async move { writer.commit(opening(proposed(number))).await.expect("a proposal") });
    }
    rush.join_all().await;
    let mut of = Vec::new();
    let mut last_seq = 0;
    while last_seq < MANY {
        let more = next(&mut news).await;
        assert!(more.last_seq > last_seq, "in order");
        last_seq = more.last_seq;
        of.extend(more.of.into_iter().map(|of| match of {
            NewsOf::Action { id, wakes_at, .. } => {
                assert!(wakes_at.is_some(), "a proposal expires");
                id
            }
            NewsOf::House => panic!("nobody changed the house rules"),
        }));
    }
    assert_eq!(of.len() as u64, MANY);
    of.sort();
    of.dedup();
    assert_eq!(of.len() as u64, MANY, "each of them once");
}
