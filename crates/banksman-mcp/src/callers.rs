//! Who asked for a held call: where they listen, and in which of their sessions it runs if nobody listens any more.

use std::collections::HashSet;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use http::HeaderMap;
use tokio::time::timeout;

use crate::gateway::Gateway;
use crate::message::Era;
use crate::open_stream::OpenStream;
use crate::questions::Askable;
use crate::session::{Session, Sessions};
use crate::upstream::http::{own_headers, passed_on};
use crate::upstream::{Lane, Reach, SendError, Upstream, WAYS_WITHIN, not_met_in_time};
use crate::visit::Visit;

/// So many sessions in which a call could run are remembered; the first that lives is taken.
const SESSIONS: usize = 8;

/// By what a client's own way to a server is found.
pub(crate) struct WayOf<'a> {
    pub(crate) agent: &'a str,
    pub(crate) era: Era,
    /// Whether it speaks to several servers at once.
    pub(crate) shared: bool,
    /// Whether it only posts JSON.
    pub(crate) plain: bool,
    pub(crate) session: Option<&'a Session>,
    pub(crate) headers: &'a HeaderMap,
}

impl WayOf<'_> {
    /// The client's own way; `None` if it has none and ours has to do.
    ///
    /// # Errors
    /// If it has one, and it cannot be opened, or not in time. What was meant for it is not to go any other way.
    pub(crate) async fn lane(
        &self,
        gateway: &Gateway,
        upstream: &Arc<Upstream>,
    ) -> Result<Option<Lane>, SendError> {
        let opened = timeout(WAYS_WITHIN, self.open(gateway, upstream));
        opened.await.unwrap_or_else(|_| Err(not_met_in_time()))
    }

    async fn open(&self, gateway: &Gateway, upstream: &Arc<Upstream>) -> Result<Option<Lane>, SendError> {
        if let (true, Era::One, Some(session)) = (self.shared, self.era, self.session) {
            if upstream.is_known_to_speak(Era::One) == Some(false) {
                return Ok(None);
            }
            return match gateway.sessions.lane(upstream, session).await {
                Ok(lane) => Ok(Some(lane)),
                Err(_) if upstream.speaks(Era::One).await == Ok(false) => Ok(None),
                Err(error) => Err(error),
            };
        }
        match &upstream.reach {
            Reach::Http(http) => {
                if self.plain || !upstream.speaks(self.era).await? {
                    return Ok(None);
                }
                let session = self.session.and_then(|session| session.upstream.as_deref());
                Ok(Some(Lane::http(http, passed_on(self.headers), session)))
            }
            Reach::Program => match (self.era, self.session) {
                (Era::Two, _) => Ok(upstream.shared_program(self.agent).await?.map(Lane::Child)),
                // One that knows no sessions was not started for this one.
                (Era::One, Some(session)) if session.initialize.is_some() => {
                    gateway.sessions.child(upstream, session).await.map(|child| Some(Lane::Child(child)))
                }
                (Era::One, Some(_) | None) => Ok(None),
            },
        }
    }
}

/// A client that waits on an open stream: the call runs as its own, so that it hears and answers what the server asks.
pub(crate) struct Listener {
    agent: String,
    pub(crate) message: Bytes,
    pub(crate) id: String,
    pub(crate) progress: Option<String>,
    pub(crate) era: Era,
    pub(crate) shared: bool,
    plain: bool,
    session: Option<Session>,
    pub(crate) askable: Option<Askable>,
    headers: HeaderMap,
    /// Weak: who waits decides for how long it is open.
    pub(crate) stream: Weak<OpenStream>,
}

impl Listener {
    pub(crate) fn new(visit: &Visit, stream: &Arc<OpenStream>) -> Self {
        Self {
            agent: visit.caller.name.clone(),
            message: visit.bytes(),
            id: visit.message.id(),
            progress: visit.message.progress_token(),
            era: visit.era,
            shared: visit.shared,
            plain: visit.is_plain(),
            session: visit.session.clone(),
            askable: Askable::of(visit),
            headers: passed_on(&visit.headers),
            stream: Arc::downgrade(stream),
        }
    }

    pub(crate) fn way(&self) -> WayOf<'_> {
        WayOf {
            agent: &self.agent,
            era: self.era,
            shared: self.shared,
            plain: self.plain,
            session: self.session.as_ref(),
            headers: &self.headers,
        }
    }

    fn listens(&self) -> bool {
        self.stream.upgrade().is_some_and(|stream| !stream.is_closed())
    }
}

/// A session that asked for it. What people looked at was asked for there, and what a server does may depend on what was
/// done in that session before.
#[derive(Clone)]
pub(crate) struct Origin {
    session: Session,
    shared: bool,
    headers: HeaderMap,
}

impl Origin {
    fn of(visit: &Visit) -> Option<Self> {
        let session = visit.session.clone().filter(|_| visit.era == Era::One)?;
        let mut headers = own_headers();
        const VERSION: &str = "mcp-protocol-version";
        headers.extend(
            visit
                .headers
                .get(VERSION)
                .map(|version| (http::HeaderName::from_static(VERSION), version.clone())),
        );
        Some(Self { session, shared: visit.shared, headers })
    }

    pub(crate) fn way(&self) -> WayOf<'_> {
        WayOf {
            agent: &self.session.agent,
            era: Era::One,
            shared: self.shared,
            plain: false,
            session: Some(&self.session),
            headers: &self.headers,
        }
    }
}

/// Everyone who asked for one held call.
#[derive(Default)]
pub(crate) struct Callers {
    listening: Vec<Listener>,
    origins: Vec<Origin>,
}

impl Callers {
    /// Somebody asks for the same. With a stream, it runs as theirs if those before them are gone.
    pub(crate) fn join(&mut self, visit: &Visit, stream: Option<&Arc<OpenStream>>) {
        self.listening.retain(Listener::listens);
        self.listening.extend(stream.map(|stream| Listener::new(visit, stream)));
        if let Some(origin) = Origin::of(visit)
            && self.origins.len() < SESSIONS
            && self.origins.iter().all(|known| known.session.key != origin.session.key)
        {
            self.origins.push(origin);
        }
    }

    /// The first who still listens.
    pub(crate) fn take_listener(&mut self) -> Option<Listener> {
        self.listening.retain(Listener::listens);
        (!self.listening.is_empty()).then(|| self.listening.remove(0))
    }

    /// The first session that has not been ended.
    pub(crate) fn origin(&self, sessions: &Sessions) -> Option<Origin> {
        self.origins.iter().find(|origin| !sessions.has_ended(&origin.session.key)).cloned()
    }

    /// Adds the sessions that are needed until it has run.
    pub(crate) fn add_sessions(&self, keys: &mut HashSet<String>) {
        keys.extend(self.origins.iter().map(|origin| origin.session.key.clone()));
    }
}
