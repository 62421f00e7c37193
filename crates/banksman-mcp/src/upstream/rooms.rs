//! The places of our own sessions with a server, and how meeting it stands in each.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::{Lane, NO_CAPABILITIES, SendError};
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
    rooms: Mutex<HashMap<Place, Arc<Room>>>,
    pub(super) next_id: AtomicU64,
    /// Whether it understands each era, once it has said so.
    pub(super) speaks_one: OnceLock<bool>,
    pub(super) speaks_two: OnceLock<bool>,
    /// Until when a program that did not say so is spoken to in sessions only.
    sessions_only: Mutex<Option<Instant>>,
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

/// For what a room is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum For {
    /// What we ask on our own account, or for an agent whose client is away.
    OurRequests,
    /// What an agent's clients ask without sessions, of a program that can answer like that.
    TheirRequests,
}

/// An agent, what its room is for, and what may be asked in it.
type Place = (String, For, String);

/// The place of one session.
pub(super) struct Room {
    pub(super) is_for: For,
    /// What its server may ask, as capabilities in JSON.
    pub(super) capabilities: String,
    met: Mutex<Option<watch::Receiver<Meeting>>>,
    used_at: Mutex<Option<Instant>>,
}

impl Default for Room {
    fn default() -> Self {
        Self::new(For::OurRequests, NO_CAPABILITIES)
    }
}

impl Room {
    fn new(is_for: For, capabilities: &str) -> Self {
        let capabilities = capabilities.to_owned();
        Self { is_for, capabilities, met: Mutex::default(), used_at: Mutex::default() }
    }

    pub(super) fn use_now(&self) {
        *self.used_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    fn is_idle_for(&self, time: Duration) -> bool {
        let used_at = *self.used_at.lock().unwrap_or_else(PoisonError::into_inner);
        used_at.is_some_and(|used_at| used_at.elapsed() >= time) && !self.is_in_use()
    }

    /// Whether somebody waits for an answer of its program: a subscription may stay for hours.
    fn is_in_use(&self) -> bool {
        let met = self.met();
        let Some(met) = &*met else { return false };
        match &*met.borrow() {
            Meeting::Met(Open { lane: Lane::Child(child), .. }) => Arc::strong_count(child) > 1,
            Meeting::Met(Open { lane: Lane::Http { .. }, .. })
            | Meeting::UnderWay
            | Meeting::Failed { .. } => false,
        }
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
    fn rooms(&self) -> MutexGuard<'_, HashMap<Place, Arc<Room>>> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn sessions_only(&self) -> MutexGuard<'_, Option<Instant>> {
        self.sessions_only.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn room(&self, agent: Option<&str>) -> Arc<Room> {
        match agent {
            Some(agent) => self.room_for(agent, For::OurRequests, NO_CAPABILITIES),
            None => Arc::clone(&self.ours),
        }
    }

    pub(super) fn room_for(&self, agent: &str, is_for: For, capabilities: &str) -> Arc<Room> {
        let mut rooms = self.rooms();
        let room = rooms
            .entry((agent.to_owned(), is_for, capabilities.to_owned()))
            .or_insert_with(|| Arc::new(Room::new(is_for, capabilities)));
        room.use_now();
        Arc::clone(room)
    }

    /// The sessions of agents that nobody has used for so long, which are no longer ours: whoever asks has to end them.
    pub(crate) fn take_idle(&self, time: Duration) -> Vec<Lane> {
        let idle: Vec<Arc<Room>> = {
            let mut rooms = self.rooms();
            // Whoever asks something in one holds it meanwhile.
            let is_idle = |room: &Arc<Room>| Arc::strong_count(room) == 1 && room.is_idle_for(time);
            rooms.extract_if(|_, room| is_idle(room)).map(|(_, room)| room).collect()
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
