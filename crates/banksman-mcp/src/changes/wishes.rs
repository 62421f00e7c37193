//! Of which resources sessions want to hear, where the server knows none.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::watch;

use super::{LONGEST_URI, MOST_RESOURCES};
use crate::session::{IDLE, Session};

/// So many sessions of one agent may have wishes at a server.
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

/// What a session has just added. Unless it is kept, it is taken back.
pub(super) struct Added<'a> {
    wishes: &'a Wishes,
    key: Key,
    uri: Arc<str>,
    is_new: bool,
}

impl Added<'_> {
    pub(super) fn keep(mut self) {
        self.is_new = false;
    }
}

impl Drop for Added<'_> {
    fn drop(&mut self) {
        if self.is_new {
            self.wishes.take(&self.key, &self.uri);
        }
    }
}

/// A session that hears what it wants to hear.
pub(super) struct Hearing<'a> {
    wishes: &'a Wishes,
    key: Key,
    pub(super) uris: watch::Receiver<BTreeSet<Arc<str>>>,
}

impl Drop for Hearing<'_> {
    fn drop(&mut self) {
        if let Some(mine) = self.wishes.all().get_mut(&self.key) {
            mine.used_at = Instant::now();
        }
    }
}

fn key_of(session: &Session, server: &str) -> Key {
    (session.key.clone(), server.to_owned())
}

impl Wishes {
    fn all(&self) -> MutexGuard<'_, HashMap<Key, OfSession>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A session wants to hear of a resource.
    ///
    /// # Errors
    /// If that would be too much to remember.
    pub(super) fn add(
        &self,
        session: &Session,
        server: &str,
        uri: &Arc<str>,
    ) -> Result<Added<'_>, &'static str> {
        if uri.len() > LONGEST_URI {
            return Err("the address is too long");
        }
        let key = key_of(session, server);
        let mut all = self.all();
        all.retain(|other, wishes| *other == key || wishes.is_of_use());
        let of_agent = all.iter().filter(|((_, at), wishes)| {
            at == server && wishes.agent == session.agent && !wishes.uris.borrow().is_empty()
        });
        let of_agent = of_agent.count();
        let mine = of(&mut all, &key, session);
        let had = mine.uris.borrow().len();
        if had == 0 && of_agent >= SESSIONS {
            return Err("too many sessions have subscriptions: end some");
        }
        if had >= MOST_RESOURCES && !mine.uris.borrow().contains(uri) {
            return Err("too many resources are subscribed to: unsubscribe from some");
        }
        mine.used_at = Instant::now();
        let is_new = mine.uris.send_if_modified(|uris| uris.insert(Arc::clone(uri)));
        Ok(Added { wishes: self, key, uri: Arc::clone(uri), is_new })
    }

    pub(super) fn remove(&self, session: &Session, server: &str, uri: &str) {
        self.take(&key_of(session, server), uri);
    }

    fn take(&self, key: &Key, uri: &str) {
        if let Some(mine) = self.all().get(key) {
            mine.uris.send_if_modified(|uris| uris.remove(uri));
        }
    }

    /// What a session wants to hear of, from now on; until the session ends.
    pub(super) fn of(&self, session: &Session, server: &str) -> Hearing<'_> {
        let key = key_of(session, server);
        let mut all = self.all();
        all.retain(|other, wishes| *other == key || wishes.is_of_use());
        let uris = of(&mut all, &key, session).uris.subscribe();
        drop(all);
        Hearing { wishes: self, key, uris }
    }

    pub(super) fn forget(&self, session: &str) {
        self.all().retain(|(key, _), _| key != session);
    }
}

fn of<'a>(all: &'a mut HashMap<Key, OfSession>, key: &Key, session: &Session) -> &'a mut OfSession {
    all.entry(key.clone()).or_insert_with(|| OfSession {
        agent: session.agent.clone(),
        uris: watch::Sender::default(),
        used_at: Instant::now(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::ClientSays;

    const SERVER: &str = "notes";

    fn session(key: &str) -> Session {
        Session {
            agent: "riley".to_owned(),
            endpoint: String::new(),
            key: key.to_owned(),
            upstream: None,
            client: ClientSays::default(),
            initialize: None,
        }
    }

    fn uri(number: usize) -> Arc<str> {
        format!("note://{number}").into()
    }

    fn wanted(wishes: &Wishes, session: &Session) -> usize {
        wishes.of(session, SERVER).uris.borrow().len()
    }

    #[test]
    fn what_was_not_granted_is_taken_back_unless_it_was_there_before() {
        let (wishes, mine) = (Wishes::default(), session("mine"));
        drop(wishes.add(&mine, SERVER, &uri(1)).unwrap());
        assert_eq!(wanted(&wishes, &mine), 0);
        wishes.add(&mine, SERVER, &uri(1)).unwrap().keep();
        drop(wishes.add(&mine, SERVER, &uri(1)).unwrap());
        assert_eq!(wanted(&wishes, &mine), 1);
        wishes.remove(&mine, SERVER, &uri(1));
        assert_eq!(wanted(&wishes, &mine), 0);
    }

    #[test]
    fn who_hears_is_told_of_more_and_that_its_session_has_ended() {
        let (wishes, mine) = (Wishes::default(), session("mine"));
        let hearing = wishes.of(&mine, SERVER);
        assert!(!hearing.uris.has_changed().unwrap());
        wishes.add(&mine, SERVER, &uri(1)).unwrap().keep();
        assert!(hearing.uris.has_changed().unwrap());
        wishes.forget("mine");
        assert!(hearing.uris.has_changed().is_err());
    }

    #[test]
    fn no_agent_has_more_than_its_share() {
        let wishes = Wishes::default();
        let mine = session("mine");
        for number in 0..MOST_RESOURCES {
            wishes.add(&mine, SERVER, &uri(number)).unwrap().keep();
        }
        assert!(wishes.add(&mine, SERVER, &uri(MOST_RESOURCES)).is_err());
        assert!(wishes.add(&mine, SERVER, &uri(0)).is_ok(), "it has that already");
        for number in 1..SESSIONS {
            wishes.add(&session(&number.to_string()), SERVER, &uri(0)).unwrap().keep();
        }
        let one_more = session("one more");
        assert!(wishes.add(&one_more, SERVER, &uri(0)).is_err());
        assert!(wishes.add(&one_more, "another", &uri(0)).is_ok(), "each server has its own");
        wishes.forget("1");
        assert!(wishes.add(&one_more, SERVER, &uri(0)).is_ok());
        assert!(wishes.add(&one_more, SERVER, &"x".repeat(LONGEST_URI + 1).into()).is_err());
    }
}
