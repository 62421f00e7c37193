//! `cargo xtask bench peers`: the same cycle on systems that also hold actions for people, in the same run as ours.

mod fetch;
mod ours;
mod restate;

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, ensure};
use serde::Deserialize;
use serde_json::json;

use self::fetch::{Peers, script};
use self::restate::Restate;
use super::bed::{Bed, Database};
use super::{bare_postgres, limits, rounded};

struct Options {
    clients: Vec<usize>,
    cycles: usize,
    binary: Option<PathBuf>,
}

fn options(words: &[&str]) -> anyhow::Result<Options> {
    let mut options = Options { clients: vec![1, 16, 64], cycles: 400, binary: None };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| anyhow::anyhow!("{word} needs a value"));
        match *word {
            "--clients" => options.clients = value()?.split(',').map(str::parse).collect::<Result<_, _>>()?,
            "--cycles" => options.cycles = value()?.parse()?,
            "--binary" => options.binary = Some(value()?.into()),
            _ => anyhow::bail!("unknown option {word}"),
        }
    }
    Ok(options)
}

/// What a run of cycles measured.
#[derive(Deserialize)]
struct Figures {
    cycles_per_s: f64,
    create_p50_ms: f64,
    create_p99_ms: f64,
    resume_p50_ms: f64,
    resume_p99_ms: f64,
}

/// What became of several approvals of one action at the same time.
#[derive(Deserialize)]
struct Facts {
    approvals: usize,
    /// How many were told that it worked.
    accepted: usize,
    /// How many were told that another was faster.
    refused: usize,
    /// How often the action ran.
    effects: usize,
}

/// How many approve the same action at the same time.
const APPROVALS: usize = 8;

/// How many times as many cycles we run, so that a run takes about as long as those of the others.
const OURS_MORE: usize = 10;

/// Peers that are Python programs: their name, script, database, and further words.
const PYTHON: [(&str, &str, Database, &[&str]); 5] = [
    ("LangGraph, SQLite", "langgraph_peer.py", Database::Sqlite, &[]),
    ("LangGraph, SQLite, tuned", "langgraph_peer.py", Database::Sqlite, &["--tuned"]),
    ("LangGraph, PostgreSQL", "langgraph_peer.py", Database::Postgres, &[]),
    ("LangGraph, PostgreSQL, tuned", "langgraph_peer.py", Database::Postgres, &["--tuned"]),
    ("DBOS, PostgreSQL", "dbos_peer.py", Database::Postgres, &[]),
];

pub(crate) fn run(words: &[&str]) -> anyhow::Result<()> {
    let options = options(words)?;
    let peers = Peers::fetch()?;
    let sqlite = Bed::make(options.binary.clone(), Database::Sqlite)?;
    let postgres = Bed::make(Some(sqlite.binary().to_owned()), Database::Postgres)?;
    let mut table = Table::default();
    for &clients in &options.clients {
        let cycles = if clients == 1 { options.cycles / 4 } else { options.cycles };
        table.fsyncs.push(limits::fsyncs_per_second(sqlite.folder())?);
        for (name, bed) in [("Banksman, SQLite", &sqlite), ("Banksman, PostgreSQL", &postgres)] {
            let house = bed.house(&format!("peers-{clients}"), 1)?;
            ours::measure(&house, clients, (cycles / 4).max(clients), 1_000_000_000)?;
            let figures = ours::measure(&house, clients, cycles * OURS_MORE, 0)?;
            table.enter(name, clients, figures, ours::approve_together(&house, APPROVALS)?);
        }
        for (number, (name, file, database, more)) in PYTHON.into_iter().enumerate() {
            let place = format!("python-{number}-{clients}");
            let place = match (database, postgres.cluster()) {
                (Database::Postgres, Some(cluster)) => {
                    bare_postgres::create_database(&cluster.url(), &place)?;
                    cluster.libpq_url_of(&place)
                }
                (Database::Postgres | Database::Sqlite, _) => {
                    sqlite.folder().join(place).to_string_lossy().into_owned()
                }
            };
            let (figures, facts) = python(&peers, file, &place, clients, cycles, more)?;
            table.enter(name, clients, figures, facts);
        }
        let folder = sqlite.folder().join(format!("restate-{clients}"));
        std::fs::create_dir(&folder)?;
        let restate = Restate::start(&peers, &folder)?;
        restate.measure("warm", clients, clients * 3)?;
        let figures = restate.measure("cycle", clients, cycles)?;
        table.enter("Restate, durable promise", clients, figures, restate.approve_together(APPROVALS)?);
    }
    table.print(&options.clients);
    Ok(())
}

/// Runs one of the Python peers, which answers a line for its figures and one for its facts.
fn python(
    peers: &Peers,
    file: &str,
    database: &str,
    clients: usize,
    cycles: usize,
    more: &[&str],
) -> anyhow::Result<(Figures, Facts)> {
    let output = Command::new(peers.python.join("bin/python"))
        .arg(script(file))
        .args(["--clients", &clients.to_string(), "--cycles", &cycles.to_string(), "--database", database])
        .args(more)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{file} {more:?} failed: {said}");
    let text = String::from_utf8(output.stdout)?;
    let mut lines = text.lines().filter(|line| line.starts_with('{'));
    let mut line = || lines.next().with_context(|| format!("{file} said: {text}{said}"));
    Ok((serde_json::from_str(line()?)?, serde_json::from_str(line()?)?))
}

/// All that was measured.
#[derive(Default)]
struct Table {
    rows: Vec<(&'static str, usize, Figures, Facts)>,
    fsyncs: Vec<f64>,
}

impl Table {
    /// Also prints it as it comes: a run takes minutes.
    fn enter(&mut self, system: &'static str, clients: usize, figures: Figures, facts: Facts) {
        println!(
            "{}",
            json!({
                "bench": "peers",
                "system": system,
                "clients": clients,
                "cycles_per_s": rounded(figures.cycles_per_s, 1),
                "create_p50_ms": rounded(figures.create_p50_ms, 2),
                "create_p99_ms": rounded(figures.create_p99_ms, 2),
                "resume_p50_ms": rounded(figures.resume_p50_ms, 2),
                "resume_p99_ms": rounded(figures.resume_p99_ms, 2),
                "approvals_at_once": facts.approvals,
                "accepted": facts.accepted,
                "refused_precisely": facts.refused,
                "effects": facts.effects,
            })
        );
        self.rows.push((system, clients, figures, facts));
    }

    fn rate(&self, system: &str, clients: usize) -> Option<f64> {
        let row = self.rows.iter().find(|(name, at, ..)| *name == system && *at == clients);
        row.map(|(.., figures, _)| figures.cycles_per_s)
    }

    /// One line for each system: cycles per second, and how many times faster ours is on the same kind of database.
    fn print(&self, clients: &[usize]) {
        let mut systems: Vec<&str> = Vec::new();
        for (system, ..) in &self.rows {
            if !systems.contains(system) {
                systems.push(system);
            }
        }
        let head: Vec<String> = clients.iter().map(|count| format!("{count} clients")).collect();
        println!("\n| system | {} | effects of {APPROVALS} approvals |", head.join(" | "));
        println!("|---|{}---|", "---|".repeat(clients.len()));
        for system in systems {
            let base =
                if system.contains("PostgreSQL") { "Banksman, PostgreSQL" } else { "Banksman, SQLite" };
            let cell = |&count: &usize| match (self.rate(system, count), self.rate(base, count)) {
                (Some(rate), Some(ours)) if system != base => format!("{rate:.0} (ours {:.1}x)", ours / rate),
                (Some(rate), _) => format!("{rate:.0}"),
                (None, _) => "-".into(),
            };
            let cells: Vec<String> = clients.iter().map(cell).collect();
            let effects: Vec<String> = (self.rows.iter().filter(|(name, ..)| *name == system))
                .map(|(.., facts)| facts.effects.to_string())
                .collect();
            println!("| {system} | {} | {} |", cells.join(" | "), effects.join(", "));
        }
        let fsyncs: Vec<String> = self.fsyncs.iter().map(|rate| format!("{rate:.0}")).collect();
        println!("\nfsyncs per second before each number of clients: {}", fsyncs.join(", "));
    }
}
