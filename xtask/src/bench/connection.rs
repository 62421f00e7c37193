//! Connections that are kept open, many on one thread, with as little work as possible: the load shares the machine with
//! the server that it measures, so what a client costs is missing there.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::process::Command;

use anyhow::{Context as _, bail};
use rustix::event::epoll;

/// How long an answer may be.
const LONGEST: usize = 64 * 1024;

/// An answer, once all of it has arrived.
pub(crate) struct Answer<'a> {
    pub(crate) status: u16,
    pub(crate) body: &'a str,
}

impl<'a> Answer<'a> {
    /// The text member that follows `name`, which is written as in `"id":"`.
    pub(crate) fn member(&self, name: &str) -> anyhow::Result<&'a str> {
        let (_, rest) = self.body.split_once(name).with_context(|| format!("no {name} in {}", self.body))?;
        rest.split_once('"').map(|(text, _)| text).context("broken JSON")
    }
}

/// What one client does.
pub(crate) trait Script {
    /// Appends the next request to `out`, given the answer to the last one; appends nothing when it is done.
    fn next(&mut self, answer: Option<&Answer<'_>>, out: &mut Vec<u8>) -> anyhow::Result<()>;
}

/// Clients that run their scripts at the same time, each over a connection of its own.
pub(crate) struct Fleet<S> {
    epoll: OwnedFd,
    connections: Vec<Connection<S>>,
    /// How many have been started.
    started: usize,
    /// How many have asked and wait for an answer.
    busy: usize,
    /// Where answers arrive. One is enough: most arrive whole, and the rest of the others is kept with its connection.
    buffer: Vec<u8>,
}

struct Connection<S> {
    stream: TcpStream,
    script: S,
    /// The beginning of an answer that has not arrived whole.
    begun: Vec<u8>,
}

/// Runs all scripts at once, spread over the addresses, and gives them back when all are done.
pub(crate) fn drive<S: Script + Send>(addresses: &[&str], scripts: Vec<S>) -> anyhow::Result<Vec<S>> {
    let drive = || {
        stand_back();
        let mut fleet = Fleet::new()?;
        for (address, script) in addresses.iter().cycle().zip(scripts) {
            fleet.connect(address, script)?;
        }
        fleet.start()?;
        fleet.finish()
    };
    // A thread of its own: what stands back passes that on to all that it starts, and servers must not.
    let done = std::thread::scope(|scope| scope.spawn(drive).join());
    done.unwrap_or_else(|_| bail!("the load panicked"))
}

/// From now on this thread does not interrupt others when it has something to do: clients elsewhere would not either. Without
/// it, the server is interrupted for each of its answers.
fn stand_back() {
    let thread = rustix::thread::gettid().as_raw_nonzero().to_string();
    let changed = Command::new("chrt").args(["--batch", "--pid", "0", &thread]).status();
    if !changed.is_ok_and(|status| status.success()) {
        eprintln!("chrt did not work: the load interrupts the server, which makes it slower");
    }
}

impl<S: Script> Fleet<S> {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Self { epoll, connections: Vec::new(), started: 0, busy: 0, buffer: vec![0; LONGEST] })
    }

    /// Adds a client. It asks nothing yet.
    pub(crate) fn connect(&mut self, address: &str, script: S) -> anyhow::Result<()> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let number = u64::try_from(self.connections.len())?;
        epoll::add(&self.epoll, &stream, epoll::EventData::new_u64(number), epoll::EventFlags::IN)?;
        self.connections.push(Connection { stream, script, begun: Vec::new() });
        Ok(())
    }

    /// Sends the first request of every client that was added since the last start.
    pub(crate) fn start(&mut self) -> anyhow::Result<()> {
        let mut out = Vec::with_capacity(4096);
        let new = self.connections.get_mut(self.started..).unwrap_or_default();
        for connection in new {
            connection.script.next(None, &mut out)?;
            self.busy += usize::from(connection.send(&mut out)?);
        }
        self.started = self.connections.len();
        Ok(())
    }

    /// Goes on until all scripts are done, and gives them back in the order in which they were added.
    pub(crate) fn finish(mut self) -> anyhow::Result<Vec<S>> {
        self.run_until(|| false)?;
        Ok(self.connections.into_iter().map(|connection| connection.script).collect())
    }

    /// Goes on until that is so, or nobody waits for an answer any more.
    pub(crate) fn run_until(&mut self, enough: impl Fn() -> bool) -> anyhow::Result<()> {
        let mut out = Vec::with_capacity(4096);
        let mut events = Vec::with_capacity(256);
        while self.busy > 0 && !enough() {
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                let number = usize::try_from(event.data.u64())?;
                let connection = self.connections.get_mut(number).context("an unknown connection")?;
                if connection.proceed(&mut self.buffer, &mut out)? {
                    self.busy -= 1;
                    // The server may close it now; that is nobody's business any more.
                    epoll::delete(&self.epoll, &connection.stream)?;
                }
            }
        }
        Ok(())
    }
}

impl<S: Script> Connection<S> {
    /// Takes what has arrived and, if it is a whole answer, sends the next request. Says whether the script is done.
    fn proceed(&mut self, buffer: &mut [u8], out: &mut Vec<u8>) -> anyhow::Result<bool> {
        let count = match self.stream.read(buffer) {
            Ok(0) => bail!("the server closed the connection"),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let mut arrived = buffer.get(..count).unwrap_or_default();
        if !self.begun.is_empty() {
            self.begun.extend_from_slice(arrived);
            arrived = &self.begun;
        }
        let Some(answer) = complete(std::str::from_utf8(arrived)?)? else {
            if self.begun.is_empty() {
                self.begun = arrived.to_vec();
            }
            return Ok(false);
        };
        self.script.next(Some(&answer), out)?;
        self.begun.clear();
        Ok(!self.send(out)?)
    }

    /// Sends what is to be sent, and says whether there was anything.
    fn send(&mut self, out: &mut Vec<u8>) -> anyhow::Result<bool> {
        // A request is far smaller than the buffer of an idle socket, so this never has to wait.
        self.stream.write_all(out)?;
        let sent = !out.is_empty();
        out.clear();
        Ok(sent)
    }
}

fn complete(arrived: &str) -> anyhow::Result<Option<Answer<'_>>> {
    let Some((head, body)) = arrived.split_once("\r\n\r\n") else { return Ok(None) };
    let (_, length) = head.split_once("content-length: ").context("no content-length")?;
    let length: usize = length.lines().next().unwrap_or_default().parse()?;
    if body.len() < length {
        return Ok(None);
    }
    anyhow::ensure!(body.len() == length, "more than one answer");
    let status = head.get(9..12).context("no status")?.parse()?;
    Ok(Some(Answer { status, body }))
}
