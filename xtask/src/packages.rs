//! Programs by other hands, from where their users get them: installed once, at pinned versions, into a folder under the
//! target directory.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use banksman_faults::NO_SKIPS;

/// Where tests look for them.
pub(crate) const VARIABLE: &str = "BANKSMAN_MCP_PACKAGES";

/// What goes into one folder.
pub(crate) struct Packages {
    pub(crate) folder: &'static str,
    /// Names and versions.
    pub(crate) npm: &'static [(&'static str, &'static str)],
    /// As pip reads them.
    pub(crate) pypi: &'static [&'static str],
    /// The same, without what they ask for: of that, `pypi` has what is used.
    pub(crate) pypi_alone: &'static [&'static str],
}

/// MCP clients and servers, an agent framework and the libraries of providers. The conformance suite needs Node 22, which npm can install too.
const TESTS: Packages = Packages {
    folder: "mcp-packages",
    npm: &[
        ("node", "22.23.3"),
        ("@modelcontextprotocol/conformance", "0.2.0-alpha.12"),
        ("@modelcontextprotocol/sdk", "1.32.2"),
        ("@modelcontextprotocol/client", "2.4.0"),
        ("@modelcontextprotocol/inspector", "2.12.0"),
        ("@modelcontextprotocol/server-everything", "2026.8.31"),
        ("@modelcontextprotocol/server-filesystem", "2026.8.31"),
    ],
    pypi: &[
        "mcp==2.3.0",
        "langgraph==1.2.20",
        "langgraph-checkpoint-sqlite==3.1.2",
        "slack_sdk==3.46.0",
        "line-bot-sdk==3.27.0",
        "standardwebhooks==1.1.0",
    ],
    pypi_alone: &[],
};

/// Installs what tests need, and says where it is. Without npm or Python, or without a network, there is nothing to test
/// with: that is said, and the tests that need it say so again.
///
/// # Errors
/// Where every test has to run, if it cannot be installed.
pub(crate) fn install() -> anyhow::Result<Option<PathBuf>> {
    match TESTS.install() {
        Ok(folder) => Ok(Some(folder)),
        Err(error) if std::env::var_os(NO_SKIPS).is_some() => {
            Err(error.context(format!("tests need what cannot be installed, and {NO_SKIPS} is set")))
        }
        Err(error) => {
            eprintln!("xtask: the gateway is not tested with other people's clients and servers: {error:#}");
            Ok(None)
        }
    }
}

impl Packages {
    /// Installs what is not there yet, and says where it is.
    pub(crate) fn install(&self) -> anyhow::Result<PathBuf> {
        let folder = std::path::absolute(crate::test::target().join(self.folder))?;
        let wanted = self.manifest();
        let stamp = folder.join("installed");
        if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
            return Ok(folder);
        }
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("package.json"), &wanted)?;
        if !self.npm.is_empty() {
            run(
                Command::new("npm").args(["install", "--no-audit", "--no-fund", "--loglevel=error"]),
                &folder,
            )?;
        }
        if !self.pypi.is_empty() {
            run(Command::new("python3").args(["-m", "venv", "python"]), &folder)?;
            run(Command::new("python/bin/pip").args(["install", "--quiet"]).args(self.pypi), &folder)?;
        }
        if !self.pypi_alone.is_empty() {
            let options = ["install", "--quiet", "--no-deps"];
            run(Command::new("python/bin/pip").args(options).args(self.pypi_alone), &folder)?;
        }
        // Last: what was interrupted is done again.
        std::fs::write(&stamp, &wanted)?;
        Ok(folder)
    }

    fn manifest(&self) -> String {
        let lines: Vec<String> =
            self.npm.iter().map(|(name, version)| format!("    \"{name}\": \"{version}\"")).collect();
        format!(
            "{{\n  \"private\": true,\n  \"description\": \"for the tests, with {}\",\n  \"dependencies\": {{\n{}\n  }}\n}}\n",
            [self.pypi, self.pypi_alone].concat().join(" "),
            lines.join(",\n")
        )
    }
}

fn run(command: &mut Command, folder: &Path) -> anyhow::Result<()> {
    eprintln!("+ {command:?}");
    let status = command.stdin(Stdio::null()).current_dir(folder).status();
    let name = command.get_program().to_string_lossy().into_owned();
    ensure!(status.with_context(|| format!("cannot run {name}"))?.success(), "{name} failed");
    Ok(())
}
