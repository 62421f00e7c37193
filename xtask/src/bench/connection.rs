//! Connections that are kept open, many on one thread, with as little work as possible: the load shares the machine with
//! the server that it measures, so what a client costs is missing there.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use anyhow::{Context as _, bail};
use rustix::event::epoll;

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

struct Connection<S> {
    stream: TcpStream,
    script: S,
    out: Vec<u8>,
    input: Vec<u8>,
    filled: usize,
}

/// Runs all scripts at once, each over a connection of its own, and gives them back when all are done.
pub(crate) fn drive<S: Script>(address: &str, scripts: Vec<S>) -> anyhow::Result<Vec<S>> {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let mut connections = Vec::with_capacity(scripts.len());
    for (number, script) in (0..).zip(scripts) {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        epoll::add(&epoll, &stream, epoll::EventData::new_u64(number), epoll::EventFlags::IN)?;
        let (out, input) = (Vec::with_capacity(4096), vec![0; 64 * 1024]);
        connections.push(Connection { stream, script, out, input, filled: 0 });
    }
    let mut busy = 0;
    for connection in &mut connections {
        busy += usize::from(connection.start()?);
    }
    let mut events = Vec::with_capacity(connections.len());
    while busy > 0 {
        events.clear();
        match epoll::wait(&epoll, rustix::buffer::spare_capacity(&mut events), None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &events {
            let number = usize::try_from(event.data.u64())?;
            let connection = connections.get_mut(number).context("an unknown connection")?;
            busy -= usize::from(connection.proceed()?);
        }
    }
    Ok(connections.into_iter().map(|connection| connection.script).collect())
}

impl<S: Script> Connection<S> {
    /// Sends the first request; says whether there is one.
    fn start(&mut self) -> anyhow::Result<bool> {
        self.script.next(None, &mut self.out)?;
        self.send()
    }

    /// Takes what has arrived and, if it is a whole answer, sends the next request. Says whether the script is done.
    fn proceed(&mut self) -> anyhow::Result<bool> {
        let room = self.input.get_mut(self.filled..).filter(|room| !room.is_empty());
        match self.stream.read(room.context("an answer that is far too long")?) {
            Ok(0) => bail!("the server closed the connection"),
            Ok(count) => self.filled += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        let arrived = std::str::from_utf8(self.input.get(..self.filled).unwrap_or_default())?;
        let Some(answer) = complete(arrived)? else { return Ok(false) };
        self.script.next(Some(&answer), &mut self.out)?;
        self.filled = 0;
        Ok(!self.send()?)
    }

    fn send(&mut self) -> anyhow::Result<bool> {
        // A request is far smaller than the buffer of an idle socket, so this never has to wait.
        self.stream.write_all(&self.out)?;
        let sent = !self.out.is_empty();
        self.out.clear();
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
