//! The places of our own sessions with a server, and how meeting it stands in each.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::{Lane, SendError};
use crate::message::Era;

/// What a session is needed for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// A call that may run. It may not come again: another try is made for it, however long the last one took.
    Call,
    Question,
}

/// Our own sessions with a server, each opened when it is first needed.
#[derive(Default)]
pub(crate) struct House {
    pub(super) ours: Arc<Room>,
    agents: Mutex<HashMap<String, Arc<Room>>>,
    pub(super) next_id: AtomicU64,
    /// Whether it understands each era, once it has said so.
    pub(super) speaks_one: OnceLock<bool>,
    pub(super) speaks_two: OnceLock<bool>,
}

/// How meeting a server stands.
#[derive(Clone, Default)]
pub(super) enum Meeting {
    #[default]
    UnderWay,
    Met(Open),
    Failed {
        error: SendError,
        not_before: Option<Instant>,
    },
}

impl Meeting {
    /// Whether whoever needs a session has one in this, or soon will, or would not get one from another try.
    pub(super) fn is_of_use(&self, need: Need) -> bool {
        match self {
            Self::UnderWay => true,
            Self::Met(open) => open.is_alive(),
            Self::Failed { not_before, .. } => {
                need == Need::Question && not_before.is_some_and(|later| later > Instant::now())
            }
        }
    }
}

/// The place of one session.
#[derive(Default)]
pub(super) struct Room {
    met: Mutex<Option<watch::Receiver<Meeting>>>,
    used_at: Mutex<Option<Instant>>,
}

impl Room {
    pub(super) fn use_now(&self) {
        *self.used_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    fn is_idle_for(&self, time: Duration) -> bool {
        let used_at = *self.used_at.lock().unwrap_or_else(PoisonError::into_inner);
        used_at.is_some_and(|used_at| used_at.elapsed() >= time)
    }

    pub(super) fn met(&self) -> MutexGuard<'_, Option<watch::Receiver<Meeting>>> {
        self.met.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets a session, unless somebody else has opened another one meanwhile.
    pub(super) fn forget(&self, stale: &Open) {
        let mut met = self.met();
        let is_stale = |met: &watch::Receiver<Meeting>| match &*met.borrow() {
            Meeting::Met(open) => Arc::ptr_eq(&open.said, &stale.said),
            Meeting::UnderWay | Meeting::Failed { .. } => false,
        };
        if met.as_ref().is_some_and(is_stale) {
            *met = None;
        }
    }

    /// Its session, which is no longer ours.
    fn take(&self) -> Option<Lane> {
        let met = self.met().take()?;
        match &*met.borrow() {
            Meeting::Met(open) => Some(open.lane.clone()),
            Meeting::UnderWay | Meeting::Failed { .. } => None,
        }
    }
}

impl House {
    fn agents(&self) -> MutexGuard<'_, HashMap<String, Arc<Room>>> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn room(&self, agent: Option<&str>) -> Arc<Room> {
        let Some(agent) = agent else { return Arc::clone(&self.ours) };
        let mut agents = self.agents();
        let room = match agents.get(agent) {
            Some(room) => Arc::clone(room),
            None => Arc::clone(agents.entry(agent.to_owned()).or_default()),
        };
        room.use_now();
        room
    }

    /// The sessions of agents that nobody has used for so long, which are no longer ours: whoever asks has to end them.
    pub(crate) fn take_idle(&self, time: Duration) -> Vec<Lane> {
        let idle: Vec<Arc<Room>> = {
            let mut agents = self.agents();
            // Whoever asks something in one holds it meanwhile.
            let is_idle = |room: &Arc<Room>| Arc::strong_count(room) == 1 && room.is_idle_for(time);
            let names: Vec<String> =
                agents.iter().filter(|(_, room)| is_idle(room)).map(|(name, _)| name.clone()).collect();
            names.iter().filter_map(|name| agents.remove(name)).collect()
        };
        idle.iter().filter_map(|room| room.take()).collect()
    }
}

/// A session that is open.
#[derive(Clone)]
pub(super) struct Open {
    pub(super) lane: Lane,
    pub(super) era: Era,
    /// What the server said of itself, as it said it.
    pub(super) said: Arc<str>,
}

impl Open {
    pub(super) fn is_alive(&self) -> bool {
        !matches!(&self.lane, Lane::Child(child) if child.is_gone())
    }
}
