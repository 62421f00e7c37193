//! `cargo xtask bench console`: every page of the review console over many pending actions, as a browser asks for it. How
//! long does the server take, and how much does it send?

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context as _, bail};
use serde_json::json;

use super::bed::{Bed, Database};
use super::held::{self, Held};
use super::{percentile, rounded};

struct Options {
    database: Database,
    pending: usize,
    loads: usize,
    binary: Option<PathBuf>,
}

fn options(words: &[&str]) -> anyhow::Result<Options> {
    let mut options = Options { database: Database::Sqlite, pending: 100_000, loads: 40, binary: None };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} needs a value"));
        match *word {
            "--database" => options.database = Database::named(value()?)?,
            "--pending" => options.pending = value()?.parse()?,
            "--loads" => options.loads = value()?.parse()?,
            "--binary" => options.binary = Some(value()?.into()),
            _ => bail!("unknown option {word}"),
        }
    }
    Ok(options)
}

/// One agent may hold 10,000 actions.
const HELD_BY_AGENT: usize = 8_000;

/// How many are decided before, so that there is a history.
const DECIDED: usize = 500;

/// How many items the batch has.
const BATCH: usize = 50;

/// What half of the loads of a page may take.
const TARGET_MS: f64 = 50.0;

pub(crate) fn run(words: &[&str]) -> anyhow::Result<()> {
    let options = options(words)?;
    let bed = Bed::make(options.binary.clone(), options.database)?;
    let house = bed.house("console", 1)?;
    let agents = house.agents(options.pending / HELD_BY_AGENT + 1)?;
    let held = held::propose(&house, &agents, options.pending + DECIDED, 0)?;
    let addresses = house.addresses();
    let address = addresses.first().context("no node")?;
    let mut browser = Browser::sign_in(address, &house.sign_in_code("bench-person")?)?;
    for (at, Held { id, digest, .. }) in held.iter().take(DECIDED).enumerate() {
        let decision = if at % 3 == 0 { "deny" } else { "approve" };
        let body = format!(r#"{{"decision":"{decision}","version":1,"digest":"{digest}"}}"#);
        let head = format!("authorization: Bearer {}", house.reviewer);
        browser.post(&format!("/v1/actions/{id}/decision"), &head, &body)?;
    }
    let one = &held.get(held.len() / 2).context("nothing is held")?.id;
    let batch = browser.batch(agents.first().context("no agent")?)?;
    // What is counted behind the page is counted before it is measured.
    browser.get("/overview")?;
    std::thread::sleep(std::time::Duration::from_secs(3));
    let mut slowest: f64 = 0.0;
    let mut over = Vec::new();
    for (name, path) in pages(one, &batch) {
        let mut times = Vec::new();
        let mut bytes = 0;
        for _ in 0..options.loads {
            let began = Instant::now();
            bytes = browser.get(&path)?;
            times.push(began.elapsed().as_secs_f64() * 1e3);
        }
        let p50 = percentile(&mut times, 0.5);
        slowest = slowest.max(p50);
        if p50 > TARGET_MS {
            over.push(format!("{name}: {} ms", rounded(p50, 1)));
        }
        println!(
            "{}",
            json!({
                "bench": "console",
                "database": options.database.name(),
                "pending": options.pending,
                "page": name,
                "p50_ms": rounded(p50, 2),
                "p95_ms": rounded(percentile(&mut times, 0.95), 2),
                "p99_ms": rounded(percentile(&mut times, 0.99), 2),
                "max_ms": rounded(percentile(&mut times, 1.0), 2),
                "bytes": bytes,
            })
        );
    }
    println!(
        "{}",
        json!({ "bench": "console", "slowest_p50_ms": rounded(slowest, 2), "target_ms": TARGET_MS })
    );
    anyhow::ensure!(over.is_empty(), "over {TARGET_MS} ms of server time: {}", over.join(", "));
    Ok(())
}

fn pages(one: &str, batch: &str) -> Vec<(&'static str, String)> {
    [
        ("inbox", "/"),
        ("inbox by deadline", "/?sort=deadline"),
        ("inbox by risk", "/?sort=risk"),
        ("inbox, one risk", "/?risk=high&sort=deadline"),
        ("inbox, one agent, by risk", "/?agent=bench-agent-0&sort=risk"),
        ("inbox, far behind, by deadline", "/?sort=deadline&after={one}"),
        ("search, found at once", "/?q=a"),
        ("search by id", "/?q={one}"),
        ("search, not found", "/?q=nothing-is-called-so"),
        ("history", "/?status=denied"),
        ("history, not found", "/?status=failed"),
        ("action", "/actions/{one}"),
        ("edit", "/actions/{one}/edit"),
        ("overview, a day", "/overview"),
        ("overview, a month", "/overview?window=month"),
        ("audit", "/audit"),
        ("audit, one reviewer", "/audit?reviewer=bench-reviewer"),
        ("policy", "/policy"),
        ("what is looked for", "/policy/built-in"),
        ("batch", "/batches/{batch}"),
        ("grants", "/grants"),
        ("delegations", "/delegations"),
        ("freezes", "/freezes"),
        ("mode", "/mode"),
        ("settings", "/settings"),
        ("guide", "/guide"),
        ("people", "/people"),
        ("account", "/account"),
        ("sign-in", "/sign-in"),
    ]
    .into_iter()
    .map(|(name, path)| (name, path.replace("{one}", one).replace("{batch}", batch)))
    .collect()
}

/// Someone who is signed in, over one connection that is kept open.
struct Browser {
    stream: BufReader<TcpStream>,
    cookie: String,
}

/// What came back: where it says so, the cookie to keep.
struct Loaded {
    cookie: Option<String>,
    body: Vec<u8>,
}

impl Browser {
    fn sign_in(address: &str, code: &str) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let mut browser = Self { stream: BufReader::new(stream), cookie: String::new() };
        let head = "content-type: application/x-www-form-urlencoded";
        browser.cookie =
            browser.post("/sign-in", head, &format!("code={code}"))?.cookie.context("nobody is signed in")?;
        Ok(browser)
    }

    /// Has an agent propose a batch, and answers its id.
    fn batch(&mut self, agent: &str) -> anyhow::Result<String> {
        let item =
            |at: usize| json!({"tool": "send_email", "args": {"to": format!("batch-{at}@example.com")}});
        let body = json!({"items": (0..BATCH).map(item).collect::<Vec<_>>()}).to_string();
        let head = format!("authorization: Bearer {agent}\r\ncontent-type: application/json");
        let answer: serde_json::Value =
            serde_json::from_slice(&self.post("/v1/batches", &head, &body)?.body)?;
        Ok(answer.get("id").and_then(|id| id.as_str()).context("no batch")?.to_owned())
    }

    /// Loads a page and says how large it is.
    fn get(&mut self, path: &str) -> anyhow::Result<usize> {
        let head = format!("cookie: {}\r\naccept: text/html", self.cookie);
        let loaded = self.ask(&format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{head}\r\n\r\n"))?;
        Ok(loaded.body.len())
    }

    fn post(&mut self, path: &str, head: &str, body: &str) -> anyhow::Result<Loaded> {
        let head = format!("{head}\r\ncontent-length: {}", body.len());
        self.ask(&format!("POST {path} HTTP/1.1\r\nhost: localhost\r\n{head}\r\n\r\n{body}"))
    }

    fn ask(&mut self, request: &str) -> anyhow::Result<Loaded> {
        self.stream.get_mut().write_all(request.as_bytes())?;
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let status = line.clone();
        let (mut length, mut cookie) = (0, None);
        while line != "\r\n" {
            line.clear();
            if self.stream.read_line(&mut line)? == 0 {
                bail!("the connection ended: {status}");
            }
            let lower = line.to_ascii_lowercase();
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
            if lower.starts_with("set-cookie:") {
                let value = line.split_once(':').and_then(|(_, value)| value.split(';').next());
                cookie = value.map(|value| value.trim().to_owned());
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        if !status.contains(" 200 ") && !status.contains(" 303 ") {
            bail!(
                "{} answered {status}{}",
                request.lines().next().unwrap_or_default(),
                String::from_utf8_lossy(&body)
            );
        }
        Ok(Loaded { cookie, body })
    }
}
