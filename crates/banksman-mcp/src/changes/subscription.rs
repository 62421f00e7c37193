//! What a client without a session is told: it asks for all of it at once, and hears it in the answer.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use banksman_core::json::Json;
use bytes::Bytes;
use http::Response;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::change::{Change, LISTS, List};
use super::listener::{Audience, Ear, Listener};
use super::resource::Wish;
use super::{LONGEST_URI, MOST_RESOURCES};
use crate::body::{self, Body};
use crate::errand::QUEUE;
use crate::gateway::Gateway;
use crate::raw::quoted;
use crate::sse;
use crate::stream::HEARTBEAT;
use crate::upstream::Upstream;
use crate::visit::Visit;

/// A client hears after this long at the latest what it will hear.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_secs(15);

/// How long one of several servers has to say whether it tells of a resource that nobody has listed.
const EACH_WITHIN: Duration = Duration::from_secs(4);

/// What a client wants to hear.
struct Wanted {
    lists: Vec<List>,
    resources: BTreeSet<Arc<str>>,
}

impl Wanted {
    fn of(visit: &Visit) -> Self {
        let said = visit.message.param("notifications");
        let wants = |list: &List| said.and_then(|said| said.get(list.wish())) == Some(&Json::Bool(true));
        let uris = match said.and_then(|said| said.get("resourceSubscriptions")) {
            Some(Json::Array(uris)) => uris.as_slice(),
            Some(_) | None => &[],
        };
        let uris = uris.iter().filter_map(Json::as_str).filter(|uri| uri.len() <= LONGEST_URI);
        Self {
            lists: LISTS.into_iter().filter(wants).collect(),
            resources: uris.take(MOST_RESOURCES).map(Into::into).collect(),
        }
    }
}

/// Answers `subscriptions/listen` in the place of these servers.
pub(crate) fn subscribe(visit: &Visit, upstreams: Vec<Arc<Upstream>>) -> Response<Body> {
    let Wanted { lists, resources } = Wanted::of(visit);
    let audience = Audience {
        agent: visit.caller.name.clone(),
        era: visit.era,
        capabilities: visit.client.capabilities(),
    };
    let (gateway, id) = (Arc::clone(&visit.gateway), visit.message.id());
    let (events, receiver) = mpsc::channel(QUEUE);
    tokio::spawn(async move {
        let ear = |upstream: &Arc<Upstream>| gateway.changes.listeners.ear(upstream, &audience);
        let servers: Vec<Server> =
            upstreams.iter().map(|upstream| Server { ear: ear(upstream), wishes: Vec::new() }).collect();
        let servers = tokio::select! {
            servers = granted(&gateway, servers, resources) => servers,
            () = events.closed() => return,
        };
        let told = servers.iter().flat_map(|server| &server.wishes).map(|wish| quoted(wish.uri())).collect();
        let acknowledged = sse::event(&acknowledged(&id, &lists, told));
        let mut changed = together(servers);
        let mut sent = events.send(acknowledged).await;
        while sent.is_ok() {
            let event = tokio::select! {
                change = changed.recv() => match change {
                    Some(Change::List(list)) if !lists.contains(&list) => continue,
                    Some(change) => sse::event(&change.message_to(&id)),
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

/// What the client will hear.
fn acknowledged(id: &str, lists: &[List], resources: Vec<String>) -> String {
    let mut accepted: Vec<String> = lists.iter().map(|list| format!(r#""{}":true"#, list.wish())).collect();
    if !resources.is_empty() {
        accepted.push(format!(r#""resourceSubscriptions":[{}]"#, resources.join(",")));
    }
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"notifications":{{{}}},"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#,
        accepted.join(",")
    )
}

/// A server that is listened to, with what it tells of beside its lists.
struct Server {
    ear: Ear,
    wishes: Vec<Wish>,
}

impl Server {
    fn name(&self) -> &str {
        &self.ear.listener().upstream.name
    }
}

/// Asks for each resource whoever has listed it. What nobody has listed is asked of one after the other, as everywhere; if
/// there is one server only, of that.
async fn granted(gateway: &Gateway, mut servers: Vec<Server>, resources: BTreeSet<Arc<str>>) -> Vec<Server> {
    let until = Instant::now() + ACKNOWLEDGED_WITHIN;
    let mut asked = JoinSet::new();
    for uri in resources {
        let owner = gateway.owners.of(&uri).filter(|_| servers.len() > 1);
        let may_know = |server: &&Server| owner.as_ref().is_none_or(|owner| server.name() == &**owner);
        let listeners: Vec<Arc<Listener>> =
            servers.iter().filter(may_know).map(|server| Arc::clone(server.ear.listener())).collect();
        let each_within = if listeners.len() > 1 { EACH_WITHIN } else { ACKNOWLEDGED_WITHIN };
        asked.spawn(async move {
            for listener in listeners {
                let Some(wish) = listener.wish(&uri) else { continue };
                let is_granted = listener.upstream.asked_around(timeout(each_within, wish.is_granted()));
                if matches!(timeout_at(until, is_granted).await, Ok(Some(Ok(true)))) {
                    return Some((listener, wish));
                }
            }
            None
        });
    }
    for (listener, wish) in asked.join_all().await.into_iter().flatten() {
        if let Some(server) = servers.iter_mut().find(|server| Arc::ptr_eq(server.ear.listener(), &listener))
        {
            server.wishes.push(wish);
        }
    }
    servers
}

/// What changes at all of them.
fn together(servers: Vec<Server>) -> mpsc::Receiver<Change> {
    let (to, changed) = mpsc::channel(QUEUE);
    for Server { mut ear, wishes } in servers {
        let to = to.clone();
        tokio::spawn(async move {
            loop {
                let changes = tokio::select! {
                    changes = ear.next(&wishes) => changes,
                    () = to.closed() => return,
                };
                for change in changes {
                    if to.send(change).await.is_err() {
                        return;
                    }
                }
            }
        });
    }
    changed
}
