//! `cargo xtask test`: every test, on a machine that has only Rust and a C compiler.

use std::process::Command;

use anyhow::bail;

/// Runs every test. Further words go to the test runner.
pub(crate) fn run(more: &[&str]) -> anyhow::Result<()> {
    let nextest = Command::new("cargo")
        .args(["nextest", "--version"])
        .output()
        .is_ok_and(|output| output.status.success());
    if nextest {
        cargo(&[&["nextest", "run", "--workspace", "--no-fail-fast"], more].concat())?;
        // nextest does not run documentation tests.
        cargo(&["test", "--workspace", "--doc", "--quiet"])
    } else {
        cargo(&[&["test", "--workspace"], more].concat())
    }
}

pub(crate) fn cargo(arguments: &[&str]) -> anyhow::Result<()> {
    eprintln!("+ cargo {}", arguments.join(" "));
    let status = Command::new("cargo").args(arguments).status()?;
    if !status.success() {
        bail!("cargo {} failed", arguments.join(" "));
    }
    Ok(())
}
