//! `cargo xtask bench cycle`: full cycles over HTTP, beside a bare loop on the same database in the same run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::bed::{Bed, Database};
use super::server::{self, House};
use super::{held, limits, load, median, percentile, rounded};

struct Options {
    database: Database,
    nodes: Vec<usize>,
    cycles: usize,
    clients: Vec<usize>,
    rounds: usize,
    memory: bool,
    binary: Option<PathBuf>,
    against: Vec<PathBuf>,
}

fn options(words: &[&str]) -> anyhow::Result<Options> {
    let mut options = Options {
        database: Database::Sqlite,
        nodes: Vec::new(),
        cycles: 6000,
        clients: vec![1, 16, 64],
        rounds: 3,
        memory: true,
        binary: None,
        against: Vec::new(),
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| anyhow::anyhow!("{word} needs a value"));
        let numbers = |text: &str| text.split(',').map(str::parse).collect::<Result<Vec<usize>, _>>();
        match *word {
            "--database" => options.database = Database::named(value()?)?,
            "--nodes" => options.nodes = numbers(value()?)?,
            "--cycles" => options.cycles = value()?.parse()?,
            "--rounds" => options.rounds = value()?.parse()?,
            "--clients" => options.clients = numbers(value()?)?,
            "--binary" => options.binary = Some(value()?.into()),
            "--against" => options.against.push(value()?.into()),
            "--no-memory" => options.memory = false,
            _ => anyhow::bail!("unknown option {word}"),
        }
    }
    if options.nodes.is_empty() {
        options.nodes = match options.database {
            Database::Sqlite => vec![1],
            Database::Postgres => vec![1, 2, 4],
        };
    }
    Ok(options)
}

/// How far the disk may drift during a run before the run is not worth reporting.
const STEADY: f64 = 1.5;

pub(crate) fn run(words: &[&str]) -> anyhow::Result<()> {
    let options = options(words)?;
    let bed = Bed::make(options.binary.clone(), options.database)?;
    for &clients in &options.clients {
        let cycles = if clients == 1 { options.cycles / 10 } else { options.cycles };
        for line in measure(&bed, &options, clients, cycles)? {
            println!("{line}");
        }
    }
    if options.memory && options.database == Database::Sqlite {
        println!("{}", memory(&bed)?);
    }
    Ok(())
}

/// What one number of nodes of one build did, round by round.
struct Contender {
    binary: PathBuf,
    house: House,
    nodes: usize,
    cycles_per_second: Vec<f64>,
    /// To the bare loop of the same round.
    ratios: Vec<f64>,
    /// To the first contender in the same round.
    to_first: Vec<f64>,
    propose: Vec<f64>,
    decide: Vec<f64>,
    resume: Vec<f64>,
    server_cpu: f64,
    database_cpu: f64,
    load_cpu: f64,
    transactions: u64,
}

/// The bare loop, the same behind HTTP and each number of nodes of each build take turns, so that what the machine does besides meets all of them.
fn measure(
    bed: &Bed,
    options: &Options,
    clients: usize,
    cycles: usize,
) -> anyhow::Result<Vec<serde_json::Value>> {
    let mut contenders = Vec::new();
    let binaries = std::iter::once(bed.binary()).chain(options.against.iter().map(PathBuf::as_path));
    for (number, binary) in binaries.enumerate() {
        for &nodes in &options.nodes {
            let house = bed.house_of(binary, &format!("cycle-{clients}-{nodes}-{number}"), nodes)?;
            load::run(&house.doors(), clients, (cycles / 10).max(clients), 1_000_000_000)?;
            contenders.push(Contender::of(binary, house, nodes));
        }
    }
    let before = limits::fsyncs_per_second(bed.folder())?;
    let mut bare = Vec::new();
    let mut ceilings: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for round in 0..options.rounds {
        let limit = bed.bare_cycles_per_second(clients, cycles)?;
        bare.push(limit);
        for &nodes in &options.nodes {
            if let Some(servers) = bed.bare_servers(nodes)? {
                load::run(&servers.doors(), clients, clients, 0)?;
                let measured = load::run(&servers.doors(), clients, cycles, 0)?;
                ceilings.entry(nodes).or_default().push(measured.cycles_per_second);
            }
        }
        let mut rates = vec![0.0; contenders.len()];
        for place in 0..contenders.len() {
            // Whoever comes first has more than its share: what the one before leaves behind is cleared up for a while.
            let turn = (place + round) % contenders.len();
            let (Some(contender), Some(rate)) = (contenders.get_mut(turn), rates.get_mut(turn)) else {
                continue;
            };
            *rate = contender.run(bed, clients, cycles, round * cycles)?;
        }
        let first = rates.first().copied().unwrap_or(f64::NAN);
        for (contender, rate) in contenders.iter_mut().zip(rates) {
            contender.ratios.push(rate / limit);
            contender.to_first.push(rate / first);
        }
    }
    let after = limits::fsyncs_per_second(bed.folder())?;
    let steady = before.max(after) / before.min(after) < STEADY;
    let bare = rounded(median(bare), 0);
    let line = |contender: Contender| {
        let ceiling = ceilings.get(&contender.nodes).map(|rates| rounded(median(rates.clone()), 0));
        let mut line = contender.report(cycles * options.rounds);
        let common = json!({
            "bench": "cycle",
            "database": options.database.name(),
            "clients": clients,
            "cycles": cycles,
            "rounds": options.rounds,
            "bare_cycles_per_s": bare,
            "bare_over_http_cycles_per_s": ceiling,
            "fsyncs_per_s": rounded(before, 0),
            "steady_disk": steady,
        });
        if let (Some(line), serde_json::Value::Object(common)) = (line.as_object_mut(), common) {
            line.extend(common);
        }
        line
    };
    Ok(contenders.into_iter().map(line).collect())
}

impl Contender {
    fn of(binary: &Path, house: House, nodes: usize) -> Self {
        Self {
            binary: binary.to_owned(),
            house,
            nodes,
            cycles_per_second: Vec::new(),
            ratios: Vec::new(),
            to_first: Vec::new(),
            propose: Vec::new(),
            decide: Vec::new(),
            resume: Vec::new(),
            server_cpu: 0.0,
            database_cpu: 0.0,
            load_cpu: 0.0,
            transactions: 0,
        }
    }

    fn run(&mut self, bed: &Bed, clients: usize, cycles: usize, first: usize) -> anyhow::Result<f64> {
        let cpu = || Ok::<_, anyhow::Error>((bed.database_cpu()?, server::cpu_of("self")?));
        let transactions_before = bed.database_transactions()?;
        let (server_before, (database_before, load_before)) = (self.house.cpu()?, cpu()?);
        let measured = load::run(&self.house.doors(), clients, cycles, first)?;
        let (server_after, (database_after, load_after)) = (self.house.cpu()?, cpu()?);
        self.transactions += bed.database_transactions()? - transactions_before;
        self.server_cpu += server_after - server_before;
        self.database_cpu += database_after - database_before;
        self.load_cpu += load_after - load_before;
        self.propose.extend(measured.propose);
        self.decide.extend(measured.decide);
        self.resume.extend(measured.resume);
        self.cycles_per_second.push(measured.cycles_per_second);
        Ok(measured.cycles_per_second)
    }

    fn report(mut self, all_cycles: usize) -> serde_json::Value {
        let share = |samples: &mut Vec<f64>, at: f64| rounded(percentile(samples, at), 3);
        #[expect(clippy::cast_precision_loss, reason = "a rate")]
        let (all_cycles, transactions) = (all_cycles as f64, self.transactions as f64);
        let per_cycle = |seconds: f64| rounded(seconds * 1e6 / all_cycles, 0);
        json!({
            "binary": self.binary,
            "nodes": self.nodes,
            "cycles_per_s": rounded(median(self.cycles_per_second), 0),
            "ratio_to_bare": rounded(median(self.ratios), 3),
            "ratio_to_first": rounded(median(self.to_first), 3),
            "propose_p50_ms": share(&mut self.propose, 0.5),
            "propose_p99_ms": share(&mut self.propose, 0.99),
            "decide_p50_ms": share(&mut self.decide, 0.5),
            "decide_p99_ms": share(&mut self.decide, 0.99),
            "resume_p50_ms": share(&mut self.resume, 0.5),
            "resume_p99_ms": share(&mut self.resume, 0.99),
            "server_cpu_us_per_cycle": per_cycle(self.server_cpu),
            "database_cpu_us_per_cycle": per_cycle(self.database_cpu),
            "load_cpu_us_per_cycle": per_cycle(self.load_cpu),
            "database_transactions_per_cycle": rounded(transactions / all_cycles, 3),
        })
    }
}

/// Memory per pending action: what the second half of many holds adds, when every bounded cache is full already.
fn memory(bed: &Bed) -> anyhow::Result<serde_json::Value> {
    const HALF: usize = 40_000;
    let house = bed.house("memory", 1)?;
    // One agent may hold 10,000 actions.
    let agents = house.agents(16)?;
    let idle = house.memory()?;
    held::propose(&house, &agents, HALF, 0)?;
    let half = house.memory()?;
    held::propose(&house, &agents, HALF, HALF)?;
    let full = house.memory()?;
    Ok(json!({
        "bench": "memory",
        "pending": 2 * HALF,
        "idle_bytes": idle,
        "bytes_at_half": half,
        "bytes_at_full": full,
        "bytes_per_pending_first_half": (half.saturating_sub(idle)) / HALF as u64,
        "bytes_per_pending": full.saturating_sub(half) / HALF as u64,
    }))
}
