//! The bare loop behind HTTP: what any server could make at the most that takes a cycle's four requests, and does nothing
//! but one statement for each. It knows no tokens, no policy and no log, parses no JSON, and leaves its one thread never.

use std::net::TcpStream as Client;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use tokio::net::{TcpListener, TcpStream};
use tokio_postgres::{NoTls, Statement};

use super::bare_postgres::{CREATE, MOVES};
use super::server::Doors;

/// The words after `cargo xtask` that make a process such a server. Nobody else needs them, so the help does not have them.
pub(crate) const SERVE: [&str; 2] = ["bench", "bare-http"];

/// Servers, each a process of its own, over one database.
pub(crate) struct Servers {
    processes: Vec<(Child, String)>,
}

impl Servers {
    /// Starts them; the tables of the bare loop are there.
    pub(crate) fn start(database: &str, count: usize) -> anyhow::Result<Self> {
        let mut servers = Self { processes: Vec::with_capacity(count) };
        for _ in 0..count {
            let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
            let address = format!("127.0.0.1:{port}");
            let mut command = Command::new(std::env::current_exe()?);
            let child = command.args(SERVE).args([&address, database]).stdout(Stdio::null()).spawn()?;
            servers.processes.push((child, address.clone()));
            let begin = Instant::now();
            while Client::connect(&address).is_err() {
                if begin.elapsed() > Duration::from_secs(10) {
                    bail!("the bare server does not listen");
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        Ok(servers)
    }

    pub(crate) fn doors(&self) -> Doors<'_> {
        let addresses = self.processes.iter().map(|(_, address)| address.as_str()).collect();
        Doors { addresses, agent: "nobody", reviewer: "nobody" }
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for (process, _) in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Serves until it is ended.
pub(crate) fn serve(address: &str, database: &str) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(address).await?;
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let database = database.to_owned();
            tokio::spawn(async move {
                // Whoever asks sees that its connection ends.
                if let Err(error) = answer_all(&stream, &database).await {
                    eprintln!("xtask: the bare server: {error:#}");
                }
            });
        }
    })
}

/// A client's requests, one after the other, over a connection to the database of its own.
async fn answer_all(stream: &TcpStream, database: &str) -> anyhow::Result<()> {
    let mut arrived = Vec::with_capacity(4096);
    if !receive(stream, &mut arrived).await? {
        return Ok(());
    }
    let (client, connection) = tokio_postgres::connect(database, NoTls).await?;
    tokio::spawn(connection);
    let create = client.prepare(CREATE).await?;
    let mut moves: Vec<Statement> = Vec::with_capacity(MOVES.len());
    for sql in MOVES {
        moves.push(client.prepare(sql).await?);
    }
    loop {
        while let Some((path, body, length)) = request(&arrived)? {
            let mut words = path.trim_start_matches("/v1/actions").trim_start_matches('/').split('/');
            let (status, id) = match (words.next(), words.next()) {
                (Some(id), Some(verb)) => {
                    let place = ["decision", "claim", "outcome"].iter().position(|name| *name == verb);
                    let statement = place.and_then(|place| moves.get(place)).context("an unknown verb")?;
                    let id: i64 = id.parse()?;
                    anyhow::ensure!(client.execute(statement, &[&id]).await? == 1, "a bare cycle failed");
                    ("200 OK", id)
                }
                _ => ("202 Accepted", client.query_one(&create, &[&body]).await?.try_get(0)?),
            };
            let body = format!(r#"{{"id":"{id}","digest":"none"}}"#);
            let answer = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            send(stream, answer.as_bytes()).await?;
            arrived.drain(..length);
        }
        if !receive(stream, &mut arrived).await? {
            return Ok(());
        }
    }
}

/// Takes what is there; false at the end.
async fn receive(stream: &TcpStream, arrived: &mut Vec<u8>) -> anyhow::Result<bool> {
    loop {
        stream.readable().await?;
        let mut buffer = [0; 4096];
        match stream.try_read(&mut buffer) {
            Ok(count) => {
                arrived.extend_from_slice(buffer.get(..count).unwrap_or_default());
                return Ok(count > 0);
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
    }
}

async fn send(stream: &TcpStream, mut answer: &[u8]) -> anyhow::Result<()> {
    while !answer.is_empty() {
        stream.writable().await?;
        match stream.try_write(answer) {
            Ok(count) => answer = answer.get(count..).unwrap_or_default(),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// The first request that has arrived whole: its path, its body, and how long it is.
fn request(arrived: &[u8]) -> anyhow::Result<Option<(&str, &str, usize)>> {
    let text = std::str::from_utf8(arrived)?;
    let Some((head, rest)) = text.split_once("\r\n\r\n") else { return Ok(None) };
    let (_, length) = head.split_once("content-length: ").context("no content-length")?;
    let length: usize = length.lines().next().unwrap_or_default().parse()?;
    let path = head.split(' ').nth(1).context("no path")?;
    Ok(rest.get(..length).map(|body| (path, body, head.len() + 4 + length)))
}
