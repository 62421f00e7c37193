//! A way to one server: a session over HTTP, or a program of our own.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use tokio::time::{Instant, timeout};

use super::alias::Alias;
use super::http::{HttpUpstream, SESSION, own_headers};
use super::reply::{Final, Reply};
use super::rooms::Room;
use super::{Child, Mailbox, SendError, Wants};
use crate::body::EVENTS;
use crate::message::{self, ERA_TWO};
use crate::raw::Members;
use crate::sse::{self, Event};

/// A longer answer is an attack on our memory.
pub(crate) const MAX_ANSWER: usize = 32 * 1024 * 1024;

/// A stream that says nothing for so long has been forgotten.
const SILENCE: Duration = Duration::from_secs(30 * 60);

/// A program that answers within this time answers at once: until then its client does not know whether there is a stream.
const AT_ONCE: Duration = Duration::from_millis(250);

/// How long what follows on a stream that ended is asked for, if nobody says for how long it is of use.
const RESUMED_FOR: Duration = Duration::from_secs(5 * 60);

/// How long to wait before that, and again if it could not be asked: if the server does not say, and whatever it says.
const RETRY: Duration = Duration::from_secs(1);
const SHORTEST_RETRY: Duration = Duration::from_millis(50);
const LONGEST_RETRY: Duration = Duration::from_secs(60);

/// Where requests go.
#[derive(Clone)]
pub(crate) enum Lane {
    Http { upstream: Arc<HttpUpstream>, headers: HeaderMap },
    Child(Arc<Child>),
}

/// What came back.
pub(crate) enum Answer {
    /// All of it.
    Whole { status: StatusCode, headers: HeaderMap, body: Bytes },
    /// Message by message.
    Stream(Stream),
}

impl Lane {
    /// A way over HTTP, in the session with this id.
    pub(crate) fn http(upstream: &Arc<HttpUpstream>, mut headers: HeaderMap, session: Option<&str>) -> Self {
        if let Some(session) = session.and_then(|session| HeaderValue::from_str(session).ok()) {
            headers.insert(SESSION, session);
        }
        Self::Http { upstream: Arc::clone(upstream), headers }
    }

    /// Sends a message that wants an answer.
    ///
    /// # Errors
    /// If it was not sent, or nobody knows.
    pub(crate) async fn ask(&self, message: Bytes, route: Route) -> Result<Answer, SendError> {
        self.ask_for(Wants::Everything, message, route).await
    }

    /// The answer to a message, for who wants nothing else: what a program says or asks meanwhile is left to others.
    ///
    /// # Errors
    /// If it was not sent, or nobody knows.
    pub(crate) async fn answer(&self, message: Bytes, route: Route) -> Result<Final, SendError> {
        let id = route.id.clone();
        self.ask_for(Wants::Answer, message, route).await?.conclude(&id).await
    }

    async fn ask_for(&self, wants: Wants, message: Bytes, route: Route) -> Result<Answer, SendError> {
        match self {
            Self::Http { upstream, headers } => {
                let response = upstream.send(Method::POST, headers.clone(), message).await?;
                let (parts, body) = response.into_parts();
                if is_event_stream(&parts.headers) {
                    let stream = Stream::over_http(body, parts.headers);
                    return Ok(Answer::Stream(stream.that_resumes(upstream, headers)));
                }
                let body = whole(body).await?;
                Ok(Answer::Whole { status: parts.status, headers: parts.headers, body })
            }
            Self::Child(child) => {
                Ok(Answer::Stream(Stream::of_child(child.ask_for(wants, message, route).await?)))
            }
        }
    }

    /// The same as `ask`, for a request of ours in the session of a room, under the names by which a client knows it.
    ///
    /// # Errors
    /// If it was not sent, or nobody knows.
    pub(super) async fn ask_known_as(
        &self,
        message: Bytes,
        ours: String,
        theirs: &Route,
        (room, hears_questions): (&Arc<Room>, bool),
    ) -> Result<Answer, SendError> {
        let route = Route { id: ours.clone(), progress: theirs.progress.as_ref().map(|_| ours.clone()) };
        let alias = Alias::of(theirs.clone());
        Ok(match self.ask(message, route).await? {
            Answer::Stream(mut stream) => {
                stream.known_as =
                    Some(Box::new(KnownAs { ours, alias, lane: self.clone(), hears_questions }));
                Answer::Stream(stream.kept_in(room))
            }
            Answer::Whole { status, headers, body } => {
                let answer = Reply::to(&body, &ours).and_then(|_| alias.of_answer(&body));
                Answer::Whole { status, headers, body: answer.unwrap_or(body) }
            }
        })
    }

    /// Whether this answer to the request with this id says that the server knows nothing of the session, so that it has
    /// done nothing. Some say so with 400 and to nobody's request; what is answered to ours was looked at, and is not asked
    /// for again.
    pub(crate) fn is_forgotten_by(&self, status: StatusCode, body: &[u8], id: &str) -> bool {
        let has_session = matches!(self, Self::Http { headers, .. } if headers.contains_key(SESSION));
        has_session
            && (status == StatusCode::NOT_FOUND
                || (status == StatusCode::BAD_REQUEST && Reply::to(body, id).is_none()))
    }

    /// Sends a message that wants none.
    ///
    /// # Errors
    /// If it was not sent, or nobody knows.
    pub(crate) async fn tell(&self, message: Bytes) -> Result<StatusCode, SendError> {
        match self {
            Self::Http { upstream, headers } => {
                let response = upstream.send(Method::POST, headers.clone(), message).await?;
                let status = response.status();
                drop(whole(response.into_body()).await);
                Ok(status)
            }
            Self::Child(child) => child.tell(message).await.map(|()| StatusCode::ACCEPTED),
        }
    }
}

/// How answers that come all through one pipe find back.
#[derive(Debug, Clone)]
pub(crate) struct Route {
    /// The id of the request, as JSON.
    pub(crate) id: String,
    /// Its progress token, as JSON.
    pub(crate) progress: Option<String>,
}

pub(crate) fn is_event_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream")
}

pub(crate) async fn whole(body: Incoming) -> Result<Bytes, SendError> {
    let collected = timeout(SILENCE, Limited::new(body, MAX_ANSWER).collect()).await;
    match collected {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(_)) => {
            Err(SendError::Lost(format!("its answer broke off, or has more than {MAX_ANSWER} bytes")))
        }
        Err(_) => Err(SendError::Lost("its answer did not come to an end".to_owned())),
    }
}

/// Messages as they come.
pub(crate) struct Stream {
    source: Source,
    /// The first message, if it was looked at before it was wanted.
    first: Option<Event>,
    /// What the request is called where these messages go.
    known_as: Option<Box<KnownAs>>,
    /// The place of the session that it comes from, if that is ours: it is in use for so long.
    room: Option<Arc<Room>>,
    /// What came before the first message.
    pub(crate) headers: HeaderMap,
}

/// A request that we ask in a session of ours for a client who calls it otherwise.
struct KnownAs {
    ours: String,
    alias: Alias,
    lane: Lane,
    /// Whether its client can be asked something.
    hears_questions: bool,
}

impl KnownAs {
    /// Tells the server that nobody is there to answer.
    fn refuse(&self, method: &str, id: &str) {
        let (lane, answer) = (self.lane.clone(), message::for_nobody(method, id));
        tokio::spawn(async move { drop(lane.tell(answer.into()).await) });
    }

    /// The answer, and how far it is, as the client knows them. It wants to hear nothing else that is said in that session;
    /// what is asked, if it can answer.
    fn translated(&self, event: &Event) -> Option<Event> {
        if Reply::to(&event.data, &self.ours).is_some() {
            return self.alias.of_answer(&event.data).map(Event::of);
        }
        let said = Members::read_bytes(&event.data)?;
        match (said.text("method")?, said.get("id")) {
            (method, Some(_)) if self.hears_questions && method != "ping" => Some(event.clone()),
            (method, Some(id)) => {
                self.refuse(&method, id);
                None
            }
            (method, None) if method == "notifications/progress" => {
                let token = Members::read(said.get("params")?)?.get("progressToken")?.to_owned();
                if token == self.ours { self.alias.of_notification(&event.data).map(Event::of) } else { None }
            }
            (_, None) => None,
        }
    }
}

enum Source {
    Http(Box<Connection>),
    Child(Mailbox),
}

struct Connection {
    body: Incoming,
    reader: sse::Reader,
    resume: Option<Resume>,
}

/// How what follows is asked for if the stream ends before its answer: since 2025-11-25 a server may close it meanwhile.
struct Resume {
    upstream: Arc<HttpUpstream>,
    headers: HeaderMap,
    /// What follows is asked for and read until then.
    until: Instant,
    /// Whether it has been.
    begun: bool,
}

impl Stream {
    pub(crate) fn over_http(body: Incoming, headers: HeaderMap) -> Self {
        let connection = Connection { body, reader: sse::Reader::new(MAX_ANSWER), resume: None };
        Self { source: Source::Http(Box::new(connection)), first: None, known_as: None, room: None, headers }
    }

    /// The same, for the answer to a request.
    fn that_resumes(mut self, upstream: &Arc<HttpUpstream>, request: &HeaderMap) -> Self {
        let is_era_two = request.get("mcp-protocol-version").is_some_and(|version| version == ERA_TWO);
        if let Source::Http(connection) = &mut self.source
            && !is_era_two
        {
            let mut headers = own_headers();
            headers.insert(ACCEPT, EVENTS);
            for name in [SESSION, HeaderName::from_static("mcp-protocol-version")] {
                headers.extend(request.get(&name).map(|value| (name, value.clone())));
            }
            let until = Instant::now() + RESUMED_FOR;
            connection.resume = Some(Resume { upstream: Arc::clone(upstream), headers, until, begun: false });
        }
        self
    }

    pub(crate) fn of_child(messages: Mailbox) -> Self {
        Self {
            source: Source::Child(messages),
            first: None,
            known_as: None,
            room: None,
            headers: HeaderMap::new(),
        }
    }

    /// From now on its client knows its request by other names.
    pub(crate) fn now_known_as(&mut self, theirs: Route) {
        if let Some(known_as) = &mut self.known_as {
            known_as.alias = Alias::of(theirs);
        }
    }

    /// Answers what the server has asked.
    ///
    /// # Errors
    /// If it cannot be told.
    pub(crate) async fn answer_to(&self, question: &str, answer: &str) -> Result<(), SendError> {
        let lost = || SendError::Lost("it could not be told what its client has answered".to_owned());
        let Some(known_as) = &self.known_as else { return Err(lost()) };
        let told = known_as.lane.tell(message::result(question, answer).into()).await;
        told.map_err(|_| lost()).and_then(|status| if status.is_success() { Ok(()) } else { Err(lost()) })
    }

    /// Tells the server that nobody answers what it has asked.
    pub(crate) fn refuse(&self, method: &str, question: &str) {
        if let Some(known_as) = &self.known_as {
            known_as.refuse(method, question);
        }
    }

    pub(super) fn kept_in(mut self, room: &Arc<Room>) -> Self {
        self.room = Some(Arc::clone(room));
        self
    }

    /// From now on nobody is there for anything but the answer: what a program says or asks is left to others.
    pub(crate) fn only_answer(&self) {
        if let Source::Child(messages) = &self.source {
            messages.only_answer();
        }
    }

    /// For how long what follows is asked for and read, if the stream ends before its answer.
    pub(crate) fn resume_for(&mut self, time: Duration) {
        if let Source::Http(connection) = &mut self.source
            && let Some(resume) = &mut connection.resume
        {
            resume.until = Instant::now() + time;
        }
    }

    /// The answer to the request with this id, if a program says nothing before it, and says it at once. Over HTTP the
    /// server has said by its headers that there is more.
    pub(crate) async fn answer_at_once(&mut self, id: &str) -> Option<Bytes> {
        if let Source::Http(_) = self.source {
            return None;
        }
        self.first = timeout(AT_ONCE, self.next()).await.ok()?.ok()?;
        let is_answer = self.first.as_ref().is_some_and(|first| Reply::to(&first.data, id).is_some());
        if is_answer { self.first.take().map(|first| first.data) } else { None }
    }

    /// The next event; `None` at the end.
    ///
    /// # Errors
    /// If the stream breaks, or is not one.
    pub(crate) async fn next(&mut self) -> Result<Option<Event>, SendError> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        loop {
            let Some(event) = self.receive().await? else { return Ok(None) };
            let Some(known_as) = &self.known_as else { return Ok(Some(event)) };
            if let Some(event) = known_as.translated(&event) {
                return Ok(Some(event));
            }
        }
    }

    async fn receive(&mut self) -> Result<Option<Event>, SendError> {
        match &mut self.source {
            Source::Child(messages) => Ok(messages.recv().await.map(Event::of)),
            Source::Http(connection) => connection.next().await,
        }
    }
}

impl Connection {
    async fn next(&mut self) -> Result<Option<Event>, SendError> {
        loop {
            if let Some(event) = self.reader.next() {
                return Ok(Some(event));
            }
            let silent = Instant::now() + SILENCE;
            // A comment breaks the silence. What was asked for again could go on like that without end.
            let until = self.resume.as_ref().filter(|resume| resume.begun).map(|resume| resume.until);
            let patient = until.map_or(silent, |until| until.min(silent));
            let ended = match tokio::time::timeout_at(patient, self.body.frame()).await {
                Ok(Some(Ok(frame))) => {
                    if let Some(data) = frame.data_ref() {
                        self.reader.push(data).map_err(|error| SendError::Lost(error.to_string()))?;
                    }
                    continue;
                }
                Ok(Some(Err(_))) => Err(SendError::Lost("the connection broke".to_owned())),
                Ok(None) => Ok(None),
                Err(_) if patient < silent => {
                    return Err(SendError::Lost("its answer did not come in time".to_owned()));
                }
                Err(_) => return Err(SendError::Lost("it fell silent".to_owned())),
            };
            let followed = match (&mut self.resume, self.reader.last_id()) {
                (Some(resume), Some(id)) => Box::pin(resume.from(id, self.reader.retry())).await,
                (_, _) => None,
            };
            match followed {
                Some(next) => {
                    self.body = next;
                    self.reader.reconnect();
                }
                None => return ended,
            }
        }
    }
}

impl Resume {
    /// What follows the event with this id, as soon as the server can be reached; `None` if it does not say.
    async fn from(&mut self, id: &Bytes, retry: Option<Duration>) -> Option<Incoming> {
        let mut headers = self.headers.clone();
        headers.insert("last-event-id", HeaderValue::from_bytes(id).ok()?);
        let pause = retry.unwrap_or(RETRY).clamp(SHORTEST_RETRY, LONGEST_RETRY);
        loop {
            tokio::time::sleep_until(self.until.min(Instant::now() + pause)).await;
            if Instant::now() >= self.until {
                return None;
            }
            let asked = self.upstream.send(Method::GET, headers.clone(), Bytes::new());
            // Asking for what follows changes nothing, so that it can be asked for again.
            let Ok(Ok(response)) = tokio::time::timeout_at(self.until, asked).await else { continue };
            if response.status().is_success() && is_event_stream(response.headers()) {
                self.begun = true;
                return Some(response.into_body());
            }
            if !may_say_more_later(response.status()) {
                return None;
            }
        }
    }
}

/// Whether a server that refuses to say what follows may say it later.
fn may_say_more_later(status: StatusCode) -> bool {
    match status {
        // The TypeScript SDK says 409 until it has noticed that the connection before has broken.
        StatusCode::CONFLICT
        | StatusCode::REQUEST_TIMEOUT
        | StatusCode::TOO_EARLY
        | StatusCode::TOO_MANY_REQUESTS => true,
        status => status.is_server_error(),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn what_follows_on_a_stream_is_not_read_for_longer_than_it_is_of_use() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri = format!("http://{}/mcp", listener.local_addr().unwrap()).parse().unwrap();
        tokio::spawn(async move {
            while let Ok((mut connection, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let mut read = [0; 4096];
                    let count = connection.read(&mut read).await.unwrap();
                    const HEAD: &[u8] =
                        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
                    connection.write_all(HEAD).await.unwrap();
                    if read[..count].starts_with(b"POST") {
                        return connection.write_all(b"id: 1\nretry: 50\ndata:\n\n").await.unwrap();
                    }
                    while connection.write_all(b": still here\n\n").await.is_ok() {
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                });
            }
        });
        let lane = Lane::http(&Arc::new(HttpUpstream::new(uri, Vec::new())), own_headers(), None);
        let route = Route { id: "1".to_owned(), progress: None };
        let asked = async {
            let answer = lane.ask(Bytes::from_static(b"{}"), route).await?;
            answer.conclude_within(Some(Duration::from_millis(500)), "1").await
        };
        let answer = tokio::time::timeout(Duration::from_secs(10), asked).await.expect("it has no end");
        assert_eq!(answer.err(), Some(SendError::Lost("its answer did not come in time".to_owned())));
    }

    #[test]
    fn a_server_that_has_not_noticed_that_the_connection_broke_is_asked_again() {
        for (status, again) in [
            (409, true),
            (408, true),
            (425, true),
            (429, true),
            (503, true),
            (404, false),
            (405, false),
            (400, false),
        ] {
            assert_eq!(may_say_more_later(StatusCode::from_u16(status).unwrap()), again, "{status}");
        }
    }
}
