//! Where a property is tried: a store, what is in it, and the checks that hold for every store at every moment.

use std::collections::HashMap;
use std::sync::Arc;

use banksman_core::audit::Event;
use banksman_core::{Case, Timestamp};

use crate::{
    CaseQuery, Control, Credential, Delivery, DeliveryQuery, EventQuery, Job, JobQuery, Order, Store,
    StoredEvent, StoredNotice,
};

use super::Harness;

/// More than any property stores.
const ALL: usize = 1_000_000;

/// A store on trial.
pub(super) struct Bench<H> {
    harness: H,
    store: Option<Arc<dyn Store>>,
}

impl<H: Harness> Bench<H> {
    /// An empty store.
    pub(super) async fn set_up() -> Self {
        let harness = H::fresh().await;
        let store = harness.open().await;
        Self { harness, store: Some(store) }
    }

    pub(super) fn store(&self) -> &Arc<dyn Store> {
        self.store.as_ref().unwrap()
    }

    /// Closes the store and opens what it left behind.
    pub(super) async fn reopen(&mut self) {
        let store = self.store.take().unwrap();
        // Otherwise it would not be closed, and reopening would prove nothing.
        assert_eq!(Arc::strong_count(&store), 1, "someone still uses the store");
        drop(store);
        self.store = Some(self.harness.open().await);
    }

    /// The end of every property: state and audit agree, the log has no gaps, and all of it survives.
    pub(super) async fn finish(mut self) {
        let before = Snapshot::of(self.store()).await;
        before.check();
        self.reopen().await;
        assert_eq!(Snapshot::of(self.store()).await, before, "what was stored did not survive");
    }
}

/// Everything that can be read from a store.
#[derive(Debug, PartialEq)]
pub(super) struct Snapshot {
    pub(super) cases: Vec<Case>,
    pub(super) events: Vec<StoredEvent>,
    pub(super) notices: Vec<StoredNotice>,
    deliveries: Vec<Delivery>,
    jobs: Vec<Job>,
    pub(super) control: Control,
    pub(super) credentials: Vec<Credential>,
    last_seq: u64,
    pending: u64,
    next_due: Option<Timestamp>,
}

impl Snapshot {
    pub(super) async fn of(store: &Arc<dyn Store>) -> Self {
        let oldest_first = CaseQuery { order: Order::Ascending, ..CaseQuery::newest(ALL) };
        Self {
            cases: store.cases(oldest_first).await.unwrap(),
            events: store.events(EventQuery::following(0, ALL)).await.unwrap(),
            notices: store.notices(ALL).await.unwrap(),
            deliveries: store
                .deliveries(DeliveryQuery { limit: ALL, ..DeliveryQuery::default() })
                .await
                .unwrap(),
            jobs: store.jobs(JobQuery { limit: ALL, ..JobQuery::default() }).await.unwrap(),
            control: store.control().await.unwrap(),
            credentials: store.credentials().await.unwrap(),
            last_seq: store.last_seq().await.unwrap(),
            pending: store.pending_count().await.unwrap(),
            next_due: store.next_due().await.unwrap(),
        }
    }

    fn check(&self) {
        let places: Vec<u64> = self.events.iter().map(|event| event.seq).collect();
        let expected: Vec<u64> = (1..=self.last_seq).collect();
        assert_eq!(places, expected, "the log has a gap, or its end is elsewhere");

        let mut recorded: HashMap<_, u64> = HashMap::new();
        for stored in &self.events {
            let event = Event::from_bytes(stored.body.as_bytes()).unwrap();
            if let Some(action) = event.action {
                *recorded.entry(action.id).or_default() += 1;
            }
        }
        for case in &self.cases {
            let events = recorded.remove(&case.id).unwrap_or(0);
            assert_eq!(events, case.revision, "{} moved without a record, or the other way round", case.id);
        }
        assert!(recorded.is_empty(), "events about actions that are not there: {recorded:?}");
    }
}
