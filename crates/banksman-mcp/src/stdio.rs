//! The gateway for clients that start their server as a program: a program before the program.
//!
//! It asks a running Banksman over its API, claims, and passes on. What it passes on is what was claimed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use banksman_core::json::{CanonicalJson, Json};
use banksman_core::wire::{ActionView, ClaimView, OutcomeBody, OutcomeStatus};
use banksman_core::{ActionId, Digest, Status};
use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::call::argument;
use crate::lists::with_wait_tool;
use crate::message::{self, Era, Message, Shape};
use crate::raw::{Members, quoted};
use crate::upstream::reply::Reply;
use crate::upstream::{Child, Manner, Route, SendError};
use crate::{view_words, words};

/// How long one question to the server takes while people are waited for; after each, the client hears something.
const SLICE: u64 = 10;

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
    /// Nobody could be asked.
    #[error("{0}")]
    Unavailable(String),
}

/// What stands between a client and its program.
pub struct Proxy<G> {
    gate: G,
    name: String,
    child: Arc<Child>,
    to_client: mpsc::Sender<String>,
    /// How long a call may stay open before the client is told to come back.
    window: Duration,
    next_id: AtomicU64,
}

impl<G: Gate> Proxy<G> {
    /// Starts the program. Messages for the client go to `to_client`, one on a line.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(
        gate: G,
        name: &str,
        command: &[String],
        window: Duration,
        to_client: mpsc::Sender<String>,
    ) -> Result<Arc<Self>, String> {
        let child =
            Child::start(name, command, &[], None, Manner::ForClient).map_err(|error| error.to_string())?;
        let proxy = Arc::new(Self {
            gate,
            name: name.to_owned(),
            child,
            to_client,
            window,
            next_id: AtomicU64::new(0),
        });
        let mut unasked = proxy.child.listen();
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
        self.child.is_gone()
    }

    /// Takes a line from the client.
    pub async fn take(self: &Arc<Self>, text: String) {
        if text.trim().is_empty() {
            return;
        }
        let message = match Message::read(text.into()) {
            Ok(message) => message,
            Err(error) => return self.say(message::error("null", -32700, &error.to_string())).await,
        };
        let id = message.id();
        match message.shape() {
            Shape::Request("tools/call") if message.has_usable_id() => {
                let proxy = Arc::clone(self);
                tokio::spawn(async move { proxy.call(message).await });
            }
            Shape::Request("tools/call") | Shape::Notification("tools/call") | Shape::Other => {
                self.say(message::error(&id, -32600, "this is no request that can be answered")).await;
            }
            Shape::Request(method) => {
                let lists = method == "tools/list";
                let proxy = Arc::clone(self);
                tokio::spawn(async move { proxy.pass(message, lists).await });
            }
            Shape::Notification(_) | Shape::Answer => drop(self.child.tell(message.bytes).await),
        }
    }

    async fn say(&self, message: String) {
        let _ = self.to_client.send(message).await;
    }

    /// Passes a request on, and everything back that comes of it.
    async fn pass(&self, message: Message, lists: bool) {
        let id = message.id();
        let route = Route { id: id.clone(), progress: message.progress_token() };
        let mut answers = match self.child.ask(message.bytes, route).await {
            Ok(answers) => answers,
            Err(error) => return self.say(message::error(&id, -32603, &error.to_string())).await,
        };
        while let Some(answer) = answers.recv().await {
            let listed = Reply::to(&answer, &id)
                .filter(|_| lists)
                .and_then(|reply| reply.result)
                .and_then(|result| with_wait_tool(result.get()));
            self.say(listed.map_or_else(|| line(&answer), |result| message::result(&id, &result))).await;
        }
    }

    async fn call(&self, message: Message) {
        let id = message.id();
        let tool = message.text_param("name").unwrap_or_default().to_owned();
        let args = match message.arguments() {
            Ok(args) if !tool.is_empty() => args,
            Ok(_) => return self.say(message::error(&id, -32602, "`name` is not a text")).await,
            Err(problem) => return self.say(message::error(&id, -32602, problem)).await,
        };
        if tool == words::WAIT_TOOL {
            return self.fetch(&id, &args).await;
        }
        let body = format!(
            r#"{{"tool":{},"server":{},"args":{}}}"#,
            quoted(&tool),
            quoted(&self.name),
            args.as_str()
        );
        let view = match self.gate.propose(body).await {
            Ok(view) => view,
            Err(error) => return self.tell(&id, &view_words::refused(&error)).await,
        };
        // The digest of what a client runs itself does not name a server, so that the same call at another one joins this.
        // People approved it for the server that they were shown.
        if view.context.server.as_ref() != Some(&self.name) {
            return self.tell(&id, &view_words::elsewhere(&view)).await;
        }
        let (view, waiting) = self.hold(&message, view).await;
        if waiting {
            self.tell(&id, &view_words::pending(&view)).await;
        }
        // The client may be gone on to other things; what people approve runs all the same.
        let Some(view) = self.decided(view).await else { return };
        if view.status != Status::Authorised {
            if !waiting {
                self.tell(&id, &view_words::not_run(&view)).await;
            }
            return;
        }
        match self.gate.claim(view.id, view.digest).await {
            Ok(claim) => self.run(message, &view, claim, waiting).await,
            Err(error) if waiting => tracing::warn!(%error, "an approved call could not be claimed"),
            Err(error) => self.tell(&id, &view_words::refused(&error)).await,
        }
    }

    /// Waits for people while the client does. True if it should be told to come back.
    async fn hold(&self, message: &Message, mut view: ActionView) -> (ActionView, bool) {
        let until = Instant::now() + self.window;
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
                let text = format!("waiting for a person's approval: {}", view.id);
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
            if self.child.is_gone() {
                return None;
            }
            match self.gate.wait(view.id, SLICE).await {
                Ok(newer) => view = newer,
                Err(_) => tokio::time::sleep(Duration::from_secs(1)).await,
            }
        }
        Some(view)
    }

    /// Passes on exactly what was claimed, and says how it ended.
    async fn run(&self, message: Message, view: &ActionView, claim: ClaimView, alone: bool) {
        let client_id = message.id();
        // An answer under the client's id would come twice.
        let id = if alone {
            quoted(&format!("banksman-{}", self.next_id.fetch_add(1, Ordering::Relaxed)))
        } else {
            client_id.clone()
        };
        let modified = view.resolution.as_ref().is_some_and(|resolution| resolution.modified);
        let sent = if alone || modified {
            rewritten(&message.bytes, &id, &claim.args)
        } else {
            Some(message.bytes.clone())
        };
        let route = Route { id: id.clone(), progress: message.progress_token().filter(|_| !alone) };
        let answers = match sent {
            Some(sent) => self.child.ask(sent, route).await,
            None => Err(SendError::NotSent("the message cannot be written".to_owned())),
        };
        let mut answers = match answers {
            Ok(answers) => answers,
            Err(error) => {
                let text = format!("not executed: {error}");
                self.report(view.id, OutcomeStatus::Failed, None, Some(text.clone())).await;
                if !alone {
                    self.tell(&client_id, &text).await;
                }
                return;
            }
        };
        while let Some(answer) = answers.recv().await {
            let Some(reply) = Reply::to(&answer, &id) else {
                if !alone {
                    self.say(line(&answer)).await;
                }
                continue;
            };
            let (status, kept, error) = match (reply.result, reply.rpc_error()) {
                (_, Some(error)) => (OutcomeStatus::Failed, None, Some(error.message)),
                (result, None) => {
                    let text = result.map_or("{}", |result| result.get());
                    let failed =
                        Members::read(text).is_some_and(|result| result.get("isError") == Some("true"));
                    let status = if failed { OutcomeStatus::Failed } else { OutcomeStatus::Succeeded };
                    let error = failed.then(|| "the tool says that it failed".to_owned());
                    (status, CanonicalJson::parse(text.as_bytes()).ok(), error)
                }
            };
            if !alone {
                let told = reply.result.filter(|_| modified).map(|result| {
                    message::result(&id, &words::with_notice(result.get(), claim.args.as_str(), None))
                });
                self.say(told.unwrap_or_else(|| line(&answer))).await;
            }
            self.report(view.id, status, kept, error).await;
            return;
        }
        // The program ended in the middle. Nobody knows, so nothing is reported: it becomes unknown.
        if !alone {
            let text = format!(
                "UNKNOWN ({}): the program ended without an answer. It may have run. Find out before you try again.",
                view.id
            );
            self.tell(&client_id, &text).await;
        }
    }

    async fn report(
        &self,
        id: ActionId,
        status: OutcomeStatus,
        result: Option<CanonicalJson>,
        error: Option<String>,
    ) {
        for _ in 0..5 {
            let outcome = OutcomeBody { status, result: result.clone(), error: error.clone() };
            match self.gate.report(id, outcome).await {
                Err(GateError::Unavailable(_)) => tokio::time::sleep(Duration::from_secs(1)).await,
                Ok(()) | Err(GateError::Refused(_)) => return,
            }
        }
    }

    /// `banksman_wait`.
    async fn fetch(&self, id: &str, args: &CanonicalJson) {
        let action: Option<ActionId> = match argument(args, "id") {
            Some(Json::String(text)) => text.parse().ok(),
            Some(_) | None => None,
        };
        let Some(action) = action else {
            return self.tell(id, "`id` is not the id of a held call (act_...)").await;
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
                Err(error) => return self.tell(id, &view_words::refused(&error)).await,
            };
            let runs = matches!(view.status, Status::Authorised | Status::Executing);
            if runs && Instant::now() < until {
                tokio::time::sleep(Duration::from_millis(200)).await;
                continue;
            }
            let result = view.outcome.as_ref().and_then(|outcome| outcome.result.as_ref());
            return match result {
                Some(result) => self.say(message::result(id, result.as_str())).await,
                None if view.status == Status::Pending => self.tell(id, &view_words::pending(&view)).await,
                None => self.tell(id, &view_words::not_run(&view)).await,
            };
        }
    }

    /// A tool result that says that it did not work.
    async fn tell(&self, id: &str, text: &str) {
        self.say(message::result(id, &words::tool_error(text, None, Era::One))).await;
    }
}

fn line(message: &Bytes) -> String {
    String::from_utf8_lossy(message).replace(['\n', '\r'], " ")
}

/// The client's message under another id, with the arguments that were claimed.
fn rewritten(message: &Bytes, id: &str, args: &CanonicalJson) -> Option<Bytes> {
    let mut members = Members::read_bytes(message)?;
    let mut params = Members::read(members.get("params")?)?;
    params.set("arguments", args.as_str());
    let params = params.write();
    members.set("params", params);
    members.set("id", id.to_owned());
    Some(members.write().into())
}
