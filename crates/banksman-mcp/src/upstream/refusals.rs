//! What a server is told that asks something while nobody can answer.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::Lane;
use crate::message;

/// A server that does not take in so soon that nobody answers is not waited for.
pub(crate) const REFUSED_WITHIN: Duration = Duration::from_secs(5);

/// So many refusals are on their way at a time, and so many wait: a server that asks and asks does not get as many
/// connections as it likes.
const ON_THEIR_WAY: usize = 4;
const WAITING: usize = 64;

/// The refusals for one stream.
pub(crate) struct Refusals {
    lane: Lane,
    on_their_way: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

impl Refusals {
    pub(crate) fn by(lane: Lane) -> Self {
        let (on_their_way, waiting) = (Semaphore::new(ON_THEIR_WAY), Semaphore::new(WAITING));
        Self { lane, on_their_way: Arc::new(on_their_way), waiting: Arc::new(waiting) }
    }

    /// The way on which they go, as everything else that its client says.
    pub(super) fn lane(&self) -> &Lane {
        &self.lane
    }

    /// Tells the server that nobody is there to answer.
    pub(crate) fn refuse(&self, method: &str, id: &str) {
        let Ok(place) = Arc::clone(&self.waiting).try_acquire_owned() else { return };
        let (lane, on_their_way) = (self.lane.clone(), Arc::clone(&self.on_their_way));
        let answer = message::for_nobody(method, id);
        tokio::spawn(async move {
            let turn = on_their_way.acquire().await;
            drop(timeout(REFUSED_WITHIN, lane.tell(answer.into())).await);
            drop((turn, place));
        });
    }
}
