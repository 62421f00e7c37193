//! One resource of one server, for as long as anybody wants to hear of it.
//!
//! Each is asked for by itself, also where one request could ask for all: a server that refuses one, or hangs over it, does
//! not take the others away.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, Notify, OwnedSemaphorePermit, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::change::Change;
use super::listener::{Audience, Hearing, Listener};
use crate::pauses::{self, Pauses};
use crate::upstream::{OurSession, Stream, Told};

/// How long whoever wants to hear of a resource waits until the server has said whether it tells.
const GRANTED_WITHIN: Duration = Duration::from_secs(15);

/// How long it may take until a server's stream has begun.
const HEARD_WITHIN: Duration = Duration::from_secs(2);

/// The same for one that has ended.
const HEARD_AGAIN_WITHIN: Duration = Duration::from_secs(4);

/// A resource that somebody wants to hear of. When this is dropped, nobody does.
pub(super) struct Resource {
    uri: Arc<str>,
    /// Whether the server tells of it. While it has not said, nothing.
    granted: watch::Receiver<Option<bool>>,
    says: watch::Sender<Option<bool>>,
    /// Wakes up who waits before asking again.
    wanted_anew: Arc<Notify>,
}

/// That somebody wants to hear of a resource, for as long as this is there.
pub(super) struct Wish(Arc<Resource>);

impl Wish {
    /// What the server said to others is not the last word: it is asked again soon.
    pub(super) fn new(resource: Arc<Resource>) -> Self {
        let was_refused = resource.says.send_if_modified(|granted| {
            let is_refused = *granted == Some(false);
            granted.take_if(|_| is_refused);
            is_refused
        });
        if was_refused {
            resource.wanted_anew.notify_one();
        }
        Self(resource)
    }

    pub(super) fn uri(&self) -> &Arc<str> {
        &self.0.uri
    }

    /// Whether the server tells of it. One that does not say so in time does not.
    pub(super) async fn is_granted(&self) -> bool {
        let mut granted = self.0.granted.clone();
        let said = timeout(GRANTED_WITHIN, granted.wait_for(Option::is_some)).await;
        said.is_ok_and(|said| said.is_ok_and(|granted| *granted == Some(true)))
    }
}

/// Held by whoever asks for a resource until the server has been told that nobody wants it: who wants it next comes after.
pub(super) type Turn = Arc<Mutex<()>>;

impl Resource {
    /// `place` is one of those that its agent has.
    pub(super) fn listen(
        listener: &Arc<Listener>,
        uri: &Arc<str>,
        turn: Turn,
        place: OwnedSemaphorePermit,
    ) -> Arc<Self> {
        let (says, granted) = watch::channel(None);
        let (uri, listener, wanted_anew) = (Arc::clone(uri), Arc::clone(listener), Arc::default());
        let resource = Self {
            uri: Arc::clone(&uri),
            granted,
            says: says.clone(),
            wanted_anew: Arc::clone(&wanted_anew),
        };
        let resource = Arc::new(resource);
        tokio::spawn(async move {
            let turn = tokio::select! {
                biased;
                () = says.closed() => return,
                turn = turn.lock() => turn,
            };
            let listening =
                Listening { uri, listener, granted: says, wanted_anew, missed: false, session: None };
            listening.run().await;
            drop((turn, place));
        });
        resource
    }
}

/// What became of asking.
enum Outcome {
    /// The server does not tell, or cannot be reached.
    Refused,
    /// It has told for a while.
    Ended,
    /// It has told, and is now heard on another stream.
    Elsewhere,
}

/// What asks a server to tell of a resource, and hears it.
struct Listening {
    uri: Arc<str>,
    listener: Arc<Listener>,
    granted: watch::Sender<Option<bool>>,
    wanted_anew: Arc<Notify>,
    /// Whether something may have been missed.
    missed: bool,
    /// Where it was asked to tell.
    session: Option<OurSession>,
}

impl Listening {
    async fn run(mut self) {
        let granted = self.granted.clone();
        tokio::select! {
            biased;
            () = granted.closed() => {}
            () = self.hear_always() => {}
        }
        if let Some(session) = self.session.take() {
            session.ask(&self.listener.upstream, "resources/unsubscribe", &self.uri).await;
        }
    }

    async fn hear_always(&mut self) {
        let mut pauses = Pauses::default();
        loop {
            let since = Instant::now();
            let outcome = self.hear().await;
            self.missed = true;
            let heard_for = match outcome {
                Outcome::Elsewhere => continue,
                // It is asked again, and believed until it refuses.
                Outcome::Ended => since.elapsed(),
                Outcome::Refused => {
                    self.granted.send_replace(Some(false));
                    Duration::ZERO
                }
            };
            let soon = Instant::now() + pauses::FIRST;
            tokio::select! {
                () = sleep(pauses.after(heard_for)) => {}
                () = async { self.wanted_anew.notified().await; sleep_until(soon).await } => {}
            }
        }
    }

    /// Asks the server, and hears what it says for as long as it does.
    async fn hear(&mut self) -> Outcome {
        let Audience { agent, era, capabilities } = &self.listener.audience;
        match self.listener.upstream.listen_to(agent, *era, capabilities, &self.uri).await {
            Ok(Told::OnAStream(stream)) => {
                self.is_told();
                self.take(stream).await;
                Outcome::Ended
            }
            Ok(Told::InASession(session)) => self.hear_in(session).await,
            Err(error) => {
                let upstream = &self.listener.upstream.name;
                tracing::debug!(upstream, uri = &*self.uri, %error, "a resource is not heard of");
                Outcome::Refused
            }
        }
    }

    /// In a session it is told on the stream that tells of everything else. What is said before anybody hears that is lost, so
    /// that comes first.
    async fn hear_in(&mut self, session: OurSession) -> Outcome {
        let mut hearing = self.listener.hearing.subscribe();
        let is_known = hearing.wait_for(|hearing| *hearing != Hearing::NotYet);
        // Some servers begin their stream when they have something to say, and that may be when they are asked.
        let _ = timeout(HEARD_WITHIN, is_known).await;
        let now = *hearing.borrow_and_update();
        if now == Hearing::Not {
            self.listener.try_again.notify_one();
            let is_on = hearing.wait_for(|hearing| matches!(hearing, Hearing::On(_)));
            if timeout(HEARD_AGAIN_WITHIN, is_on).await.is_err() {
                // Whoever asks now need not wait; who was told before is told when it is heard again.
                let refuse =
                    |granted: &mut Option<bool>| granted.is_none().then(|| *granted = Some(false)).is_some();
                self.granted.send_if_modified(refuse);
                let _ = hearing.wait_for(|hearing| *hearing != now).await;
            }
            return Outcome::Elsewhere;
        }
        self.session = Some(session.clone());
        if !session.ask(&self.listener.upstream, "resources/subscribe", &self.uri).await {
            return Outcome::Refused;
        }
        self.is_told();
        let _ = hearing.wait_for(|hearing| *hearing != now).await;
        Outcome::Elsewhere
    }

    fn is_told(&mut self) {
        self.granted.send_replace(Some(true));
        if std::mem::take(&mut self.missed) {
            // Nobody knows what has become of it meanwhile.
            self.listener.tell(Change::of(&self.uri));
        }
    }

    async fn take(&self, mut stream: Stream) {
        while let Ok(Some(event)) = stream.next().await {
            let told = Change::read(&event.data);
            if let Some(change @ Change::Resource { .. }) = told {
                // It was asked of nothing else, and may spell the address otherwise.
                let change = if change.is_of(&self.uri) { change } else { Change::of(&self.uri) };
                self.listener.tell(change);
            }
        }
    }
}
