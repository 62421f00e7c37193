//! MCP clients, servers, the conformance suite, an agent framework and the libraries of providers, all by other hands,
//! for the tests: installed once, at pinned versions, into a folder under the target directory.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

/// Where tests look for them.
pub(crate) const VARIABLE: &str = "BANKSMAN_MCP_PACKAGES";

/// What comes from npm. The conformance suite needs Node 22, which npm can install too.
const NPM: &[(&str, &str)] = &[
    ("node", "22.23.3"),
    ("@modelcontextprotocol/conformance", "0.2.0-alpha.12"),
    ("@modelcontextprotocol/sdk", "1.32.2"),
    ("@modelcontextprotocol/client", "2.4.0"),
    ("@modelcontextprotocol/inspector", "2.12.0"),
    ("@modelcontextprotocol/server-everything", "2026.8.31"),
    ("@modelcontextprotocol/server-filesystem", "2026.8.31"),
];

/// What comes from PyPI.
const PYPI: &[&str] = &[
    "mcp==2.3.0",
    "langgraph==1.2.20",
    "langgraph-checkpoint-sqlite==3.1.2",
    "slack_sdk==3.46.0",
    "line-bot-sdk==3.27.0",
    "standardwebhooks==1.1.0",
];

/// Installs what is not there yet, and says where it is. Without npm or Python, or without a network, there is nothing
/// to test with: that is said, and the tests that need it say so again.
pub(crate) fn install() -> Option<PathBuf> {
    match try_install() {
        Ok(folder) => Some(folder),
        Err(error) => {
            eprintln!("xtask: the gateway is not tested with other people's clients and servers: {error:#}");
            None
        }
    }
}

fn try_install() -> anyhow::Result<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let folder = std::path::absolute(target.join("mcp-packages"))?;
    let wanted = manifest();
    let stamp = folder.join("installed");
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(folder);
    }
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("package.json"), &wanted)?;
    run(Command::new("npm").args(["install", "--no-audit", "--no-fund", "--loglevel=error"]), &folder)?;
    run(Command::new("python3").args(["-m", "venv", "python"]), &folder)?;
    run(Command::new("python/bin/pip").args(["install", "--quiet"]).args(PYPI), &folder)?;
    // Last: what was interrupted is done again.
    std::fs::write(&stamp, &wanted)?;
    Ok(folder)
}

fn manifest() -> String {
    let lines: Vec<String> =
        NPM.iter().map(|(name, version)| format!("    \"{name}\": \"{version}\"")).collect();
    format!(
        "{{\n  \"private\": true,\n  \"description\": \"for the tests, with {}\",\n  \"dependencies\": {{\n{}\n  }}\n}}\n",
        PYPI.join(", "),
        lines.join(",\n")
    )
}

fn run(command: &mut Command, folder: &Path) -> anyhow::Result<()> {
    eprintln!("+ {command:?}");
    let status = command.current_dir(folder).status();
    let name = command.get_program().to_string_lossy().into_owned();
    ensure!(status.with_context(|| format!("cannot run {name}"))?.success(), "{name} failed");
    Ok(())
}
