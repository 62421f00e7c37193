//! The real binary, started on a fresh folder for a benchmark: one node, or several over one database.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

/// The nodes of one installation, and who may ask them.
pub(crate) struct House {
    binary: PathBuf,
    nodes: Vec<Node>,
    database: Option<String>,
    pub(crate) agent: String,
    pub(crate) reviewer: String,
}

/// Where to ask, and as whom.
pub(crate) struct Doors<'a> {
    pub(crate) addresses: Vec<&'a str>,
    pub(crate) agent: &'a str,
    pub(crate) reviewer: &'a str,
}

struct Node {
    child: Child,
    address: String,
    data: PathBuf,
}

/// Builds the binary as users run it, and says where it is.
pub(crate) fn build() -> anyhow::Result<PathBuf> {
    crate::test::cargo(&["build", "--release", "--package", "banksman"])?;
    Ok(crate::test::target().join("release/banksman"))
}

impl House {
    /// Starts as many nodes as there are folders. Several of them need a database to share.
    pub(crate) fn start(
        binary: &Path,
        folders: Vec<PathBuf>,
        database: Option<String>,
    ) -> anyhow::Result<Self> {
        let mut house = Self {
            binary: binary.to_owned(),
            nodes: Vec::with_capacity(folders.len()),
            database,
            agent: String::new(),
            reviewer: String::new(),
        };
        for data in folders {
            if let Some(first) = house.nodes.first() {
                // One house signs with one key.
                std::fs::create_dir_all(&data)?;
                std::fs::copy(first.data.join("signing.key"), data.join("signing.key"))?;
            }
            let node = house.start_node(data)?;
            house.nodes.push(node);
        }
        house.agent = house.token("agent", "bench-agent")?;
        house.reviewer = house.token("reviewer", "bench-reviewer")?;
        Ok(house)
    }

    fn start_node(&self, data: PathBuf) -> anyhow::Result<Node> {
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let address = format!("127.0.0.1:{port}");
        let child = self
            .command(&data)
            .args(["serve", "--listen", &address])
            .stdout(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}", self.binary.display()))?;
        let mut node = Node { child, address, data };
        let begin = Instant::now();
        while !is_ready(&node.address) {
            if let Some(status) = node.child.try_wait()? {
                bail!("the server ended: {status}");
            }
            if begin.elapsed() > Duration::from_secs(10) {
                bail!("the server is not ready");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(node)
    }

    /// The binary, told where the data is.
    fn command(&self, data: &Path) -> Command {
        let mut command = Command::new(&self.binary);
        command.env("BANKSMAN_DATA", data).env("BANKSMAN_LOG", "error");
        match &self.database {
            Some(url) => command.env("BANKSMAN_DATABASE", url),
            None => command.env_remove("BANKSMAN_DATABASE"),
        };
        command
    }

    fn token(&self, kind: &str, name: &str) -> anyhow::Result<String> {
        self.told(&["token", "new", "--json", "--kind", kind, "--name", name], "token")
    }

    /// What signs in a person who was not there before, with a browser, once.
    pub(crate) fn sign_in_code(&self, name: &str) -> anyhow::Result<String> {
        self.told(&["user", "add", name, "--admin", "--json"], "link")?;
        let link = self.told(&["user", "sign-in-link", name, "--json"], "link")?;
        link.split_once("code=").map(|(_, code)| code.to_owned()).context("no code in the link")
    }

    /// A member of what a command prints.
    fn told(&self, command: &[&str], member: &str) -> anyhow::Result<String> {
        let node = self.nodes.first().context("a house without nodes")?;
        let output = self.command(&node.data).args(command).output()?;
        let document: serde_json::Value = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)))?;
        document
            .get(member)
            .and_then(|value| value.as_str())
            .map(str::to_owned)
            .with_context(|| format!("no {member}"))
    }

    /// The tokens of `count` further agents, because one agent may not hold as many actions as some want to see.
    pub(crate) fn agents(&self, count: usize) -> anyhow::Result<Vec<String>> {
        (0..count).map(|number| self.token("agent", &format!("bench-agent-{number}"))).collect()
    }

    /// The tokens of `count` different reviewers.
    pub(crate) fn reviewers(&self, count: usize) -> anyhow::Result<Vec<String>> {
        (0..count).map(|number| self.token("reviewer", &format!("bench-reviewer-{number}"))).collect()
    }

    /// Where the nodes listen.
    pub(crate) fn addresses(&self) -> Vec<&str> {
        self.nodes.iter().map(|node| node.address.as_str()).collect()
    }

    pub(crate) fn doors(&self) -> Doors<'_> {
        Doors { addresses: self.addresses(), agent: &self.agent, reviewer: &self.reviewer }
    }

    /// Processor time that all nodes used so far, in seconds.
    pub(crate) fn cpu(&self) -> anyhow::Result<f64> {
        self.nodes.iter().map(|node| cpu_of(&node.child.id().to_string())).sum()
    }

    /// Resident memory of all nodes in bytes, without pages that belong to files.
    pub(crate) fn memory(&self) -> anyhow::Result<u64> {
        self.nodes.iter().map(|node| node.memory()).sum()
    }
}

impl Node {
    fn memory(&self) -> anyhow::Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find(|line| line.starts_with("RssAnon:")).context("no RssAnon")?;
        let kilobytes: u64 = line.split_whitespace().nth(1).context("no number")?.parse()?;
        Ok(kilobytes * 1024)
    }
}

/// User and system time of a process, in seconds. `process` is its number, or `self`.
pub(crate) fn cpu_of(process: &str) -> anyhow::Result<f64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    let ticks: u64 = stat_numbers(&text).skip(11).take(2).sum();
    #[expect(clippy::cast_precision_loss, reason = "a time")]
    Ok(ticks as f64 / 100.0)
}

/// User and system time of all children of a process, in seconds.
pub(crate) fn cpu_of_children(parent: u32) -> anyhow::Result<f64> {
    let mut sum = 0.0;
    for entry in std::fs::read_dir("/proc")?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        // Processes come and go while we look.
        let Ok(text) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        if name.parse::<u32>().is_ok() && stat_numbers(&text).nth(1) == Some(u64::from(parent)) {
            sum += cpu_of(&name).unwrap_or(0.0);
        }
    }
    Ok(sum)
}

/// What follows the name in a line of `/proc/N/stat`: the name, in parentheses, may hold anything. The state, which is a
/// letter, counts as 0.
fn stat_numbers(text: &str) -> impl Iterator<Item = u64> {
    let rest = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    rest.split_whitespace().map(|number| number.parse().unwrap_or(0))
}

/// Not merely whether it listens: it does so before there is a database to issue tokens in.
fn is_ready(address: &str) -> bool {
    let ask = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(b"GET /ready HTTP/1.1\r\nhost: localhost\r\n\r\n")?;
        let mut head = [0; 12];
        stream.read_exact(&mut head)?;
        Ok(head.ends_with(b" 200"))
    };
    ask().unwrap_or(false)
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
