//! What a server says on its own account, in a session of ours or without one.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use tokio::time::timeout;

use super::Stream;
use super::framing::framed;
use super::http::{SESSION, own_headers};
use super::lane::is_event_stream;
use super::reply::Reply;
use super::rooms::{For, Need, Open, Room};
use super::{Answer, Behalf, Lane, Reach, Refusals, Route, SendError, Upstream};
use crate::message::{self, Era};
use crate::raw::{Members, quoted};

/// How long a server may take to say that somebody listens to it.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_secs(30);

/// How long a server may take to say whether it tells of a resource.
const GRANTED_WITHIN: Duration = Duration::from_secs(10);

/// A server that is listened to.
pub(crate) struct Heard {
    pub(crate) stream: Stream,
    pub(crate) refusals: Refusals,
    pub(crate) resources: Resources,
}

/// How it comes to tell of single resources.
pub(crate) enum Resources {
    /// With the stream: of those of the ones it was asked for.
    With(BTreeSet<Arc<str>>),
    /// Each by a request in the session.
    ByRequest(OurSession),
}

/// A session of ours in which a server is listened to.
pub(crate) struct OurSession(Open);

impl OurSession {
    /// Whether it says yes to such a request about a resource.
    pub(crate) async fn ask(&self, upstream: &Upstream, method: &str, uri: &str) -> bool {
        let ours = upstream.house.next_id.fetch_add(1, Ordering::Relaxed).to_string();
        let params = format!(r#"{{"uri":{}}}"#, quoted(uri));
        let text = message::request(&ours, method, &params);
        let asked = self.0.lane.answer(text.into(), Route { id: ours, progress: None });
        match timeout(GRANTED_WITHIN, asked).await {
            Ok(Ok(answer)) => Reply::read(&answer.message).is_some_and(|reply| reply.result.is_some()),
            Ok(Err(_)) | Err(_) => false,
        }
    }
}

/// What is asked for without sessions: all lists, and these resources.
fn wishes(resources: &BTreeSet<Arc<str>>) -> String {
    let uris: Vec<String> = resources.iter().map(|uri| quoted(uri)).collect();
    let uris = match uris.is_empty() {
        true => String::new(),
        false => format!(r#","resourceSubscriptions":[{}]"#, uris.join(",")),
    };
    format!(
        r#"{{"notifications":{{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true{uris}}}}}"#
    )
}

/// Of which of the resources that were asked for a server says that it will tell.
fn agreed(acknowledged: &[u8], asked: &BTreeSet<Arc<str>>) -> BTreeSet<Arc<str>> {
    let said = || {
        let message = Members::read_bytes(acknowledged)?;
        let params = Members::read(message.get("params")?)?;
        let notifications = Members::read(params.get("notifications")?)?;
        serde_json::from_str::<BTreeSet<Arc<str>>>(notifications.get("resourceSubscriptions")?).ok()
    };
    let said = said().unwrap_or_default();
    asked.intersection(&said).cloned().collect()
}

impl Upstream {
    /// What it says of its lists, and of these resources, to this agent's clients of this era, whose requests go the same
    /// way. One that knows nothing of our session is met again; but once, if it says the same of the next.
    ///
    /// # Errors
    /// If it cannot be reached, or says nothing on its own account.
    pub(crate) async fn listen(
        &self,
        agent: &str,
        era: Era,
        capabilities: &str,
        may_forget: &mut bool,
        resources: &BTreeSet<Arc<str>>,
    ) -> Result<Heard, SendError> {
        let says_nothing = || SendError::NotSent("it says nothing on its own account".to_owned());
        let (open, room) = self.as_clients_reach_it(agent, era, capabilities).await?;
        let mut granted = BTreeSet::new();
        let stream = match (&open.lane, open.era) {
            (Lane::Child(child), Era::One) => Stream::of_child(child.listen()),
            (Lane::Http { upstream, headers }, Era::One) => {
                let response = upstream.send(Method::GET, headers.clone(), Bytes::new()).await?;
                let (parts, body) = response.into_parts();
                let knows_nothing = matches!(parts.status, StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST);
                let is_forgotten = knows_nothing && headers.contains_key(SESSION);
                if let (true, Some(room)) = (is_forgotten && *may_forget, &room) {
                    *may_forget = false;
                    room.forget(&open);
                }
                if !parts.status.is_success() || !is_event_stream(&parts.headers) {
                    return Err(says_nothing());
                }
                Stream::over_http(body, parts.headers)
            }
            (Lane::Child(_) | Lane::Http { .. }, Era::Two) => {
                let ours = self.house.next_id.fetch_add(1, Ordering::Relaxed).to_string();
                let nothing = HeaderMap::new();
                let (lane, params) =
                    framed(&open, "subscriptions/listen", &wishes(resources), Behalf::ours(&nothing));
                let text = message::request(&ours, "subscriptions/listen", &params);
                let route = Route { id: ours.clone(), progress: None };
                let Answer::Stream(mut stream) = lane.ask(text.into(), route).await? else {
                    return Err(says_nothing());
                };
                if let Lane::Child(child) = &open.lane
                    && !child.is_shared()
                {
                    stream = stream.given_up_at_the_end(&ours, child);
                }
                // An answer ends it. One that listens is told first what it will hear.
                match timeout(ACKNOWLEDGED_WITHIN, stream.next()).await {
                    Ok(Ok(Some(event))) if Reply::to(&event.data, &ours).is_none() => {
                        granted = agreed(&event.data, resources);
                        stream
                    }
                    Ok(_) | Err(_) => return Err(says_nothing()),
                }
            }
        };
        let stream = match &room {
            Some(room) => stream.kept_in(room),
            None => stream,
        };
        let refusals = Refusals::by(open.lane.clone());
        let resources = match open.era {
            Era::One => Resources::ByRequest(OurSession(open)),
            Era::Two => Resources::With(granted),
        };
        Ok(Heard { stream, refusals, resources })
    }

    /// The way, and the place of the session that it is in.
    async fn as_clients_reach_it(
        &self,
        agent: &str,
        era: Era,
        capabilities: &str,
    ) -> Result<(Open, Option<Arc<Room>>), SendError> {
        let without_session = |lane| (Open { lane, era: Era::Two, said: "{}".into() }, None);
        if era == Era::Two {
            match &self.reach {
                Reach::Program => {
                    if let Some(child) = self.shared_program(agent).await? {
                        return Ok(without_session(Lane::Child(child)));
                    }
                }
                Reach::Http(upstream) => {
                    if self.speaks(Era::Two).await? {
                        return Ok(without_session(Lane::http(upstream, own_headers(), None)));
                    }
                }
            }
        }
        let room = self.house.room_for(agent, For::OurRequests, capabilities);
        let open = self.house_session(&room, Need::Question).await?;
        room.use_now();
        Ok((open, Some(room)))
    }
}
