//! Getting peers from where their users get them, at the versions that `bench/peers` names, once.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

/// Where our scripts are.
const SCRIPTS: &str = "bench/peers";

/// Where peers were put.
pub(crate) struct Peers {
    pub(crate) python: PathBuf,
    pub(crate) node: PathBuf,
}

impl Peers {
    /// Installs what is missing, beside what cargo builds.
    pub(crate) fn fetch() -> anyhow::Result<Self> {
        let cache = std::path::absolute(crate::test::target().join("peers"))?;
        let (python, node) = (cache.join("python"), cache.join("node"));
        once(&python, "requirements.txt", |wanted| {
            run(Command::new("python3").args(["-m", "venv"]).arg(&python))?;
            run(Command::new(python.join("bin/pip")).args(["install", "--quiet", "-r"]).arg(wanted))
        })?;
        once(&node, "package.json", |wanted| {
            std::fs::create_dir_all(&node)?;
            std::fs::copy(wanted, node.join("package.json"))?;
            run(Command::new("npm")
                .args(["install", "--no-audit", "--no-fund", "--silent"])
                .current_dir(&node))
        })?;
        // It finds its modules from where it is.
        std::fs::copy(script("restate_service.mjs"), node.join("restate_service.mjs"))?;
        Ok(Self { python, node })
    }
}

/// One of our scripts.
pub(crate) fn script(name: &str) -> PathBuf {
    Path::new(SCRIPTS).join(name)
}

/// Installs unless exactly this was installed before.
fn once(folder: &Path, list: &str, install: impl FnOnce(&Path) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let (wanted, stamp) = (script(list), folder.join("installed"));
    let text = std::fs::read_to_string(&wanted).with_context(|| format!("{}", wanted.display()))?;
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == text) {
        return Ok(());
    }
    install(&wanted)?;
    Ok(std::fs::write(stamp, text)?)
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    eprintln!("+ {command:?}");
    ensure!(command.status().with_context(|| format!("{command:?}"))?.success(), "{command:?} failed");
    Ok(())
}
