//! What comes back from a server, message by message.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use hyper::body::Incoming;
use tokio::time::{sleep, timeout};

use super::alias::Alias;
use super::connection::{Connection, may_say_more_later};
use super::http::HttpUpstream;
use super::lane::{Lane, Route};
use super::mailbox::{Hush, Questions};
use super::refusals::Refusals;
use super::reply::Reply;
use super::rooms::Room;
use super::{Child, Mailbox, SendError};
use crate::message;
use crate::raw::Members;
use crate::sse::Event;

/// A program that answers within this time answers at once: until then its client does not know whether there is a stream.
const AT_ONCE: Duration = Duration::from_millis(250);

/// How often and for how long a server is told what its client answers.
const TOLD_TRIES: usize = 4;
const TOLD_AGAIN_AFTER: Duration = Duration::from_millis(500);
const TOLD_WITHIN: Duration = Duration::from_secs(30);

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
    /// Whether its client can be asked something.
    hears_questions: bool,
    refusals: Refusals,
}

impl KnownAs {
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
                self.refusals.refuse(&method, id);
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

impl Stream {
    pub(crate) fn over_http(body: Incoming, headers: HeaderMap) -> Self {
        let source = Source::Http(Box::new(Connection::new(body)));
        Self { source, first: None, known_as: None, room: None, headers }
    }

    /// The same, for the answer to a request.
    pub(super) fn that_resumes(mut self, upstream: &Arc<HttpUpstream>, request: &HeaderMap) -> Self {
        if let Source::Http(connection) = &mut self.source {
            connection.resumes(upstream, request);
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

    /// Tells the server what its client answers. False if it has surely not taken that in.
    pub(crate) async fn answer_to(&self, question: &str, answer: &str) -> bool {
        let Some(known_as) = &self.known_as else { return false };
        let answer = Bytes::from(message::result(question, answer));
        let mut may_know = false;
        for _ in 0..TOLD_TRIES {
            match timeout(TOLD_WITHIN, known_as.refusals.lane().tell(answer.clone())).await {
                Ok(Ok(status)) if status.is_success() => return true,
                Ok(Ok(status)) if !may_say_more_later(status) => return may_know,
                Ok(Ok(status)) => may_know |= status.is_server_error(),
                Ok(Err(SendError::NotSent(_))) => {}
                Ok(Err(SendError::Lost(_))) | Err(_) => return true,
            }
            sleep(TOLD_AGAIN_AFTER).await;
        }
        may_know
    }

    /// Tells the server that nobody answers what it has asked.
    pub(crate) fn refuse(&self, method: &str, question: &str) {
        if let Some(known_as) = &self.known_as {
            known_as.refusals.refuse(method, question);
        }
    }

    /// The messages of a request of ours, as a client knows them who calls it otherwise.
    pub(super) fn known_as(mut self, ours: String, theirs: Route, lane: Lane, hears_questions: bool) -> Self {
        if let Source::Child(messages) = &self.source {
            let when = if hears_questions { Questions::Now } else { Questions::Never };
            messages.hush().hears_questions(when);
        }
        let (alias, refusals) = (Alias::of(theirs), Refusals::by(lane));
        self.known_as = Some(Box::new(KnownAs { ours, alias, hears_questions, refusals }));
        self
    }

    /// The same, with a program told when nobody reads the answer to this request any more.
    pub(super) fn given_up_at_the_end(mut self, request: &str, child: &Arc<Child>) -> Self {
        if let Source::Child(messages) = self.source {
            let (request, child) = (request.to_owned(), Arc::clone(child));
            self.source = Source::Child(messages.with_farewell(move || child.give_up(&request)));
        }
        self
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

    /// When what a program asks may be put here: it does not say about which request it is.
    pub(crate) fn hears_questions(&self, when: Questions) {
        self.hush().iter().for_each(|hush| hush.hears_questions(when));
    }

    /// By what that can be said while somebody reads, of a program.
    pub(crate) fn hush(&self) -> Option<Hush> {
        match &self.source {
            Source::Child(messages) => Some(messages.hush()),
            Source::Http(_) => None,
        }
    }

    /// For how long what follows is asked for and read, if the stream ends before its answer.
    pub(crate) fn resume_for(&mut self, time: Duration) {
        if let Source::Http(connection) = &mut self.source {
            connection.resume_for(time);
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

    /// The same. Meanwhile someone looks once in a while whether it is still wanted, and may hush a program, or end it: of
    /// one future, however often, because it may be in the middle of asking for what follows.
    ///
    /// # Errors
    /// If the stream breaks, or whoever looks ends it.
    pub(crate) async fn next_with_looks(
        &mut self,
        every: Duration,
        mut look: impl FnMut(Option<&Hush>) -> Result<(), SendError>,
    ) -> Result<Option<Event>, SendError> {
        let hush = self.hush();
        let next = self.next();
        tokio::pin!(next);
        loop {
            tokio::select! {
                next = &mut next => return next,
                () = sleep(every) => look(hush.as_ref())?,
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
