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
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::process::{Child as Process, ChildStdin, ChildStdout, Command};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::SendError;
use super::environment::Inherits;
use super::lane::Route;
use super::lines::{line, log, one_line};
use super::mailbox::{Mailbox, Offered, Post, Wants, mailbox};
use super::slots::Slot;
use crate::message;
use crate::raw::Members;

/// What the server says on its own account while nobody listens: the oldest is forgotten first.
const UNHEARD: usize = 64;
const UNHEARD_BYTES: usize = 4 * 1024 * 1024;

/// Messages on their way to the program, and how many bytes they may have together; one alone may have more.
const QUEUE: usize = 64;
const QUEUE_BYTES: usize = 8 * 1024 * 1024;

/// After so many lines in a row, those who read them get their turn: a program may write them all at once.
const LINES_IN_A_ROW: usize = 16;

/// How long a program has to end by itself once its input is closed, and again once it was told to.
const GRACE: Duration = Duration::from_secs(2);

/// No message: behind it the program's input is closed.
const END: Bytes = Bytes::new();

/// How long what a program wrote before it ended is read. Only what it started may hold its output open for longer.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// The program, and who waits for what from it. It ends when nobody holds this any more.
pub(crate) struct Child {
    to_child: mpsc::Sender<Outgoing>,
    /// As many permits as bytes may be on their way to it.
    room: Arc<Semaphore>,
    state: Mutex<State>,
    manner: Manner,
    /// That it is to end, though somebody still holds it.
    closing: Arc<Notify>,
    /// Closes when nothing is left of the process.
    over: watch::Receiver<()>,
    /// Closes with this: that is how whoever looks after the process hears of it.
    _held: oneshot::Sender<()>,
}

/// A message to the program, and the room that it takes up until it is written.
type Outgoing = (Bytes, OwnedSemaphorePermit);

/// What is to be started.
pub(crate) struct Launch<'a> {
    pub(crate) name: &'a str,
    pub(crate) words: &'a [String],
    /// What it sees beyond what it inherits.
    pub(crate) env: &'a [(String, String)],
    pub(crate) inherits: Inherits,
    pub(crate) directory: Option<&'a PathBuf>,
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
    listener: Option<Post>,
    unheard: VecDeque<Bytes>,
    gone: bool,
}

struct Waiting {
    post: Post,
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
    /// Starts a program in whose place a client has started us: the environment is its own.
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
        let inherits = Inherits::AllButOurs;
        Self::start_in(None, &Launch { name, words, env, inherits, directory }, manner)
    }

    /// Starts a program, with a slot that is taken until nothing is left of it.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(crate) fn start_in(
        slot: Option<Slot>,
        launch: &Launch<'_>,
        manner: Manner,
    ) -> Result<Arc<Self>, SendError> {
        let (program, arguments) = launch
            .words
            .split_first()
            .ok_or_else(|| SendError::NotSent("its command is empty".to_owned()))?;
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(launch.inherits.of(std::env::vars_os()));
        command.envs(launch.env.iter().map(|(key, value)| (key, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        if let Some(directory) = launch.directory {
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
        let room = Arc::new(Semaphore::new(QUEUE_BYTES));
        let (closing, (alive, over)) = (Arc::new(Notify::new()), watch::channel(()));
        let child = Self {
            to_child,
            room,
            state: Mutex::default(),
            manner,
            closing: Arc::clone(&closing),
            over,
            _held: held,
        };
        let child = Arc::new(child);
        tokio::spawn(log(launch.name.to_owned(), BufReader::new(errors)));
        let writing = tokio::spawn(write(input, lines));
        let mut running = Running { process, writing, child: Arc::downgrade(&child), closing, grace: GRACE };
        let name = launch.name.to_owned();
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
    pub(crate) async fn ask(&self, message: Bytes, route: Route) -> Result<Mailbox, SendError> {
        self.ask_for(Wants::Everything, message, route).await
    }

    /// The same; who wants the answer alone leaves what the server says and asks meanwhile to others.
    pub(crate) async fn ask_for(
        &self,
        wants: Wants,
        message: Bytes,
        route: Route,
    ) -> Result<Mailbox, SendError> {
        let (post, answers) = mailbox(wants);
        {
            let mut state = self.state();
            if state.gone {
                return Err(SendError::NotSent("its program has ended".to_owned()));
            }
            // Those who went away without an answer.
            state.waiting.retain(|_, waiting| !waiting.post.is_left());
            state.arrivals += 1;
            let arrival = state.arrivals;
            state.waiting.insert(route.id, Waiting { post, progress: route.progress, arrival });
        }
        self.tell(message).await?;
        Ok(answers)
    }

    /// Sends a message that wants no answer. It waits until there is room for it.
    pub(crate) async fn tell(&self, message: Bytes) -> Result<(), SendError> {
        let gone = || SendError::NotSent("its program has ended".to_owned());
        let room = Arc::clone(&self.room).acquire_many_owned(room_for(&message)).await.map_err(|_| gone())?;
        self.to_child.send((one_line(&message), room)).await.map_err(|_| gone())
    }

    /// Sends a message if there is room for it now.
    fn tell_at_once(&self, message: Bytes) {
        match Arc::clone(&self.room).try_acquire_many_owned(room_for(&message)) {
            Ok(room) => drop(self.to_child.try_send((message, room))),
            Err(_) => tracing::debug!("a program that does not read gets no answer to what it asks"),
        }
    }

    /// Closes its input behind all that was sent, and returns when nothing is left of the process: one that does not end
    /// by itself is told to, and then made to. What it says meanwhile is heard.
    pub(crate) async fn close(&self) {
        self.closing.notify_one();
        let mut over = self.over.clone();
        while over.changed().await.is_ok() {}
    }

    /// What the server says on its own account, from now on; whoever listened before does no longer.
    pub(crate) fn listen(&self) -> Mailbox {
        let (post, receiver) = mailbox(Wants::Everything);
        let mut state = self.state();
        while let Some(message) = state.unheard.pop_front() {
            if post.offer(&message) != Offered::Taken {
                break;
            }
        }
        if !state.gone {
            state.listener = Some(post);
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
                    waiting.post.answer(line);
                }
            }
            (Some(id), Some(method)) if self.manner == Manner::Alone => match method.as_str() {
                "ping" => self.tell_at_once(message::result(id.get(), "{}").into()),
                _ => self.refuse(id.get()),
            },
            // Some clients would take it for the answer to something else that they asked.
            (_, Some(_)) if is_also_an_answer(&line) => {
                tracing::debug!("a message of two kinds was left out")
            }
            (id, Some(method)) => {
                let handed_on = self.hand_on(&line, id.is_some(), &method, head.params);
                if let (Some(id), false) = (id, handed_on) {
                    self.refuse(id.get());
                }
            }
            (None, None) => {}
        }
    }

    /// Whoever asks waits for an answer, though nobody can give one.
    fn refuse(&self, id: &str) {
        self.tell_at_once(message::error(id, -32601, "nobody is there to answer").into());
    }

    /// Hands on what the server says or asks while it works: to whoever wanted to know of this progress, or else to
    /// the newest request whose client listens, or else to the standing stream. What is only said is lost to a client that
    /// does not read; what is asked goes to the next one. False if nobody has it.
    fn hand_on(&self, message: &Bytes, asks: bool, method: &str, params: Option<&RawValue>) -> bool {
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
        if let Some(waiting) = by_token {
            return waiting.post.offer(message) == Offered::Taken;
        }
        let mut newest_first: Vec<&Waiting> = state.waiting.values().collect();
        newest_first.sort_unstable_by_key(|waiting| std::cmp::Reverse(waiting.arrival));
        let posts = newest_first.into_iter().map(|waiting| &waiting.post);
        for post in posts.chain(&state.listener) {
            match post.offer(message) {
                Offered::Taken => return true,
                Offered::Full if !asks => return false,
                Offered::Full | Offered::Unwanted => {}
            }
        }
        // Whoever asks while it works for somebody who does not listen would wait until its call is given up.
        let is_of_nobody = asks && !state.waiting.is_empty();
        let is_full = state.listener.as_ref().is_some_and(|listener| !listener.is_left());
        if is_of_nobody || is_full || self.manner == Manner::Alone {
            return false;
        }
        state.keep_for_later(message.clone());
        true
    }
}

impl State {
    /// Keeps what the server said on its own account for whoever listens next.
    fn keep_for_later(&mut self, message: Bytes) {
        self.unheard.push_back(message);
        let mut bytes: usize = self.unheard.iter().map(Bytes::len).sum();
        while self.unheard.len() > UNHEARD || bytes > UNHEARD_BYTES {
            let Some(forgotten) = self.unheard.pop_front() else { return };
            bytes -= forgotten.len();
        }
    }
}

/// How much room a message takes up on its way to the program.
fn room_for(message: &Bytes) -> u32 {
    u32::try_from(message.len().min(QUEUE_BYTES)).unwrap_or(u32::MAX)
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
            let mut in_a_row = 0;
            while let Some(line) = line(&mut output).await {
                let Some(child) = child.upgrade() else { return };
                child.route(line);
                in_a_row += 1;
                if in_a_row == LINES_IN_A_ROW {
                    in_a_row = 0;
                    tokio::task::yield_now().await;
                }
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
    let ways = child.upgrade().map(|child| (child.to_child.clone(), Arc::clone(&child.room)));
    let Some((to_child, room)) = ways else { return };
    // One that does not read does not get its end of input this way, but by a signal.
    drop(
        timeout(GRACE, async move {
            if let Ok(no_room) = room.acquire_many_owned(0).await {
                drop(to_child.send((END, no_room)).await);
            }
            std::future::pending::<()>().await;
        })
        .await,
    );
}

fn is_also_an_answer(line: &[u8]) -> bool {
    Members::read_bytes(line)
        .is_none_or(|message| ["result", "error"].iter().any(|key| message.get(key).is_some()))
}

async fn write(mut input: ChildStdin, mut lines: mpsc::Receiver<Outgoing>) {
    while let Some((line, _room)) = lines.recv().await.filter(|(line, _)| *line != END) {
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
