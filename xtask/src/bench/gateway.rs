//! `cargo xtask bench gateway`: MCP calls through the gateway, beside a direct connection, a proxy that only forwards, and
//! what else people put before MCP servers. Measured by an example of `banksman-mcp`; here the others are got for it.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::packages::{self, Packages};
use crate::test;

/// Scripts for those who need more than a command line.
const SCRIPTS: &str = "bench/gateway-peers";

/// A hop by other hands. `{scripts}` is filled in here; `{port}`, `{url}`, `{program}` and `{program...}` by the example.
struct Peer {
    name: &'static str,
    packages: Packages,
    /// What runs it, from its folder; with Node, if it comes from npm.
    program: &'static str,
    arguments: &'static [&'static str],
    /// What it calls the server's `echo`.
    tool: &'static str,
}

const PEERS: &[Peer] = &[
    Peer {
        name: "mcp-proxy 6.7.19 (npm)",
        packages: Packages {
            folder: "mcp-peers/mcp-proxy-npm",
            npm: &[("mcp-proxy", "6.7.19")],
            pypi: &[],
            pypi_alone: &[],
        },
        program: "node_modules/mcp-proxy/dist/bin/mcp-proxy.mjs",
        arguments: &["--host", "127.0.0.1", "--port", "{port}", "--server", "stream", "--", "{program...}"],
        tool: "echo",
    },
    Peer {
        name: "supergateway 4.0.0 (npm)",
        packages: Packages {
            folder: "mcp-peers/supergateway",
            npm: &[("supergateway", "4.0.0")],
            pypi: &[],
            pypi_alone: &[],
        },
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
        tool: "echo",
    },
    Peer {
        name: "mcp-proxy 0.13.0 (PyPI)",
        packages: Packages {
            folder: "mcp-peers/mcp-proxy-pypi",
            npm: &[],
            pypi: &["mcp-proxy==0.13.0"],
            pypi_alone: &[],
        },
        program: "python/bin/mcp-proxy",
        arguments: &["--host", "127.0.0.1", "--port", "{port}", "--log-level", "ERROR", "--", "{program...}"],
        tool: "echo",
    },
    Peer {
        name: "FastMCP 4.1.2 (PyPI)",
        packages: Packages {
            folder: "mcp-peers/fastmcp",
            npm: &[],
            pypi: &["fastmcp==4.1.2"],
            pypi_alone: &[],
        },
        program: "python/bin/fastmcp",
        arguments: &[
            "run",
            "{url}",
            "--transport",
            "http",
            "--host",
            "127.0.0.1",
            "--port",
            "{port}",
            "--no-banner",
            "--log-level",
            "ERROR",
        ],
        tool: "echo",
    },
    Peer {
        name: "harombe 0.3.1 (PyPI)",
        packages: Packages {
            folder: "mcp-peers/harombe",
            npm: &[],
            // It asks for speech and language models too, 6 GB with their libraries.
            pypi: &[
                "cryptography==44.0.3",
                // Newer ones do not start it.
                "fastapi==0.128.0",
                "httpx==0.28.1",
                "joblib==1.6.0",
                "mcp==1.30.0",
                "numpy==2.4.6",
                "playwright==1.65.0",
                "rich==13.9.4",
                "scikit-learn==1.9.1",
                "sse-starlette==2.4.1",
                "uvicorn[standard]==0.54.0",
            ],
            pypi_alone: &["harombe==0.3.1"],
        },
        program: "python/bin/python",
        arguments: &["{scripts}/harombe_peer.py", "{port}", "{url}"],
        tool: "echo",
    },
    Peer {
        name: "ContextForge 1.0.7 (PyPI)",
        packages: Packages {
            folder: "mcp-peers/contextforge",
            npm: &[],
            pypi: &["mcp-contextforge-gateway==1.0.7"],
            pypi_alone: &[],
        },
        program: "python/bin/python",
        arguments: &["{scripts}/contextforge_peer.py", "{port}", "{url}"],
        tool: "bench-echo",
    },
    Peer {
        name: "CTRLRun 0.12.2 (PyPI)",
        packages: Packages {
            folder: "mcp-peers/ctrlrun",
            npm: &[],
            pypi: &["ctrlrun[gateway]==0.12.2"],
            pypi_alone: &[],
        },
        program: "python/bin/python",
        arguments: &["{scripts}/ctrlrun_peer.py", "{port}", "{url}"],
        tool: "echo",
    },
];

/// Everything that is measured is built first, and as it is shipped.
pub(crate) fn run(rest: &[&str]) -> anyhow::Result<()> {
    let (mut options, mut alone, mut built) = (Vec::new(), false, false);
    let mut words = rest.iter().copied();
    while let Some(word) = words.next() {
        match word {
            "--no-peers" => alone = true,
            "--calls" | "--binary" => {
                built |= word == "--binary";
                options.extend([word, words.next().with_context(|| format!("{word} needs a value"))?]);
            }
            _ => anyhow::bail!("unknown option {word}: `cargo xtask` lists what there is"),
        }
    }
    if !built {
        test::cargo(&["build", "--quiet", "--release", "--package", "banksman"])?;
    }
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
    let mut take = |name: &str, tool: &str, command: anyhow::Result<Vec<String>>| match command {
        Ok(command) => found.push(json!({"name": name, "tool": tool, "command": command})),
        Err(error) => eprintln!("xtask: {name} is left out: {error:#}"),
    };
    take("typed hop on rmcp 3.8", "echo", typed_hop());
    let node = packages::install().ok().flatten().map(|folder| folder.join("node_modules/node/bin/node"));
    for peer in PEERS {
        take(peer.name, peer.tool, peer.command(node.as_deref()));
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
        let scripts = std::path::absolute(SCRIPTS)?.display().to_string();
        words.extend(self.arguments.iter().map(|word| word.replace("{scripts}", &scripts)));
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
