//! Another process writes the same file, as `banksman token new` does beside the server.

use std::sync::Arc;

use banksman_core::audit::{Event, Fact};
use banksman_core::{Actor, Digest, PrincipalKind, Tier, TokenId};
use tokio::task::JoinSet;

use super::{File, opening, proposed, second};
use crate::sqlite::examine;
use crate::{Commit, CommitError, Conflict, ControlChange, Credential, EventQuery, Store};

/// What `banksman token new` commits.
pub(super) fn token(number: u64) -> Commit {
    let id = TokenId::from_parts(second(0).as_millis() + number, 1);
    let credential = Credential {
        id,
        secret_hash: Digest::of(&number.to_be_bytes()),
        kind: PrincipalKind::Agent,
        name: format!("agent {number}"),
        owner: None,
        roles: Vec::new(),
        created_at: second(0),
        expires_at: None,
        revoked_at: None,
        session: None,
    };
    let fact = Fact::TokenIssued {
        token: id,
        kind: PrincipalKind::Agent,
        name: credential.name.clone(),
        roles: Vec::new(),
    };
    Commit {
        control: vec![ControlChange::AddCredential(credential)],
        events: vec![Event::general(second(0), Actor::Operator, fact)],
        ..Commit::default()
    }
}

#[tokio::test]
async fn a_neighbours_events_and_epochs_are_counted_on() {
    let file = File::new();
    let server = file.store();
    server.commit(opening(proposed(1, Tier::Approve))).await.unwrap();
    let epoch = server.control().await.unwrap().epoch;

    let neighbour = file.store();
    assert_eq!(neighbour.commit(token(1)).await.unwrap().last_seq, 2);
    drop(neighbour);

    // The server has not been told, and notices all the same.
    let stale = Commit { control_epoch: Some(epoch), ..opening(proposed(2, Tier::Approve)) };
    let answer = server.commit(stale).await;
    assert!(matches!(answer, Err(CommitError::Conflict(Conflict::ControlMoved))), "{answer:?}");
    let control = server.control().await.unwrap();
    assert!(control.epoch > epoch);
    let current = Commit { control_epoch: Some(control.epoch), ..opening(proposed(2, Tier::Approve)) };
    assert_eq!(server.commit(current).await.unwrap().last_seq, 3);
    assert!(server.credential(Digest::of(&1u64.to_be_bytes())).await.unwrap().is_some());
    // The other way round: the server's own change counts on from the neighbour's.
    assert_eq!(server.commit(token(2)).await.unwrap().last_seq, 4);
    assert!(server.control().await.unwrap().epoch > control.epoch);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_writers_at_once_leave_one_log_without_gaps() {
    const EACH: u64 = 60;
    let file = File::new();
    let server = Arc::new(file.store());
    let neighbour = Arc::new(file.store());
    let epoch = server.control().await.unwrap().epoch;
    let mut tasks = JoinSet::new();
    for number in 1..=EACH {
        let (server, neighbour) = (Arc::clone(&server), Arc::clone(&neighbour));
        tasks.spawn(async move { server.commit(opening(proposed(number, Tier::Approve))).await.unwrap() });
        tasks.spawn(async move { neighbour.commit(token(number)).await.unwrap() });
    }
    tasks.join_all().await;
    let events = server.events(EventQuery::following(0, 1_000)).await.unwrap();
    assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), (1..=2 * EACH).collect::<Vec<_>>());
    assert!(neighbour.control().await.unwrap().epoch >= epoch + EACH);
    assert_eq!(server.credentials().await.unwrap().len(), 60);
    assert_eq!(server.pending_count().await.unwrap(), EACH);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_database_can_be_examined_while_it_is_written() {
    let file = File::new();
    let store = Arc::new(file.store());
    store.commit(token(1)).await.unwrap();
    let writer = Arc::clone(&store);
    let writing = tokio::spawn(async move {
        for number in 1..=50 {
            writer.commit(opening(proposed(number, Tier::Approve))).await.unwrap();
        }
    });
    let found = examine(&file.path()).unwrap();
    assert!(found.events >= 1 && found.actions <= 50);
    writing.await.unwrap();
    let found = examine(&file.path()).unwrap();
    assert_eq!((found.actions, found.events), (50, 51));
}
