//! Who is measured: each a process of its own.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use serde_json::Value;
use tokio::net::TcpStream;

use crate::peer::Peer;

/// A process that ends with this value.
pub(crate) struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    pub(crate) fn start(
        program: &Path,
        arguments: &[String],
        folder: Option<&Path>,
    ) -> std::io::Result<Self> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some(folder) = folder {
            command.current_dir(folder);
        }
        command.spawn().map(Self)
    }

    /// How, if it did by itself.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.0.try_wait().unwrap()
    }

    /// Processor time so far.
    pub(crate) fn cpu(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
        let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
        Duration::from_millis(ticks * 10)
    }
}

pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) address: SocketAddr,
    pub(crate) token: Option<String>,
    /// What it calls the server's `echo`.
    pub(crate) tool: String,
    /// Whose processor time counts as the hop's.
    pub(crate) hop: Option<Running>,
    pub(crate) is_peer: bool,
}

pub(crate) fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

pub(crate) fn at(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

async fn is_reachable(address: SocketAddr) -> bool {
    for _ in 0..3000 {
        if TcpStream::connect(address).await.is_ok() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

/// Starts everyone. The server behind all of them ends with the first value.
pub(crate) async fn targets(binary: &Path, folder: &Path, peers: Vec<Peer>) -> (Running, Vec<Target>) {
    let me = std::env::current_exe().unwrap();
    let (upstream, raw) = (free_port(), free_port());
    let server = Running::start(&me, &["upstream".into(), upstream.to_string()], None).unwrap();
    assert!(is_reachable(at(upstream)).await);
    let url = format!("http://127.0.0.1:{upstream}/mcp");
    let proxy = Running::start(&me, &["raw".into(), raw.to_string(), url.clone()], None).unwrap();
    assert!(is_reachable(at(raw)).await);
    let ours = |name: &str, address, hop| Target {
        name: name.to_owned(),
        address,
        token: None,
        tool: "echo".to_owned(),
        hop,
        is_peer: false,
    };
    let mut targets = vec![
        ours("direct", at(upstream), None),
        ours("bare proxy", at(raw), Some(proxy)),
        banksman(binary, folder, &url).await,
    ];
    for (number, peer) in peers.into_iter().enumerate() {
        let name = peer.name.clone();
        match peer.start(&url, &folder.join(format!("peer-{number}"))).await {
            Ok(target) => targets.push(target),
            Err(problem) => eprintln!("{name} is left out: {problem}"),
        }
    }
    (server, targets)
}

async fn banksman(binary: &Path, folder: &Path, url: &str) -> Target {
    let port = free_port();
    let path = |name: &str| folder.join(name).display().to_string();
    std::fs::write(path("mcp.yaml"), format!("version: 1\nupstreams: {{echo: {{url: '{url}'}}}}\n")).unwrap();
    std::fs::write(path("policy.yaml"), "version: 1\ntools: {echo: {risk: low, tier: auto}}\n").unwrap();
    let (data, listen) = (path("data"), format!("127.0.0.1:{port}"));
    let (servers, policy) = (path("mcp.yaml"), path("policy.yaml"));
    let serve = ["serve", "--data", &data, "--listen", &listen, "--mcp", &servers, "--policy", &policy];
    let hop = Running::start(binary, &serve.map(str::to_owned), None).expect("banksman");
    assert!(is_reachable(at(port)).await, "banksman does not listen");
    let issued = Command::new(binary)
        .args(["token", "new", "--kind", "agent", "--name", "bench", "--data", &data, "--json"])
        .output()
        .unwrap();
    let issued: Value = serde_json::from_slice(&issued.stdout).expect("a token");
    let token = issued["token"].as_str().unwrap().to_owned();
    Target {
        name: "banksman".to_owned(),
        address: at(port),
        token: Some(token),
        tool: "echo".to_owned(),
        hop: Some(hop),
        is_peer: false,
    }
}
