//! `cargo xtask bench cycle`: full cycles over HTTP, beside a bare SQLite loop in the same run.

use serde_json::json;

use super::server::{self, Server};
use super::{limits, load, median, percentile};

struct Options {
    cycles: usize,
    clients: Vec<usize>,
    rounds: usize,
    memory: bool,
    binary: Option<std::path::PathBuf>,
}

fn options(words: &[&str]) -> anyhow::Result<Options> {
    let mut options =
        Options { cycles: 6000, clients: vec![1, 16, 64], rounds: 3, memory: true, binary: None };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| anyhow::anyhow!("{word} needs a value"));
        match *word {
            "--cycles" => options.cycles = value()?.parse()?,
            "--rounds" => options.rounds = value()?.parse()?,
            "--clients" => options.clients = value()?.split(',').map(str::parse).collect::<Result<_, _>>()?,
            "--binary" => options.binary = Some(value()?.into()),
            "--no-memory" => options.memory = false,
            _ => anyhow::bail!("unknown option {word}"),
        }
    }
    Ok(options)
}

/// How far the disk may drift during a run before the run is not worth reporting.
const STEADY: f64 = 1.5;

pub(crate) fn run(words: &[&str]) -> anyhow::Result<()> {
    let options = options(words)?;
    let binary = match options.binary {
        Some(binary) => binary,
        None => server::build()?,
    };
    let folder = tempfile::tempdir()?;
    for &clients in &options.clients {
        let cycles = if clients == 1 { options.cycles / 10 } else { options.cycles };
        let line = measure(&binary, folder.path(), clients, cycles, options.rounds)?;
        println!("{line}");
    }
    if options.memory {
        println!("{}", memory(&binary, folder.path())?);
    }
    Ok(())
}

fn measure(
    binary: &std::path::Path,
    folder: &std::path::Path,
    clients: usize,
    cycles: usize,
    rounds: usize,
) -> anyhow::Result<serde_json::Value> {
    let data = folder.join(format!("data-{clients}"));
    let server = Server::start(binary, &data)?;
    load::run(&server, clients, (cycles / 10).max(clients), 1_000_000_000)?;
    let before = limits::fsyncs_per_second(folder)?;
    let (mut ours, mut bare, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let (mut propose, mut decide, mut resume) = (Vec::new(), Vec::new(), Vec::new());
    let (mut server_cpu, mut load_cpu) = (0.0, 0.0);
    for round in 0..rounds {
        let limit = limits::bare_cycles_per_second(folder, clients, cycles)?;
        let (server_before, load_before) = (server.cpu()?, server::cpu_of("/proc/self/stat")?);
        let measured = load::run(&server, clients, cycles, round * cycles)?;
        server_cpu += server.cpu()? - server_before;
        load_cpu += server::cpu_of("/proc/self/stat")? - load_before;
        bare.push(limit);
        ratios.push(measured.cycles_per_second / limit);
        ours.push(measured.cycles_per_second);
        propose.extend(measured.propose);
        decide.extend(measured.decide);
        resume.extend(measured.resume);
    }
    let after = limits::fsyncs_per_second(folder)?;
    let drift = before.max(after) / before.min(after);
    let round = |value: f64, digits: i32| (value * 10f64.powi(digits)).round() / 10f64.powi(digits);
    let share = |samples: &mut Vec<f64>, at: f64| round(percentile(samples, at), 3);
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    let per_cycle = |seconds: f64| round(seconds * 1e6 / (cycles * rounds) as f64, 0);
    Ok(json!({
        "bench": "cycle",
        "store": "sqlite",
        "clients": clients,
        "cycles": cycles,
        "rounds": rounds,
        "cycles_per_s": round(median(ours), 0),
        "bare_sqlite_cycles_per_s": round(median(bare), 0),
        "ratio_to_bare": round(median(ratios), 3),
        "propose_p50_ms": share(&mut propose, 0.5),
        "propose_p99_ms": share(&mut propose, 0.99),
        "decide_p50_ms": share(&mut decide, 0.5),
        "decide_p99_ms": share(&mut decide, 0.99),
        "resume_p50_ms": share(&mut resume, 0.5),
        "resume_p99_ms": share(&mut resume, 0.99),
        "server_cpu_us_per_cycle": per_cycle(server_cpu),
        "load_cpu_us_per_cycle": per_cycle(load_cpu),
        "fsyncs_per_s": round(before, 0),
        "steady_disk": drift < STEADY,
    }))
}

/// Memory per pending action: what the second half of many holds adds, when every bounded cache is full already.
fn memory(binary: &std::path::Path, folder: &std::path::Path) -> anyhow::Result<serde_json::Value> {
    const HALF: usize = 40_000;
    let data = folder.join("data-memory");
    let server = Server::start(binary, &data)?;
    // One agent may hold 10,000 actions.
    let agents = server.agents(binary, &data, 16)?;
    let idle = server.memory()?;
    load::hold(&server, &agents, HALF, 0)?;
    let half = server.memory()?;
    load::hold(&server, &agents, HALF, HALF)?;
    let full = server.memory()?;
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
