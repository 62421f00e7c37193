//! `cargo xtask test`: every test, on a machine that has only Rust and a C compiler.

use std::path::PathBuf;
use std::process::Command;

use anyhow::bail;

use crate::packages;
use crate::postgres::{self, Cluster};

/// Tests that wait for what takes minutes look for this.
const LONG: &str = "BANKSMAN_LONG";

/// How many tests run at a time is read from here by the test runner.
const AT_A_TIME: &str = "NEXTEST_TEST_THREADS";

/// Runs every test. Further words go to the test runner.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<()> {
    let (more, long): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| **word != "--long");
    // One server for all tests; it ends when they have.
    let cluster = Cluster::start()?;
    let packages = packages::install()?.map(|folder| folder.display().to_string());
    let url = cluster.url();
    let mut variables = vec![(postgres::VARIABLE, url.as_str())];
    variables.extend(packages.as_deref().map(|folder| (packages::VARIABLE, folder)));
    variables.extend(long.first().map(|_| (LONG, "1")));
    // Most tests wait more than they work.
    let at_a_time = 2 * std::thread::available_parallelism().map_or(1, usize::from);
    let at_a_time = at_a_time.to_string();
    if std::env::var_os(AT_A_TIME).is_none() {
        variables.push((AT_A_TIME, &at_a_time));
    }
    let test = |arguments: &[&str]| cargo_with(arguments, &variables);
    let nextest = Command::new("cargo")
        .args(["nextest", "--version"])
        .output()
        .is_ok_and(|output| output.status.success());
    if nextest {
        test(&[&["nextest", "run", "--workspace", "--no-fail-fast"], more.as_slice()].concat())?;
        // nextest does not run documentation tests.
        test(&["test", "--workspace", "--doc", "--quiet"])
    } else {
        test(&[&["test", "--workspace"], more.as_slice()].concat())
    }
}

pub(crate) fn cargo(arguments: &[&str]) -> anyhow::Result<()> {
    cargo_with(arguments, &[])
}

pub(crate) fn cargo_with(arguments: &[&str], variables: &[(&str, &str)]) -> anyhow::Result<()> {
    eprintln!("+ cargo {}", arguments.join(" "));
    let status = Command::new("cargo").args(arguments).envs(variables.iter().copied()).status()?;
    if !status.success() {
        bail!("cargo {} failed", arguments.join(" "));
    }
    Ok(())
}

/// Where cargo puts what it builds, and we what we fetch.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from)
}
