//! Who is measured: each a process of its own.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use tokio::net::TcpStream;

/// Somebody else's hop, as `cargo xtask bench gateway` tells of it. In its words, `{port}` is where it is to listen,
/// `{url}` the server behind it, and `{program}` the same server as a program.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Peer {
    name: String,
    command: Vec<String>,
}

/// A process that ends with this value.
pub(crate) struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
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
    /// Whose processor time counts as the hop's.
    pub(crate) hop: Option<Running>,
    pub(crate) is_peer: bool,
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn at(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

fn start(program: &Path, arguments: &[String]) -> Option<Running> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        Ok(child) => Some(Running(child)),
        Err(error) => {
            eprintln!("{}: {error}", program.display());
            None
        }
    }
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
    let server = start(&me, &["upstream".into(), upstream.to_string()]).unwrap();
    assert!(is_reachable(at(upstream)).await);
    let url = format!("http://127.0.0.1:{upstream}/mcp");
    let proxy = start(&me, &["raw".into(), raw.to_string(), url.clone()]).unwrap();
    assert!(is_reachable(at(raw)).await);
    let ours = |name: &str, address, hop| Target {
        name: name.to_owned(),
        address,
        token: None,
        hop,
        is_peer: false,
    };
    let mut targets = vec![
        ours("direct", at(upstream), None),
        ours("bare proxy", at(raw), Some(proxy)),
        banksman(binary, folder, &url).await,
    ];
    for peer in peers {
        let port = free_port();
        let program = format!("{} upstream-stdio", me.display());
        let filled = |word: &String| {
            word.replace("{port}", &port.to_string()).replace("{url}", &url).replace("{program}", &program)
        };
        // A word that is the program alone stands for its words.
        let words: Vec<String> = peer
            .command
            .iter()
            .flat_map(|word| match word.as_str() {
                "{program...}" => vec![me.display().to_string(), "upstream-stdio".to_owned()],
                _ => vec![filled(word)],
            })
            .collect();
        let Some((first, rest)) = words.split_first() else { continue };
        let Some(hop) = start(Path::new(first), rest) else { continue };
        if is_reachable(at(port)).await {
            let Peer { name, .. } = peer;
            targets.push(Target { name, address: at(port), token: None, hop: Some(hop), is_peer: true });
        } else {
            eprintln!("{} is left out: it does not listen", peer.name);
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
    let hop = start(binary, &serve.map(str::to_owned)).expect("banksman");
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
        hop: Some(hop),
        is_peer: false,
    }
}
