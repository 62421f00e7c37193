//! A PostgreSQL of our own for as long as a command runs: temporary, unprivileged, on a unix socket.

use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use rustix::process::{Pid, Signal, geteuid, kill_process};
use tempfile::TempDir;

/// Where tests look for the database server. Each makes a database of its own there.
pub(crate) const VARIABLE: &str = "BANKSMAN_TEST_POSTGRES";

/// How long the server may take to start.
const START: Duration = Duration::from_secs(60);

/// A running server with everything it needs. It ends, and is removed, with this value; if we are killed, it ends too.
pub(crate) struct Cluster {
    folder: TempDir,
    server: Child,
}

/// `cargo xtask postgres COMMAND...`: runs a command beside a server of its own.
pub(crate) fn run(command: &[&str]) -> anyhow::Result<()> {
    let [program, arguments @ ..] = command else {
        bail!("which command? For example: cargo xtask postgres cargo nextest run -p banksman-store");
    };
    let cluster = Cluster::start(Durability::Forgetful)?;
    eprintln!("+ {VARIABLE}={} {}", cluster.url(), command.join(" "));
    let status = Command::new(program).args(arguments).env(VARIABLE, cluster.url()).status();
    ensure!(status.with_context(|| format!("cannot run {program}"))?.success(), "{program} failed");
    Ok(())
}

/// Whether the server has to survive a power cut.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// What a test breaks is the process or the connection, never the power: fsync would only cost time.
    Forgetful,
    /// As it is used, and so what a benchmark measures.
    Durable,
}

impl Cluster {
    pub(crate) fn start(durability: Durability) -> anyhow::Result<Self> {
        let programs = programs()?;
        let folder = tempfile::Builder::new().prefix("banksman-pg-").tempdir()?;
        let user = Unprivileged::find()?;
        if let Some(user) = &user {
            chown(folder.path(), Some(user.uid), Some(user.gid))?;
        }
        let data = folder.path().join("data");
        let mut initdb = as_user(user.as_ref(), &programs.join("initdb"));
        initdb.args([
            "--username=banksman",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
            "-D",
        ]);
        let output = initdb.arg(&data).current_dir(folder.path()).output()?;
        ensure!(output.status.success(), "initdb failed: {}", String::from_utf8_lossy(&output.stderr));
        let log = std::fs::File::create(folder.path().join("log"))?;
        let mut postgres = as_user(user.as_ref(), &programs.join("postgres"));
        postgres.arg("-D").arg(&data).arg("-k").arg(folder.path());
        let settings: &[&str] = match durability {
            Durability::Forgetful => &["fsync=off", "shared_buffers=64MB"],
            Durability::Durable => &["fsync=on", "synchronous_commit=on", "shared_buffers=256MB"],
        };
        for setting in [&["listen_addresses=", "max_connections=400"], settings].concat() {
            postgres.args(["-c", setting]);
        }
        postgres.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).current_dir(folder.path());
        let mut cluster = Self { server: postgres.spawn()?, folder };
        cluster.wait(&programs)?;
        Ok(cluster)
    }

    fn wait(&mut self, programs: &Path) -> anyhow::Result<()> {
        let begin = Instant::now();
        loop {
            let mut ready = Command::new(programs.join("pg_isready"));
            if ready.arg("-q").arg("-h").arg(self.folder.path()).status()?.success() {
                return Ok(());
            }
            if self.server.try_wait()?.is_some() || begin.elapsed() > START {
                let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
                bail!("PostgreSQL did not start:\n{log}");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub(crate) fn url(&self) -> String {
        self.url_of("postgres")
    }

    /// The address of one of its databases.
    pub(crate) fn url_of(&self, database: &str) -> String {
        let folder = self.folder.path().to_string_lossy().replace('/', "%2F");
        format!("postgres://banksman@{folder}/{database}")
    }

    /// The same for programs that use libpq.
    pub(crate) fn libpq_url_of(&self, database: &str) -> String {
        format!("postgresql://banksman@/{database}?host={}", self.folder.path().display())
    }

    /// The process that all its others are children of.
    pub(crate) fn pid(&self) -> u32 {
        self.server.id()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // At once, without writing anything back: nobody will read it.
        if let Some(pid) = i32::try_from(self.server.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::QUIT);
        }
        let _ = self.server.wait();
    }
}

/// PostgreSQL refuses to run as root.
struct Unprivileged {
    uid: u32,
    gid: u32,
}

impl Unprivileged {
    /// Nobody else is needed if we are not root ourselves.
    fn find() -> anyhow::Result<Option<Self>> {
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
fn as_user(user: Option<&Unprivileged>, program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "QUIT"]);
    if let Some(Unprivileged { uid, gid }) = user {
        command.arg(format!("--reuid={uid}")).arg(format!("--regid={gid}")).arg("--clear-groups");
    }
    command.arg(program).env("LC_ALL", "C");
    command
}

/// The folder with PostgreSQL's programs; installs them where that can be done.
fn programs() -> anyhow::Result<PathBuf> {
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
