//! Clients that run full cycles over HTTP, on one thread, with as little work of their own as possible.

use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::server::Server;

/// What a run measured, in milliseconds where it is a time.
#[derive(Default)]
pub(crate) struct Measured {
    pub(crate) cycles_per_second: f64,
    pub(crate) propose: Vec<f64>,
    pub(crate) decide: Vec<f64>,
    pub(crate) resume: Vec<f64>,
}

struct Target {
    address: String,
    agent: String,
    reviewer: String,
}

/// One connection that is kept open.
struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    async fn open(address: &str) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::with_capacity(8192) })
    }

    /// Sends a request and reads its answer: the status and the body.
    async fn post(&mut self, path: &str, token: &str, body: &str) -> anyhow::Result<(u16, &str)> {
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.write_all(request.as_bytes()).await?;
        self.buffer.clear();
        loop {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                bail!("the server closed the connection");
            }
            if let Some((head, length)) = complete(&self.buffer)? {
                let answer = std::str::from_utf8(&self.buffer)?;
                let status = answer.get(9..12).context("no status")?.parse()?;
                return Ok((status, answer.get(head..head + length).context("no body")?));
            }
        }
    }
}

/// Where the body begins and how long it is, once all of it has arrived.
fn complete(buffer: &[u8]) -> anyhow::Result<Option<(usize, usize)>> {
    let Some(end) = buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") else { return Ok(None) };
    let head = std::str::from_utf8(buffer.get(..end).unwrap_or_default())?;
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .context("no content-length")?
        .trim()
        .parse::<usize>()?;
    let head = end + 4;
    Ok((buffer.len() >= head + length).then_some((head, length)))
}

fn member<'a>(body: &'a str, name: &str) -> anyhow::Result<&'a str> {
    let start = body.find(name).with_context(|| format!("no {name} in {body}"))? + name.len();
    body.get(start..).and_then(|rest| rest.split('"').next()).context("broken JSON")
}

fn proposal(number: usize) -> String {
    // About 300 bytes of arguments, as in the comparisons with others.
    let memo = "x".repeat(220);
    format!(
        r#"{{"tool":"send_wire_transfer","args":{{"to":"ACME Corp","amount":1200.50,"number":{number},"memo":"{memo}"}}}}"#
    )
}

async fn one_cycle(connection: &mut Connection, target: &Target, number: usize) -> anyhow::Result<[f64; 3]> {
    let millis = |since: Instant| since.elapsed().as_secs_f64() * 1e3;
    let begin = Instant::now();
    let (status, body) = connection.post("/v1/actions", &target.agent, &proposal(number)).await?;
    anyhow::ensure!(status == 202, "propose answered {status}: {body}");
    let propose = millis(begin);
    let id = member(body, "\"id\":\"")?.to_owned();
    let digest = member(body, "\"digest\":\"")?.to_owned();

    let resumed = Instant::now();
    let decision = format!(r#"{{"decision":"approve","version":1,"digest":"{digest}"}}"#);
    let (status, body) =
        connection.post(&format!("/v1/actions/{id}/decision"), &target.reviewer, &decision).await?;
    anyhow::ensure!(status == 200, "decide answered {status}: {body}");
    let decide = millis(resumed);

    let claim = format!(r#"{{"digest":"{digest}"}}"#);
    let (status, body) = connection.post(&format!("/v1/actions/{id}/claim"), &target.agent, &claim).await?;
    anyhow::ensure!(status == 200, "claim answered {status}: {body}");

    let outcome = r#"{"status":"succeeded","result":{"ok":true}}"#;
    let (status, body) =
        connection.post(&format!("/v1/actions/{id}/outcome"), &target.agent, outcome).await?;
    anyhow::ensure!(status == 200, "outcome answered {status}: {body}");
    Ok([propose, decide, millis(resumed)])
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

fn target(server: &Server) -> Rc<Target> {
    Rc::new(Target {
        address: server.address.clone(),
        agent: server.agent.clone(),
        reviewer: server.reviewer.clone(),
    })
}

/// Runs `cycles` full cycles with `clients` at a time. `first` numbers them, so that none joins another.
pub(crate) fn run(server: &Server, clients: usize, cycles: usize, first: usize) -> anyhow::Result<Measured> {
    let target = target(server);
    let each = cycles / clients;
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime()?, async {
        let mut connections = Vec::new();
        for _ in 0..clients {
            connections.push(Connection::open(&target.address).await?);
        }
        let begin = Instant::now();
        let tasks: Vec<_> = connections
            .into_iter()
            .enumerate()
            .map(|(client, mut connection)| {
                let target = Rc::clone(&target);
                tokio::task::spawn_local(async move {
                    let mut times = Vec::with_capacity(each);
                    for cycle in 0..each {
                        times.push(one_cycle(&mut connection, &target, first + client * each + cycle).await?);
                    }
                    anyhow::Ok(times)
                })
            })
            .collect();
        let mut measured = Measured::default();
        for task in tasks {
            for [propose, decide, resume] in task.await?? {
                measured.propose.push(propose);
                measured.decide.push(decide);
                measured.resume.push(resume);
            }
        }
        let elapsed = begin.elapsed().as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "a rate")]
        let rate = (each * clients) as f64 / elapsed;
        measured.cycles_per_second = rate;
        Ok(measured)
    })
}

/// Proposes `count` actions that stay pending, by these agents in turn.
pub(crate) fn hold(server: &Server, agents: &[String], count: usize, first: usize) -> anyhow::Result<()> {
    const CLIENTS: usize = 32;
    let target = target(server);
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime()?, async {
        let tasks: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let target = Rc::clone(&target);
                let agent = agents.get(client % agents.len()).cloned().unwrap_or_default();
                tokio::task::spawn_local(async move {
                    let mut connection = Connection::open(&target.address).await?;
                    for number in (client..count).step_by(CLIENTS) {
                        let body = proposal(first + number);
                        let (status, body) = connection.post("/v1/actions", &agent, &body).await?;
                        anyhow::ensure!(status == 202, "propose answered {status}: {body}");
                    }
                    anyhow::Ok(())
                })
            })
            .collect();
        for task in tasks {
            task.await??;
        }
        // Workers that tell people of the holds settle down.
        tokio::time::sleep(Duration::from_millis(1500)).await;
        Ok(())
    })
}
