//! A PostgreSQL of our own for as long as a command runs.

use std::process::Command;

use anyhow::{Context as _, bail, ensure};
pub(crate) use banksman_faults::Cluster;

/// Where tests look for the database server. Each makes a database of its own there.
pub(crate) const VARIABLE: &str = "BANKSMAN_TEST_POSTGRES";

/// `cargo xtask postgres COMMAND...`: runs a command beside a server of its own.
pub(crate) fn run(command: &[&str]) -> anyhow::Result<()> {
    let [program, arguments @ ..] = command else {
        bail!("which command? For example: cargo xtask postgres cargo nextest run -p banksman-store");
    };
    let cluster = Cluster::start()?;
    eprintln!("+ {VARIABLE}={} {}", cluster.url(), command.join(" "));
    let status = Command::new(program).args(arguments).env(VARIABLE, cluster.url()).status();
    ensure!(status.with_context(|| format!("cannot run {program}"))?.success(), "{program} failed");
    Ok(())
}
