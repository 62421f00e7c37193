//! The gateway for clients that start their server as a program: a program before the program.
//!
//! It asks a running Banksman over its API, claims, and passes on. What it passes on is what was claimed.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use banksman_core::json::{CanonicalJson, Json};
use banksman_core::wire::{ActionView, ClaimView, OutcomeBody};
use banksman_core::{ActionId, Digest, Status};
use bytes::Bytes;
use http::HeaderMap;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::call::argument;
use crate::catalogue::Catalogue;
use crate::config::ClientTable;
use crate::message::{self, ClientSays, Era, Message, Shape};
use crate::outcome::kept_error;
use crate::program::{Described, OURS, Program, is_answer, line, proposal};
use crate::raw::quoted;
use crate::upstream::reply::Reply;
use crate::upstream::{Child, Manner, Route};
use crate::{batch, lists, words};

/// How long one question to the server takes while people are waited for; after each, the client hears something.
const SLICE: u64 = 10;

/// How often a claim is tried that could not be asked for.
const CLAIM_TRIES: u32 = 5;

/// How long outcomes are waited for when the client is gone.
const LAST_REPORTS: Duration = Duration::from_secs(5);

/// And for how long it is waited until requests are on their way to a program that may not read.
const LAST_REQUESTS: Duration = Duration::from_secs(1);

/// Asks a Banksman.
#[async_trait::async_trait]
pub trait Gate: Send + Sync + 'static {
    /// Proposes an action, given as the API takes it.
    async fn propose(&self, body: String) -> Result<ActionView, GateError>;
    /// The action once it is decided, or after so many seconds.
    async fn wait(&self, id: ActionId, seconds: u64) -> Result<ActionView, GateError>;
    /// Takes the one claim.
    async fn claim(&self, id: ActionId, digest: Digest) -> Result<ClaimView, GateError>;
    /// Says how it ended.
    async fn report(&self, id: ActionId, outcome: OutcomeBody) -> Result<(), GateError>;
}

/// Why nothing may run.
#[derive(Debug, Clone, thiserror::Error)]
pub enum GateError {
    /// It was refused, in these words.
    #[error("{0}")]
    Refused(String),
    /// What was sent is longer than it takes.
    #[error("{0}")]
    TooLong(String),
    /// Nobody could be asked, or it cannot answer now: the same question may be answered later.
    #[error("{0}")]
    Unavailable(String),
}

impl GateError {
    /// As its agent is told.
    fn words(&self) -> String {
        match self {
            Self::Refused(words) | Self::TooLong(words) => format!("NOT EXECUTED: {words}"),
            Self::Unavailable(words) => {
                format!("NOT EXECUTED: it cannot be asked now whether this may run: {words}")
            }
        }
    }
}

/// Where a proxy stands.
#[derive(Debug, Clone)]
pub struct Standing {
    /// What the server is called in policies and for reviewers.
    pub name: String,
    /// The server's program and its arguments.
    pub command: Vec<String>,
    /// What its tools are remembered by.
    pub known_as: String,
    /// The file in which they are remembered.
    pub pins: PathBuf,
    /// How long a call may stay open before the client is told to come back; by what is known of it, if left out.
    pub window: Option<Duration>,
    /// The Banksman at which people decide.
    pub review_url: String,
}

/// What stands between a client and its program.
pub struct Proxy<G> {
    pub(crate) gate: G,
    standing: Standing,
    pub(crate) program: Arc<Program>,
    /// How many outcomes are on their way.
    pub(crate) reports: AtomicUsize,
    /// Requests that were taken and are not on their way to the program yet.
    handing_on: AtomicUsize,
    catalogue: Arc<Catalogue>,
    to_client: mpsc::Sender<String>,
    /// What the client said of itself when it initialized.
    client: Mutex<ClientSays>,
    windows: ClientTable,
}

/// Waits until none is left, but not for ever.
async fn none_left(count: &AtomicUsize, patience: Duration) {
    let until = Instant::now() + patience;
    while count.load(Ordering::SeqCst) > 0 && Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

impl<G: Gate> Proxy<G> {
    /// Starts the program. Messages for the client go to `to_client`, one on a line.
    ///
    /// # Errors
    /// If it cannot be started, or what its tools were first cannot be read.
    pub fn start(gate: G, standing: Standing, to_client: mpsc::Sender<String>) -> Result<Arc<Self>, String> {
        let catalogue = Catalogue::new(Some(standing.pins.clone())).map_err(|error| error.to_string())?;
        let child = Child::start(&standing.name, &standing.command, &[], None, Manner::ForClient)
            .map_err(|error| error.to_string())?;
        let program = Program::new(child, &standing.known_as, to_client.clone());
        let proxy = Arc::new(Self {
            gate,
            standing,
            program: Arc::new(program),
            reports: AtomicUsize::new(0),
            handing_on: AtomicUsize::new(0),
            catalogue: Arc::new(catalogue),
            to_client,
            client: Mutex::default(),
            windows: ClientTable::default(),
        });
        let mut unasked = proxy.program.child.listen();
        let to_client = proxy.to_client.clone();
        tokio::spawn(async move {
            while let Some(message) = unasked.recv().await {
                let _ = to_client.send(line(&message)).await;
            }
        });
        Ok(proxy)
    }

    /// Whether the program has ended.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.program.child.is_gone()
    }

    /// The client says no more: the program's input is closed, and it has a moment to end, as its client's own would have.
    /// What it still answers is passed on. Returns when nothing is left of it, and what ran has been reported or given up.
    pub async fn end(&self) {
        // Behind its end of input, nothing that was asked before would reach it.
        none_left(&self.handing_on, LAST_REQUESTS).await;
        self.program.child.close().await;
        none_left(&self.reports, LAST_REPORTS).await;
    }

    /// Takes a line from the client.
    pub async fn take(self: &Arc<Self>, text: String) {
        if text.trim().is_empty() {
            return;
        }
        let bytes = Bytes::from(text);
        let message = match Message::read(bytes.clone()) {
            Ok(message) => message,
            Err(error) => return self.refuse(&bytes, &error.to_string()),
        };
        match message.batch() {
            // Each is answered by its own id, as if it had come alone.
            Some(messages) if (1..=batch::MOST).contains(&messages.len()) => {
                for message in messages {
                    self.receive(message).await;
                }
            }
            Some(messages) => {
                let ids: Vec<String> =
                    messages.iter().filter(|one| one.has_usable_id()).map(Message::id).collect();
                let none = ids.is_empty().then(|| "null".to_owned());
                for id in ids.into_iter().chain(none) {
                    self.say_soon(message::error(&id, -32600, "a batch has 1 to 64 messages"));
                }
            }
            None => self.receive(message).await,
        }
    }

    /// Answers what cannot be read strictly: whoever waits for the answer to a request knows it by its id alone.
    fn refuse(&self, text: &[u8], problem: &str) {
        let ids = message::ids_of_unreadable(text);
        let none = ids.is_empty().then(|| "null".to_owned());
        for id in ids.into_iter().chain(none).take(batch::MOST) {
            self.say_soon(message::error(&id, -32700, problem));
        }
    }

    async fn receive(self: &Arc<Self>, message: Message) {
        let id = message.id();
        match message.shape() {
            Shape::Request(_) if id.starts_with(OURS) => {
                self.say_soon(message::error(&id, -32600, "ids that start with banksman- are taken"));
            }
            Shape::Request("tools/call") if message.has_usable_id() => {
                self.program.hears(era(&message));
                let proxy = Arc::clone(self);
                tokio::spawn(async move { proxy.call(message).await });
            }
            Shape::Request("tools/call") | Shape::Notification("tools/call") | Shape::Other => {
                self.say_soon(message::error(&id, -32600, "this is no request that can be answered"));
            }
            Shape::Request(method) => {
                self.program.hears(era(&message));
                if method == "initialize" {
                    *self.client.lock().unwrap_or_else(PoisonError::into_inner) = message.client();
                }
                let lists = method == "tools/list";
                self.handing_on.fetch_add(1, Ordering::SeqCst);
                let proxy = Arc::clone(self);
                tokio::spawn(async move { proxy.pass(message, lists).await });
            }
            Shape::Notification(_) | Shape::Answer => drop(self.program.child.tell(message.bytes).await),
        }
    }

    /// Whoever hands us lines may also be the one who takes our messages away, and would wait for itself.
    fn say_soon(&self, message: String) {
        let to_client = self.to_client.clone();
        tokio::spawn(async move { to_client.send(message).await });
    }

    pub(crate) async fn say(&self, message: String) {
        let _ = self.to_client.send(message).await;
    }

    /// Passes a request on, and everything back that comes of it.
    async fn pass(&self, message: Message, lists: bool) {
        let id = message.id();
        let route = Route { id: id.clone(), progress: message.progress_token() };
        let asked = self.program.child.ask(message.bytes, route).await;
        self.handing_on.fetch_sub(1, Ordering::SeqCst);
        let mut answers = match asked {
            Ok(answers) => answers,
            Err(error) => return self.say(message::error(&id, -32603, &error.to_string())).await,
        };
        let mut answered = false;
        while let Some(answer) = answers.recv().await {
            answered = answered || is_answer(&answer);
            let text = if lists && is_answer(&answer) { self.listed(&id, &answer) } else { line(&answer) };
            self.say(text).await;
        }
        if !answered {
            self.say(message::error(&id, -32603, "the program ended without an answer")).await;
        }
    }

    /// A list of tools as the client gets it. What we cannot read for sure, it does not read.
    fn listed(&self, id: &str, answer: &Bytes) -> String {
        if let Err(error) = lists::learn(&self.catalogue, &self.standing.known_as, answer) {
            return lists::not_passed_on(id, &self.standing.name, &error);
        }
        let with_ours = Reply::to(answer, id)
            .and_then(|reply| reply.result)
            .and_then(|result| lists::with_wait_tool(result.get()));
        with_ours.map_or_else(|| line(answer), |result| message::result(id, &result))
    }

    async fn call(&self, message: Message) {
        let (id, era) = (message.id(), era(&message));
        let tool = message.text_param("name").unwrap_or_default().to_owned();
        let args = match message.arguments() {
            Ok(args) if !tool.is_empty() => args,
            Ok(_) => return self.say(message::error(&id, -32602, "`name` is not a text")).await,
            Err(problem) => return self.say(message::error(&id, -32602, problem)).await,
        };
        if tool == words::WAIT_TOOL {
            return self.fetch(&id, era, &args).await;
        }
        let described = Described::find(&self.catalogue, &self.program, &tool).await;
        let body = proposal(&self.standing.name, &tool, &args, &described);
        let view = match self.gate.propose(body).await {
            Ok(view) => view,
            Err(error) => return self.tell(&id, era, &error.words()).await,
        };
        // The digest of what a client runs itself does not name a server, so that the same call at another one joins this.
        // People approved it for the server that they were shown.
        if view.context.server.as_ref() != Some(&self.standing.name) {
            return self.tell(&id, era, &words::elsewhere(&view)).await;
        }
        let (view, waiting) = self.hold(&message, view).await;
        if waiting {
            self.not_yet(&id, era, &view).await;
        }
        // The client may be gone on to other things; what people approve runs all the same.
        let Some(view) = self.decided(view).await else { return };
        let refusal = if view.status != Status::Authorised {
            Some(words::standing(&view))
        } else if described.doubts.is_empty() || !view.votes.is_empty() || view.observed {
            None
        } else {
            // A grant, or a preset, was given for the tool as it was.
            let accept =
                format!("banksman mcp accept {} {}", shell_word(&self.standing.known_as), shell_word(&tool));
            Some(words::unseen(view.id, &accept))
        };
        match (refusal, waiting) {
            (Some(_), true) => return,
            (Some(refusal), false) => return self.tell(&id, era, &refusal).await,
            (None, _) => {}
        }
        match self.claim(&view).await {
            Ok(claim) => self.run(message, &view, claim, waiting).await,
            Err(error) if waiting => tracing::warn!(%error, "an approved call could not be claimed"),
            Err(error) => self.tell(&id, era, &error.words()).await,
        }
    }

    /// Takes the one claim. If it was taken and we did not hear of it, it is refused the next time, and nothing runs.
    async fn claim(&self, view: &ActionView) -> Result<ClaimView, GateError> {
        let mut tries = CLAIM_TRIES;
        loop {
            tries -= 1;
            match self.gate.claim(view.id, view.digest).await {
                Err(GateError::Unavailable(problem)) if tries > 0 => {
                    tracing::warn!(action = %view.id, problem, "an approved call cannot be claimed; trying again");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
                claimed => return claimed,
            }
        }
    }

    /// How long this client waits for this call.
    fn window(&self, message: &Message) -> Duration {
        let by_what_is_known = || {
            let client = match era(message) {
                Era::One => self.client.lock().unwrap_or_else(PoisonError::into_inner).clone(),
                Era::Two => message.client(),
            };
            self.windows.window(client.name.as_deref(), message.progress_token().is_some())
        };
        self.standing.window.unwrap_or_else(by_what_is_known)
    }

    /// The page on which people decide about an action.
    fn review_url(&self, id: ActionId) -> String {
        format!("{}/actions/{id}", self.standing.review_url.trim_end_matches('/'))
    }

    /// Waits for people while the client does. True if it should be told to come back.
    async fn hold(&self, message: &Message, mut view: ActionView) -> (ActionView, bool) {
        let until = Instant::now() + self.window(message);
        let mut beats = 0u64;
        while view.status == Status::Pending {
            let left = until.saturating_duration_since(Instant::now()).as_secs();
            if left == 0 {
                return (view, true);
            }
            if let Ok(newer) = self.gate.wait(view.id, left.min(SLICE)).await {
                view = newer;
            } else {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            if let (Some(token), Status::Pending) = (message.progress_token(), view.status) {
                beats += 1;
                let page = self.review_url(view.id);
                let text = format!("waiting for a person's approval: {} ({page})", view.id);
                self.say(format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{beats},"message":{}}}}}"#,
                    quoted(&text)
                ))
                .await;
            }
        }
        (view, false)
    }

    /// The action once people have decided, however long they take.
    async fn decided(&self, mut view: ActionView) -> Option<ActionView> {
        while view.status == Status::Pending {
            if self.program.child.is_gone() {
                return None;
            }
            match self.gate.wait(view.id, SLICE).await {
                Ok(newer) => view = newer,
                Err(_) => tokio::time::sleep(Duration::from_secs(1)).await,
            }
        }
        Some(view)
    }

    /// `banksman_wait`.
    async fn fetch(&self, id: &str, era: Era, args: &CanonicalJson) {
        let action: Option<ActionId> = match argument(args, "id") {
            Some(Json::String(text)) => text.parse().ok(),
            Some(_) | None => None,
        };
        let Some(action) = action else {
            return self.tell(id, era, "`id` is not the id of a held call (act_...)").await;
        };
        let patience = match argument(args, "wait_s") {
            Some(Json::Number(number)) => number.to_string().parse::<u64>().unwrap_or(45).min(45),
            Some(_) | None => 45,
        };
        let until = Instant::now() + Duration::from_secs(patience);
        loop {
            let left = until.saturating_duration_since(Instant::now()).as_secs();
            let view = match self.gate.wait(action, left).await {
                Ok(view) => view,
                // Nothing is said of whether it ran: that is what cannot be found out.
                Err(GateError::Unavailable(_)) => {
                    return self.tell(id, era, &words::out_of_sight(action)).await;
                }
                Err(error) => return self.tell(id, era, &error.to_string()).await,
            };
            let runs = matches!(view.status, Status::Authorised | Status::Executing);
            if runs && Instant::now() < until {
                tokio::time::sleep(Duration::from_millis(200)).await;
                continue;
            }
            let result = view.outcome.as_ref().and_then(|outcome| outcome.result.as_ref());
            // An error that the program answered with is told in words: this is the answer to another request.
            return match result.filter(|result| kept_error(result).is_none()) {
                Some(result) => {
                    let told = words::with_notice_of_change(result.as_str(), &view, &view.args);
                    self.say(message::result(id, &words::for_era(told, era))).await;
                }
                None => self.not_yet(id, era, &view).await,
            };
        }
    }

    /// That there is no result yet, or none to show.
    async fn not_yet(&self, id: &str, era: Era, view: &ActionView) {
        let text = words::not_yet(view, &self.review_url(view.id));
        let result = words::tool_error(&text, Some((view.id, view.status)), era);
        self.say(message::result(id, &result)).await;
    }

    /// A tool result that says that it did not work.
    pub(crate) async fn tell(&self, id: &str, era: Era, text: &str) {
        self.say(message::result(id, &words::tool_error(text, None, era))).await;
    }
}

/// On a pipe there are no headers: a message itself says of which era it is.
pub(crate) fn era(message: &Message) -> Era {
    message.era(&HeaderMap::new())
}

/// A word as a shell takes it for that one word.
fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '@');
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
