//! One server that is listened to, once for all who want to hear the same.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::{Instant, sleep, sleep_until};

use super::MOST_RESOURCES;
use super::change::{Change, LISTS};
use super::resource::{Resource, Turn, Wish};
use crate::message::Era;
use crate::pauses::{self, Pauses};
use crate::raw::Members;
use crate::upstream::{Hush, Refusals, SendError, Stream, Upstream};

/// So many changes wait for one listener; one that misses some is told that all has changed.
const WAITING: usize = 64;

/// When everybody has gone, a server is told so; that is looked for this often.
const FAREWELL: Duration = Duration::from_millis(100);

/// How often to look whether anybody still listens.
const LOOK: Duration = Duration::from_secs(5);

/// Who listens: an agent's clients that are alike, and so hear what is said where their requests go.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Audience {
    pub(crate) agent: String,
    pub(crate) era: Era,
    /// What they can answer, as JSON.
    pub(crate) capabilities: String,
}

type Key = (String, Audience);

/// Every server that somebody listens to.
#[derive(Default, Clone)]
pub(super) struct Listeners(Arc<Mutex<Inside>>);

#[derive(Default)]
struct Inside {
    listeners: HashMap<Key, Arc<Listener>>,
    /// For how many resources of a server each agent has room.
    places: HashMap<(String, String), Weak<Semaphore>>,
}

impl Inside {
    fn places(&mut self, server: &str, agent: &str) -> Arc<Semaphore> {
        self.places.retain(|_, places| places.strong_count() > 0);
        let key = (server.to_owned(), agent.to_owned());
        if let Some(places) = self.places.get(&key).and_then(Weak::upgrade) {
            return places;
        }
        let places = Arc::new(Semaphore::new(MOST_RESOURCES));
        self.places.insert(key, Arc::downgrade(&places));
        places
    }
}

impl Listeners {
    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody wants to know what changes from now on.
    pub(super) fn ear(&self, upstream: &Arc<Upstream>, audience: &Audience) -> Ear {
        let key = (upstream.name.clone(), audience.clone());
        let mut inside = self.inside();
        if let Some(listener) = inside.listeners.get(&key) {
            return Ear::of(listener);
        }
        let places = inside.places(&upstream.name, &audience.agent);
        let listener = Listener::new(Arc::clone(upstream), audience.clone(), places);
        inside.listeners.insert(key.clone(), Arc::clone(&listener));
        // Before it is looked whether anybody listens.
        let ear = Ear::of(&listener);
        tokio::spawn(listen(self.clone(), key, listener));
        ear
    }

    /// Whether nobody wants to know any more, and the server has been told so; whoever does next begins anew.
    fn is_over(&self, key: &Key, listener: &Listener) -> bool {
        let mut inside = self.inside();
        let is_over = listener.is_unheard() && listener.is_asked_nothing();
        if is_over {
            inside.listeners.remove(key);
        }
        is_over
    }
}

/// How a server is heard that says in a session what changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hearing {
    NotYet,
    /// On which of its streams, counted from the first.
    On(u64),
    Not,
}

type Resources = HashMap<Arc<str>, (Weak<Resource>, Turn)>;

/// What is heard of one server.
pub(super) struct Listener {
    pub(super) upstream: Arc<Upstream>,
    pub(super) audience: Audience,
    news: broadcast::Sender<Change>,
    pub(super) hearing: watch::Sender<Hearing>,
    /// Ends its pause, if it cannot be heard.
    pub(super) try_again: Notify,
    /// The single resources that somebody wants to hear of.
    resources: Mutex<Resources>,
    places: Arc<Semaphore>,
}

/// Who hears what changes. While it is there, the server is listened to.
pub(super) struct Ear {
    listener: Arc<Listener>,
    news: broadcast::Receiver<Change>,
}

impl Ear {
    fn of(listener: &Arc<Listener>) -> Self {
        Self { news: listener.news.subscribe(), listener: Arc::clone(listener) }
    }

    /// Where to say what is to be heard.
    pub(super) fn listener(&self) -> &Arc<Listener> {
        &self.listener
    }

    /// What has changed of the lists, and of these resources.
    pub(super) async fn next(&mut self, wishes: &[Wish]) -> Vec<Change> {
        loop {
            match self.news.recv().await {
                Ok(change @ Change::List(_)) => return vec![change],
                Ok(change) if wishes.iter().any(|wish| change.is_of(wish.uri())) => return vec![change],
                Ok(_) => {}
                // The ear has a sender itself, so that it is not closed.
                Err(RecvError::Lagged(_) | RecvError::Closed) => {
                    let resources = wishes.iter().map(|wish| Change::of(wish.uri()));
                    return LISTS.into_iter().map(Change::List).chain(resources).collect();
                }
            }
        }
    }
}

impl Listener {
    fn new(upstream: Arc<Upstream>, audience: Audience, places: Arc<Semaphore>) -> Arc<Self> {
        let (news, _) = broadcast::channel(WAITING);
        let hearing = watch::Sender::new(Hearing::NotYet);
        let (try_again, resources) = (Notify::new(), Mutex::default());
        Arc::new(Self { upstream, audience, news, hearing, try_again, resources, places })
    }

    fn resources(&self) -> MutexGuard<'_, Resources> {
        self.resources.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on also what becomes of this resource is to be heard; `None` if that would be too many.
    pub(super) fn wish(self: &Arc<Self>, uri: &Arc<str>) -> Option<Wish> {
        let mut resources = self.resources();
        if let Some(resource) = resources.get(uri).and_then(|(resource, _)| resource.upgrade()) {
            return Some(Wish::new(resource));
        }
        // Those that nobody wants, and that the server has been told so of.
        resources.retain(|_, (resource, turn)| resource.strong_count() > 0 || Arc::strong_count(turn) > 1);
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        let turn = resources.get(uri).map(|(_, turn)| Arc::clone(turn)).unwrap_or_default();
        let resource = Resource::listen(self, uri, Arc::clone(&turn), place);
        resources.insert(Arc::clone(uri), (Arc::downgrade(&resource), turn));
        Some(Wish::new(resource))
    }

    /// Whether the server is neither asked for a resource, nor to be told that nobody wants one.
    fn is_asked_nothing(&self) -> bool {
        self.resources().values().all(|(_, turn)| Arc::strong_count(turn) == 1)
    }

    fn is_unheard(&self) -> bool {
        self.news.receiver_count() == 0
    }

    pub(super) fn tell(&self, change: Change) {
        // That nobody hears it is seen elsewhere.
        drop(self.news.send(change));
    }

    /// Tells what is said in a session of a resource, if anybody wants to hear of it.
    fn tell_of_resource(&self, change: Change) {
        let is_wanted = self
            .resources()
            .iter()
            .any(|(uri, (resource, _))| resource.strong_count() > 0 && change.is_of(uri));
        if is_wanted {
            self.tell(change);
        }
    }

    /// Returns when nobody has wanted to know anything for a moment.
    async fn left(&self) {
        while !self.is_unheard() {
            sleep(LOOK).await;
        }
    }
}

/// Listens to a server for as long as anybody wants to know what it says.
async fn listen(all: Listeners, key: Key, listener: Arc<Listener>) {
    let (upstream, Audience { agent, era, capabilities }) = (&listener.upstream, &listener.audience);
    let mut pauses = Pauses::default();
    let (mut missed, mut may_forget, mut streams) = (false, true, 0);
    while !all.is_over(&key, &listener) {
        if listener.is_unheard() {
            sleep(FAREWELL).await;
            continue;
        }
        // Some answer only when they have something to say.
        let could_forget = may_forget;
        let opened = tokio::select! {
            opened = upstream.listen(agent, *era, capabilities, &mut may_forget) => opened,
            () = listener.left() => continue,
        };
        let mut heard_for = Duration::ZERO;
        match opened {
            Ok((stream, refusals)) => {
                streams += 1;
                listener.hearing.send_replace(Hearing::On(streams));
                if std::mem::take(&mut missed) {
                    // Nobody knows what has changed meanwhile.
                    LISTS.into_iter().for_each(|list| listener.tell(Change::List(list)));
                }
                let since = Instant::now();
                take(stream, &refusals, &listener).await;
                heard_for = since.elapsed();
                may_forget = true;
            }
            // It knew nothing of our session, and is met again at once.
            Err(_) if could_forget && !may_forget => continue,
            Err(error) => tracing::debug!(upstream = upstream.name, %error, "a server is not heard"),
        }
        listener.hearing.send_replace(Hearing::Not);
        missed = true;
        let soon = Instant::now() + pauses::FIRST;
        tokio::select! {
            () = sleep(pauses.after(heard_for)) => {}
            () = async { listener.try_again.notified().await; sleep_until(soon).await } => {}
            () = listener.left() => {}
        }
    }
}

/// Takes what a server says, until it ends or nobody wants to know any more.
async fn take(mut stream: Stream, refusals: &Refusals, listener: &Listener) {
    loop {
        let look = |_: Option<&Hush>| match listener.is_unheard() {
            true => Err(SendError::Lost("nobody wants to know any more".to_owned())),
            false => Ok(()),
        };
        let Ok(Some(event)) = stream.next_with_looks(LOOK, look).await else { return };
        match Change::read(&event.data) {
            Some(change @ Change::List(_)) => listener.tell(change),
            Some(change @ Change::Resource { .. }) => listener.tell_of_resource(change),
            None => {
                if let Some(said) = Members::read_bytes(&event.data)
                    && let (Some(method), Some(id)) = (said.text("method"), said.get("id"))
                {
                    refusals.refuse(&method, id);
                }
            }
        }
    }
}
