//! `cargo xtask browser`: the review console in a real Chromium.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use rustix::process::geteuid;

use crate::test::cargo;

/// Programs that the tests need, each with the package that Debian has it in.
const NEEDED: &[(&str, &str)] = &[("chromium", "chromium"), ("node", "nodejs"), ("npm", "npm")];

/// Builds the server, installs what is missing, and runs the tests. Further words go to Playwright.
pub(crate) fn run(more: &[&str]) -> anyhow::Result<()> {
    install()?;
    cargo(&["build", "--package", "banksman"])?;
    // As Cargo says it now: what it said at the build may be another clone, with the same target folder.
    let package = std::env::var_os("CARGO_MANIFEST_DIR").context("run me as `cargo xtask browser`")?;
    let root = Path::new(&package).parent().context("no root")?;
    let folder = root.join("crates/banksman-web/browser");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    if !folder.join("node_modules/.package-lock.json").exists() {
        step(Command::new("npm").args(["ci", "--ignore-scripts"]).current_dir(&folder))?;
    }
    let artefacts = target.join("browser");
    step(
        Command::new("npx")
            .args(["--no-install", "playwright", "test"])
            .args(more)
            .current_dir(&folder)
            .env("BANKSMAN_PROGRAM", target.join("debug/banksman"))
            .env("BANKSMAN_BROWSER_ARTEFACTS", &artefacts)
            .env("BANKSMAN_CHROMIUM", find("chromium").context("no chromium")?),
    )?;
    eprintln!("pictures of every page: {}", artefacts.join("pictures").display());
    Ok(())
}

fn step(command: &mut Command) -> anyhow::Result<()> {
    eprintln!("+ {command:?}");
    let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
    ensure!(status.success(), "{command:?} failed");
    Ok(())
}

fn install() -> anyhow::Result<()> {
    let missing: Vec<&str> =
        NEEDED.iter().filter(|(program, _)| find(program).is_none()).map(|(_, package)| *package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let words = missing.join(" ");
    ensure!(geteuid().is_root(), "needed for the browser tests: apt-get install {words}");
    step(Command::new("apt-get").args(["update", "-qq"]))?;
    let mut install = Command::new("apt-get");
    install.args(["install", "-y", "-qq", "--no-install-recommends"]).args(missing);
    step(install.env("DEBIAN_FRONTEND", "noninteractive"))
}

fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}
