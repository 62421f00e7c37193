//! The schema: one for all, however a database came to it.

use rusqlite::Connection;

use super::{File, advancing, approved, id, opening, proposed};
use crate::sqlite::SqliteStore;
use crate::sqlite::schema::MIGRATIONS;
use crate::{Store, StoreError};

/// Everything that a database is made of, by name.
fn dump(connection: &Connection) -> String {
    let mut statement =
        connection.prepare("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name").unwrap();
    let texts = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
    texts.map(Result::unwrap).collect::<Vec<_>>().join(";\n\n")
}

fn schema_number(connection: &Connection) -> usize {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
}

#[test]
fn the_schema_of_a_new_database() {
    let file = File::new();
    drop(file.store());
    insta::assert_snapshot!(dump(&file.connect()));
}

#[test]
fn a_fresh_schema_equals_all_migrations_one_by_one() {
    let fresh = File::new();
    drop(fresh.store());
    let expected = dump(&fresh.connect());
    assert_eq!(schema_number(&fresh.connect()), MIGRATIONS.len());

    // From every version that was ever released, as a database of that version would be found.
    for found in 0..=MIGRATIONS.len() {
        let file = File::new();
        let old = file.connect();
        for migration in &MIGRATIONS[..found] {
            old.execute_batch(migration).unwrap();
        }
        old.pragma_update(None, "user_version", found).unwrap();
        drop(old);
        drop(file.store());
        assert_eq!(dump(&file.connect()), expected, "from schema {found}");
        assert_eq!(schema_number(&file.connect()), MIGRATIONS.len());
    }
}

/// The columns of a table, and the tables, that a database has.
fn columns(connection: &Connection, of: &str) -> Vec<String> {
    let mut statement = connection.prepare("SELECT name FROM pragma_table_info(?1)").unwrap();
    statement.query_map([of], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

fn tables(connection: &Connection) -> Vec<String> {
    let mut statement = connection
        .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        .unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[tokio::test]
async fn what_was_pending_before_an_upgrade_is_decided_after_it() {
    let new = File::new();
    let store = new.store();
    store.commit(opening(proposed(1, banksman_core::Tier::Approve))).await.unwrap();
    drop(store);
    for found in 1..MIGRATIONS.len() {
        // A database of an earlier version, with what that version would have written.
        let file = File::new();
        let old = file.connect();
        for migration in &MIGRATIONS[..found] {
            old.execute_batch(migration).unwrap();
        }
        old.pragma_update(None, "user_version", found).unwrap();
        old.execute("ATTACH ?1 AS new", [new.path().to_str().unwrap()]).unwrap();
        for table in tables(&old) {
            let known = columns(&old, &table).join(", ");
            old.execute(&format!("REPLACE INTO {table} ({known}) SELECT {known} FROM new.{table}"), [])
                .unwrap();
        }
        drop(old);
        let store = file.store();
        let case = store.case(id(1)).await.unwrap().expect("it is still there");
        assert_eq!(store.pending_count().await.unwrap(), 1, "from schema {found}");
        store.commit(advancing(approved(&case))).await.unwrap();
        assert_eq!(store.pending_count().await.unwrap(), 0, "from schema {found}");
    }
}

#[tokio::test]
async fn opening_again_changes_nothing() {
    let file = File::new();
    let store = file.store();
    store.commit(opening(proposed(1, banksman_core::Tier::Approve))).await.unwrap();
    drop(store);
    let before = dump(&file.connect());
    let store = file.store();
    assert!(store.case(id(1)).await.unwrap().is_some());
    drop(store);
    assert_eq!(dump(&file.connect()), before);
}

#[test]
fn a_database_of_a_newer_program_is_refused_and_left_alone() {
    let file = File::new();
    drop(file.store());
    let newer = MIGRATIONS.len() + 1;
    file.connect().pragma_update(None, "user_version", newer).unwrap();
    let before = dump(&file.connect());
    let Err(StoreError::Failed(message)) = SqliteStore::open(&file.path()) else {
        panic!("a database of a newer program was opened");
    };
    assert!(message.contains(&format!("the database has schema {newer}")), "{message}");
    assert!(message.contains("newer version"), "{message}");
    assert_eq!(dump(&file.connect()), before);
    assert_eq!(schema_number(&file.connect()), newer);
}

#[test]
fn what_is_no_database_is_refused_and_left_alone() {
    let file = File::new();
    let text = "this is a letter to my bank, and not a database at all\n".repeat(100);
    std::fs::write(file.path(), &text).unwrap();
    assert!(SqliteStore::open(&file.path()).is_err());
    assert_eq!(std::fs::read_to_string(file.path()).unwrap(), text);
}

#[test]
fn two_that_open_a_new_database_at_once_both_find_it_whole() {
    let file = File::new();
    let path = file.path();
    std::thread::scope(|scope| {
        let openers: Vec<_> = (0..4).map(|_| scope.spawn(|| SqliteStore::open(&path).map(drop))).collect();
        for opener in openers {
            opener.join().unwrap().unwrap();
        }
    });
    assert_eq!(schema_number(&file.connect()), MIGRATIONS.len());
}

#[tokio::test]
async fn acknowledged_means_on_the_disk() {
    let file = File::new();
    let store = file.store();
    store.commit(opening(proposed(1, banksman_core::Tier::Approve))).await.unwrap();
    // What a machine that lost its power right now would find: the files, copied as they are.
    let after = File::new();
    for suffix in ["", "-wal", "-redo"] {
        let name = |file: &File| format!("{}{suffix}", file.path().display());
        std::fs::copy(name(&file), name(&after)).unwrap();
    }
    assert!(after.store().case(id(1)).await.unwrap().is_some());
    let connection = file.connect();
    assert_eq!(
        connection.query_row("PRAGMA journal_mode", [], |row| row.get::<_, String>(0)).unwrap(),
        "wal"
    );
}
