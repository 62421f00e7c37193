//! PostgreSQL's programs: where they are, and as whom they run.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use rustix::process::geteuid;

/// PostgreSQL refuses to run as root.
pub(crate) struct Unprivileged {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

impl Unprivileged {
    /// Nobody else is needed if we are not root ourselves.
    pub(crate) fn find() -> anyhow::Result<Option<Self>> {
        if !geteuid().is_root() {
            return Ok(None);
        }
        let id = |which| -> anyhow::Result<u32> {
            let output = Command::new("id").args([which, "postgres"]).output()?;
            ensure!(output.status.success(), "there is no user \"postgres\", which its package makes");
            Ok(String::from_utf8(output.stdout)?.trim().parse()?)
        };
        Ok(Some(Self { uid: id("-u")?, gid: id("-g")? }))
    }
}

/// A program that ends when we do, as another user if need be.
pub(crate) fn as_user(user: Option<&Unprivileged>, program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "QUIT"]);
    if let Some(Unprivileged { uid, gid }) = user {
        command.arg(format!("--reuid={uid}")).arg(format!("--regid={gid}")).arg("--clear-groups");
    }
    command.arg(program).env("LC_ALL", "C");
    command
}

/// The folder with PostgreSQL's programs; installs them where that can be done.
pub(crate) fn folder() -> anyhow::Result<PathBuf> {
    if let Some(found) = installed() {
        return Ok(found);
    }
    ensure!(
        geteuid().is_root(),
        "PostgreSQL is needed: install the package postgresql (apt-get install postgresql)"
    );
    for arguments in
        [&["update", "-qq"][..], &["install", "-y", "-qq", "--no-install-recommends", "postgresql"]]
    {
        eprintln!("+ apt-get {}", arguments.join(" "));
        let status =
            Command::new("apt-get").args(arguments).env("DEBIAN_FRONTEND", "noninteractive").status()?;
        ensure!(status.success(), "apt-get {} failed", arguments.join(" "));
    }
    installed().context("PostgreSQL was installed, but its programs are not where Debian puts them")
}

/// Debian keeps versions side by side; the newest counts. Elsewhere they are simply on the path.
fn installed() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = versions
        .map(|entry| entry.path())
        .filter(|version| version.join("bin/initdb").exists())
        .max_by_key(|version| version.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok()));
    newest.map(|version| version.join("bin")).or_else(|| {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).find(|folder| folder.join("initdb").exists())
    })
}
