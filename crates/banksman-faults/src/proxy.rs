//! The line between a node and its database, which fails on demand: cut around a commit, slow, silent, or away.
//!
//! A thread for each direction of each connection. Whatever a thread is about to pass on, it first asks the state that
//! all share; a connection that is cut is shut down from outside, which ends both of its threads.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::wire::{Answers, Framer, Message, Requests};

/// What the line is like, for every connection until it is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weather {
    /// Everything is passed on at once.
    Fair,
    /// Everything arrives this much later, in each direction.
    Slow(Duration),
    /// Connections are taken, and nothing is passed on. What was sent arrives when the weather changes, as it does when
    /// a broken network is mended.
    Silent,
    /// Nobody gets a connection.
    Away,
}

/// Which side of a commit a trap is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The database does not get to see it.
    BeforeCommit,
    /// The database has committed and says so, and nobody hears it.
    AfterCommit,
}

/// Something that happens once, to the connection with the next commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trap {
    /// When.
    pub at: Moment,
    /// Whether the connection stays open, and silent, instead of being cut.
    pub silent: bool,
}

/// A line to a PostgreSQL server. With this value it is gone.
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// The socket of the server that new connections lead to.
    server: PathBuf,
    weather: Weather,
    trap: Option<Trap>,
    sprung: u64,
    links: HashMap<u64, Link>,
    next_link: u64,
    gone: bool,
}

/// One connection, as far as others may end it.
struct Link {
    client: TcpStream,
    server: UnixStream,
    /// The trap that waits for the database's answer to a commit.
    after_commit: Option<Trap>,
    /// Nothing is passed on any more, whatever the weather.
    mute: bool,
}

/// What becomes of a message.
enum Fate {
    Pass,
    /// It goes no further.
    Drop,
    /// The connection is over.
    End,
}

/// The folder in which a server of this address has its sockets.
fn folder_of(url: &str) -> anyhow::Result<PathBuf> {
    let folder = url.split_once('@').and_then(|(_, rest)| rest.rsplit_once('/'));
    let (folder, _) = folder.context("an address like postgres://USER@%2FFOLDER/NAME")?;
    Ok(PathBuf::from(folder.replace("%2F", "/")))
}

fn socket_in(folder: &Path) -> PathBuf {
    folder.join(".s.PGSQL.5432")
}

impl Proxy {
    /// A line to the server with its sockets in this folder, on a port of its own.
    ///
    /// # Errors
    /// If there is no port.
    pub fn to_folder(sockets: &Path) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let state = State {
            server: socket_in(sockets),
            weather: Weather::Fair,
            trap: None,
            sprung: 0,
            links: HashMap::new(),
            next_link: 0,
            gone: false,
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let accepting = Arc::clone(&shared);
        std::thread::spawn(move || accept(&accepting, &listener));
        Ok(Self { port, shared })
    }

    /// The same for the server of an address like `postgres://USER@%2FFOLDER/NAME`.
    ///
    /// # Errors
    /// If the address is of another kind.
    pub fn to(url: &str) -> anyhow::Result<Self> {
        Self::to_folder(&folder_of(url)?)
    }

    /// From now on new connections lead to another server, as an address does that moves when a standby takes over.
    ///
    /// # Errors
    /// If the address is not one like that.
    pub fn lead_to(&self, url: &str) -> anyhow::Result<()> {
        self.shared.lock().server = socket_in(&folder_of(url)?);
        Ok(())
    }

    /// The address of the same database, over this line.
    ///
    /// # Errors
    /// As [`Proxy::to`].
    pub fn over(&self, url: &str) -> anyhow::Result<String> {
        let parts = url.split_once('@').and_then(|(user, rest)| Some((user, rest.rsplit_once('/')?.1)));
        let (user, name) = parts.context("an address like postgres://USER@%2FFOLDER/NAME")?;
        Ok(format!("{user}@127.0.0.1:{}/{name}", self.port))
    }

    /// Changes the weather. When it goes away, connections that there are go too.
    pub fn weather(&self, weather: Weather) {
        self.shared.lock().weather = weather;
        if weather == Weather::Away {
            self.cut();
        }
        self.shared.changed.notify_all();
    }

    /// Cuts every connection, in the middle of whatever it carries.
    pub fn cut(&self) {
        let mut state = self.shared.lock();
        state.links.drain().for_each(|(_, link)| link.end());
        self.shared.changed.notify_all();
    }

    /// Lays a trap for the next commit.
    pub fn lay(&self, trap: Trap) {
        self.shared.lock().trap = Some(trap);
    }

    /// Takes away a trap that no commit has met.
    pub fn disarm(&self) {
        self.shared.lock().trap = None;
    }

    /// How many traps have been sprung.
    #[must_use]
    pub fn sprung(&self) -> u64 {
        self.shared.lock().sprung
    }

    /// Waits until so many traps have been sprung; `false` if patience ends first.
    #[must_use]
    pub fn wait_until_sprung(&self, count: u64, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        let mut state = self.shared.lock();
        while state.sprung < count {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.lock().gone = true;
        self.cut();
        // Whoever waits for connections is woken by one.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

impl Link {
    fn end(self) {
        let _ = self.client.shutdown(Shutdown::Both);
        let _ = self.server.shutdown(Shutdown::Both);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for as long as this connection may not pass anything on. `None` if it is over meanwhile; else how much
    /// later the bytes in hand are to arrive.
    fn hold(&self, link: u64) -> Option<Duration> {
        let mut state = self.lock();
        loop {
            let mute = state.links.get(&link)?.mute;
            match state.weather {
                Weather::Fair if !mute => return Some(Duration::ZERO),
                Weather::Slow(by) if !mute => return Some(by),
                Weather::Fair | Weather::Slow(_) | Weather::Silent | Weather::Away => {
                    state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    /// The client asks to commit.
    fn before_commit(&self, link: u64) -> Fate {
        let mut state = self.lock();
        match state.trap {
            Some(trap) if trap.at == Moment::BeforeCommit => {
                state.trap = None;
                self.spring(state, link, trap)
            }
            Some(trap) => {
                if let Some(link) = state.links.get_mut(&link) {
                    link.after_commit = Some(trap);
                    state.trap = None;
                }
                Fate::Pass
            }
            None => Fate::Pass,
        }
    }

    /// The database says that it has committed.
    fn after_commit(&self, link: u64) -> Fate {
        let mut state = self.lock();
        match state.links.get_mut(&link).and_then(|link| link.after_commit.take()) {
            Some(trap) => self.spring(state, link, trap),
            None => Fate::Pass,
        }
    }

    fn spring(&self, mut state: MutexGuard<'_, State>, link: u64, trap: Trap) -> Fate {
        state.sprung += 1;
        if trap.silent {
            if let Some(link) = state.links.get_mut(&link) {
                link.mute = true;
            }
        } else if let Some(link) = state.links.remove(&link) {
            link.end();
        }
        drop(state);
        self.changed.notify_all();
        Fate::End
    }

    /// One direction of a connection has ended, and so does the other. One that fell silent stays open until it is cut.
    fn end(&self, link: u64) {
        let mut state = self.lock();
        while state.links.get(&link).is_some_and(|link| link.mute) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(link) = state.links.remove(&link) {
            link.end();
        }
        self.changed.notify_all();
    }
}

fn accept(shared: &Arc<Shared>, listener: &TcpListener) {
    for client in listener.incoming() {
        let weather = {
            let state = shared.lock();
            if state.gone {
                return;
            }
            state.weather
        };
        let Ok(client) = client else { continue };
        if weather == Weather::Away {
            // Closed at once.
            continue;
        }
        // If the server is down, the client finds its connection closed: to it that is the same.
        let _ = connect(shared, client);
    }
}

fn connect(shared: &Arc<Shared>, client: TcpStream) -> io::Result<()> {
    let server = UnixStream::connect(shared.lock().server.clone())?;
    client.set_nodelay(true)?;
    let (from_client, to_client) = (client.try_clone()?, client.try_clone()?);
    let (from_server, to_server) = (server.try_clone()?, server.try_clone()?);
    let number = {
        let mut state = shared.lock();
        let number = state.next_link;
        state.next_link += 1;
        state.links.insert(number, Link { client, server, after_commit: None, mute: false });
        number
    };
    let refusing = to_client.try_clone()?;
    let (up, down) = (Arc::clone(shared), Arc::clone(shared));
    std::thread::spawn(move || {
        let mut requests = Requests::default();
        let judge = |message: &Message| {
            if message.asks_to_encrypt {
                let _ = (&refusing).write_all(b"N");
                return Fate::Drop;
            }
            if requests.commits(message) { up.before_commit(number) } else { Fate::Pass }
        };
        let _ = pump(&up, number, from_client, to_server, Framer::of_client(), judge);
        up.end(number);
    });
    std::thread::spawn(move || {
        let mut answers = Answers::default();
        let judge = |message: &Message| {
            if answers.committed(message) { down.after_commit(number) } else { Fate::Pass }
        };
        let _ = pump(&down, number, from_server, to_client, Framer::of_server(), judge);
        down.end(number);
    });
    Ok(())
}

/// Passes on what comes, message by message as far as it is whole, until either side ends or a trap does it.
fn pump(
    shared: &Shared,
    link: u64,
    mut from: impl Read,
    mut to: impl Write,
    mut framer: Framer,
    mut judge: impl FnMut(&Message) -> Fate,
) -> io::Result<()> {
    let mut buffer = [0; 16 * 1024];
    loop {
        let count = from.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        let Some(later) = shared.hold(link) else { return Ok(()) };
        std::thread::sleep(later);
        framer.push(buffer.get(..count).unwrap_or_default());
        let mut whole = Vec::new();
        while let Some(message) = framer.next() {
            match judge(&message) {
                Fate::Pass => whole.extend_from_slice(&message.bytes),
                Fate::Drop => {}
                Fate::End => return Ok(()),
            }
        }
        to.write_all(&whole)?;
    }
}
