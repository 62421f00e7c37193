//! One server that is listened to, once for all who want to hear the same.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::change::{Change, LISTS};
use crate::message::Era;
use crate::raw::Members;
use crate::upstream::{Heard, Hush, OurSession, Refusals, Resources, SendError, Stream, Upstream};

/// So many changes wait for one listener; one that misses some is told that all has changed.
const WAITING: usize = 64;

/// A server that says nothing is asked again after this long, and twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// One that was heard for so long is heard again soon.
const LIVED: Duration = Duration::from_secs(60);

/// How often to look whether anybody still listens.
const LOOK: Duration = Duration::from_secs(5);

/// How long whoever wants to hear of a resource waits until the server has said whether it tells.
const GRANTED_WITHIN: Duration = Duration::from_secs(10);

/// A stream that another has taken the place of is heard for so much longer: what was on its way is not lost. Meanwhile what
/// changes may be heard twice.
const LATE: Duration = Duration::from_millis(250);

/// Who listens: an agent's clients that are alike, and so hear what is said where their requests go.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Audience {
    pub(super) agent: String,
    pub(super) era: Era,
    /// What they can answer, as JSON.
    pub(super) capabilities: String,
}

type Key = (String, Audience);

/// Every server that somebody listens to.
#[derive(Default, Clone)]
pub(super) struct Listeners(Arc<Mutex<HashMap<Key, Arc<Listener>>>>);

impl Listeners {
    /// Somebody wants to know what changes from now on.
    pub(super) fn ear(&self, upstream: &Arc<Upstream>, audience: &Audience) -> Ear {
        let key = (upstream.name.clone(), audience.clone());
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let listener = all.entry(key.clone()).or_insert_with(|| {
            let listener = Arc::new(Listener::new());
            let listening = listen(self.clone(), key, Arc::clone(upstream), Arc::clone(&listener));
            tokio::spawn(listening);
            listener
        });
        Ear { news: listener.news.subscribe(), listener: Arc::clone(listener) }
    }

    /// Whether nobody wants to know any more; whoever does next begins anew.
    fn is_over(&self, key: &Key, listener: &Listener) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = listener.is_unheard();
        if is_over {
            all.remove(key);
        }
        is_over
    }
}

type Uris = BTreeSet<Arc<str>>;

/// What is heard of one server.
pub(super) struct Listener {
    news: broadcast::Sender<Change>,
    /// The single resources that somebody wants to hear of, and how many do.
    wanted: watch::Sender<BTreeMap<Arc<str>, usize>>,
    /// Whether the server tells of each. While it has not said, there is nothing.
    granted: watch::Sender<BTreeMap<Arc<str>, bool>>,
}

/// Who hears what changes. While it is there, the server is listened to.
pub(super) struct Ear {
    listener: Arc<Listener>,
    news: broadcast::Receiver<Change>,
}

impl Ear {
    /// Where to say what is to be heard.
    pub(super) fn listener(&self) -> &Arc<Listener> {
        &self.listener
    }

    /// What has changed of the lists, and of these resources.
    pub(super) async fn next(&mut self, wishes: &[Wish]) -> Vec<Change> {
        loop {
            match self.news.recv().await {
                Ok(change @ Change::List(_)) => return vec![change],
                Ok(change) if wishes.iter().any(|wish| change.is_of(&wish.uri)) => return vec![change],
                Ok(_) => {}
                // The ear has a sender itself, so that it is not closed.
                Err(RecvError::Lagged(_) | RecvError::Closed) => {
                    return all(wishes.iter().map(Wish::uri)).collect();
                }
            }
        }
    }
}

/// That all may have changed.
fn all<'a>(uris: impl Iterator<Item = &'a Arc<str>>) -> impl Iterator<Item = Change> {
    LISTS.into_iter().map(Change::List).chain(uris.map(Change::of))
}

/// That somebody wants to hear of a resource, for as long as this is there.
pub(super) struct Wish {
    listener: Arc<Listener>,
    uri: Arc<str>,
}

impl Wish {
    pub(super) fn uri(&self) -> &Arc<str> {
        &self.uri
    }

    /// Whether the server tells of it. One that does not say so in time does not.
    pub(super) async fn is_granted(&self) -> bool {
        let mut granted = self.listener.granted.subscribe();
        let said = granted.wait_for(|granted| granted.contains_key(&self.uri));
        let said = timeout(GRANTED_WITHIN, said).await;
        said.is_ok_and(|said| said.is_ok_and(|granted| granted.get(&self.uri) == Some(&true)))
    }
}

impl Drop for Wish {
    fn drop(&mut self) {
        self.listener.wanted.send_if_modified(|wanted| {
            let Some(wishes) = wanted.get_mut(&self.uri) else { return false };
            *wishes -= 1;
            let was_last = *wishes == 0;
            if was_last {
                wanted.remove(&self.uri);
            }
            was_last
        });
    }
}

impl Listener {
    /// From now on also what becomes of this resource is to be heard.
    pub(super) fn wish(self: &Arc<Self>, uri: &Arc<str>) -> Wish {
        self.wanted.send_if_modified(|wanted| {
            let wishes = wanted.entry(Arc::clone(uri)).or_default();
            *wishes += 1;
            *wishes == 1
        });
        Wish { listener: Arc::clone(self), uri: Arc::clone(uri) }
    }

    fn new() -> Self {
        let (news, _) = broadcast::channel(WAITING);
        Self { news, wanted: watch::Sender::default(), granted: watch::Sender::default() }
    }

    fn is_unheard(&self) -> bool {
        self.news.receiver_count() == 0
    }

    fn tell(&self, change: Change) {
        // That nobody hears it is seen elsewhere.
        drop(self.news.send(change));
    }

    fn tell_that_all_may_have_changed(&self) {
        let wanted = self.wanted.borrow();
        all(wanted.keys()).for_each(|change| self.tell(change));
    }

    /// The server is not heard for so long, and tells of nothing meanwhile.
    async fn grant_nothing_for(&self, time: Duration) {
        let until = Instant::now() + time;
        let mut wanted = self.wanted.subscribe();
        loop {
            let nothing = uris(&wanted.borrow_and_update()).into_iter().map(|uri| (uri, false)).collect();
            self.granted.send_replace(nothing);
            tokio::select! {
                () = sleep_until(until) => return,
                _ = wanted.changed() => {}
            }
        }
    }
}

fn uris(wanted: &BTreeMap<Arc<str>, usize>) -> Uris {
    wanted.keys().cloned().collect()
}

/// Listens to a server for as long as anybody wants to know what it says.
async fn listen(all: Listeners, key: Key, upstream: Arc<Upstream>, listener: Arc<Listener>) {
    let audience = &key.1;
    let mut pause = FIRST_PAUSE;
    let (mut missed, mut may_forget) = (false, true);
    while !all.is_over(&key, &listener) {
        let wanted = uris(&listener.wanted.borrow());
        match open(&upstream, audience, &mut may_forget, &wanted).await {
            Ok(heard) => {
                if std::mem::take(&mut missed) {
                    // Nobody knows what has changed meanwhile.
                    listener.tell_that_all_may_have_changed();
                }
                let since = Instant::now();
                hear(&upstream, audience, heard, wanted, &listener).await;
                // Some end their streams all the time: they are asked less and less often.
                if since.elapsed() >= LIVED {
                    pause = FIRST_PAUSE;
                }
                may_forget = true;
            }
            Err(error) => tracing::debug!(upstream = upstream.name, %error, "a server is not heard"),
        }
        if listener.is_unheard() {
            continue;
        }
        missed = true;
        listener.grant_nothing_for(pause).await;
        pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
    }
}

async fn open(
    upstream: &Upstream,
    audience: &Audience,
    may_forget: &mut bool,
    uris: &Uris,
) -> Result<Heard, SendError> {
    let Audience { agent, era, capabilities } = audience;
    upstream.listen(agent, *era, capabilities, may_forget, uris).await
}

/// Hears one server until its stream ends, or nobody wants to know any more.
async fn hear(
    upstream: &Arc<Upstream>,
    audience: &Audience,
    heard: Heard,
    wanted: Uris,
    listener: &Arc<Listener>,
) {
    let Heard { stream, refusals, resources } = heard;
    let mut hearing = JoinSet::new();
    hearing.spawn(take(stream, refusals, Arc::clone(listener)));
    match resources {
        Resources::ByRequest(session) => tokio::select! {
            _ = hearing.join_next() => {}
            () = ask_for_what_is_wanted(upstream, &session, listener) => {}
        },
        Resources::With(agreed) => renew(upstream, audience, hearing, (wanted, agreed), listener).await,
    }
}

/// Takes what a server says, until it ends or nobody wants to know any more.
async fn take(mut stream: Stream, refusals: Refusals, listener: Arc<Listener>) {
    loop {
        let look = |_: Option<&Hush>| match listener.is_unheard() {
            true => Err(SendError::Lost("nobody wants to know any more".to_owned())),
            false => Ok(()),
        };
        let Ok(Some(event)) = stream.next_with_looks(LOOK, look).await else { return };
        if let Some(change) = Change::read(&event.data) {
            listener.tell(change);
        } else if let Some(said) = Members::read_bytes(&event.data)
            && let (Some(method), Some(id)) = (said.text("method"), said.get("id"))
        {
            refusals.refuse(&method, id);
        }
    }
}

/// In a session, each resource is asked for by itself.
async fn ask_for_what_is_wanted(upstream: &Upstream, session: &OurSession, listener: &Listener) {
    let mut wanted = listener.wanted.subscribe();
    let mut granted = BTreeMap::new();
    loop {
        let uris = uris(&wanted.borrow_and_update());
        let (kept, left): (BTreeMap<_, _>, BTreeMap<Arc<str>, bool>) =
            granted.into_iter().partition(|(uri, _)| uris.contains(uri));
        granted = kept;
        listener.granted.send_replace(granted.clone());
        for (uri, _) in left.into_iter().filter(|(_, granted)| *granted) {
            session.ask(upstream, "resources/unsubscribe", &uri).await;
        }
        for uri in uris.into_iter().filter(|uri| !granted.contains_key(uri)).collect::<Vec<_>>() {
            let is_granted = session.ask(upstream, "resources/subscribe", &uri).await;
            granted.insert(uri, is_granted);
            listener.granted.send_replace(granted.clone());
        }
        if wanted.changed().await.is_err() {
            return;
        }
    }
}

/// Without one, all are asked for with the stream itself: if others are wanted, another stream takes its place.
async fn renew(
    upstream: &Arc<Upstream>,
    audience: &Audience,
    mut hearing: JoinSet<()>,
    (mut asked, mut agreed): (Uris, Uris),
    listener: &Arc<Listener>,
) {
    let mut wanted = listener.wanted.subscribe();
    loop {
        let granted = asked.iter().map(|uri| (Arc::clone(uri), agreed.contains(uri))).collect();
        listener.granted.send_replace(granted);
        let now = uris(&wanted.borrow_and_update());
        if now == asked {
            tokio::select! {
                _ = hearing.join_next() => return,
                _ = wanted.changed() => continue,
            }
        }
        let mut may_forget = false;
        let next = tokio::select! {
            next = open(upstream, audience, &mut may_forget, &now) => next,
            _ = hearing.join_next() => return,
        };
        let Ok(Heard { stream, refusals, resources: Resources::With(agrees) }) = next else { return };
        let mut before = std::mem::take(&mut hearing);
        hearing.spawn(take(stream, refusals, Arc::clone(listener)));
        tokio::spawn(async move { timeout(LATE, before.join_next()).await });
        (asked, agreed) = (now, agrees);
    }
}
