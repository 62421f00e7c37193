//! Rows that the lifecycle could not have made cannot be stored either, whatever the code above believes.

use banksman_core::audit::{Event, Fact};
use banksman_core::{Actor, Case, Claim, ClaimRequest, Command, Moment, State, Tier, Transition, step};
use rusqlite::Connection;

use super::{File, advancing, approved, id, number, opening, proposed, second};
use crate::sqlite::configure;
use crate::{CommitError, Store};

/// A database with an action in each kind of state: 1 pending, 2 authorised by people, 3 executing, 4 blocked,
/// 5 authorised by policy.
async fn house() -> (File, Connection) {
    let file = File::new();
    let store = file.store();
    for (number, tier) in
        [(1, Tier::Approve), (2, Tier::Approve), (3, Tier::Approve), (4, Tier::Block), (5, Tier::Auto)]
    {
        store.commit(opening(proposed(number, tier))).await.unwrap();
    }
    for number in [2, 3] {
        let case = store.case(id(number)).await.unwrap().unwrap();
        store.commit(advancing(approved(&case))).await.unwrap();
    }
    let case = store.case(id(3)).await.unwrap().unwrap();
    let request = ClaimRequest { digest: case.submission.digest, preconditions: None };
    let claimed = step(&case, Command::Claim(request), &Moment::at(second(2))).unwrap();
    store.commit(advancing(claimed)).await.unwrap();
    drop(store);
    let connection = file.connect();
    configure(&connection).unwrap();
    (file, connection)
}

fn refused(connection: &Connection, sql: &str) -> String {
    match connection.execute(sql, []) {
        Ok(rows) => panic!("{rows} rows were written by {sql}"),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn no_action_is_stored_in_a_state_that_it_cannot_be_in() {
    let (_file, connection) = house().await;
    for (what, change) in [
        ("held without a deadline", "wake_at = NULL WHERE status = 'pending'"),
        ("authorised without an end", "wake_at = NULL WHERE status = 'authorised'"),
        ("running without a lease", "wake_at = NULL WHERE status = 'executing'"),
        ("over, and yet to be woken", "status = 'denied', joinable = 0 WHERE status = 'pending'"),
        ("claimed before it was authorised", "claimed_at = 1 WHERE status = 'pending'"),
        ("authorised and claimed", "claimed_at = 1 WHERE status = 'authorised'"),
        ("running unclaimed", "status = 'executing', joinable = 0 WHERE status = 'authorised'"),
        ("blocked, yet authorised", "status = 'authorised', wake_at = 1 WHERE tier = 'block'"),
        ("blocked, yet held", "status = 'pending', wake_at = 1 WHERE tier = 'block'"),
        ("blocked, yet run", "status = 'succeeded', claimed_at = 1 WHERE tier = 'block'"),
        ("authorised, then judged as blocked", "tier = 'block' WHERE status = 'authorised'"),
        ("held though nobody is asked", "tier = 'auto' WHERE status = 'pending'"),
        ("held though people are only told", "tier = 'notify' WHERE status = 'pending'"),
        ("joined while it runs", "joinable = 1 WHERE status = 'executing'"),
        ("joined though it is blocked", "joinable = 1 WHERE status = 'blocked'"),
        ("half joinable", "joinable = 2 WHERE status = 'pending'"),
        ("in a state that nobody knows", "status = 'approved' WHERE status = 'pending'"),
        ("at a tier that nobody knows", "tier = 'maybe' WHERE status = 'pending'"),
        ("at no version", "version = 0"),
        ("edited more often than it moved", "version = revision + 1"),
        ("without a digest", "digest = x'00'"),
        ("in half a batch", "batch = x'0011'"),
        ("created some day", "created_at = 'some day'"),
        ("nobody's", "agent = NULL"),
    ] {
        let error = refused(&connection, &format!("UPDATE actions SET {change}"));
        assert!(error.contains("constraint") || error.contains("cannot store"), "{what}: {error}");
    }
    refused(
        &connection,
        "INSERT INTO actions SELECT x'01', agent, owner, tool, tier, status, digest, version, revision, batch,
         created_at, wake_at, 0, claimed_at, reviews, state, priority FROM actions WHERE status = 'pending'",
    );
}

#[tokio::test]
async fn a_claim_is_neither_taken_twice_nor_given_back() {
    let (file, connection) = house().await;
    let store = file.store();
    let running = store.case(id(3)).await.unwrap().unwrap();
    let State::Executing { authority, claim } = running.state.clone() else { panic!("{running:?}") };
    // What a lifecycle with a bug might ask for, at the right revision.
    let again = Claim { at: second(3), ..claim.clone() };
    let at = second(3);
    let lapses_at = second(900);
    for state in [
        State::Executing { authority: authority.clone(), claim: again.clone() },
        State::Succeeded { authority: authority.clone(), claim: again, at, result: None },
        State::Authorised { authority: authority.clone(), at, lapses_at },
        State::Lapsed { at },
    ] {
        let forged = Case { revision: running.revision + 1, state, ..running.clone() };
        let event = Event::about(&forged, at, Actor::System, Fact::Lapsed);
        let answer = store
            .commit(advancing(Transition { case: forged, event: Box::new(event), effects: Vec::new() }))
            .await;
        assert!(matches!(answer, Err(CommitError::Unavailable(_))), "{answer:?}");
        assert_eq!(store.case(running.id).await.unwrap().as_ref(), Some(&running));
    }
    assert_eq!(number(&connection, "SELECT count(*) FROM audit WHERE type = 'lapsed'"), 0);
    let ended = State::Unknown { authority, claim, at };
    let ended = Case { revision: running.revision + 1, state: ended, ..running };
    let event = Event::about(&ended, at, Actor::System, Fact::LeaseEnded);
    store
        .commit(advancing(Transition { case: ended, event: Box::new(event), effects: Vec::new() }))
        .await
        .unwrap();
}

#[tokio::test]
async fn actions_are_never_removed() {
    let (_file, connection) = house().await;
    let before = number(&connection, "SELECT count(*) FROM actions");
    assert!(refused(&connection, "DELETE FROM actions").contains("never removed"));
    assert!(refused(&connection, "DELETE FROM actions WHERE status = 'blocked'").contains("never removed"));
    // Replacing removes as well, and so might let a claimed action be claimed again.
    let replace = "INSERT OR REPLACE INTO actions SELECT id, agent, owner, tool, tier, 'authorised', digest,
                   version, revision, batch, created_at, wake_at, 0, NULL, reviews, state, priority, risk, deadline
                   FROM actions WHERE status = 'executing'";
    assert!(refused(&connection, replace).contains("never removed"));
    assert_eq!(number(&connection, "SELECT count(*) FROM actions"), before);
}

#[tokio::test]
async fn the_log_only_grows() {
    let (_file, connection) = house().await;
    let sum = "SELECT sum(seq * length(body)) FROM audit";
    let before = number(&connection, sum);
    for sql in [
        "UPDATE audit SET body = '{}'",
        "UPDATE audit SET seq = seq + 100",
        "UPDATE audit SET agent = agent",
        "DELETE FROM audit",
        "DELETE FROM audit WHERE seq = (SELECT max(seq) FROM audit)",
        "INSERT OR REPLACE INTO audit (seq, at, type, resolution, body) VALUES (1, 0, 'forged', 0, '{}')",
    ] {
        assert!(refused(&connection, sql).contains("append-only"), "{sql}");
    }
    refused(
        &connection,
        "INSERT INTO audit (seq, at, type, resolution, body) VALUES (1, 0, 'forged', 0, '{}')",
    );
    assert_eq!(number(&connection, sum), before);
}

#[tokio::test]
async fn one_agent_asks_the_same_question_once() {
    let (_file, connection) = house().await;
    let twin = "INSERT INTO actions SELECT randomblob(16), agent, owner, tool, tier, status, digest, version,
                revision, batch, created_at, wake_at, joinable, claimed_at, reviews, state, priority, risk, deadline
                FROM actions WHERE status = 'pending'";
    assert!(refused(&connection, twin).contains("UNIQUE"));
}

#[tokio::test]
async fn credentials_and_house_rules_make_sense() {
    let (_file, connection) = house().await;
    let credential = |columns: [&str; 4]| {
        let [hash, kind, name, owner] = columns;
        format!(
            "INSERT INTO credentials (id, secret_hash, kind, name, owner, roles, created_at)
             VALUES (randomblob(16), {hash}, {kind}, {name}, {owner}, '[]', 0)"
        )
    };
    let good = credential(["zeroblob(32)", "'agent'", "'riley'", "'olga'"]);
    assert_eq!(connection.execute(&good, []).unwrap(), 1);
    for (what, sql) in [
        ("a secret that another has", good),
        ("a kind that nobody knows", credential(["randomblob(32)", "'root'", "'x'", "NULL"])),
        ("nobody's", credential(["randomblob(32)", "'agent'", "''", "NULL"])),
        ("a person who is owned", credential(["randomblob(32)", "'reviewer'", "'ann'", "'olga'"])),
        ("half a hash", credential(["randomblob(16)", "'agent'", "'x'", "NULL"])),
        ("a second set of rules", "INSERT INTO control (one, epoch, mode) VALUES (2, 1, 'lab')".into()),
        ("a mode that nobody knows", "UPDATE control SET mode = 'yolo'".into()),
        ("no epoch", "UPDATE control SET epoch = NULL".into()),
        ("a freeze without an id", "INSERT INTO freezes (id, body) VALUES (x'00', '{}')".into()),
        ("a batch of halves", "INSERT INTO batches VALUES (randomblob(16), 'riley', 0, x'0011')".into()),
    ] {
        let error = refused(&connection, &sql);
        assert!(error.contains("constraint"), "{what}: {error}");
    }
}
