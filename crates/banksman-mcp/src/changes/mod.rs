//! What has changed at a server, for clients that do not hear it from the server itself: of the other era, or before
//! several servers at once.

mod change;
mod listener;
mod subscription;
mod wishes;

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;

use listener::{Audience, Listeners, Wish};
pub(crate) use subscription::subscribe;
use wishes::Wishes;

use crate::gateway::Gateway;
use crate::message::Era;
use crate::session::Session;
use crate::upstream::{NO_CAPABILITIES, Upstream};

/// A client may want to hear of so many single resources of a server, with addresses of so many bytes.
const MOST_RESOURCES: usize = 256;
const LONGEST_URI: usize = 2048;

/// The servers that are listened to, and what sessions want to hear of them.
#[derive(Default)]
pub(crate) struct Changes {
    listeners: Listeners,
    wishes: Wishes,
}

/// Clients with sessions hear what is said where we have none.
fn sessions_of(agent: &str) -> Audience {
    Audience { agent: agent.to_owned(), era: Era::One, capabilities: NO_CAPABILITIES.to_owned() }
}

impl Changes {
    /// A session wants to hear of a resource of a server without sessions.
    ///
    /// # Errors
    /// If it cannot.
    pub(crate) async fn wish(
        &self,
        upstream: &Arc<Upstream>,
        session: &Session,
        uri: &str,
    ) -> Result<(), &'static str> {
        let uri: Arc<str> = uri.into();
        self.wishes.add(session, &upstream.name, &uri)?;
        let ear = self.listeners.ear(upstream, &sessions_of(&session.agent));
        if ear.listener().wish(&uri).is_granted().await {
            return Ok(());
        }
        self.wishes.remove(session, &upstream.name, &uri);
        Err("the server does not say when that changes")
    }

    /// It does not any more.
    pub(crate) fn unwish(&self, upstream: &Upstream, session: &Session, uri: &str) {
        self.wishes.remove(session, &upstream.name, uri);
    }

    /// The session has ended.
    pub(crate) fn forget(&self, session: &str) {
        self.wishes.forget(session);
    }
}

/// Tells a client with a session what changes at a server without sessions, until it goes or its session ends.
pub(crate) async fn forward(
    gateway: &Gateway,
    upstream: &Arc<Upstream>,
    session: &Session,
    to: &mpsc::Sender<Bytes>,
) {
    let changes = &gateway.changes;
    let mut wanted = changes.wishes.of(session, &upstream.name);
    let mut ear = changes.listeners.ear(upstream, &sessions_of(&session.agent));
    let mut wishes: Vec<Wish> = Vec::new();
    loop {
        let uris = wanted.borrow_and_update().clone();
        wishes.retain(|wish| uris.contains(wish.uri()));
        let new = uris.iter().filter(|uri| wishes.iter().all(|wish| wish.uri() != *uri));
        let new: Vec<Wish> = new.map(|uri| ear.listener().wish(uri)).collect();
        wishes.extend(new);
        let changed = tokio::select! {
            changed = ear.next(&wishes) => changed,
            more = wanted.changed() => match more {
                Ok(()) => continue,
                Err(_) => return,
            },
            () = to.closed() => return,
        };
        for change in changed {
            if to.send(change.message().into()).await.is_err() {
                return;
            }
        }
    }
}
