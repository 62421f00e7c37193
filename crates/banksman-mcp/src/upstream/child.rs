//! A server that is a program of ours: messages are lines of its standard input and output.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdin, Command};
use tokio::sync::mpsc;

use super::SendError;
use super::lane::{MAX_ANSWER, Route};
use crate::message;

/// What the server says on its own account while nobody listens: the oldest is forgotten first.
const UNHEARD: usize = 64;

/// Messages on their way to one client. A client that does not read holds up nobody else.
const QUEUE: usize = 64;

/// The program, and who waits for what from it.
pub(crate) struct Child {
    to_child: mpsc::Sender<Bytes>,
    state: Mutex<State>,
    manner: Manner,
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
        let child = Arc::new(Self { to_child, state: Mutex::default(), manner });
        tokio::spawn(write(input, lines));
        tokio::spawn(log(name.to_owned(), BufReader::new(errors)));
        let reading = Arc::downgrade(&child);
        let name = name.to_owned();
        tokio::spawn(async move {
            let mut output = BufReader::new(output);
            while let Some(line) = line(&mut output).await {
                // When nobody holds the child any more, it is to end.
                let Some(child) = reading.upgrade() else { break };
                child.route(line);
            }
            if let Some(child) = reading.upgrade() {
                child.end();
            }
            drop(process.start_kill());
            let status =
                process.wait().await.map_or_else(|error| error.to_string(), |status| status.to_string());
            tracing::info!(upstream = name, status, "an MCP server's program has ended");
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

/// A message on one line. In JSON a raw line end can only stand between tokens.
fn one_line(message: &Bytes) -> Bytes {
    if message.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
        message.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }).collect()
    } else {
        message.clone()
    }
}

async fn write(mut input: ChildStdin, mut lines: mpsc::Receiver<Bytes>) {
    while let Some(line) = lines.recv().await {
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
