//! The process behind a program of ours: how it starts, what it is told and says, and how it ends.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::process::{Child as Process, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::{Notify, OwnedSemaphorePermit, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::environment::Inherits;
use super::lines::line;
use super::{Child, SendError};

/// After so many lines in a row, those who read them get their turn: a program may write them all at once.
const LINES_IN_A_ROW: usize = 16;

/// How long a program has to end by itself once its input is closed, and again once it was told to.
const GRACE: Duration = Duration::from_secs(2);

/// No message: behind it the program's input is closed.
const END: Bytes = Bytes::new();

/// How long what a program wrote before it ended is read. Only what it started may hold its output open for longer.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A message to the program, and the room that it takes up until it is written.
pub(super) type Outgoing = (Bytes, OwnedSemaphorePermit);

/// What is to be started.
pub(crate) struct Launch<'a> {
    pub(crate) name: &'a str,
    pub(crate) words: &'a [String],
    /// What it sees beyond what it inherits.
    pub(crate) env: &'a [(String, String)],
    pub(crate) inherits: Inherits,
    pub(crate) directory: Option<&'a PathBuf>,
}

/// A process that was started, and its pipes.
pub(super) struct Started {
    process: Process,
    input: ChildStdin,
    output: ChildStdout,
}

impl Launch<'_> {
    /// Starts it. What it says on its standard error comes apart.
    pub(super) fn start(&self) -> Result<(Started, ChildStderr), SendError> {
        let (program, arguments) =
            self.words.split_first().ok_or_else(|| SendError::NotSent("its command is empty".to_owned()))?;
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(self.inherits.of(std::env::vars_os()));
        command.envs(self.env.iter().map(|(key, value)| (key, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        if let Some(directory) = self.directory {
            command.current_dir(directory);
        }
        let mut process = command
            .spawn()
            .map_err(|error| SendError::NotSent(format!("{program:?} cannot be started: {error}")))?;
        match (process.stdin.take(), process.stdout.take(), process.stderr.take()) {
            (Some(input), Some(output), Some(errors)) => Ok((Started { process, input, output }, errors)),
            (_, _, _) => Err(SendError::NotSent("its pipes are missing".to_owned())),
        }
    }
}

/// The process behind a child. The child does not own it: who drops it cannot wait, and an end takes time.
pub(super) struct Running {
    process: Process,
    writing: JoinHandle<()>,
    child: Weak<Child>,
    closing: Arc<Notify>,
    /// How long it has to end by itself.
    grace: Duration,
}

impl Running {
    pub(super) fn new(
        started: Started,
        lines: mpsc::Receiver<Outgoing>,
        child: &Arc<Child>,
        closing: Arc<Notify>,
    ) -> (Self, ChildStdout) {
        let Started { process, input, output } = started;
        let writing = tokio::spawn(write(input, lines));
        (Self { process, writing, child: Arc::downgrade(child), closing, grace: GRACE }, output)
    }

    /// Follows it until nothing is left of it, and says how it ended.
    pub(super) async fn follow(mut self, output: ChildStdout, released: oneshot::Receiver<()>) -> String {
        self.work(output, released).await;
        self.end().await
    }

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
    let Some((to_child, room)) = child.upgrade().map(|child| child.way_in()) else { return };
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
