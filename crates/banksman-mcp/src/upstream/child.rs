//! A server that is a program of ours: messages are lines of its standard input and output.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child as Process, ChildStdin, ChildStdout, Command};
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::SendError;
use super::lane::{MAX_ANSWER, Route};
use super::slots::Slot;
use crate::message;
use crate::raw::Members;

/// What the server says on its own account while nobody listens: the oldest is forgotten first.
const UNHEARD: usize = 64;

/// Messages on their way to one client. A client that does not read holds up nobody else.
const QUEUE: usize = 64;

/// How long a program has to end by itself once its input is closed, and again once it was told to.
const GRACE: Duration = Duration::from_secs(2);

/// No message: behind it the program's input is closed.
const END: Bytes = Bytes::new();

/// How long what a program wrote before it ended is read. Only what it started may hold its output open for longer.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// The program, and who waits for what from it. It ends when nobody holds this any more.
pub(crate) struct Child {
    to_child: mpsc::Sender<Bytes>,
    state: Mutex<State>,
    manner: Manner,
    /// That it is to end, though somebody still holds it.
    closing: Arc<Notify>,
    /// Closes when nothing is left of the process.
    over: watch::Receiver<()>,
    /// Closes with this: that is how whoever looks after the process hears of it.
    _held: oneshot::Sender<()>,
}

/// What to do with what the server asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// A client is there to answer.
    ForClient,
    /// Nobody is: we answer that nothing can be asked.
    Alone,
}

#[derive(Default)]
struct State {
    waiting: HashMap<String, Waiting>,
    arrivals: u64,
    /// The client's standing stream.
    listener: Option<mpsc::Sender<Bytes>>,
    unheard: VecDeque<Bytes>,
    gone: bool,
}

struct Waiting {
    messages: mpsc::Sender<Bytes>,
    progress: Option<String>,
    arrival: u64,
}

/// What a line is about.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(default)]
    method: Option<String>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
struct ProgressOf<'a> {
    #[serde(borrow, default, rename = "progressToken")]
    token: Option<&'a RawValue>,
}

impl Child {
    /// Starts the program.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(crate) fn start(
        name: &str,
        words: &[String],
        env: &[(String, String)],
        directory: Option<&PathBuf>,
        manner: Manner,
    ) -> Result<Arc<Self>, SendError> {
        Self::start_in(None, name, words, env, directory, manner)
    }

    /// The same, with a slot that is taken until nothing is left of the program.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(crate) fn start_in(
        slot: Option<Slot>,
        name: &str,
        words: &[String],
        env: &[(String, String)],
        directory: Option<&PathBuf>,
        manner: Manner,
    ) -> Result<Arc<Self>, SendError> {
        let (program, arguments) =
            words.split_first().ok_or_else(|| SendError::NotSent("its command is empty".to_owned()))?;
        let mut command = Command::new(program);
        command.args(arguments).envs(env.iter().map(|(key, value)| (key, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        // It has no business with our own credentials.
        command.env_remove("BANKSMAN_TOKEN");
        if let Some(directory) = directory {
            command.current_dir(directory);
        }
        let mut process = command
            .spawn()
            .map_err(|error| SendError::NotSent(format!("{program:?} cannot be started: {error}")))?;
        let pipes = (process.stdin.take(), process.stdout.take(), process.stderr.take());
        let (Some(input), Some(output), Some(errors)) = pipes else {
            return Err(SendError::NotSent("its pipes are missing".to_owned()));
        };
        let (to_child, lines) = mpsc::channel(QUEUE);
        let (held, released) = oneshot::channel();
        let (closing, (alive, over)) = (Arc::new(Notify::new()), watch::channel(()));
        let child = Self {
            to_child,
            state: Mutex::default(),
            manner,
            closing: Arc::clone(&closing),
            over,
            _held: held,
        };
        let child = Arc::new(child);
        tokio::spawn(log(name.to_owned(), BufReader::new(errors)));
        let writing = tokio::spawn(write(input, lines));
        let mut running = Running { process, writing, child: Arc::downgrade(&child), closing, grace: GRACE };
        let name = name.to_owned();
        tokio::spawn(async move {
            running.work(output, released).await;
            let status = running.end().await;
            tracing::info!(upstream = name, status, "an MCP server's program has ended");
            drop((slot, alive));
        });
        Ok(child)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.state().gone
    }

    /// Sends a request; what comes because of it comes out of the answer, the answer last.
    pub(crate) async fn ask(&self, message: Bytes, route: Route) -> Result<mpsc::Receiver<Bytes>, SendError> {
        let (messages, answers) = mpsc::channel(QUEUE);
        {
            let mut state = self.state();
            if state.gone {
                return Err(SendError::NotSent("its program has ended".to_owned()));
            }
            state.arrivals += 1;
            let arrival = state.arrivals;
            state.waiting.insert(route.id, Waiting { messages, progress: route.progress, arrival });
        }
        self.tell(message).await?;
        Ok(answers)
    }

    /// Sends a message that wants no answer.
    pub(crate) async fn tell(&self, message: Bytes) -> Result<(), SendError> {
        let sent = self.to_child.send(one_line(&message)).await;
        sent.map_err(|_| SendError::NotSent("its program has ended".to_owned()))
    }

    /// Closes its input behind all that was sent, and returns when nothing is left of the process: one that does not end
    /// by itself is told to, and then made to. What it says meanwhile is heard.
    pub(crate) async fn close(&self) {
        self.closing.notify_one();
        let mut over = self.over.clone();
        while over.changed().await.is_ok() {}
    }

    /// What the server says on its own account, from now on; whoever listened before does no longer.
    pub(crate) fn listen(&self) -> mpsc::Receiver<Bytes> {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let mut state = self.state();
        while let Some(message) = state.unheard.pop_front() {
            if sender.try_send(message).is_err() {
                break;
            }
        }
        if !state.gone {
            state.listener = Some(sender);
        }
        receiver
    }

    fn end(&self) {
        let mut state = self.state();
        state.gone = true;
        // Whoever waits sees its channel close.
        state.waiting.clear();
        state.listener = None;
    }

    /// Takes a line to whoever it is for.
    fn route(&self, line: Bytes) {
        let Ok(head) = serde_json::from_slice::<Head<'_>>(&line) else {
            tracing::debug!("a line that is no message was left out");
            return;
        };
        match (head.id, head.method) {
            (Some(id), None) => {
                let answered = self.state().waiting.remove(id.get());
                if let Some(waiting) = answered {
                    // The queue has room unless the client stopped reading; then the answer is lost to it alone.
                    drop(waiting.messages.try_send(line));
                }
            }
            (Some(id), Some(method)) if self.manner == Manner::Alone => {
                let answer = match method.as_str() {
                    "ping" => message::result(id.get(), "{}"),
                    _ => message::error(id.get(), -32601, "nobody is there to answer"),
                };
                drop(self.to_child.try_send(answer.into()));
            }
            // Some clients would take it for the answer to something else that they asked.
            (_, Some(_)) if is_also_an_answer(&line) => {
                tracing::debug!("a message of two kinds was left out")
            }
            (_, Some(method)) => self.hand_on(line.clone(), &method, head.params),
            (None, None) => {}
        }
    }

    /// Hands on what the server says or asks while it works: to whoever wanted to know of this progress, or else to
    /// the newest request, or else to the standing stream.
    fn hand_on(&self, message: Bytes, method: &str, params: Option<&RawValue>) {
        let mut state = self.state();
        let token = if method == "notifications/progress" {
            let of: ProgressOf<'_> =
                params.and_then(|params| serde_json::from_str(params.get()).ok()).unwrap_or_default();
            of.token.map(RawValue::get)
        } else {
            None
        };
        let by_token = token.and_then(|token| {
            state.waiting.values().find(|waiting| waiting.progress.as_deref() == Some(token))
        });
        let newest = || state.waiting.values().max_by_key(|waiting| waiting.arrival);
        if let Some(waiting) = by_token.or_else(newest)
            && waiting.messages.try_send(message.clone()).is_ok()
        {
            return;
        }
        if let Some(listener) = &state.listener
            && listener.try_send(message.clone()).is_ok()
        {
            return;
        }
        if self.manner == Manner::ForClient {
            if state.unheard.len() >= UNHEARD {
                state.unheard.pop_front();
            }
            state.unheard.push_back(message);
        }
    }
}

/// The process behind a child. The child does not own it: who drops it cannot wait, and an end takes time.
struct Running {
    process: Process,
    writing: JoinHandle<()>,
    child: Weak<Child>,
    closing: Arc<Notify>,
    /// How long it has to end by itself.
    grace: Duration,
}

impl Running {
    /// Takes what the program says to whoever it is for, until it ends, says no more, or nobody wants it any longer.
    async fn work(&mut self, output: ChildStdout, released: oneshot::Receiver<()>) {
        let child = self.child.clone();
        let reading = async move {
            let mut output = BufReader::new(output);
            while let Some(line) = line(&mut output).await {
                let Some(child) = child.upgrade() else { return };
                child.route(line);
            }
        };
        tokio::pin!(reading);
        tokio::select! {
            () = &mut reading => {}
            _ = released => return,
            _ = self.process.wait() => drop(timeout(LAST_WORDS, &mut reading).await),
            () = closed(&self.closing, &self.child) => {
                self.grace = Duration::ZERO;
            }
        }
        if let Some(child) = self.child.upgrade() {
            child.end();
        }
        // Nobody hears its answers any more, so nothing is to be asked either.
        self.writing.abort();
    }

    /// Ends it as MCP has it: its input is closed (that is done, or on its way), then it is told to, then it is made to.
    async fn end(&mut self) -> String {
        if timeout(self.grace, self.process.wait()).await.is_err() {
            // One that does not read would keep its input open for ever.
            self.writing.abort();
            self.terminate();
            if timeout(GRACE, self.process.wait()).await.is_err() {
                drop(self.process.start_kill());
            }
        }
        self.process.wait().await.map_or_else(|error| error.to_string(), |status| status.to_string())
    }

    fn terminate(&self) {
        // It is not waited for yet, so its id is still its own.
        let pid = self.process.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(pid) = pid {
            let _ = kill_process(pid, Signal::TERM);
        }
    }
}

/// Once it is to end: when its input is closed, and it has had its time since.
async fn closed(closing: &Notify, child: &Weak<Child>) {
    closing.notified().await;
    let Some(to_child) = child.upgrade().map(|child| child.to_child.clone()) else { return };
    // One that does not read does not get its end of input this way, but by a signal.
    drop(
        timeout(GRACE, async move {
            drop(to_child.send(END).await);
            std::future::pending::<()>().await;
        })
        .await,
    );
}

fn is_also_an_answer(line: &[u8]) -> bool {
    Members::read_bytes(line)
        .is_none_or(|message| ["result", "error"].iter().any(|key| message.get(key).is_some()))
}

/// A message on one line. In JSON a raw line end can only stand between tokens.
fn one_line(message: &Bytes) -> Bytes {
    if message.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
        message.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }).collect()
    } else {
        message.clone()
    }
}

async fn write(mut input: ChildStdin, mut lines: mpsc::Receiver<Bytes>) {
    while let Some(line) = lines.recv().await.filter(|line| *line != END) {
        let written = async {
            input.write_all(&line).await?;
            input.write_all(b"\n").await?;
            input.flush().await
        };
        if written.await.is_err() {
            break;
        }
    }
}

/// The next line, without its end; `None` at the end of the stream, or when a line is too long to be one.
async fn line(output: &mut (impl AsyncBufRead + Unpin)) -> Option<Bytes> {
    let mut line = Vec::new();
    let limit = u64::try_from(MAX_ANSWER).unwrap_or(u64::MAX);
    output.take(limit).read_until(b'\n', &mut line).await.ok()?;
    if line.pop() != Some(b'\n') {
        return None;
    }
    Some(line.into())
}

/// What a program says on its standard error goes to our log, escaped and bounded.
async fn log(name: String, mut errors: impl AsyncBufRead + Unpin) {
    loop {
        let mut line = Vec::new();
        match (&mut errors).take(4096).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let text = String::from_utf8_lossy(&line);
                tracing::debug!(upstream = name, said = ?text.trim_end(), "an MCP server's program says");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_message_is_one_line_and_a_line_has_an_end() {
        assert_eq!(one_line(&Bytes::from_static(b"{\n\"a\":\r\n1}")), &b"{ \"a\":  1}"[..]);
        let mut output = BufReader::new(&b"{}\n{\"a\":1}\nhalf"[..]);
        assert_eq!(line(&mut output).await.unwrap(), &b"{}"[..]);
        assert_eq!(line(&mut output).await.unwrap(), &b"{\"a\":1}"[..]);
        assert!(line(&mut output).await.is_none());
    }
}
