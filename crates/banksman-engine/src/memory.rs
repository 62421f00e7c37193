//! What the engine remembers of actions that it saw recently, so that a hot action is not read again.
//!
//! A remembered action may be old: another node may have moved it. That is safe, because every write is guarded
//! by the revision it was computed from, and a refusal is only ever given on a fresh read.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use banksman_core::{ActionId, Case};
use quick_cache::Weighter;
use quick_cache::unsync::Cache;

/// Bytes that all shards together may hold.
const CAPACITY: u64 = 32 * 1024 * 1024;
const SHARDS: usize = 16;
const EXPECTED_BYTES: u64 = 1024;

#[derive(Clone)]
struct ByBytes;

impl Weighter<ActionId, Arc<Case>> for ByBytes {
    fn weight(&self, _: &ActionId, case: &Arc<Case>) -> u64 {
        let action = &case.submission.action;
        let opaque = [&action.evidence, &action.checkpoint, &action.state_before, &action.args_schema];
        let bytes = action.args.as_str().len()
            + opaque.iter().filter_map(|text| text.as_ref()).map(|text| text.as_str().len()).sum::<usize>()
            + action.description.as_ref().map_or(0, String::len)
            + action.rationale.as_ref().map_or(0, String::len);
        EXPECTED_BYTES + u64::try_from(bytes).unwrap_or(u64::MAX / 2)
    }
}

type Shard = Cache<ActionId, Arc<Case>, ByBytes>;

/// The newest known revision of recently used actions.
pub(crate) struct Memory {
    shards: Vec<Mutex<Shard>>,
}

impl Memory {
    pub(crate) fn new() -> Self {
        let capacity = CAPACITY / SHARDS as u64;
        let items = usize::try_from(capacity / EXPECTED_BYTES).unwrap_or(usize::MAX);
        let shard = || Mutex::new(Cache::with_weighter(items, capacity, ByBytes));
        Self { shards: (0..SHARDS).map(|_| shard()).collect() }
    }

    fn shard(&self, id: ActionId) -> Option<MutexGuard<'_, Shard>> {
        let byte = usize::from(id.to_bytes().last().copied().unwrap_or(0));
        self.shards.get(byte % SHARDS).map(|shard| shard.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn get(&self, id: ActionId) -> Option<Arc<Case>> {
        self.shard(id)?.get(&id).cloned()
    }

    /// Keeps an action, unless something newer is known. Answers of concurrent commits arrive in any order.
    pub(crate) fn keep(&self, case: &Arc<Case>) {
        self.keep_if(case, || true);
    }

    /// The same, if `still_current` holds while nobody else can add a newer one.
    pub(crate) fn keep_if(&self, case: &Arc<Case>, still_current: impl FnOnce() -> bool) {
        let Some(mut shard) = self.shard(case.id) else { return };
        let newer = shard.get(&case.id).is_some_and(|known| known.revision >= case.revision);
        if !newer && still_current() {
            shard.insert(case.id, Arc::clone(case));
        }
    }

    /// Forgets an action of which the newest revision is not certain.
    pub(crate) fn forget(&self, id: ActionId) {
        if let Some(mut shard) = self.shard(id) {
            shard.remove(&id);
        }
    }
}
