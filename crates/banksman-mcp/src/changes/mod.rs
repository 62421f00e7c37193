//! What has changed at a server, for clients that do not hear it from the server itself: of the other era, or before
//! several servers at once.

mod change;
mod listener;
mod resource;
mod subscription;
mod wishes;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::sleep;

use change::Change;
use listener::{Audience, Listeners};
use resource::Wish;
pub(crate) use subscription::subscribe;
use wishes::Wishes;

use crate::gateway::Gateway;
use crate::message::Era;
use crate::session::Session;
use crate::upstream::{NO_CAPABILITIES, Upstream};

/// An agent may want to hear of so many single resources of a server, with addresses of so many bytes.
const MOST_RESOURCES: usize = 256;
const LONGEST_URI: usize = 2048;

/// How long a resource is listened to for a session that may not listen itself.
const HANDED_OVER_WITHIN: Duration = Duration::from_secs(1);

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
        let added = self.wishes.add(session, &upstream.name, &uri)?;
        let ear = self.listeners.ear(upstream, &sessions_of(&session.agent));
        let wish = ear.listener().wish(&uri).ok_or("too many resources are subscribed to")?;
        if !wish.is_granted().await {
            return Err("the server does not say when that changes");
        }
        added.keep();
        // Its standing stream, if it has one, takes this over.
        tokio::spawn(async move {
            sleep(HANDED_OVER_WITHIN).await;
            drop((wish, ear));
        });
        Ok(())
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
    let mut hearing = changes.wishes.of(session, &upstream.name);
    if gateway.sessions.has_ended(&session.key) {
        return changes.forget(&session.key);
    }
    let mut ear = changes.listeners.ear(upstream, &sessions_of(&session.agent));
    let mut wishes: Vec<Wish> = Vec::new();
    // Nobody knows what became of these while it did not listen.
    let before = hearing.uris.borrow().clone();
    for uri in &before {
        if to.send(Change::of(uri).message().into()).await.is_err() {
            return;
        }
    }
    loop {
        let wanted = hearing.uris.borrow_and_update().clone();
        wishes.retain(|wish| wanted.contains(wish.uri()));
        let new = wanted.iter().filter(|uri| wishes.iter().all(|wish| wish.uri() != *uri));
        let new: Vec<Wish> = new.filter_map(|uri| ear.listener().wish(uri)).collect();
        wishes.extend(new);
        if wishes.len() < wanted.len() {
            // Tried again when anything changes.
            let (upstream, agent, left_out) = (&upstream.name, &session.agent, wanted.len() - wishes.len());
            tracing::debug!(
                upstream,
                agent,
                left_out,
                "an agent wants to hear of more resources than it may"
            );
        }
        let changed = tokio::select! {
            changed = ear.next(&wishes) => changed,
            more = hearing.uris.changed() => match more {
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
