//! A node that nobody else listens to notifies nobody, and begins to when another one comes.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use banksman_store::Store as _;
use banksman_store::conformance::Database;
use banksman_store::postgres::PostgresStore;
use tokio_postgres::{AsyncMessage, NoTls};

use crate::script::{PATIENCE, node, opening, proposed};

/// Counts notifications, without being a node.
async fn eavesdrop(database: &Database) -> (tokio_postgres::Client, Arc<AtomicU64>) {
    let config: tokio_postgres::Config = database.url().parse().expect("an address");
    let (client, mut connection) = config.connect(NoTls).await.expect("a connection");
    let heard = Arc::<AtomicU64>::default();
    let counted = Arc::clone(&heard);
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            counted.fetch_add(u64::from(matches!(message, AsyncMessage::Notification(_))), Ordering::Relaxed);
        }
    });
    client.batch_execute("LISTEN banksman").await.expect("to listen");
    (client, heard)
}

/// Proposes until that is notified of, or no longer is; gives the number of the next proposal.
async fn propose_until(store: &PostgresStore, heard: &AtomicU64, notified: bool, mut next: u64) -> u64 {
    let begin = Instant::now();
    loop {
        let before = heard.load(Ordering::Relaxed);
        store.commit(opening(proposed(next))).await.expect("a proposal");
        next += 1;
        // Ten times as long as it takes to be heard, on a machine that has other things to do.
        tokio::time::sleep(Duration::from_millis(200)).await;
        if (heard.load(Ordering::Relaxed) > before) == notified {
            return next;
        }
        assert!(begin.elapsed() < PATIENCE, "notified of, wrongly: {}", !notified);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whoever_is_alone_tells_nobody_and_whoever_comes_hears_everything() {
    let database = Database::fresh();
    let (_listening, heard) = eavesdrop(&database).await;
    let first = node(&database).await;
    let _news = first.follow(0).expect("news");
    let next = propose_until(&first, &heard, false, 1).await;
    // Whatever the first node commits before it has noticed, the second one finds by looking.
    let second = node(&database).await;
    let mut news = second.follow(0).expect("news");
    let next = propose_until(&first, &heard, true, next).await;
    let mut last_seq = 0;
    while last_seq < next - 1 {
        let more = tokio::time::timeout(PATIENCE, news.recv()).await.expect("news in time").expect("news");
        assert_eq!(more.last_seq, last_seq + u64::try_from(more.of.len()).expect("few"), "some were missed");
        last_seq = more.last_seq;
    }
    // Alone again, it falls silent again.
    drop((news, second));
    propose_until(&first, &heard, false, next).await;
}
