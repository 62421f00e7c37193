//! Of which resources sessions want to hear, where the server knows none.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::watch;

use super::{LONGEST_URI, MOST_RESOURCES};
use crate::session::{IDLE, Session};

/// So many sessions of one agent may have wishes.
const SESSIONS: usize = 64;

/// A session, and a server.
type Key = (String, String);

#[derive(Default)]
pub(super) struct Wishes(Mutex<HashMap<Key, OfSession>>);

struct OfSession {
    agent: String,
    uris: watch::Sender<BTreeSet<Arc<str>>>,
    used_at: Instant,
}

impl OfSession {
    /// Whether anybody hears, or soon may.
    fn is_of_use(&self) -> bool {
        self.uris.receiver_count() > 0 || (!self.uris.borrow().is_empty() && self.used_at.elapsed() < IDLE)
    }
}

impl Wishes {
    fn all(&self) -> MutexGuard<'_, HashMap<Key, OfSession>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A session wants to hear of a resource.
    ///
    /// # Errors
    /// If that would be too much to remember.
    pub(super) fn add(&self, session: &Session, server: &str, uri: &Arc<str>) -> Result<(), &'static str> {
        if uri.len() > LONGEST_URI {
            return Err("the address is too long");
        }
        let mut all = self.all();
        let mine = of(&mut all, session, server);
        let had = mine.uris.borrow().len();
        if had >= MOST_RESOURCES && !mine.uris.borrow().contains(uri) {
            return Err("too many resources are subscribed to: unsubscribe from some");
        }
        mine.used_at = Instant::now();
        let is_first = had == 0;
        if is_first {
            all.retain(|key, wishes| wishes.is_of_use() || (key.0 == session.key && key.1 == server));
            let of_agent = all
                .values()
                .filter(|wishes| wishes.agent == session.agent && !wishes.uris.borrow().is_empty());
            if of_agent.count() >= SESSIONS {
                return Err("too many sessions have subscriptions: end some");
            }
        }
        of(&mut all, session, server).uris.send_if_modified(|uris| uris.insert(Arc::clone(uri)));
        Ok(())
    }

    pub(super) fn remove(&self, session: &Session, server: &str, uri: &str) {
        if let Some(mine) = self.all().get(&(session.key.clone(), server.to_owned())) {
            mine.uris.send_if_modified(|uris| uris.remove(uri));
        }
    }

    /// What a session wants to hear of, from now on; until the session ends.
    pub(super) fn of(&self, session: &Session, server: &str) -> watch::Receiver<BTreeSet<Arc<str>>> {
        let mut all = self.all();
        // Those who listened, and wanted nothing.
        all.retain(|_, wishes| wishes.is_of_use());
        let mine = of(&mut all, session, server);
        mine.used_at = Instant::now();
        mine.uris.subscribe()
    }

    pub(super) fn forget(&self, session: &str) {
        self.all().retain(|(key, _), _| key != session);
    }
}

fn of<'a>(all: &'a mut HashMap<Key, OfSession>, session: &Session, server: &str) -> &'a mut OfSession {
    all.entry((session.key.clone(), server.to_owned())).or_insert_with(|| OfSession {
        agent: session.agent.clone(),
        uris: watch::Sender::default(),
        used_at: Instant::now(),
    })
}
