//! What the gateway costs: calls of an echo tool directly, through a proxy that only forwards, through Banksman, which
//! records every call durably before it forwards it, and through what else stands before MCP servers. All in one run, in
//! turns, each in a process of its own.
//!
//! `cargo xtask bench gateway` builds it, gets the others, and runs it.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a benchmark that cannot go on stops"
)]

mod floor;
mod load;
mod peer;
mod table;
mod target;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use self::peer::Peer;
use self::target::{Target, targets};

const CLIENTS: &[usize] = &[1, 16, 64];
const ROUNDS: usize = 3;

/// Others answer a hundredth as fast at times; nobody waits for 20,000 of their calls.
const PEERS_SHARE: usize = 10;

/// What others have for all rounds at a number of clients. Some answer a thousandth as fast: nobody waits for 2,000 of their
/// calls either.
const PEERS_TIME: Duration = Duration::from_secs(4);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["upstream", port] => block_on(floor::upstream(port)),
        ["upstream-stdio"] => floor::upstream_stdio(),
        ["raw", port, to] => block_on(floor::raw_proxy(port, to)),
        options => block_on(measure(options)),
    }
}

fn block_on(work: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap()
        .block_on(work);
}

async fn measure(options: &[&str]) {
    let mut calls = 20_000usize;
    let mut binary = std::env::current_exe().unwrap().parent().unwrap().parent().unwrap().join("banksman");
    let mut peers: Vec<Peer> = Vec::new();
    for pair in options.chunks(2) {
        match pair {
            ["--calls", count] => calls = count.parse().unwrap(),
            ["--binary", path] => binary = PathBuf::from(path),
            ["--peer", peer] => peers.push(serde_json::from_str(peer).unwrap()),
            other => panic!("unknown option {other:?}"),
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let (_upstream, targets) = targets(&binary, folder.path(), peers).await;
    let mut table = table::Table::new();
    for clients in CLIENTS {
        let mut results: Vec<Vec<load::Figures>> = targets.iter().map(|_| Vec::new()).collect();
        let mut spent = vec![Duration::ZERO; targets.len()];
        // In turns, so that a busy moment of the machine meets all of them.
        for _ in 0..ROUNDS {
            for ((target, results), spent) in targets.iter().zip(&mut results).zip(&mut spent) {
                let left = target.is_peer.then(|| PEERS_TIME.saturating_sub(*spent));
                if left == Some(Duration::ZERO) {
                    continue;
                }
                let share = if target.is_peer { PEERS_SHARE } else { 1 } * if *clients == 1 { 10 } else { 1 };
                let count = (calls / share).max(*clients);
                let begin = Instant::now();
                match load::run(target, *clients, count, left).await {
                    Ok(figures) => results.push(figures),
                    Err(problem) => eprintln!("{} at {clients}: {problem}", target.name),
                }
                *spent += begin.elapsed();
            }
        }
        for (Target { name, hop, .. }, rounds) in targets.iter().zip(results) {
            match load::median(rounds) {
                Some(figures) => table.add(*clients, name, hop.is_some(), figures),
                None => eprintln!("{name} at {clients}: nothing was measured"),
            }
        }
        table.print(*clients);
    }
    table.print_targets();
}
