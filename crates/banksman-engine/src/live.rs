//! Who waits for what: clients for one action, streams for the next event.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use banksman_core::ActionId;
use tokio::sync::{Notify, watch};

/// Wakes those who wait, after a commit.
pub(crate) struct Live {
    /// The place of the newest audit event that is known to be visible.
    newest: watch::Sender<u64>,
    waiters: Mutex<HashMap<ActionId, Arc<Notify>>>,
}

impl Live {
    pub(crate) fn new(newest: u64) -> Self {
        Self { newest: watch::Sender::new(newest), waiters: Mutex::new(HashMap::new()) }
    }

    pub(crate) fn newest(&self) -> u64 {
        *self.newest.borrow()
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }

    /// Lets streams know that the log has grown.
    pub(crate) fn advance(&self, seq: u64) {
        self.newest.send_if_modified(|newest| {
            let grew = seq > *newest;
            if grew {
                *newest = seq;
            }
            grew
        });
    }

    /// Wakes everyone who waits for this action.
    pub(crate) fn wake(&self, id: ActionId) {
        let waiting = self.waiters.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned();
        if let Some(waiting) = waiting {
            waiting.notify_waiters();
        }
    }

    /// How many wait for an action.
    pub(crate) fn waiting(&self) -> usize {
        let waiters = self.waiters.lock().unwrap_or_else(PoisonError::into_inner);
        // One of each is the map's own.
        waiters.values().map(|notify| Arc::strong_count(notify).saturating_sub(1)).sum()
    }

    /// A place to wait for changes of an action. Register before looking, so that no change falls in between.
    pub(crate) fn wait_for(self: &Arc<Self>, id: ActionId) -> Waiter {
        let mut waiters = self.waiters.lock().unwrap_or_else(PoisonError::into_inner);
        let notify = Arc::clone(waiters.entry(id).or_default());
        Waiter { live: Arc::clone(self), id, notify: Some(notify) }
    }
}

/// Someone who waits for an action.
pub(crate) struct Waiter {
    live: Arc<Live>,
    id: ActionId,
    notify: Option<Arc<Notify>>,
}

impl Waiter {
    pub(crate) fn notify(&self) -> Option<&Notify> {
        self.notify.as_deref()
    }
}

impl Drop for Waiter {
    /// The last to leave turns off the light.
    fn drop(&mut self) {
        let mut waiters = self.live.waiters.lock().unwrap_or_else(PoisonError::into_inner);
        self.notify = None;
        if waiters.get(&self.id).is_some_and(|notify| Arc::strong_count(notify) == 1) {
            waiters.remove(&self.id);
        }
    }
}
