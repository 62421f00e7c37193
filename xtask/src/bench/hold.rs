//! `cargo xtask bench hold`: many pending actions and many clients that wait for people. What does each cost, and how
//! soon after a decision does its client hear of it?

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;

use super::bed::{Bed, Database};
use super::connection::{Answer, Fleet, Script, drive};
use super::held::{self, Held};
use super::load::Head;
use super::server::House;
use super::{percentile, rounded};

struct Options {
    database: Database,
    nodes: usize,
    pending: usize,
    waiters: usize,
    binary: Option<std::path::PathBuf>,
}

fn options(words: &[&str]) -> anyhow::Result<Options> {
    let mut options =
        Options { database: Database::Sqlite, nodes: 1, pending: 100_000, waiters: 10_000, binary: None };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| anyhow::anyhow!("{word} needs a value"));
        match *word {
            "--database" => options.database = Database::named(value()?)?,
            "--nodes" => options.nodes = value()?.parse()?,
            "--pending" => options.pending = value()?.parse()?,
            "--waiters" => options.waiters = value()?.parse()?,
            "--binary" => options.binary = Some(value()?.into()),
            _ => anyhow::bail!("unknown option {word}"),
        }
    }
    anyhow::ensure!(options.waiters <= options.pending, "each client waits for an action of its own");
    Ok(options)
}

/// One agent may hold 10,000 actions.
const HELD_BY_AGENT: usize = 8_000;

/// How many reviewers decide at a time, first and last; those who wait are divided among the two.
const REVIEWERS: [usize; 2] = [1, 16];

/// How many clients look at a time at what others will wait for: so many that all of the server's ways to read are used.
const READERS: usize = 256;

/// How often they look at the most until that fills nothing more.
const LOOKS: usize = 8;

/// How long one request may wait.
const PATIENCE: u32 = 600;

pub(crate) fn run(words: &[&str]) -> anyhow::Result<()> {
    let options = options(words)?;
    allow_open_files(options.waiters)?;
    let bed = Bed::make(options.binary.clone(), options.database)?;
    let house = bed.house("hold", options.nodes)?;
    let agents = house.agents(options.pending / HELD_BY_AGENT + 1)?;
    let idle = house.memory()?;
    let held = held::propose(&house, &agents, options.pending, 0)?;
    // Far apart in time, so that no cache can hold them all.
    let every = (options.pending / options.waiters.max(1)).max(1);
    let awaited: Vec<&Held> = held.iter().step_by(every).take(options.waiters).collect();
    let holding = look(&house, &awaited, &agents)?;
    let room = Room::new(awaited, &agents, &house.reviewer);
    let mut fleet = Fleet::new()?;
    let addresses = house.addresses();
    for (number, address) in (0..room.awaited.len()).zip(addresses.iter().cycle()) {
        fleet.connect(address, Client::Waiter { room: &room, number })?;
    }
    fleet.start()?;
    let waiting = settled(&house)?;
    let each = |more: u64, less: u64, count: usize| more.saturating_sub(less) / count.max(1) as u64;
    println!(
        "{}",
        json!({
            "bench": "hold",
            "database": options.database.name(),
            "nodes": options.nodes,
            "pending": options.pending,
            "waiters": options.waiters,
            "idle_bytes": idle,
            "bytes_per_pending": each(holding, idle, options.pending),
            "bytes_per_waiter": each(waiting, holding, options.waiters),
        })
    );
    let half = room.awaited.len() / 2;
    for (reviewers, part) in REVIEWERS.into_iter().zip([0..half, half..room.awaited.len()]) {
        room.until.set(part.end);
        // Where there are several nodes, the first decision is not taken at the node that its client waits at.
        for (_, address) in (0..reviewers).zip(addresses.iter().cycle().skip(1)) {
            fleet.connect(address, Client::Reviewer { room: &room, deciding: None })?;
        }
        fleet.start()?;
        fleet.run_until(|| room.woken.get() == part.end && room.confirmed.get() == part.end)?;
        let of_part = |all: &RefCell<Vec<f64>>| all.borrow().get(part.clone()).unwrap_or_default().to_vec();
        let (mut after, answered) = (of_part(&room.after), of_part(&room.answered));
        // Whoever hears before the reviewer does, hears at once.
        let mut later: Vec<f64> =
            after.iter().zip(answered).map(|(heard, answered)| (heard - answered).max(0.0)).collect();
        println!(
            "{}",
            json!({
                "bench": "wake",
                "database": options.database.name(),
                "nodes": options.nodes,
                "waiters": options.waiters,
                "reviewers": reviewers,
                "woken": after.len(),
                "wake_p50_ms": rounded(percentile(&mut later, 0.5), 3),
                "wake_p99_ms": rounded(percentile(&mut later, 0.99), 3),
                "wake_max_ms": rounded(percentile(&mut later, 1.0), 3),
                "with_decision_p50_ms": rounded(percentile(&mut after, 0.5), 3),
                "with_decision_p99_ms": rounded(percentile(&mut after, 0.99), 3),
            })
        );
    }
    fleet.finish()?;
    Ok(())
}

/// Looks at all of them, without waiting, until nothing more is filled by it, and says what memory there is then. What reading
/// fills is no part of what waiting costs.
fn look(house: &House, awaited: &[&Held], agents: &[String]) -> anyhow::Result<u64> {
    let part = awaited.len().div_ceil(READERS).max(1);
    let mut before = settled(house)?;
    for _ in 0..LOOKS {
        let scripts = awaited.chunks(part).map(|awaited| Looker { left: awaited.iter(), agents });
        drive(&house.addresses(), scripts.collect())?;
        let now = settled(house)?;
        if now < before + before / 100 {
            return Ok(now);
        }
        before = now;
    }
    Ok(before)
}

/// A client that looks at one action after the other.
struct Looker<'a> {
    left: std::slice::Iter<'a, &'a Held>,
    agents: &'a [String],
}

impl Script for Looker<'_> {
    fn next(&mut self, answer: Option<&Answer<'_>>, out: &mut Vec<u8>) -> anyhow::Result<()> {
        if let Some(Answer { status, body }) = answer {
            anyhow::ensure!(*status == 200, "answered {status}: {body}");
        }
        if let Some(held) = self.left.next() {
            ask(held, self.agents, "", out);
        }
        Ok(())
    }
}

/// Asks for an action.
fn ask(held: &Held, agents: &[String], preference: &str, out: &mut Vec<u8>) {
    let Some(token) = agents.get(held.agent) else { return };
    let id = &held.id;
    let request = format!(
        "GET /v1/actions/{id} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n{preference}\r\n"
    );
    out.extend_from_slice(request.as_bytes());
}

/// Servers that we start inherit the limit.
fn allow_open_files(count: usize) -> anyhow::Result<()> {
    let wanted = u64::try_from(count)? + 1_000;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < wanted) {
        let maximum = limit.maximum.map(|maximum| maximum.max(wanted));
        setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum })
            .map_err(|error| anyhow::anyhow!("{wanted} open files are needed: {error}"))?;
    }
    Ok(())
}

/// The memory of all nodes once they have nothing to do any more. That takes them a second or two to notice, and to give
/// back what they do not need.
fn settled(house: &House) -> anyhow::Result<u64> {
    let mut before = house.cpu()?;
    loop {
        std::thread::sleep(Duration::from_millis(2500));
        let now = house.cpu()?;
        if now - before < 0.05 {
            return house.memory();
        }
        before = now;
    }
}

/// What reviewers and those who wait know of each other. All of them run on one thread.
struct Room<'a> {
    awaited: Vec<&'a Held>,
    agents: &'a [String],
    reviewer: Head,
    /// Which is decided next, and where reviewers stop.
    next: Cell<usize>,
    until: Cell<usize>,
    /// How many clients have heard, and how many reviewers were answered.
    woken: Cell<usize>,
    confirmed: Cell<usize>,
    /// When each decision was sent.
    decided: RefCell<Vec<Instant>>,
    /// How many milliseconds later its reviewer was answered, which is when it was durable.
    answered: RefCell<Vec<f64>>,
    /// How many milliseconds later its client heard.
    after: RefCell<Vec<f64>>,
}

impl<'a> Room<'a> {
    fn new(awaited: Vec<&'a Held>, agents: &'a [String], reviewer: &str) -> Self {
        let (decided, never) = (vec![Instant::now(); awaited.len()], vec![f64::NAN; awaited.len()]);
        Self {
            awaited,
            agents,
            reviewer: Head::of(reviewer),
            next: Cell::new(0),
            until: Cell::new(0),
            woken: Cell::new(0),
            confirmed: Cell::new(0),
            decided: RefCell::new(decided),
            answered: RefCell::new(never.clone()),
            after: RefCell::new(never),
        }
    }

    fn ask(&self, number: usize, out: &mut Vec<u8>) {
        if let Some(held) = self.awaited.get(number) {
            ask(held, self.agents, &format!("prefer: wait={PATIENCE}\r\n"), out);
        }
    }

    /// Notes how long after it was sent something came of a decision.
    fn note(&self, times: &RefCell<Vec<f64>>, number: usize) {
        let decided = self.decided.borrow();
        if let (Some(decided), Some(after)) = (decided.get(number), times.borrow_mut().get_mut(number)) {
            *after = decided.elapsed().as_secs_f64() * 1e3;
        }
    }

    fn hear(&self, number: usize) {
        self.note(&self.after, number);
        self.woken.set(self.woken.get() + 1);
    }

    /// Sends the next decision, and says which it is.
    fn decide(&self, out: &mut Vec<u8>) -> Option<usize> {
        let number = self.next.get();
        let held = self.awaited.get(number).filter(|_| number < self.until.get());
        let Held { id, digest, .. } = held?;
        self.next.set(number + 1);
        let body = [r#"{"decision":"approve","version":1,"digest":""#, digest, "\"}"];
        self.reviewer.post(out, &["/", id, "/decision"], &body);
        if let Some(decided) = self.decided.borrow_mut().get_mut(number) {
            *decided = Instant::now();
        }
        Some(number)
    }
}

enum Client<'a> {
    /// Asks once, and hears when people have decided.
    Waiter { room: &'a Room<'a>, number: usize },
    /// Decides one after the other.
    Reviewer { room: &'a Room<'a>, deciding: Option<usize> },
}

impl Script for Client<'_> {
    fn next(&mut self, answer: Option<&Answer<'_>>, out: &mut Vec<u8>) -> anyhow::Result<()> {
        if let Some(Answer { status, body }) = answer {
            anyhow::ensure!(*status == 200 && body.contains("authorised"), "answered {status}: {body}");
        }
        match (self, answer) {
            (Self::Waiter { room, number }, None) => room.ask(*number, out),
            (Self::Waiter { room, number }, Some(_)) => room.hear(*number),
            (Self::Reviewer { room, deciding }, _) => {
                if let Some(number) = *deciding {
                    room.note(&room.answered, number);
                    room.confirmed.set(room.confirmed.get() + 1);
                }
                *deciding = room.decide(out);
            }
        }
        Ok(())
    }
}
