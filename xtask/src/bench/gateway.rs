//! `cargo xtask bench gateway`: MCP calls through the gateway, beside a direct connection, a proxy that only forwards, and
//! what else people put before MCP servers. Measured by an example of `banksman-mcp`; here the others are got for it.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::packages::{self, Packages};
use crate::test;

/// A hop by other hands. `{port}`, `{url}`, `{program}` and `{program...}` are filled in by the example.
struct Peer {
    name: &'static str,
    packages: Packages,
    /// What runs it, from its folder; with Node, if it comes from npm.
    program: &'static str,
    arguments: &'static [&'static str],
}

const PEERS: &[Peer] = &[
    Peer {
        name: "mcp-proxy 6.7.19 (npm)",
        packages: Packages { folder: "mcp-peers/mcp-proxy-npm", npm: &[("mcp-proxy", "6.7.19")], pypi: &[] },
        program: "node_modules/mcp-proxy/dist/bin/mcp-proxy.mjs",
        arguments: &["--host", "127.0.0.1", "--port", "{port}", "--server", "stream", "--", "{program...}"],
    },
    Peer {
        name: "supergateway 4.0.0 (npm)",
        packages: Packages { folder: "mcp-peers/supergateway", npm: &[("supergateway", "4.0.0")], pypi: &[] },
        program: "node_modules/supergateway/dist/index.js",
        // Without `--stateful` it starts the program for each request.
        arguments: &[
            "--stdio",
            "{program}",
            "--outputTransport",
            "streamableHttp",
            "--stateful",
            "--port",
            "{port}",
            "--logLevel",
            "none",
        ],
    },
    Peer {
        name: "mcp-proxy 0.13.0 (PyPI)",
        packages: Packages { folder: "mcp-peers/mcp-proxy-pypi", npm: &[], pypi: &["mcp-proxy==0.13.0"] },
        program: "python/bin/mcp-proxy",
        arguments: &["--host", "127.0.0.1", "--port", "{port}", "--log-level", "ERROR", "--", "{program...}"],
    },
];

/// Everything that is measured is built first, and as it is shipped.
pub(crate) fn run(rest: &[&str]) -> anyhow::Result<()> {
    let mut options: Vec<&str> = rest.to_vec();
    let alone = options.iter().position(|word| *word == "--no-peers").map(|at| options.remove(at)).is_some();
    test::cargo(&["build", "--quiet", "--release", "--package", "banksman"])?;
    let peers: Vec<String> = if alone { Vec::new() } else { peers().iter().map(Value::to_string).collect() };
    for peer in &peers {
        options.extend(["--peer", peer]);
    }
    let example = ["--release", "--package", "banksman-mcp", "--example", "bench_gateway", "--"];
    test::cargo(&[&["run", "--quiet"], &example[..], &options].concat())
}

/// Those that could be got. Whoever could not is named, and left out.
fn peers() -> Vec<Value> {
    let mut found = Vec::new();
    let mut take = |name: &str, command: anyhow::Result<Vec<String>>| match command {
        Ok(command) => found.push(json!({"name": name, "command": command})),
        Err(error) => eprintln!("xtask: {name} is left out: {error:#}"),
    };
    take("typed hop on rmcp 3.8", typed_hop());
    let node = packages::install().map(|folder| folder.join("node_modules/node/bin/node"));
    for peer in PEERS {
        take(peer.name, peer.command(node.as_deref()));
    }
    found
}

impl Peer {
    fn command(&self, node: Option<&Path>) -> anyhow::Result<Vec<String>> {
        let program = self.packages.install()?.join(self.program);
        let mut words = Vec::new();
        if !self.packages.npm.is_empty() {
            let node = node.ok_or_else(|| anyhow::anyhow!("there is no Node"))?;
            words.push(node.display().to_string());
        }
        words.push(program.display().to_string());
        words.extend(self.arguments.iter().map(|word| (*word).to_owned()));
        Ok(words)
    }
}

/// A workspace of its own: ours neither builds nor locks what it needs.
fn typed_hop() -> anyhow::Result<Vec<String>> {
    let target: PathBuf = std::path::absolute(test::target().join("mcp-peers/rmcp-hop"))?;
    let folder = target.display().to_string();
    let manifest = ["--manifest-path", "bench/rmcp-hop/Cargo.toml", "--target-dir", &folder];
    test::cargo(&[&["build", "--quiet", "--release"], &manifest[..]].concat())?;
    let program = target.join("release/rmcp-hop").display().to_string();
    Ok(vec![program, "{port}".to_owned(), "{url}".to_owned()])
}
