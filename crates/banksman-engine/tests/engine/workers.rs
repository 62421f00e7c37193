//! The workers: what is in the outbox is told, at least once, and then gone.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use banksman_core::{ActionId, Status};
use banksman_engine::{Engine, EngineError, NoticeSink};
use banksman_store::{NewDelivery, Store, StoredNotice};

use crate::faulty::Fault;
use crate::world::{HOUR, World};

/// Someone who writes down what they are told.
#[derive(Default)]
struct Listener(Mutex<Vec<(ActionId, String, Status)>>);

#[async_trait::async_trait]
impl NoticeSink for Listener {
    async fn plan(&self, engine: &Engine, notices: &[StoredNotice]) -> Result<Vec<NewDelivery>, EngineError> {
        for notice in notices {
            let status = engine.case(notice.action).await?.status();
            self.0.lock().unwrap().push((notice.action, notice.notice.clone(), status));
        }
        Ok(Vec::new())
    }
}

impl Listener {
    fn heard(&self) -> Vec<(ActionId, String, Status)> {
        self.0.lock().unwrap().clone()
    }
}

async fn until_empty(world: &World) {
    for _ in 0..200 {
        if world.store.notices(1).await.unwrap().is_empty() && world.store.is_spent() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("the outbox was not emptied: {:?}", world.notices().await);
}

#[tokio::test]
async fn what_happened_before_and_after_the_start_is_told_once() {
    let world = World::new().await;
    let before = world.held().await;
    let listener = Arc::new(Listener::default());
    let workers = world.engine.start_workers(Arc::clone(&listener) as _);
    until_empty(&world).await;
    let after = world.propose(&world.riley, "mail", "{}").await;
    until_empty(&world).await;
    let expected = [
        (before.id, "held".to_owned(), Status::Pending),
        (after.id, "let_through".to_owned(), Status::Authorised),
    ];
    assert_eq!(listener.heard(), expected);
    workers.iter().for_each(tokio::task::JoinHandle::abort);
    world.close().await;
}

#[tokio::test]
async fn what_could_not_be_settled_is_told_again_rather_than_lost() {
    for fault in Fault::PAIR {
        let world = World::new().await;
        let case = world.held().await;
        let listener = Arc::new(Listener::default());
        world.store.next([Some(fault)]);
        let workers = world.engine.start_workers(Arc::clone(&listener) as _);
        until_empty(&world).await;
        let once = (case.id, "held".to_owned(), Status::Pending);
        let times = if fault == Fault::Stored { 1 } else { 2 };
        assert_eq!(listener.heard(), vec![once; times], "{fault:?}");
        workers.iter().for_each(tokio::task::JoinHandle::abort);
        world.close().await;
    }
}

#[tokio::test]
async fn what_is_overdue_at_the_start_is_moved_by_the_timekeeper() {
    let world = World::new().await;
    let case = world.held().await;
    world.clock.pass(HOUR);
    let workers = world.engine.start_workers(Arc::new(Listener::default()));
    let expired = world.engine.wait(&world.riley, case.id, Duration::from_secs(10)).await.unwrap();
    assert_eq!(expired.status(), Status::Expired);
    workers.iter().for_each(tokio::task::JoinHandle::abort);
    world.close().await;
}
