//! A PostgreSQL of our own: temporary, unprivileged, on a unix socket, and not spared.

use std::fs::{self, File};
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::programs::{self, Unprivileged, as_user};

/// How long the server may take to start, also after a crash.
const START: Duration = Duration::from_secs(60);

/// A running server with everything it needs. It ends, and is removed, with this value; if we are killed, it ends too.
pub struct Cluster {
    folder: TempDir,
    data: PathBuf,
    programs: PathBuf,
    user: Option<Unprivileged>,
    durability: Durability,
    server: Child,
}

/// For every server of ours. One that recovers from the crash of a connection first waits for all who have connected and
/// said nothing, as happens on a silent line; usually it does so for a minute, in which nobody is served.
const SETTINGS: [&str; 4] = [
    "listen_addresses=",
    "max_connections=400",
    "authentication_timeout=3s",
    // How soon one that follows another asks again for what it missed.
    "wal_retrieve_retry_interval=100ms",
];

/// Whether the server has to survive a power cut.
#[derive(Clone, Copy)]
enum Durability {
    /// What a test breaks is the process or the connection, never the power: fsync would only cost time.
    Forgetful,
    /// As it is used, and so what a benchmark measures.
    Durable,
}

impl Cluster {
    /// Makes one and starts it. PostgreSQL is installed if it is missing and that can be done.
    ///
    /// # Errors
    /// If it cannot be installed or started.
    pub fn start() -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("banksman-pg-").tempdir()?;
        let data = folder.path().join("data");
        Self::start_in(folder, data, Durability::Forgetful)
    }

    /// The same, with fsync and more memory: as it is used, for benchmarks.
    ///
    /// # Errors
    /// As [`Cluster::start`].
    pub fn start_durable() -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("banksman-pg-").tempdir()?;
        let data = folder.path().join("data");
        Self::start_in(folder, data, Durability::Durable)
    }

    /// The same, with its data in this empty folder, such as a small disk. Its sockets are elsewhere.
    ///
    /// # Errors
    /// As [`Cluster::start`].
    pub fn start_with_data(data: PathBuf) -> anyhow::Result<Self> {
        Self::start_in(
            tempfile::Builder::new().prefix("banksman-pg-").tempdir()?,
            data,
            Durability::Forgetful,
        )
    }

    fn start_in(folder: TempDir, data: PathBuf, durability: Durability) -> anyhow::Result<Self> {
        let programs = programs::folder()?;
        let user = Unprivileged::find()?;
        fs::create_dir_all(&data)?;
        if let Some(user) = &user {
            chown(folder.path(), Some(user.uid), Some(user.gid))?;
            chown(&data, Some(user.uid), Some(user.gid))?;
        }
        let mut initdb = as_user(user.as_ref(), &programs.join("initdb"));
        initdb.args([
            "--username=banksman",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
            "-D",
        ]);
        done(initdb.arg(&data).current_dir(folder.path()))?;
        let server = spawn(folder.path(), &data, &programs, user.as_ref(), durability)?;
        let mut cluster = Self { folder, data, programs, user, durability, server };
        cluster.wait()?;
        Ok(cluster)
    }

    fn wait(&mut self) -> anyhow::Result<()> {
        let begin = Instant::now();
        while !self.is_ready()? {
            if self.server.try_wait()?.is_some() || begin.elapsed() > START {
                bail!("PostgreSQL did not start:\n{}", self.log());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    fn is_ready(&self) -> anyhow::Result<bool> {
        let mut ready = Command::new(self.programs.join("pg_isready"));
        Ok(ready.arg("-q").arg("-h").arg(self.folder.path()).status()?.success())
    }

    /// What it has said.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Its maintenance database.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_of("postgres")
    }

    /// One of its databases.
    #[must_use]
    pub fn url_of(&self, database: &str) -> String {
        let folder = self.folder.path().to_string_lossy().replace('/', "%2F");
        format!("postgres://banksman@{folder}/{database}")
    }

    /// The same for programs that use libpq.
    #[must_use]
    pub fn libpq_url_of(&self, database: &str) -> String {
        format!("postgresql://banksman@/{database}?host={}", self.folder.path().display())
    }

    /// The process that all its others are children of.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.server.id()
    }

    /// `kill -9` of the server and every process of it at once, as when the machine's power fails but its disk cache
    /// does not.
    ///
    /// # Errors
    /// If it cannot be waited for.
    pub fn crash(&mut self) -> anyhow::Result<()> {
        // The postmaster first: it would take the death of a child for a crash and start over.
        let children = children_of(self.server.id());
        self.server.kill()?;
        self.server.wait()?;
        for child in children {
            let _ = kill_process(child, Signal::KILL);
        }
        Ok(())
    }

    /// Starts again what has crashed; it recovers from its log. To be called by a thread that lives as long as the
    /// server should: it ends with its parent.
    ///
    /// # Errors
    /// If it does not come up.
    pub fn start_again(&mut self) -> anyhow::Result<()> {
        let begin = Instant::now();
        loop {
            self.server =
                spawn(self.folder.path(), &self.data, &self.programs, self.user.as_ref(), self.durability)?;
            match self.wait() {
                Ok(()) => return Ok(()),
                // What was killed may take a moment to let go of the shared memory.
                Err(_) if begin.elapsed() < START && self.server.try_wait()?.is_some() => {
                    std::thread::sleep(Duration::from_millis(50));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Another server that follows this one. From now on this one answers no commit that is not safe there as well.
    ///
    /// # Errors
    /// If it cannot be made, or does not follow.
    pub fn follow(&self) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("banksman-pg-").tempdir()?;
        if let Some(user) = &self.user {
            chown(folder.path(), Some(user.uid), Some(user.gid))?;
        }
        let data = folder.path().join("data");
        let mut copy = self.program("pg_basebackup")?;
        copy.args(["--username=banksman", "--checkpoint=fast", "--no-sync", "--write-recovery-conf", "-h"]);
        done(copy.arg(self.folder.path()).arg("-D").arg(&data))?;
        let user = Unprivileged::find()?;
        let server = spawn(folder.path(), &data, &self.programs, user.as_ref(), self.durability)?;
        let programs = self.programs.clone();
        let mut standby = Self { folder, data, programs, user, durability: self.durability, server };
        standby.wait()?;
        self.ask("ALTER SYSTEM SET synchronous_standby_names = '*'")?;
        self.ask("SELECT pg_reload_conf()")?;
        let begin = Instant::now();
        while self.ask("SELECT sync_state FROM pg_stat_replication")? != "sync" {
            ensure!(begin.elapsed() < START, "nobody follows:\n{}", standby.log());
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(standby)
    }

    /// Waits until the one that follows this one has all that was answered so far: after a crash it needs a moment.
    ///
    /// # Errors
    /// If it does not come to that.
    pub fn await_follower(&self) -> anyhow::Result<()> {
        let place = self.ask("SELECT pg_current_wal_flush_lsn()")?;
        let follows = format!(
            "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync' AND flush_lsn >= '{place}'"
        );
        let begin = Instant::now();
        while self.ask(&follows)? != "1" {
            ensure!(begin.elapsed() < START, "nobody follows:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Makes one that followed another the one that is written to.
    ///
    /// # Errors
    /// If it did not follow, or does not take over.
    pub fn promote(&self) -> anyhow::Result<()> {
        let taken = self.ask("SELECT pg_promote()")?;
        ensure!(taken == "t", "it does not take over:\n{}", self.log());
        Ok(())
    }

    /// One database of this server, and of another that takes its place if it has to.
    #[must_use]
    pub fn url_with(&self, standby: &Self, database: &str) -> String {
        let [one, other] =
            [self, standby].map(|cluster| cluster.folder.path().to_string_lossy().replace('/', "%2F"));
        format!("postgres://banksman@{one},{other}/{database}")
    }

    /// The first column of the first row that the server answers with.
    fn ask(&self, sql: &str) -> anyhow::Result<String> {
        let mut psql = self.program("psql")?;
        psql.args(["--username=banksman", "--no-psqlrc", "-qAtX", "--dbname=postgres", "-c", sql, "-h"]);
        Ok(done(psql.arg(self.folder.path()))?.trim().to_owned())
    }

    fn program(&self, name: &str) -> anyhow::Result<Command> {
        let program = self.programs.join(name);
        ensure!(program.exists(), "PostgreSQL's {name} is not beside its server");
        let mut command = as_user(self.user.as_ref(), &program);
        command.current_dir(self.folder.path());
        Ok(command)
    }

    /// `kill -9` of one process that serves a connection, chosen by a number. The server takes that for a crash: it
    /// ends all others and recovers by itself. `false` if there is no connection.
    pub fn crash_connection(&self, choice: u64) -> bool {
        let serving: Vec<Pid> = children_of(self.server.id())
            .into_iter()
            .filter(|child| command_line(*child).starts_with("postgres: banksman "))
            .collect();
        let count = u64::try_from(serving.len()).unwrap_or(u64::MAX).max(1);
        let chosen = usize::try_from(choice % count).ok().and_then(|place| serving.get(place));
        chosen.is_some_and(|child| kill_process(*child, Signal::KILL).is_ok())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // At once, without writing anything back: nobody will read it. One that has ended by itself is not signalled.
        if matches!(self.server.try_wait(), Ok(None)) {
            let _ = kill_process(Pid::from_child(&self.server), Signal::QUIT);
        }
        let _ = self.server.wait();
    }
}

fn spawn(
    folder: &Path,
    data: &Path,
    programs: &Path,
    user: Option<&Unprivileged>,
    durability: Durability,
) -> anyhow::Result<Child> {
    let log = File::options().create(true).append(true).open(folder.join("log"))?;
    let mut postgres = as_user(user, &programs.join("postgres"));
    postgres.arg("-D").arg(data).arg("-k").arg(folder);
    let settings: &[&str] = match durability {
        // Tests ask how much each statement reads. With fewer places, the statements of one test would be forgotten for those of
        // others, and it would seem to read less and less.
        Durability::Forgetful => &[
            "fsync=off",
            "shared_buffers=64MB",
            "shared_preload_libraries=pg_stat_statements",
            "pg_stat_statements.max=50000",
        ],
        Durability::Durable => &["fsync=on", "synchronous_commit=on", "shared_buffers=256MB"],
    };
    for setting in [&SETTINGS, settings].concat() {
        postgres.args(["-c", setting]);
    }
    postgres.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).current_dir(folder);
    Ok(postgres.spawn()?)
}

/// What a program says that has to succeed.
fn done(command: &mut Command) -> anyhow::Result<String> {
    let output = command.stdin(Stdio::null()).output()?;
    ensure!(output.status.success(), "{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The processes that this one has started and that still run.
fn children_of(parent: u32) -> Vec<Pid> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter(|process| parent_of(*process) == Some(parent))
        .filter_map(Pid::from_raw)
        .collect()
}

/// The fourth field of `stat`; the second is a name in parentheses that may hold anything.
fn parent_of(process: i32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

fn command_line(process: Pid) -> String {
    fs::read_to_string(format!("/proc/{}/cmdline", process.as_raw_nonzero())).unwrap_or_default()
}
