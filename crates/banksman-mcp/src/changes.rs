//! That a server's lists have changed, for clients that do not hear it from the server itself: of the other era, or before
//! several servers at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use banksman_core::json::Json;
use bytes::Bytes;
use http::Response;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use crate::body::{self, Body};
use crate::errand::QUEUE;
use crate::gateway::Gateway;
use crate::message::Era;
use crate::raw::Members;
use crate::sse;
use crate::upstream::Stream;
use crate::upstream::{Hush, NO_CAPABILITIES, Refusals, SendError, Upstream};
use crate::visit::Visit;

/// Which list it is. How a client asks to hear of it, and what it hears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Tools,
    Prompts,
    Resources,
}

const ALL: [Change; 3] = [Change::Tools, Change::Prompts, Change::Resources];

impl Change {
    fn wish(self) -> &'static str {
        match self {
            Self::Tools => "toolsListChanged",
            Self::Prompts => "promptsListChanged",
            Self::Resources => "resourcesListChanged",
        }
    }

    fn method(self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
            Self::Resources => "notifications/resources/list_changed",
        }
    }

    fn read(message: &[u8]) -> Option<Self> {
        let method = Members::read_bytes(message)?.text("method")?;
        ALL.into_iter().find(|change| change.method() == method)
    }

    /// As a client with a session hears it.
    fn message(self) -> String {
        format!(r#"{{"jsonrpc":"2.0","method":"{}"}}"#, self.method())
    }

    fn message_to(self, subscription: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","method":"{}","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{subscription}}}}}}}"#,
            self.method()
        )
    }
}

/// So many changes wait for one listener; one that misses some is told that all has changed.
const WAITING: usize = 64;

/// A server that says nothing is asked again after this long, and twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// One that was heard for so long is heard again soon.
const LIVED: Duration = Duration::from_secs(60);

/// How often to look whether anybody still listens.
const LOOK: Duration = Duration::from_secs(5);

/// How often a client hears that it is still connected.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Who listens: an agent's clients that are alike, and so hear what is said where their requests go.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Audience {
    pub(crate) agent: String,
    pub(crate) era: Era,
    /// What they can answer, as JSON.
    pub(crate) capabilities: String,
}

/// The servers that are listened to, each once however many want to know.
#[derive(Default)]
pub(crate) struct Changes(Mutex<HashMap<(String, Audience), broadcast::WeakSender<Change>>>);

impl Changes {
    /// What changes from now on.
    fn of(&self, upstream: &Arc<Upstream>, audience: &Audience) -> broadcast::Receiver<Change> {
        let mut listening = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        listening.retain(|_, news| news.strong_count() > 0);
        let key = (upstream.name.clone(), audience.clone());
        if let Some(news) = listening.get(&key).and_then(broadcast::WeakSender::upgrade) {
            return news.subscribe();
        }
        let (news, receiver) = broadcast::channel(WAITING);
        listening.insert(key, news.downgrade());
        tokio::spawn(listen(Arc::clone(upstream), audience.clone(), news));
        receiver
    }

    /// Tells what changes, for as long as somebody wants to know.
    pub(crate) async fn tell(
        &self,
        upstream: &Arc<Upstream>,
        audience: &Audience,
        to: &mpsc::Sender<Change>,
    ) {
        loop {
            let mut news = self.of(upstream, audience);
            loop {
                let changed = tokio::select! {
                    changed = news.recv() => changed,
                    () = to.closed() => return,
                };
                let changed: &[Change] = match &changed {
                    Ok(change) => std::slice::from_ref(change),
                    Err(RecvError::Lagged(_)) => &ALL,
                    // Whoever listened stopped when nobody seemed to want to know.
                    Err(RecvError::Closed) => break,
                };
                for change in changed {
                    if to.send(*change).await.is_err() {
                        return;
                    }
                }
            }
        }
    }
}

/// Listens to a server for as long as anybody wants to know what it says.
async fn listen(upstream: Arc<Upstream>, audience: Audience, news: broadcast::Sender<Change>) {
    let Audience { agent, era, capabilities } = audience;
    let mut pause = FIRST_PAUSE;
    let (mut missed, mut may_forget) = (false, true);
    while news.receiver_count() > 0 {
        match upstream.listen(&agent, era, &capabilities, &mut may_forget).await {
            Ok((stream, refusals)) => {
                if std::mem::take(&mut missed) {
                    // Nobody knows what has changed meanwhile.
                    ALL.into_iter().for_each(|change| drop(news.send(change)));
                }
                let since = Instant::now();
                if !hear(stream, &refusals, &news).await {
                    return;
                }
                // Some end their streams all the time: they are asked less and less often.
                if since.elapsed() >= LIVED {
                    pause = FIRST_PAUSE;
                }
                may_forget = true;
            }
            Err(error) => tracing::debug!(upstream = upstream.name, %error, "a server is not heard"),
        }
        missed = true;
        sleep(pause).await;
        pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
    }
}

/// False if nobody wants to know any more.
async fn hear(mut stream: Stream, refusals: &Refusals, news: &broadcast::Sender<Change>) -> bool {
    loop {
        let look = |_: Option<&Hush>| match news.receiver_count() {
            0 => Err(SendError::Lost("nobody wants to know any more".to_owned())),
            _ => Ok(()),
        };
        let Ok(Some(event)) = stream.next_with_looks(LOOK, look).await else {
            return news.receiver_count() > 0;
        };
        if let Some(change) = Change::read(&event.data) {
            drop(news.send(change));
        } else if let Some(said) = Members::read_bytes(&event.data)
            && let (Some(method), Some(id)) = (said.text("method"), said.get("id"))
        {
            refusals.refuse(&method, id);
        }
    }
}

/// Answers `subscriptions/listen` in the place of these servers.
pub(crate) fn subscribe(visit: &Visit, upstreams: Vec<Arc<Upstream>>) -> Response<Body> {
    let wishes = visit.message.param("notifications");
    let wants = |change: &Change| {
        wishes.and_then(|wishes| wishes.get(change.wish())).is_some_and(|wish| *wish == Json::Bool(true))
    };
    let wanted: Vec<Change> = ALL.into_iter().filter(wants).collect();
    let accepted: Vec<String> = wanted.iter().map(|change| format!(r#""{}":true"#, change.wish())).collect();
    let id = visit.message.id();
    let acknowledged = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"notifications":{{{}}},"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#,
        accepted.join(",")
    );
    let mut changed = of_all(visit, upstreams);
    let (events, receiver) = mpsc::channel(QUEUE);
    tokio::spawn(async move {
        let mut sent = events.send(sse::event(&acknowledged)).await;
        while sent.is_ok() {
            let event = tokio::select! {
                change = changed.recv() => match change {
                    Some(change) if wanted.contains(&change) => sse::event(&change.message_to(&id)),
                    Some(_) => continue,
                    None => return,
                },
                () = sleep(HEARTBEAT) => Bytes::from_static(sse::COMMENT),
                () = events.closed() => return,
            };
            sent = events.send(event).await;
        }
    });
    body::events(receiver)
}

fn of_all(visit: &Visit, upstreams: Vec<Arc<Upstream>>) -> mpsc::Receiver<Change> {
    let (to, changed) = mpsc::channel(WAITING);
    for upstream in upstreams {
        let audience = Audience {
            agent: visit.caller.name.clone(),
            era: visit.era,
            capabilities: visit.client.capabilities(),
        };
        let (gateway, to) = (Arc::clone(&visit.gateway), to.clone());
        tokio::spawn(async move { gateway.changes.tell(&upstream, &audience, &to).await });
    }
    changed
}

/// Tells a client with a session what changes in the lists of a server without sessions.
pub(crate) async fn forward(
    gateway: &Gateway,
    upstream: &Arc<Upstream>,
    agent: &str,
    to: &mpsc::Sender<Bytes>,
) {
    let (changed, mut changes) = mpsc::channel(WAITING);
    let audience =
        Audience { agent: agent.to_owned(), era: Era::One, capabilities: NO_CAPABILITIES.to_owned() };
    let telling = gateway.changes.tell(upstream, &audience, &changed);
    let passing = async {
        while let Some(change) = changes.recv().await {
            if to.send(change.message().into()).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = telling => {}
        () = passing => {}
        () = to.closed() => {}
    }
}
