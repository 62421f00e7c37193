//! Our own sessions with a server: one to learn what tools it has, and one for each agent, to run what was approved when its
//! client is away, or has none of its own. No agent's calls find what another has left behind in one.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode};
use tokio::sync::watch;
use tokio::time::timeout;

use super::framing::{framed, with_token};
use super::http::{SESSION, own_headers};
use super::reply::{Final, Reply};
use super::rooms::{For, Meeting, Need, Open, Room};
use super::{
    Answer, Child, Lane, MET_WITHIN, Manner, Reach, Route, SendError, Slot, Upstream, WAYS_WITHIN,
    not_met_in_time,
};
use crate::message::{self, ERA_ONE, Era};
use crate::raw::{Members, quoted};

/// How often a call is made that may be made again.
pub(crate) const CALL_TRIES: u32 = 3;

/// For how long an answer to what we ask for ourselves is of use.
const PATIENCE: Duration = Duration::from_secs(5 * 60);

/// How long a program that is there has to say whether it knows requests without sessions.
const DISCOVERED_WITHIN: Duration = Duration::from_secs(20);

/// One that does not say is asked again after this long.
const SESSIONS_ONLY_FOR: Duration = Duration::from_secs(10 * 60);

const UNKNOWN_REVISION: &str = "it speaks no revision of MCP that we know";

/// A meeting that failed after so long is not tried again for a while: whoever comes next would wait as long.
const SLOW: Duration = Duration::from_secs(2);
const NOT_AGAIN_FOR: Duration = Duration::from_secs(15);

/// For whom something is asked, and how.
#[derive(Clone, Copy)]
pub(crate) struct Behalf<'a> {
    /// In whose session; without one, in that in which we ask for ourselves.
    pub(crate) agent: Option<&'a str>,
    /// Headers beside our own.
    pub(crate) headers: &'a HeaderMap,
    /// For how long the answer is of use.
    pub(crate) patience: Duration,
    /// What the server may ask, as JSON: what the client that we speak for can answer.
    pub(crate) capabilities: &'a str,
    /// Whether what a server with sessions asks is heard.
    pub(crate) hears_questions: bool,
}

impl<'a> Behalf<'a> {
    /// What we ask for ourselves.
    pub(super) fn ours(headers: &'a HeaderMap) -> Self {
        Self {
            agent: None,
            headers,
            patience: PATIENCE,
            capabilities: NO_CAPABILITIES,
            hears_questions: false,
        }
    }
}

/// Who can answer nothing.
pub(crate) const NO_CAPABILITIES: &str = "{}";

/// Why our own request has no result.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum HouseError {
    #[error(transparent)]
    Send(#[from] SendError),
    #[error("it refuses: {0}")]
    Refused(String),
    #[error("its answer cannot be read")]
    Unreadable,
}

pub(super) fn who_we_are() -> String {
    format!(r#"{{"name":"banksman","version":{}}}"#, quoted(env!("CARGO_PKG_VERSION")))
}

impl Upstream {
    /// Asks something on our own account.
    ///
    /// # Errors
    /// If there is no result.
    pub(crate) async fn ask(&self, method: &str, params: &str) -> Result<String, HouseError> {
        let answer = self.ask_as(Behalf::ours(&HeaderMap::new()), method, params).await?;
        let reply = Reply::read(&answer.message).ok_or(HouseError::Unreadable)?;
        match (reply.result, reply.rpc_error()) {
            (Some(result), None) => Ok(result.get().to_owned()),
            (_, Some(error)) => Err(HouseError::Refused(error.message)),
            (None, None) => Err(HouseError::Unreadable),
        }
    }

    /// The same, with all of the answer, as one to the request `0`.
    ///
    /// # Errors
    /// If there is no answer.
    pub(crate) async fn ask_as(
        &self,
        behalf: Behalf<'_>,
        method: &str,
        params: &str,
    ) -> Result<Final, SendError> {
        let nobodys = Route { id: "0".to_owned(), progress: None };
        let answer = self.ask_aloud(behalf, method, params, &nobodys).await?;
        answer.conclude_within(Some(behalf.patience), &nobodys.id).await
    }

    /// The same, message by message, under the names by which a client knows its request.
    ///
    /// # Errors
    /// If it was not sent, or nobody knows.
    pub(crate) async fn ask_aloud(
        &self,
        behalf: Behalf<'_>,
        method: &str,
        params: &str,
        theirs: &Route,
    ) -> Result<Answer, SendError> {
        let room = self.room_of(behalf);
        let is_call = behalf.agent.is_some() && method == "tools/call";
        let need = if is_call { Need::Call } else { Need::Question };
        for attempt in 0..2 {
            // The program may be met later than the answer is of use.
            let meeting =
                timeout(behalf.patience.clamp(MET_WITHIN, WAYS_WITHIN), self.house_session(&room, need));
            let open = meeting.await.unwrap_or_else(|_| Err(not_met_in_time()))?;
            let ours = self.house.next_id.fetch_add(1, Ordering::Relaxed).to_string();
            let (lane, params) = framed(&open, method, params, behalf);
            let params = if theirs.progress.is_some() { with_token(&params, &ours) } else { params };
            let text = message::request(&ours, method, &params);
            let answer = lane.ask_known_as(text.into(), ours, theirs, (&room, behalf.hears_questions)).await;
            room.use_now();
            match answer {
                // It says so instead of doing anything, so asking again is safe.
                Ok(None) => room.forget(&open),
                Err(SendError::NotSent(_)) if attempt == 0 && matches!(open.lane, Lane::Child(_)) => {
                    room.forget(&open);
                }
                Ok(Some(answer)) => return Ok(answer),
                Err(error) => return Err(error),
            }
        }
        Err(SendError::NotSent("it forgets our session again and again".to_owned()))
    }

    /// Makes a call, and again if nobody knows whether it arrived and that does no harm.
    ///
    /// # Errors
    /// If it was not sent, or nobody knows.
    pub(crate) async fn call_aloud(
        &self,
        is_idempotent: bool,
        behalf: Behalf<'_>,
        params: &str,
        theirs: &Route,
    ) -> Result<Answer, SendError> {
        let mut tries = if is_idempotent { CALL_TRIES } else { 1 };
        let mut again = false;
        loop {
            tries -= 1;
            match self.ask_aloud(behalf, "tools/call", params, theirs).await {
                Err(SendError::Lost(_)) if tries > 0 => again = true,
                // This time; but nobody knows of the time before.
                Err(SendError::NotSent(problem)) if again => return Err(SendError::Lost(problem)),
                answer => return answer,
            }
        }
    }

    /// Where it is asked. A server with sessions hears once, at their begin, what may be asked in them.
    fn room_of(&self, behalf: Behalf<'_>) -> Arc<Room> {
        match behalf.agent {
            Some(agent) if self.is_known_to_speak(Era::One) != Some(false) => {
                self.house.room_for(agent, For::OurRequests, behalf.capabilities)
            }
            agent => self.house.room(agent),
        }
    }

    /// What the server said of itself when we met.
    ///
    /// # Errors
    /// If it cannot be reached.
    pub(crate) async fn introduction(&self) -> Result<(Era, Arc<str>), SendError> {
        let open = self.house_session(&self.house.ours, Need::Question).await?;
        Ok((open.era, open.said))
    }

    /// Whether the server understands requests of this era. What it has said about that is remembered.
    ///
    /// # Errors
    /// If it cannot be reached, or says nothing about that now.
    pub(crate) async fn speaks(&self, era: Era) -> Result<bool, SendError> {
        match (self.is_known_to_speak(era), era) {
            (Some(speaks), _) => Ok(speaks),
            (None, Era::One) => {
                let speaks = self.house_session(&self.house.ours, Need::Question).await?.era == Era::One;
                Ok(*self.house.speaks_one.get_or_init(|| speaks))
            }
            (None, Era::Two) => self.try_era_two().await,
        }
    }

    /// Whether it understands requests of this era, if it has said so.
    pub(crate) fn is_known_to_speak(&self, era: Era) -> Option<bool> {
        let speaks = match era {
            Era::One => &self.house.speaks_one,
            Era::Two => &self.house.speaks_two,
        };
        speaks.get().copied()
    }

    async fn try_era_two(&self) -> Result<bool, SendError> {
        let remember = |speaks| *self.house.speaks_two.get_or_init(|| speaks);
        let Reach::Http(upstream) = &self.reach else {
            // That it speaks era one says nothing of the other: it may speak both, each to those who begin with it.
            return Ok(self.house_session(&self.house.ours, Need::Question).await?.era == Era::Two);
        };
        match self.meeting(discover(Lane::http(upstream, own_headers(), None))).await? {
            Discovery::Speaks(_) => Ok(remember(true)),
            Discovery::SpeaksNot => Ok(remember(false)),
            // Asked again, it may say something else.
            Discovery::Unclear => Ok(false),
        }
    }

    /// The session of a room. One meeting is under way at a time; it goes on when those who wait for it have gone, and nothing
    /// is locked while it does. What was to be asked in the session is surely not sent if there is none, whatever became of
    /// the meeting.
    pub(super) async fn house_session(&self, room: &Room, need: Need) -> Result<Open, SendError> {
        let broken = || SendError::NotSent("it could not be met".to_owned());
        let mut met = self.meet(room, need).ok_or_else(broken)?;
        let done = met.wait_for(|met| !matches!(met, Meeting::UnderWay)).await;
        match &*done.map_err(|_| broken())? {
            Meeting::Met(open) => Ok(open.clone()),
            Meeting::Failed { error, .. } => Err(SendError::NotSent(error.to_string())),
            Meeting::UnderWay => Err(broken()),
        }
    }

    /// The meeting that is under way or over; a new one, if that is of no use.
    fn meet(&self, room: &Room, need: Need) -> Option<watch::Receiver<Meeting>> {
        let mut met = room.met();
        // Whose sender is gone, and who says nothing, never will.
        let is_of_use = |met: &&watch::Receiver<Meeting>| {
            let meeting = met.borrow();
            meeting.is_of_use(need) && !(matches!(*meeting, Meeting::UnderWay) && met.has_changed().is_err())
        };
        if let Some(met) = met.as_ref().filter(is_of_use) {
            return Some(met.clone());
        }
        let (me, is_for, capabilities) = (self.me.upgrade()?, room.is_for, room.capabilities.clone());
        let (sender, receiver) = watch::channel(Meeting::default());
        tokio::spawn(async move {
            let began = Instant::now();
            let met = match is_for {
                For::OurRequests => me.meet_now(&capabilities).await,
                For::TheirRequests => me.meet_without_sessions().await,
            };
            let meeting = match met {
                Ok(open) => Meeting::Met(open),
                Err(error) => {
                    let not_before = (began.elapsed() > SLOW).then(|| Instant::now() + NOT_AGAIN_FOR);
                    Meeting::Failed { error, not_before }
                }
            };
            sender.send_replace(meeting);
        });
        *met = Some(receiver.clone());
        Some(receiver)
    }

    async fn meet_now(&self, capabilities: &str) -> Result<Open, SendError> {
        let params = format!(
            r#"{{"protocolVersion":{},"capabilities":{capabilities},"clientInfo":{}}}"#,
            quoted(ERA_ONE),
            who_we_are()
        );
        let manner = if capabilities == NO_CAPABILITIES { Manner::Alone } else { Manner::AsksOfRequests };
        match self.initialize(&params, manner, None).await? {
            Greeting::Met { lane, said } => Ok(Open { lane, era: Era::One, said: said.into() }),
            Greeting::Refused { lane, .. } => match self.meeting(discover(lane)).await? {
                Discovery::Speaks(open) => {
                    let _ = self.house.speaks_one.set(false);
                    let _ = self.house.speaks_two.set(true);
                    Ok(open)
                }
                Discovery::SpeaksNot | Discovery::Unclear => {
                    Err(SendError::NotSent(UNKNOWN_REVISION.to_owned()))
                }
            },
        }
    }

    /// The program that all of an agent's requests without sessions go to; `None` if it cannot answer them, so that they
    /// have to be asked in a session of ours.
    ///
    /// # Errors
    /// If it cannot be met.
    pub(crate) async fn shared_program(&self, agent: &str) -> Result<Option<Arc<Child>>, SendError> {
        if self.is_for_sessions_only() {
            return Ok(None);
        }
        let room = self.house.room_for(agent, For::TheirRequests, NO_CAPABILITIES);
        match self.house_session(&room, Need::Call).await {
            Ok(Open { lane: Lane::Child(child), .. }) => Ok(Some(child)),
            Ok(Open { lane: Lane::Http { .. }, .. }) => Ok(None),
            Err(_) if self.is_for_sessions_only() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn is_for_sessions_only(&self) -> bool {
        self.is_known_to_speak(Era::Two) == Some(false)
            || self.house.sessions_only().is_some_and(|until| until > Instant::now())
    }

    /// Meets a program as one that knows no sessions, in a process of its own: those that speak both go by what they hear
    /// first.
    async fn meet_without_sessions(&self) -> Result<Open, SendError> {
        // After this it is there, if it had to be fetched.
        let in_session = self.house_session(&self.house.ours, Need::Call).await?.era == Era::One;
        let child = self.start(Manner::Shared, None)?;
        let discovered = timeout(DISCOVERED_WITHIN, discover(Lane::Child(child))).await;
        if let Ok(Ok(Discovery::Speaks(open))) = discovered {
            let _ = self.house.speaks_two.set(true);
            return Ok(open);
        }
        let problem = match discovered {
            Ok(Ok(Discovery::SpeaksNot)) => {
                let _ = self.house.speaks_two.set(false);
                UNKNOWN_REVISION.to_owned()
            }
            Ok(Ok(_)) => UNKNOWN_REVISION.to_owned(),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it does not say who it is".to_owned(),
        };
        if in_session && self.is_known_to_speak(Era::Two) != Some(true) {
            // Some end, and some say nothing, when they are asked something before they are initialized.
            tracing::info!(upstream = self.name, problem, "a program is spoken to in sessions only");
            *self.house.sessions_only() = Some(Instant::now() + SESSIONS_ONLY_FOR);
        } else {
            self.note_failure();
        }
        Err(SendError::NotSent(problem))
    }

    /// Opens a session of era one; for a client's program in a slot of its agent. It goes on when whoever wanted it has
    /// gone: a program that is fetched first would never be there if nobody waited for it as long as that takes.
    ///
    /// # Errors
    /// If the server cannot be reached, or does not answer in time.
    pub(crate) async fn initialize(
        &self,
        params: &str,
        manner: Manner,
        slot: Option<Slot>,
    ) -> Result<Greeting, SendError> {
        let lost = || SendError::NotSent("it could not be met".to_owned());
        let (me, params) = (self.me.upgrade().ok_or_else(lost)?, params.to_owned());
        let meeting = async move { me.meeting(me.greet(&params, manner, slot)).await };
        tokio::spawn(meeting).await.unwrap_or_else(|_| Err(lost()))
    }

    async fn greet(&self, params: &str, manner: Manner, slot: Option<Slot>) -> Result<Greeting, SendError> {
        let lane = match &self.reach {
            Reach::Http(upstream) => Lane::http(upstream, own_headers(), None),
            Reach::Program => Lane::Child(self.start(manner, slot)?),
        };
        let text = message::request("\"banksman-initialize\"", "initialize", params);
        let route = Route { id: "\"banksman-initialize\"".to_owned(), progress: None };
        let answer = match lane.answer(text.into(), route).await {
            Ok(answer) => answer,
            Err(error) => {
                self.note_failure();
                return Err(error);
            }
        };
        says_something(&answer)?;
        let said =
            Reply::read(&answer.message).and_then(|reply| reply.result).map(|result| result.get().to_owned());
        let Some(said) = said.filter(|_| answer.status.is_success()) else {
            return Ok(Greeting::Refused { lane, answer });
        };
        let session = answer.headers.get(SESSION).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let lane = match lane {
            Lane::Http { upstream, mut headers } => {
                let version = Members::read(&said).and_then(|said| said.text("protocolVersion"));
                let version = version.unwrap_or_else(|| ERA_ONE.to_owned());
                if let Ok(version) = HeaderValue::from_str(&version) {
                    headers.insert("mcp-protocol-version", version);
                }
                Lane::http(&upstream, headers, session.as_deref())
            }
            child @ Lane::Child(_) => child,
        };
        const INITIALIZED: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        lane.tell(Bytes::from_static(INITIALIZED)).await?;
        Ok(Greeting::Met { lane, said })
    }
}

/// How a server answered `initialize`.
pub(crate) enum Greeting {
    Met {
        lane: Lane,
        said: String,
    },
    /// It knows no sessions, or not like this.
    Refused {
        lane: Lane,
        answer: Final,
    },
}

/// What a server says to `server/discover`.
enum Discovery {
    Speaks(Open),
    SpeaksNot,
    /// Something that is no answer to that.
    Unclear,
}

/// What stands before a server, or a server that is busy or does not know us, says nothing of what it speaks.
fn says_something(answer: &Final) -> Result<(), SendError> {
    match answer.status {
        StatusCode::UNAUTHORIZED
        | StatusCode::FORBIDDEN
        | StatusCode::PROXY_AUTHENTICATION_REQUIRED
        | StatusCode::REQUEST_TIMEOUT
        | StatusCode::TOO_EARLY
        | StatusCode::TOO_MANY_REQUESTS
        | StatusCode::BAD_GATEWAY
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT => {
            Err(SendError::NotSent(format!("it answers with HTTP {}", answer.status.as_u16())))
        }
        _ => Ok(()),
    }
}

/// Meets a server of era two.
async fn discover(lane: Lane) -> Result<Discovery, SendError> {
    let open = Open { lane, era: Era::Two, said: "{}".into() };
    let (lane, params) = framed(&open, "server/discover", "{}", Behalf::ours(&HeaderMap::new()));
    let text = message::request("\"banksman-discover\"", "server/discover", &params);
    let route = Route { id: "\"banksman-discover\"".to_owned(), progress: None };
    let answer = lane.answer(text.into(), route).await?;
    says_something(&answer)?;
    let reply = Reply::read(&answer.message);
    Ok(match reply.as_ref().map(|reply| reply.result) {
        Some(Some(said)) => Discovery::Speaks(Open { said: said.get().into(), ..open }),
        Some(None) => Discovery::SpeaksNot,
        None if answer.status.is_client_error() => Discovery::SpeaksNot,
        None => Discovery::Unclear,
    })
}
