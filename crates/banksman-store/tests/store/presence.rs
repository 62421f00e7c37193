//! A database that is not what it was: changed, emptied, rolled back or taken away beneath a node that runs.

use std::sync::Arc;
use std::time::Duration;

use banksman_core::Timestamp;
use banksman_store::conformance::Database;
use banksman_store::postgres::{Lineage, PostgresStore};
use banksman_store::{Store, StoreError};

use crate::script::{log_is_whole, node, now, opening, proposed, until_ok};

/// Takes back the last events of the log, as a restored backup does.
const FORGET: &str = "\
    SET session_replication_role = replica;
    DELETE FROM audit WHERE seq > 1; DELETE FROM outbox; UPDATE head SET last_seq = 1, pending = 1;
    DELETE FROM actions WHERE id NOT IN (SELECT action FROM audit WHERE action IS NOT NULL);
    RESET session_replication_role";

/// What a store says when it is asked over connections that are made anew.
async fn asked_again(store: &PostgresStore, database: &Database) -> Result<u64, StoreError> {
    database.cut_connections();
    // The first answer may be that the connection is gone.
    let _ = store.pending_count().await;
    store.pending_count().await
}

async fn is_over(store: &PostgresStore) -> bool {
    tokio::time::timeout(Duration::from_millis(50), store.over()).await.is_ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_has_forgotten_what_was_written_is_noticed_and_what_was_lost_is_told_once() {
    let database = Database::fresh();
    let (lineage, url) = (Lineage::default(), database.url());
    let open = || PostgresStore::open_as_node(&url, "a-key", &lineage);
    let store = open().await.expect("a store");
    for number in 1..=3 {
        store.commit(opening(proposed(number))).await.expect("a proposal");
    }
    assert_eq!(asked_again(&store, &database).await.expect("nothing has changed"), 3);
    assert!(!is_over(&store).await);
    database.execute(FORGET).expect("an older copy");
    let said = asked_again(&store, &database).await.expect_err("it is another").to_string();
    assert!(said.contains("event 3") && said.contains("a backup was restored"), "{said}");
    assert!(is_over(&store).await);
    assert!(store.commit(opening(proposed(4))).await.is_err());

    let store = open().await.expect("a store over what there is");
    assert_eq!(lineage.lost(), Some(3));
    store.commit(opening(proposed(5))).await.expect("a proposal");
    // Not forgotten before somebody has heeded it, also by a start that failed half-way.
    drop(store);
    let store = open().await.expect("a store");
    assert_eq!(lineage.lost(), Some(3));
    lineage.heeded();
    assert_eq!(lineage.lost(), None);
    assert_eq!(asked_again(&store, &database).await.expect("it is the same"), 2);
    assert_eq!(log_is_whole(&store).await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_schema_that_was_changed_beneath_a_node_ends_it_and_an_empty_database_is_not_taken_for_its_own() {
    let database = Database::fresh();
    let (lineage, url) = (Lineage::default(), database.url());
    let open = || PostgresStore::open_as_node(&url, "a-key", &lineage);
    let store = open().await.expect("a store");
    store.commit(opening(proposed(1))).await.expect("a proposal");
    database.execute("UPDATE schema_version SET version = 4711").expect("a newer version");
    let said = asked_again(&store, &database).await.expect_err("it cannot read that").to_string();
    assert!(said.contains("schema is 4711") && said.contains("changed beneath"), "{said}");
    assert!(is_over(&store).await);
    let said = open().await.err().expect("a refusal").to_string();
    assert!(said.contains("newer version"), "{said}");
    database.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public").expect("an empty database");
    let said = open().await.err().expect("a refusal").to_string();
    assert!(said.contains("nothing of Banksman's"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_gets_in_while_a_database_is_brought_up_to_date_and_everybody_does_afterwards() {
    let database = Database::fresh();
    let store = node(&database).await;
    database.cut_connections();
    let config: tokio_postgres::Config = database.url().parse().expect("an address");
    let (migrating, connection) = config.connect(tokio_postgres::NoTls).await.expect("a connection");
    tokio::spawn(connection);
    let alone = "SELECT pg_advisory_lock(x'62616e6b73686572'::bigint)";
    migrating.batch_execute(alone).await.expect("the lock for itself");
    let _ = store.pending_count().await;
    let said = store.pending_count().await.expect_err("it has to wait").to_string();
    assert!(said.contains("being brought up to date"), "{said}");
    drop(migrating);
    until_ok(|| store.ready()).await;
    assert!(!is_over(&store).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_may_not_ask_where_a_database_comes_from_works_all_the_same() {
    let database = Database::fresh();
    database
        .execute(
            "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC;
             DO $$ BEGIN CREATE ROLE limited LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
             GRANT ALL ON SCHEMA public TO limited",
        )
        .expect("somebody with few rights");
    let url = database.url().replace("banksman@", "limited@");
    let store = PostgresStore::open(&url).await.expect("a store");
    store.commit(opening(proposed(1))).await.expect("a proposal");
    assert_eq!(store.pending_count().await.expect("a count"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_cannot_be_taken_back_is_begun_by_a_clock_that_is_off() {
    let database = Database::fresh();
    drop(node(&database).await);
    for seconds in [3_600, -3_600] {
        let clock = move || Timestamp::from_micros(now().as_micros() + seconds * 1_000_000);
        let store = Arc::new(PostgresStore::open_with_clock(&database.url(), clock).await.expect("a store"));
        let lease = Duration::from_secs(60);
        let answers = [
            store.check_clock().await,
            store.take_jobs(now(), 10, lease).await.map(drop),
            store.take_deliveries("slack", now(), 10, lease).await.map(drop),
        ];
        for answer in answers {
            let said = answer.expect_err("the clock is off").to_string();
            assert!(said.contains("3600 s") || said.contains("3599 s"), "{said}");
        }
    }
}
