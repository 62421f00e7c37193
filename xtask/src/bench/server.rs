//! The real binary, started on a fresh folder for a benchmark.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
    pub(crate) agent: String,
    pub(crate) reviewer: String,
}

/// Builds the binary as users run it, and says where it is.
pub(crate) fn build() -> anyhow::Result<PathBuf> {
    crate::test::cargo(&["build", "--release", "--package", "banksman"])?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    Ok(target.join("release/banksman"))
}

impl Server {
    pub(crate) fn start(binary: &Path, data: &Path) -> anyhow::Result<Self> {
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let address = format!("127.0.0.1:{port}");
        let mut child = Command::new(binary)
            .args(["serve", "--listen", &address, "--data"])
            .arg(data)
            .env("BANKSMAN_LOG", "error")
            .stdout(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}", binary.display()))?;
        let begin = Instant::now();
        while !is_ready(&address) {
            if let Some(status) = child.try_wait()? {
                bail!("the server ended: {status}");
            }
            if begin.elapsed() > Duration::from_secs(10) {
                bail!("the server is not ready");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let mut server = Self { child, address, agent: String::new(), reviewer: String::new() };
        server.agent = token(binary, data, "agent", "bench-agent")?;
        server.reviewer = token(binary, data, "reviewer", "bench-reviewer")?;
        Ok(server)
    }

    /// The tokens of `count` further agents, because one agent may not hold as many actions as some want to see.
    pub(crate) fn agents(&self, binary: &Path, data: &Path, count: usize) -> anyhow::Result<Vec<String>> {
        (0..count).map(|number| token(binary, data, "agent", &format!("bench-agent-{number}"))).collect()
    }

    /// Processor time used so far, in seconds.
    pub(crate) fn cpu(&self) -> anyhow::Result<f64> {
        cpu_of(&format!("/proc/{}/stat", self.child.id()))
    }

    /// Resident memory in bytes, without pages that belong to files.
    pub(crate) fn memory(&self) -> anyhow::Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find(|line| line.starts_with("RssAnon:")).context("no RssAnon")?;
        let kilobytes: u64 = line.split_whitespace().nth(1).context("no number")?.parse()?;
        Ok(kilobytes * 1024)
    }
}

/// User and system time of a process, in seconds.
pub(crate) fn cpu_of(stat: &str) -> anyhow::Result<f64> {
    let text = std::fs::read_to_string(stat)?;
    // The name, in parentheses, may hold anything; what follows it is plain numbers.
    let (_, numbers) = text.rsplit_once(')').context("no name")?;
    let ticks: u64 =
        numbers.split_whitespace().skip(11).take(2).filter_map(|number| number.parse::<u64>().ok()).sum();
    #[expect(clippy::cast_precision_loss, reason = "a time")]
    Ok(ticks as f64 / 100.0)
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

fn token(binary: &Path, data: &Path, kind: &str, name: &str) -> anyhow::Result<String> {
    let output = Command::new(binary)
        .args(["token", "new", "--json", "--kind", kind, "--name", name, "--data"])
        .arg(data)
        .output()?;
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).context("token new --json")?;
    document.get("token").and_then(|token| token.as_str()).map(str::to_owned).context("no token")
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
