//! The loop: messages in, effects out, and the screen in between.

use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use banksman_client::{Client, ClientError};
use banksman_core::Timestamp;
use crossterm::event::{Event as Input, EventStream};
use futures_util::StreamExt;
use rustix::process::{Signal, kill_current_process_group};
use tokio::signal::unix::{Signal as Arrivals, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::MissedTickBehavior;

use crate::desk::{Desk, Order, look_at};
use crate::feed;
use crate::message::{Effect, Message};
use crate::model::Model;
use crate::paint::Paint;
use crate::screen::Screen;
use crate::update::update;

/// Countdowns count.
const TICK: Duration = Duration::from_secs(1);

/// What the inbox needs to know and to be able to do.
pub struct Setup<'a> {
    /// The server, and who looks.
    pub client: Client,
    /// Whether to use colours.
    pub colours: bool,
    /// Opens an editor on a text, with the terminal to itself, and gives what was saved, or why there is nothing.
    pub edit: &'a dyn Fn(&str) -> Result<String, String>,
}

impl std::fmt::Debug for Setup<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setup").field("client", &self.client).finish_non_exhaustive()
    }
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The person quit.
    Quit,
    /// A signal with this number told it to.
    Signal(i32),
}

/// Why it could not go on.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The server did not answer the first question, or did not like it.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The terminal failed.
    #[error("the terminal failed: {0}")]
    Terminal(#[from] io::Error),
}

/// Shows what waits until someone has seen enough.
///
/// The server is asked before the screen is taken over: who has no server or no right to look is told in a line.
///
/// # Errors
/// If the server cannot be asked, or the terminal fails.
pub fn watch(setup: Setup<'_>) -> Result<Ending, WatchError> {
    let client = Arc::new(setup.client);
    let house = look_at(&client)?;
    let entries = feed::newest(&client)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (tell, told) = unbounded_channel();
        let since = entries.last().map(|entry| entry.seq);
        let screen = Screen::open()?;
        let model =
            Model::new(client.url().to_owned(), Paint { colours: setup.colours }, screen.size()?, now());
        let desk = Desk::open(&client, &tell);
        for entry in entries {
            let _ = tell.send(Message::Happened(entry));
        }
        let _ = tell.send(Message::Loaded(Box::new(house)));
        feed::follow(Arc::clone(&client), since, tell);
        let mut watch = Watch { model, screen, desk, told, edit: setup.edit };
        watch.run().await
    })
}

struct Watch<'a> {
    model: Model,
    screen: Screen,
    desk: Desk,
    told: UnboundedReceiver<Message>,
    edit: &'a dyn Fn(&str) -> Result<String, String>,
}

/// What the loop does next.
enum Next {
    GoOn,
    /// Leave the terminal to an editor.
    Edit(String),
    End(Ending),
}

impl Watch<'_> {
    async fn run(&mut self) -> Result<Ending, WatchError> {
        let mut keys = EventStream::new();
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut ends = [SignalKind::terminate(), SignalKind::hangup(), SignalKind::interrupt()]
            .map(|kind| signal(kind).map(|arrivals| (kind, arrivals)));
        let [terminate, hangup, interrupt] = &mut ends;
        let mut continued = signal(SignalKind::from_raw(Signal::CONT.as_raw()))?;
        loop {
            // A resize between here and there is drawn a moment later, never beside the screen.
            let size = self.screen.size()?;
            if size != (self.model.columns, self.model.rows) {
                self.take(Message::Resized { columns: size.0, rows: size.1 })?;
            }
            self.screen.draw(&self.model)?;
            let message = tokio::select! {
                // A person's keys first: a busy house must not keep anyone from quitting or freezing.
                biased;
                ended = arrival(terminate) => return Ok(ended?),
                ended = arrival(hangup) => return Ok(ended?),
                ended = arrival(interrupt) => return Ok(ended?),
                input = keys.next() => match input {
                    Some(Ok(Input::Key(key))) => Message::Key(key),
                    Some(Ok(Input::Paste(text))) => Message::Paste(text),
                    Some(Ok(Input::Resize(columns, rows))) => Message::Resized { columns, rows },
                    Some(Ok(Input::FocusGained | Input::FocusLost | Input::Mouse(_))) => continue,
                    Some(Err(error)) => return Err(error.into()),
                    // The terminal is gone.
                    None => return Ok(Ending::Signal(SignalKind::hangup().as_raw_value())),
                },
                _ = continued.recv() => {
                    self.screen.come_back()?;
                    continue;
                }
                _ = ticks.tick() => Message::Tick,
                told = self.told.recv() => match told {
                    Some(message) => message,
                    // Only if the threads beside us are gone, which they do not do by themselves.
                    None => return Err(io::Error::other("the connection to the server gave up").into()),
                },
            };
            let mut next = self.take(message)?;
            // What else has come in is drawn with it.
            while matches!(next, Next::GoOn) {
                let Ok(message) = self.told.try_recv() else { break };
                next = self.take(message)?;
            }
            if let Next::Edit(text) = next {
                // Two readers of one keyboard would each get some of the keys.
                drop(keys);
                self.screen.leave();
                let saved = (self.edit)(&text);
                self.screen.come_back()?;
                keys = EventStream::new();
                // Ctrl-C in an editor was meant for the editor.
                drain(interrupt).await;
                next = self.take(Message::Edited(saved))?;
            }
            if let Next::End(ending) = next {
                return Ok(ending);
            }
        }
    }

    fn take(&mut self, message: Message) -> Result<Next, WatchError> {
        let mut next = Next::GoOn;
        for effect in update(&mut self.model, message, now()) {
            match effect {
                Effect::Reload => self.desk.look(),
                Effect::Fetch(id) => self.desk.order(Order::Fetch(id)),
                Effect::Decide(id, request) => self.desk.order(Order::Decide(id, request)),
                Effect::Freeze(body) => self.desk.order(Order::Freeze(body)),
                Effect::Lift(id) => self.desk.order(Order::Lift(id)),
                Effect::Redraw => self.screen.forget(),
                Effect::Suspend => {
                    self.screen.leave();
                    // Stops here, with whatever else is in the job, until the shell lets it go on.
                    kill_current_process_group(Signal::TSTP).map_err(io::Error::from)?;
                    self.screen.come_back()?;
                }
                Effect::Edit(text) => next = Next::Edit(text),
                Effect::Quit => return Ok(Next::End(Ending::Quit)),
            }
        }
        Ok(next)
    }
}

async fn arrival(awaited: &mut io::Result<(SignalKind, Arrivals)>) -> io::Result<Ending> {
    match awaited {
        Ok((kind, arrivals)) => {
            arrivals.recv().await;
            Ok(Ending::Signal(kind.as_raw_value()))
        }
        Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
    }
}

/// Forgets signals that have come in.
async fn drain(awaited: &mut io::Result<(SignalKind, Arrivals)>) {
    if let Ok((_, arrivals)) = awaited {
        while tokio::time::timeout(Duration::from_millis(1), arrivals.recv()).await.is_ok() {}
    }
}

fn now() -> Timestamp {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(0).after(since_1970)
}
