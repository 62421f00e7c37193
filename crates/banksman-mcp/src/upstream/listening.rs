//! What a server says on its own account, in a session of ours or without one.

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
use crate::raw::{Elements, Members, quoted};

/// All that a server can say without sessions, but for single resources.
const CHANGES: &str =
    r#"{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}}"#;

/// How long a server may take to say that somebody listens to it.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_secs(30);

/// How long a server may take to say whether it tells of a resource.
const GRANTED_WITHIN: Duration = Duration::from_secs(10);

/// How a server is asked to tell of a resource.
pub(crate) enum Told {
    /// It has said that it does, on a stream of its own.
    OnAStream(Stream),
    /// It is to be asked in the session in which it is listened to.
    InASession(OurSession),
}

/// A session of ours.
#[derive(Clone)]
pub(crate) struct OurSession {
    open: Open,
    /// The place of it, which is in use for so long.
    room: Arc<Room>,
}

impl OurSession {
    /// Whether the server says yes to such a request about a resource.
    pub(crate) async fn ask(&self, upstream: &Upstream, method: &str, uri: &str) -> bool {
        let ours = upstream.house.next_id.fetch_add(1, Ordering::Relaxed).to_string();
        let params = format!(r#"{{"uri":{}}}"#, quoted(uri));
        let text = message::request(&ours, method, &params);
        self.room.use_now();
        let asked = self.open.lane.answer(text.into(), Route { id: ours, progress: None });
        match timeout(GRANTED_WITHIN, asked).await {
            Ok(Ok(answer)) => Reply::read(&answer.message).is_some_and(|reply| reply.result.is_some()),
            Ok(Err(_)) | Err(_) => false,
        }
    }
}

fn is_acknowledged(said: &[u8]) -> bool {
    let method = Members::read_bytes(said).and_then(|said| said.text("method"));
    method.as_deref() == Some("notifications/subscriptions/acknowledged")
}

/// Whether a server that was asked to tell of one resource, and of nothing else, says that it will. It may spell the address
/// otherwise.
fn tells_of_resources(acknowledged: &[u8]) -> bool {
    let said = || {
        let message = Members::read_bytes(acknowledged)?;
        let params = Members::read(message.get("params")?)?;
        let notifications = Members::read(params.get("notifications")?)?;
        Some(!Elements::read(notifications.get("resourceSubscriptions")?, 1)?.first.is_empty())
    };
    said().unwrap_or(false)
}

impl Upstream {
    /// What it says of its lists to this agent's clients of this era, whose requests go the same way. One that knows
    /// nothing of our session is met again; but once, if it says the same of the next.
    ///
    /// # Errors
    /// If it cannot be reached, or says nothing on its own account.
    pub(crate) async fn listen(
        &self,
        agent: &str,
        era: Era,
        capabilities: &str,
        may_forget: &mut bool,
    ) -> Result<(Stream, Refusals), SendError> {
        let says_nothing = || SendError::NotSent("it says nothing on its own account".to_owned());
        let (open, room) = self.as_clients_reach_it(agent, era, capabilities).await?;
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
            (Lane::Child(_) | Lane::Http { .. }, Era::Two) => self.subscribed(&open, CHANGES).await?.0,
        };
        let stream = match &room {
            Some(room) => stream.kept_in(room),
            None => stream,
        };
        Ok((stream, Refusals::by(open.lane)))
    }

    /// The same, of one resource.
    ///
    /// # Errors
    /// If it cannot be reached, or does not tell of it.
    pub(crate) async fn listen_to(
        &self,
        agent: &str,
        era: Era,
        capabilities: &str,
        uri: &str,
    ) -> Result<Told, SendError> {
        let (open, room) = self.as_clients_reach_it(agent, era, capabilities).await?;
        match (open.era, room) {
            (Era::One, Some(room)) => Ok(Told::InASession(OurSession { open, room })),
            (Era::One, None) => Err(SendError::NotSent("there is no session".to_owned())),
            (Era::Two, room) => {
                let wish = format!(r#"{{"notifications":{{"resourceSubscriptions":[{}]}}}}"#, quoted(uri));
                let (stream, acknowledged) = self.subscribed(&open, &wish).await?;
                if !tells_of_resources(&acknowledged) {
                    return Err(SendError::NotSent("it does not tell of that resource".to_owned()));
                }
                Ok(Told::OnAStream(match &room {
                    Some(room) => stream.kept_in(room),
                    None => stream,
                }))
            }
        }
    }

    /// What a server without sessions says of what it is asked to tell, and what it has said first: what that will be.
    async fn subscribed(&self, open: &Open, wishes: &str) -> Result<(Stream, Bytes), SendError> {
        let ours = self.house.next_id.fetch_add(1, Ordering::Relaxed).to_string();
        let nothing = HeaderMap::new();
        let (lane, params) = framed(open, "subscriptions/listen", wishes, Behalf::ours(&nothing));
        let text = message::request(&ours, "subscriptions/listen", &params);
        let route = Route { id: ours.clone(), progress: None };
        let says_nothing = || SendError::NotSent("it says nothing on its own account".to_owned());
        let Answer::Stream(mut stream) = lane.ask(text.into(), route).await? else {
            return Err(says_nothing());
        };
        if let Lane::Child(child) = &open.lane
            && !child.is_shared()
        {
            stream = stream.given_up_at_the_end(&ours, child);
        }
        let acknowledged = async {
            // An answer ends it. Some begin with a comment.
            while let Ok(Some(event)) = stream.next().await {
                if Reply::to(&event.data, &ours).is_some() {
                    return None;
                }
                if is_acknowledged(&event.data) {
                    return Some(event.data);
                }
            }
            None
        };
        match timeout(ACKNOWLEDGED_WITHIN, acknowledged).await {
            Ok(Some(acknowledged)) => Ok((stream, acknowledged)),
            Ok(None) | Err(_) => Err(says_nothing()),
        }
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
