//! A server that is a program of ours: messages are lines of its standard input and output.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::io::BufReader;
use tokio::sync::{Notify, Semaphore, mpsc, oneshot, watch};

use super::SendError;
use super::alias::{self, About, Alias};
use super::environment::Inherits;
use super::lane::Route;
use super::lines::{log, one_line};
use super::mailbox::{Mailbox, Offered, Post, Questions, Wants, mailbox};
use super::process::{Launch, Outgoing, Running};
use super::slots::Slot;
use crate::message;
use crate::raw::Members;

/// What the server says on its own account while nobody listens: the oldest is forgotten first.
const UNHEARD: usize = 64;
const UNHEARD_BYTES: usize = 4 * 1024 * 1024;

/// Messages on their way to the program, and how many bytes they may have together; one alone may have more.
const QUEUE: usize = 64;
const QUEUE_BYTES: usize = 8 * 1024 * 1024;

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

/// What to do with what the server asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// A client is there to answer.
    ForClient,
    /// Nobody is: we answer that nothing can be asked.
    Alone,
    /// Those for whom we ask, while we do: what it wants to know is for the newest of them.
    AsksOfRequests,
    /// All requests of an agent that know no sessions come here. A server of that revision asks nobody: what it wants to
    /// know is in its answers.
    Shared,
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
    /// What its client calls it, where others may call theirs the same.
    alias: Option<Alias>,
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
        let (process, errors) = launch.start()?;
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
        let (running, output) = Running::new(process, lines, &child, closing);
        let name = launch.name.to_owned();
        tokio::spawn(async move {
            let status = running.follow(output, released).await;
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

    /// Whether all requests of an agent come here.
    pub(crate) fn is_shared(&self) -> bool {
        self.manner == Manner::Shared
    }

    /// Sends a request; what comes because of it comes out of the answer, the answer last.
    pub(crate) async fn ask(self: &Arc<Self>, message: Bytes, route: Route) -> Result<Mailbox, SendError> {
        self.ask_for(Wants::Everything, message, route).await
    }

    /// The same; who wants the answer alone leaves what the server says and asks meanwhile to others.
    pub(crate) async fn ask_for(
        self: &Arc<Self>,
        wants: Wants,
        message: Bytes,
        route: Route,
    ) -> Result<Mailbox, SendError> {
        let (post, mut answers) = mailbox(wants);
        let message = {
            let mut state = self.state();
            if state.gone {
                return Err(SendError::NotSent("its program has ended".to_owned()));
            }
            // Those who went away without an answer.
            state.waiting.retain(|_, waiting| !waiting.post.is_left());
            state.arrivals += 1;
            let arrival = state.arrivals;
            if self.is_shared() {
                let ours = format!("\"banksman-{arrival}\"");
                let unreadable = || SendError::NotSent("the request cannot be read".to_owned());
                let (message, alias) = alias::renamed(&message, &ours, route).ok_or_else(unreadable)?;
                let waiting = Waiting { post, progress: None, arrival, alias: Some(alias) };
                state.waiting.insert(ours.clone(), waiting);
                let child = Arc::clone(self);
                answers = answers.with_farewell(move || child.give_up(&ours));
                message
            } else {
                let waiting = Waiting { post, progress: route.progress, arrival, alias: None };
                state.waiting.insert(route.id, waiting);
                message
            }
        };
        self.tell(message).await?;
        Ok(answers)
    }

    /// Tells the program that nobody waits for its answer any more, if it has not come.
    pub(super) fn give_up(&self, ours: &str) {
        let left = self.state().waiting.remove(ours);
        if left.is_some() {
            self.tell_at_once(alias::cancelled(ours));
        }
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

    /// By what it is told something, whether it lives on or not.
    pub(super) fn way_in(&self) -> (mpsc::Sender<Outgoing>, Arc<Semaphore>) {
        (self.to_child.clone(), Arc::clone(&self.room))
    }

    pub(super) fn end(&self) {
        let mut state = self.state();
        state.gone = true;
        // Whoever waits sees its channel close.
        state.waiting.clear();
        state.listener = None;
    }

    /// Takes a line to whoever it is for.
    pub(super) fn route(&self, line: Bytes) {
        let Ok(head) = serde_json::from_slice::<Head<'_>>(&line) else {
            tracing::debug!("a line that is no message was left out");
            return;
        };
        match (head.id, head.method) {
            (Some(id), None) => {
                let answered = self.state().waiting.remove(id.get());
                if let Some(waiting) = answered {
                    let line = waiting.alias.map_or(Some(line.clone()), |alias| alias.of_answer(&line));
                    // Who waits for what cannot be read sees that nothing comes.
                    line.into_iter().for_each(|line| waiting.post.answer(line));
                }
            }
            (Some(id), Some(method)) if matches!(self.manner, Manner::Alone | Manner::Shared) => {
                self.refuse(id.get(), &method);
            }
            // Some clients would take it for the answer to something else that they asked.
            (_, Some(_)) if is_also_an_answer(&line) => {
                tracing::debug!("a message of two kinds was left out")
            }
            (None, Some(method)) if self.is_shared() => self.hand_to_its_client(&line, &method, head.params),
            (id, Some(method)) => {
                let handed_on = self.hand_on(&line, id.is_some(), &method, head.params);
                if let (Some(id), false) = (id, handed_on) {
                    self.refuse(id.get(), &method);
                }
            }
            (None, None) => {}
        }
    }

    /// Whoever asks waits for an answer, though nobody can give one.
    fn refuse(&self, id: &str, method: &str) {
        self.tell_at_once(message::for_nobody(method, id).into());
    }

    /// Hands on what the server says of a request, to the client whose request that is and to no other.
    fn hand_to_its_client(&self, message: &Bytes, method: &str, params: Option<&RawValue>) {
        let state = self.state();
        let wants_log = |waiting: &&Waiting| waiting.alias.as_ref().is_some_and(|alias| alias.wants_log);
        let found = match alias::about(method, params) {
            About::Request(ours) => state.waiting.get(&ours),
            // A line of the log says not of which it is.
            About::Log => state.waiting.values().filter(wants_log).max_by_key(|waiting| waiting.arrival),
            About::Nothing => None,
        };
        let Some(waiting) = found else { return };
        let theirs = waiting.alias.as_ref().and_then(|alias| alias.of_notification(message));
        if let Some(theirs) = theirs {
            waiting.post.offer(&theirs);
        }
    }

    /// Hands on what the server says or asks while it works: to whoever wanted to know of this progress, or else to
    /// the newest request whose client listens, or else to the standing stream. What is only said is lost to a client that
    /// does not read; what is asked goes to the next one. False if nobody has it.
    fn hand_on(&self, message: &Bytes, asks: bool, method: &str, params: Option<&RawValue>) -> bool {
        let mut state = self.state();
        let about = alias::about(method, params);
        if let About::Request(named) = &about {
            let by_token = |waiting: &&Waiting| waiting.progress.as_deref() == Some(named);
            let of_request = state.waiting.get(named).or_else(|| state.waiting.values().find(by_token));
            if let Some(waiting) = of_request {
                return waiting.post.offer(message) == Offered::Taken;
            }
        }
        if self.manner == Manner::Alone || (self.manner == Manner::AsksOfRequests && !asks) {
            // Who asks on our account hears of nothing else.
            return state.listener.as_ref().is_some_and(|listener| listener.offer(message).is_taken());
        }
        let mut newest_first: Vec<&Waiting> = state.waiting.values().collect();
        newest_first.sort_unstable_by_key(|waiting| std::cmp::Reverse(waiting.arrival));
        // Nobody answers on our standing streams.
        let listener = state.listener.as_ref().filter(|_| self.manner == Manner::ForClient);
        let posts: Vec<&Post> =
            newest_first.into_iter().map(|waiting| &waiting.post).chain(listener).collect();
        if asks {
            let put = |when| posts.iter().any(|post| post.ask(message, when).is_taken());
            // Better later than never, if it cannot be somebody's who never answers; but for who only wants to know whether
            // somebody is there.
            let later = method != "ping" && !posts.iter().any(|post| post.is_never_to_be_asked());
            if put(Questions::Now) || (later && put(Questions::Later)) {
                return true;
            }
        } else {
            for post in posts {
                match post.offer(message) {
                    Offered::Taken => return true,
                    Offered::Full => return false,
                    Offered::Unwanted => {}
                }
            }
        }
        // Whoever asks while it works for somebody who does not listen would wait until its call is given up.
        let is_of_nobody = asks && !state.waiting.is_empty();
        let is_full = state.listener.as_ref().is_some_and(|listener| !listener.is_left());
        if is_of_nobody || is_full || self.manner != Manner::ForClient {
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

fn is_also_an_answer(line: &[u8]) -> bool {
    Members::read_bytes(line)
        .is_none_or(|message| ["result", "error"].iter().any(|key| message.get(key).is_some()))
}
