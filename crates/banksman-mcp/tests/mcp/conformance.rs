//! The official conformance suite, on a server directly and through the gateway: what passes there passes here.
//!
//! The suite is a program for Node 22; `cargo xtask test` installs both and says where they are. Without them these
//! tests have nothing to run and say so.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;

use crate::conformant;
use crate::programs::example;
use crate::world::World;

pub(crate) use banksman_faults::packages;

pub(crate) fn node(packages: &Path) -> PathBuf {
    packages.join("node_modules/node/bin/node")
}

/// The suite shows no credential; this stands before the gateway and adds one to each request.
pub(crate) async fn with_credential(to: SocketAddr, token: &str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let credential = format!("\r\nAuthorization: Bearer {token}\r\n");
    tokio::spawn(async move {
        loop {
            let (client, _) = listener.accept().await.unwrap();
            tokio::spawn(pass(client, to, credential.clone()));
        }
    });
    address
}

/// One request for each connection, so that only the first line is looked for.
async fn pass(mut client: TcpStream, to: SocketAddr, credential: String) {
    let _ = client.set_nodelay(true);
    let Ok(mut server) = TcpStream::connect(to).await else { return };
    let _ = server.set_nodelay(true);
    let mut head = Vec::new();
    let mut byte = [0u8; 1];
    while !head.ends_with(b"\r\n\r\n") {
        match client.read(&mut byte).await {
            Ok(1) => head.push(byte[0]),
            _ => return,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let (line, rest) = head.split_once("\r\n").unwrap();
    let rest: String = rest
        .split_inclusive("\r\n")
        .filter(|line| !line.to_ascii_lowercase().starts_with("connection:"))
        .collect();
    let head = format!("{line}{credential}Connection: close\r\n{rest}");
    if server.write_all(head.as_bytes()).await.is_ok() {
        let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
    }
}

/// How each check of each scenario ended.
type Checks = BTreeMap<String, Vec<String>>;

async fn run(packages: &Path, url: &str, revision: &str) -> Checks {
    let results = tempfile::tempdir().unwrap();
    let suite = packages.join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    let output = Command::new(node(packages))
        .arg(suite)
        .args(["server", "--url", url, "--requirements", revision, "--output-dir"])
        .arg(results.path())
        .output()
        .await
        .unwrap();
    let mut checks = Checks::new();
    for entry in std::fs::read_dir(results.path()).unwrap() {
        let folder = entry.unwrap().path();
        let Ok(text) = std::fs::read(folder.join("checks.json")) else { continue };
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        // The folder's name ends in the time.
        let scenario = name.split("-20").next().unwrap().to_owned();
        let listed: Vec<Value> = serde_json::from_slice(&text).unwrap();
        for check in listed {
            let key = format!("{scenario}/{}", check["id"].as_str().unwrap());
            let status = check["status"].as_str().unwrap().to_owned();
            checks.entry(key).or_default().push(match check["errorMessage"].as_str() {
                Some(problem) if status == "FAILURE" => {
                    format!("{status}: {}", problem.chars().take(300).collect::<String>())
                }
                _ => status,
            });
        }
    }
    assert!(!checks.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    checks
}

fn passed(checks: &Checks) -> usize {
    checks.values().flatten().filter(|status| *status == "SUCCESS").count()
}

fn failed(checks: &Checks) -> Vec<String> {
    let failures = |(check, statuses): (&String, &Vec<String>)| {
        statuses
            .iter()
            .filter(|status| status.starts_with("FAILURE"))
            .map(|status| format!("{check} {status}"))
            .collect::<Vec<_>>()
    };
    checks.iter().flat_map(failures).collect()
}

/// How the gateway reaches the server.
enum Behind {
    Http,
    Program,
}

async fn what_passes_directly_passes_through_the_gateway(revision: &str, at_least: usize, behind: Behind) {
    let Some(packages) = packages() else { return };
    let server = conformant::start().await;
    let direct = run(&packages, &format!("http://{server}/mcp"), revision).await;
    let reached = match behind {
        Behind::Http => format!("url: 'http://{server}/mcp'"),
        Behind::Program => format!("command: ['{}']", example("conformant_program").display()),
    };
    let world = World::start(&format!("version: 1\nupstreams: {{peer: {{{reached}}}}}\n")).await;
    let front = with_credential(world.address, &world.agent).await;
    let through = run(&packages, &format!("http://{front}/mcp"), revision).await;
    println!(
        "{revision}: directly {} passed, {} failed; through the gateway {} passed, {} failed",
        passed(&direct),
        failed(&direct).len(),
        passed(&through),
        failed(&through).len()
    );
    let new: Vec<String> =
        failed(&through).into_iter().filter(|failure| !failed(&direct).contains(failure)).collect();
    assert_eq!(new, Vec::<String>::new(), "these fail through the gateway only");
    assert!(
        passed(&direct) >= at_least,
        "the peer itself passes only {}: {:?}",
        passed(&direct),
        failed(&direct)
    );
    // That a stream can be closed and asked for again is a choice of servers over HTTP. Programs have none.
    let is_http_only = |check: &str| matches!(behind, Behind::Program) && check.contains("sse-polling");
    for (check, statuses) in direct.iter().filter(|(check, _)| !is_http_only(check)) {
        let here =
            through.get(check).unwrap_or_else(|| panic!("{check} was not even run through the gateway"));
        let count = |all: &[String]| all.iter().filter(|status| *status == "SUCCESS").count();
        assert!(count(here) >= count(statuses), "{check}: {here:?} instead of {statuses:?}");
    }
}

#[tokio::test]
async fn the_suite_of_2025_11_25() {
    what_passes_directly_passes_through_the_gateway("2025-11-25", 83, Behind::Http).await;
}

#[tokio::test]
async fn the_suite_of_2025_11_25_with_a_program() {
    what_passes_directly_passes_through_the_gateway("2025-11-25", 83, Behind::Program).await;
}

#[tokio::test]
async fn the_suite_of_2026_07_28() {
    what_passes_directly_passes_through_the_gateway("2026-07-28", 195, Behind::Http).await;
}

#[tokio::test]
async fn the_suite_of_2026_07_28_with_a_program() {
    what_passes_directly_passes_through_the_gateway("2026-07-28", 195, Behind::Program).await;
}
