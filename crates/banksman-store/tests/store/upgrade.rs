//! PostgreSQL from every schema that there ever was to the newest, with what was on its way.

use banksman_core::{Decision, Status};
use banksman_store::conformance::Database;
use banksman_store::postgres::PostgresStore;
use banksman_store::{Store as _, StoreError};

use crate::script::{deciding, id, log_is_whole, node, opening, proposed, until_ok};

/// Everything that a database of ours is made of, one thing a line.
const MADE_OF: &str = "\
    WITH ours AS (SELECT oid FROM pg_namespace WHERE nspname = 'public'), parts (part) AS (
        SELECT format('%s.%s %s %s %s', table_name, column_name, coalesce(domain_name, data_type), is_nullable, column_default)
            FROM information_schema.columns WHERE table_schema = 'public'
        UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
        UNION ALL SELECT format('%s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid))
            FROM pg_constraint WHERE connamespace IN (SELECT oid FROM ours)
        UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace IN (SELECT oid FROM ours)
        UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal)
    SELECT string_agg(part, E'\\n' ORDER BY part) FROM parts";

/// Moves what is in the newest schema, which was made in a corner of this database, to where an older one has a place for it.
const AS_OF_OLD: &str = "\
    DO $$ DECLARE old record; BEGIN
        FOR old IN SELECT o.table_name AS name, string_agg(quote_ident(o.column_name), ', ') AS columns
                   FROM information_schema.columns o JOIN information_schema.columns n USING (table_name, column_name)
                   WHERE o.table_schema = 'public' AND n.table_schema = 'corner' AND table_name <> 'schema_version'
                         AND o.data_type <> 'ARRAY'
                   GROUP BY 1
                   HAVING EXISTS (SELECT FROM information_schema.tables t
                                  WHERE t.table_name = o.table_name AND t.table_schema = 'public'
                                        AND t.table_type = 'BASE TABLE')
        LOOP
            EXECUTE format('DELETE FROM public.%I', old.name);
            EXECUTE format('INSERT INTO public.%I (%s) SELECT %s FROM corner.%I',
                           old.name, old.columns, old.columns, old.name);
        END LOOP;
    END $$;
    DROP SCHEMA corner CASCADE";

/// A database of that schema with two actions in it, one pending and one approved.
async fn in_use(schema: usize) -> Database {
    let database = Database::of_schema(schema);
    database.execute("CREATE SCHEMA corner").expect("a corner");
    let corner = format!("{}?options=-csearch_path%3Dcorner", database.url());
    let store = PostgresStore::open(&corner).await.expect("a store in the corner");
    for number in [1, 2] {
        store.commit(opening(proposed(number))).await.expect("a proposal");
    }
    let case = store.case(id(2)).await.expect("a look").expect("an action");
    store.commit(deciding(&case, "ann", Decision::Approve)).await.expect("an approval");
    drop(store);
    database.execute(AS_OF_OLD).expect("rows of old");
    database
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_pending_before_an_upgrade_is_decided_after_it() {
    let fresh = Database::fresh();
    drop(node(&fresh).await);
    let newest = fresh.ask(MADE_OF);
    for schema in 1..Database::SCHEMA {
        let database = in_use(schema).await;
        let store = node(&database).await;
        assert_eq!(database.ask(MADE_OF), newest, "from schema {schema}");
        assert_eq!(store.pending_count().await.expect("a count"), 1, "from schema {schema}");
        let status =
            async |number| store.case(id(number)).await.expect("a look").expect("it is there").status();
        assert_eq!([status(1).await, status(2).await], [Status::Pending, Status::Authorised]);
        let pending = store.case(id(1)).await.expect("a look").expect("it is there");
        store.commit(deciding(&pending, "ann", Decision::Deny)).await.expect("a decision");
        store.commit(opening(proposed(3))).await.expect("a proposal");
        assert_eq!(store.pending_count().await.expect("a count"), 1, "from schema {schema}");
        assert_eq!(log_is_whole(&*store).await, 5, "from schema {schema}");
    }
}

/// The locks by which nodes are known: of this version, and of those before it.
const NODES_HOLD: [&str; 2] = ["0062616e6b736d61", "62616e6b73686572"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_is_not_brought_up_to_date_beneath_nodes_that_run_nor_by_the_way() {
    let old = Database::SCHEMA - 1;
    let database = in_use(old).await;
    let said = |opened: Result<PostgresStore, StoreError>| match opened {
        Ok(_) => panic!("it was opened"),
        Err(error) => error.to_string(),
    };
    let by_the_way = said(PostgresStore::open_beside(&database.url()).await);
    assert!(by_the_way.contains("banksman migrate"), "{by_the_way}");
    for lock in NODES_HOLD {
        let config: tokio_postgres::Config = database.url().parse().expect("an address");
        let (running, connection) = config.connect(tokio_postgres::NoTls).await.expect("a connection");
        let connection = tokio::spawn(connection);
        let taking = format!("SELECT pg_advisory_lock_shared(x'{lock}'::bigint)");
        running.batch_execute(&taking).await.expect("the lock that nodes share");
        let beneath = said(PostgresStore::open(&database.url()).await);
        assert!(beneath.contains("others use this database"), "{lock}: {beneath}");
        assert!(beneath.contains("(processes "), "{lock}: {beneath}");
        assert_eq!(database.ask("SELECT version FROM schema_version"), old.to_string());
        drop(running);
        connection.await.expect("its end").expect("a clean end");
    }
    let store = node(&database).await;
    let _follows = store.follow(0).expect("news");
    // Where there is nothing to do, nobody is in the way, and nothing has to be written.
    drop(PostgresStore::open_beside(&database.url()).await.expect("a look"));
    database.alter("SET default_transaction_read_only = on");
    drop(PostgresStore::open_to_read(&database.url()).await.expect("a look by one who may only read"));
    // An empty one belongs to nobody yet, and there is nothing to read in it.
    let empty = Database::fresh();
    let nothing = said(PostgresStore::open_to_read(&empty.url()).await);
    assert!(nothing.contains("nothing of Banksman's"), "{nothing}");
    drop(PostgresStore::open_beside(&empty.url()).await.expect("a store"));
}

/// Who waits for the lock under which a database is brought up to date.
const WAITING: &str = "\
    SELECT count(*) FROM pg_locks l JOIN pg_database d ON l.database = d.oid
    WHERE d.datname = current_database() AND locktype = 'advisory' AND NOT granted";

/// A newer program that made the tables in the meantime leaves a trace by which it is told from nothing at all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waited_while_another_made_the_tables_sees_them() {
    let database = Database::fresh();
    let config: tokio_postgres::Config = database.url().parse().expect("an address");
    let (another, connection) = config.connect(tokio_postgres::NoTls).await.expect("a connection");
    let connection = tokio::spawn(connection);
    let lock = "SELECT pg_advisory_lock(x'62616e6b736d616e'::bigint)";
    another.batch_execute(lock).await.expect("the lock of migrations");
    let url = database.url();
    let starting = tokio::spawn(async move { PostgresStore::open(&url).await });
    let waits = async || match database.ask(WAITING).as_str() {
        "1" => Ok(()),
        count => Err(StoreError::Failed(format!("{count} wait"))),
    };
    until_ok(waits).await;
    let newer = Database::SCHEMA + 1;
    let make = format!("CREATE TABLE schema_version AS SELECT {newer}::bigint AS version");
    another.batch_execute(&make).await.expect("a table");
    drop(another);
    connection.await.expect("its end").expect("a clean end");
    let opened = starting.await.expect("no panic");
    let said = opened.map(drop).expect_err("it made them once more").to_string();
    assert!(said.contains("written by a newer version"), "{said}");
}
