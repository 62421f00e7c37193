//! What a server without sessions asks, put to a client that has one: its rounds become requests to the client, whose
//! answers go into the next round.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout_at};

use crate::errand::AFTER_LEASE;
use crate::gateway::Gateway;
use crate::message::{self, ClientSays, Era};
use crate::raw::{Members, quoted};
use crate::relay::may_pass;
use crate::session::Session;
use crate::upstream::Stream;
use crate::upstream::reply::Reply;
use crate::upstream::{Answer, Behalf, Post, Route, SendError, Upstream, Wants, mailbox};
use crate::visit::Visit;
use crate::words;

/// So many questions may be open at a time, and to one session.
const OPEN: usize = 10_000;
const OPEN_OF_A_SESSION: usize = 64;

/// So often one call may ask. The SDKs' clients give up then, too.
const ROUNDS: usize = 10;

/// How often to look whether the client is still there while it has a question.
const LOOK: Duration = Duration::from_secs(1);

/// How the ids of questions begin.
const QUESTION: &str = "\"banksman-question-";

/// Whether this is the id of a question, as JSON.
pub(crate) fn is_one(id: &str) -> bool {
    id.starts_with(QUESTION)
}

/// The questions that clients have not answered yet, by their ids as JSON.
#[derive(Default)]
pub(crate) struct Questions(Mutex<HashMap<String, Open>>);

struct Open {
    session: String,
    answer: oneshot::Sender<Bytes>,
}

impl Questions {
    fn open(&self) -> MutexGuard<'_, HashMap<String, Open>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a question to this session; `None` if there are too many.
    fn ask(&self, session: &str) -> Option<(String, oneshot::Receiver<Bytes>)> {
        let mut key = [0u8; 16];
        getrandom::fill(&mut key).ok()?;
        let id = format!("{QUESTION}{:032x}\"", u128::from_be_bytes(key));
        let mut open = self.open();
        // Those who asked have gone.
        open.retain(|_, open| !open.answer.is_closed());
        let of_session = open.values().filter(|open| open.session == session).count();
        if open.len() >= OPEN || of_session >= OPEN_OF_A_SESSION {
            return None;
        }
        let (answer, answered) = oneshot::channel();
        open.insert(id.clone(), Open { session: session.to_owned(), answer });
        Some((id, answered))
    }

    /// Whether this is a question that we put.
    pub(crate) fn is_ours(&self, message: &[u8]) -> bool {
        let said = Members::read_bytes(message);
        said.as_ref().and_then(|said| said.get("id")).is_some_and(|id| self.open().contains_key(id))
    }

    /// Takes an answer to whoever asked, if it comes from the session that was asked. False if nobody here has asked it.
    pub(crate) fn answer(&self, session: Option<&Session>, id: &str, message: Bytes) -> bool {
        let mut open = self.open();
        let is_theirs = |open: &Open| session.is_some_and(|session| session.key == open.session);
        let asked = if open.get(id).is_some_and(is_theirs) { open.remove(id) } else { None };
        asked.is_some_and(|asked| asked.answer.send(message).is_ok())
    }
}

/// A client that can be asked.
#[derive(Debug, Clone)]
pub(crate) struct Askable {
    /// Where it is asked; one without a session is asked in place of an answer.
    session: Option<String>,
    can: ClientSays,
}

impl Askable {
    /// A client that hears what is said while it waits, if it can be asked anything.
    pub(crate) fn of(visit: &Visit) -> Option<Self> {
        let session = visit.session.as_ref().filter(|_| visit.era == Era::One);
        let has_a_way = visit.era == Era::Two || session.is_some();
        let session = session.map(|session| session.key.clone());
        // Who takes no stream hears nothing before the answer.
        let hears = visit.era == Era::Two || visit.takes_events();
        (has_a_way && hears && visit.client.can_be_asked())
            .then(|| Self { session, can: visit.client.clone() })
    }

    /// What it can, as era two says it with each request.
    pub(crate) fn capabilities(&self) -> String {
        self.can.capabilities()
    }
}

/// What a server asks in place of an answer.
struct Asked {
    /// Each with its name, as JSON.
    requests: Vec<(String, String)>,
    state: Option<String>,
}

impl Asked {
    fn read(answer: &[u8]) -> Option<Self> {
        let reply = Reply::read(answer)?;
        let result = Members::read(reply.result?.get())?;
        if result.text("resultType").as_deref() != Some("input_required") {
            return None;
        }
        let requests = result.get("inputRequests").and_then(Members::read).unwrap_or_default();
        let requests = requests.iter().map(|(name, request)| (name.to_owned(), request.to_owned())).collect();
        Some(Self { requests, state: result.get("requestState").map(str::to_owned) })
    }
}

/// A call to a server without sessions, for a client that has one and listens.
pub(crate) struct Interview {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) upstream: Arc<Upstream>,
    pub(crate) agent: String,
    pub(crate) headers: HeaderMap,
    pub(crate) params: String,
    /// Whether it may be asked again if nobody knows whether it arrived.
    pub(crate) is_idempotent: bool,
    pub(crate) theirs: Route,
    pub(crate) client: Askable,
    /// For how long an answer is of use.
    pub(crate) until: Instant,
}

impl Interview {
    /// Makes the call. If the server asks something, it comes out of the answer as requests, and the answer last.
    ///
    /// # Errors
    /// If it was not sent, or nobody knows.
    pub(crate) async fn begin(self) -> Result<Answer, SendError> {
        let first = self.send(self.is_idempotent, &self.params).await?;
        if let Answer::Whole { body, .. } = &first
            && Asked::read(body).is_none()
        {
            return Ok(first);
        }
        let (post, messages) = mailbox(Wants::Everything);
        let until = self.until + AFTER_LEASE;
        tokio::spawn(timeout_at(until, self.conduct(first, post)));
        Ok(Answer::Stream(Stream::of_child(messages)))
    }

    async fn send(&self, is_idempotent: bool, params: &str) -> Result<Answer, SendError> {
        let capabilities = self.client.capabilities();
        let behalf = Behalf {
            agent: Some(&self.agent),
            headers: &self.headers,
            patience: self.until.saturating_duration_since(Instant::now()),
            capabilities: &capabilities,
            hears_questions: false,
        };
        self.upstream.call_aloud(is_idempotent, behalf, params, &self.theirs).await
    }

    /// Where there is no answer, the post is dropped without one.
    async fn conduct(self, mut answer: Answer, post: Post) {
        let mut rounds = 0;
        loop {
            let Some(said) = self.answer_in(answer, &post).await else { return };
            let Some(asked) = Asked::read(&said) else { return post.answer(said) };
            rounds += 1;
            if rounds > ROUNDS {
                return post.answer(self.not_done("it asks again and again"));
            }
            let answers = match self.put(&asked, &post).await {
                Ok(answers) => answers,
                Err(problem) => return post.answer(self.not_done(&problem)),
            };
            let Ok(next) = self.send(false, &self.next_params(&asked, &answers)).await else { return };
            answer = next;
        }
    }

    /// The answer; what comes before it is handed on.
    async fn answer_in(&self, answer: Answer, post: &Post) -> Option<Bytes> {
        let mut stream = match answer {
            Answer::Whole { body, .. } => return Reply::to(&body, &self.theirs.id).is_some().then_some(body),
            Answer::Stream(stream) => stream,
        };
        while let Ok(Some(event)) = stream.next().await {
            if Reply::to(&event.data, &self.theirs.id).is_some() {
                return Some(event.data);
            }
            post.offer(&event.data);
        }
        None
    }

    /// Puts the questions to the client, and waits for its answers: as the members of an object.
    async fn put(&self, asked: &Asked, post: &Post) -> Result<String, String> {
        if asked.requests.is_empty() {
            // It only wants to be asked again.
            sleep(LOOK).await;
        }
        let mut open = Vec::new();
        for (name, request) in &asked.requests {
            let question = Members::read(request).ok_or("its question cannot be read")?;
            let method = question.text("method").unwrap_or_default();
            if !self.client.can.answers(&method) {
                return Err(format!("it asks for `{method}`, which this client cannot answer"));
            }
            let questions = &self.gateway.questions;
            let asked = self.client.session.as_deref().and_then(|session| questions.ask(session));
            let (id, answered) = asked.ok_or("too much is being asked")?;
            let put = message::request(&id, &method, question.get("params").unwrap_or("{}"));
            // What is not passed on is not answered either.
            if !may_pass(&self.gateway.catalogue, &self.upstream.name, &self.theirs.id, put.as_bytes()) {
                return Err("its question cannot be read for sure".to_owned());
            }
            if !post.offer(&put.into()).is_taken() {
                return Err("it asks something, and nobody listens any more".to_owned());
            }
            open.push((name, method, answered));
        }
        let mut answers = Members::default();
        for (name, method, answered) in open {
            let answer = self.heard(answered, post).await?;
            answers.set(name, as_response(&method, &answer)?);
        }
        Ok(answers.write())
    }

    async fn heard(&self, mut answered: oneshot::Receiver<Bytes>, post: &Post) -> Result<Bytes, String> {
        loop {
            match timeout_at(self.until.min(Instant::now() + LOOK), &mut answered).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(_)) => return Err("its question was lost".to_owned()),
                Err(_) if Instant::now() >= self.until => {
                    return Err("its question was not answered in time".to_owned());
                }
                Err(_) if !post.is_wanted() => {
                    return Err("it asks something, and nobody listens any more".to_owned());
                }
                Err(_) => {}
            }
        }
    }

    fn next_params(&self, asked: &Asked, answers: &str) -> String {
        let mut params = Members::read(&self.params).unwrap_or_default();
        params.set("inputResponses", answers);
        if let Some(state) = &asked.state {
            params.set("requestState", state.as_str());
        }
        params.write()
    }

    /// The server has said that it does not go on without an answer, and gets none.
    fn not_done(&self, problem: &str) -> Bytes {
        let text = format!("The server `{}` did not finish: {problem}.", self.upstream.name);
        message::result(&self.theirs.id, &words::tool_error(&text, None, Era::One)).into()
    }
}

/// A client's answer as era two wants it.
fn as_response(method: &str, answer: &[u8]) -> Result<String, String> {
    match Reply::read(answer) {
        Some(Reply { result: Some(result), error: None, .. }) => Ok(result.get().to_owned()),
        Some(_) | None if method == "elicitation/create" => Ok(r#"{"action":"cancel"}"#.to_owned()),
        Some(_) | None => Err(format!("its client does not answer to `{}`", quoted(method))),
    }
}
