//! What the gateway costs: calls of an echo tool directly, through a proxy that only forwards, and through Banksman,
//! which records every call durably before it forwards it. All in one run, in turns, each in a process of its own.
//!
//! `cargo xtask bench gateway` builds and runs it.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a benchmark that cannot go on stops"
)]

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use axum::response::IntoResponse;
use axum::routing::any;
use axum::serve::ListenerExt as _;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::SendRequest;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

const CLIENTS: &[usize] = &[1, 16, 64];
const ROUNDS: usize = 3;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["upstream", port] => block_on(serve(port, Router::new().route("/mcp", any(echo)))),
        ["raw", port, to] => {
            let mut connector = HttpConnector::new();
            connector.set_nodelay(true);
            let client = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(256).build(connector);
            let state = Raw { client, to: (*to).to_owned() };
            block_on(serve(port, Router::new().route("/mcp", any(forward)).with_state(state)));
        }
        options => block_on(measure(options)),
    }
}

fn block_on(work: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap()
        .block_on(work);
}

async fn serve(port: &str, app: Router) {
    let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await.unwrap();
    let listener = listener.tap_io(|socket| drop(socket.set_nodelay(true)));
    axum::serve(listener, app).await.unwrap();
}

/// The trivial server.
async fn echo(method: Method, body: Bytes) -> Response<Body> {
    if method != Method::POST {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let message: Value = serde_json::from_slice(&body).unwrap();
    let Some(id) = message.get("id") else { return StatusCode::ACCEPTED.into_response() };
    let result = match message["method"].as_str().unwrap() {
        "initialize" => {
            json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "echo", "version": "1"}})
        }
        "tools/list" => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
        _ => json!({"content": [{"type": "text", "text": message["params"]["arguments"]["text"]}]}),
    };
    let answer = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
    ([("content-type", "application/json")], answer).into_response()
}

/// The floor: a hop that looks at nothing and records nothing.
#[derive(Clone)]
struct Raw {
    client: Client<HttpConnector, Full<Bytes>>,
    to: String,
}

async fn forward(State(raw): State<Raw>, method: Method, headers: HeaderMap, body: Bytes) -> Response<Body> {
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = method;
    *request.uri_mut() = raw.to.parse().unwrap();
    for (name, value) in &headers {
        if !matches!(name.as_str(), "host" | "content-length" | "connection") {
            request.headers_mut().insert(name.clone(), value.clone());
        }
    }
    match raw.client.request(request).await {
        Ok(response) => response.map(Body::new),
        Err(_) => StatusCode::BAD_GATEWAY.into_response(),
    }
}

/// A process that ends with this value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    /// Processor time so far.
    fn cpu(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
        let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
        Duration::from_millis(ticks * 10)
    }
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn start(program: &PathBuf, arguments: &[String]) -> Running {
    let child = Command::new(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    Running(child.unwrap_or_else(|error| panic!("{}: {error}", program.display())))
}

async fn reachable(address: SocketAddr) {
    for _ in 0..1000 {
        if TcpStream::connect(address).await.is_ok() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("nobody listens on {address}");
}

struct Target {
    name: &'static str,
    address: SocketAddr,
    token: Option<String>,
    /// Whose processor time counts as the hop's.
    hop: Option<Running>,
}

async fn measure(options: &[&str]) {
    let mut calls = 20_000usize;
    let mut binary = std::env::current_exe().unwrap().parent().unwrap().parent().unwrap().join("banksman");
    for pair in options.chunks(2) {
        match pair {
            ["--calls", count] => calls = count.parse().unwrap(),
            ["--binary", path] => binary = PathBuf::from(path),
            other => panic!("unknown option {other:?}"),
        }
    }
    let me = std::env::current_exe().unwrap();
    let at = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
    let (upstream, raw, gateway) = (free_port(), free_port(), free_port());
    let _upstream = start(&me, &["upstream".into(), upstream.to_string()]);
    let url = format!("http://127.0.0.1:{upstream}/mcp");
    let proxy = start(&me, &["raw".into(), raw.to_string(), url.clone()]);
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("mcp.yaml"), format!("version: 1\nupstreams: {{echo: {{url: '{url}'}}}}\n")).unwrap();
    std::fs::write(path("policy.yaml"), "version: 1\ntools: {echo: {risk: low, tier: auto}}\n").unwrap();
    let data = path("data");
    let serve = [
        "serve",
        "--data",
        &data,
        "--listen",
        &format!("127.0.0.1:{gateway}"),
        "--mcp",
        &path("mcp.yaml"),
        "--policy",
        &path("policy.yaml"),
    ];
    let banksman = start(&binary, &serve.map(str::to_owned));
    for port in [upstream, raw, gateway] {
        reachable(at(port)).await;
    }
    let issued = Command::new(&binary)
        .args(["token", "new", "--kind", "agent", "--name", "bench", "--data", &data, "--json"])
        .output()
        .unwrap();
    let issued: Value = serde_json::from_slice(&issued.stdout).expect("a token");
    let targets = [
        Target { name: "direct", address: at(upstream), token: None, hop: None },
        Target { name: "bare proxy", address: at(raw), token: None, hop: Some(proxy) },
        Target {
            name: "banksman",
            address: at(gateway),
            token: Some(issued["token"].as_str().unwrap().to_owned()),
            hop: Some(banksman),
        },
    ];
    println!("| clients | target | calls/s | p50 ms | p99 ms | hop's CPU, us a call |");
    println!("|---|---|---|---|---|---|");
    for clients in CLIENTS {
        let count = if *clients == 1 { calls / 10 } else { calls };
        let mut results: Vec<Vec<Figures>> = targets.iter().map(|_| Vec::new()).collect();
        // In turns, so that a busy moment of the machine meets all of them.
        for _ in 0..ROUNDS {
            for (target, results) in targets.iter().zip(&mut results) {
                results.push(load(target, *clients, count).await);
            }
        }
        for (target, mut rounds) in targets.iter().zip(results) {
            rounds.sort_by(|one, other| one.per_second.total_cmp(&other.per_second));
            let Figures { per_second, p50, p99, cpu } = rounds[ROUNDS / 2];
            let cpu = if target.hop.is_some() { format!("{cpu:.0}") } else { String::new() };
            println!("| {clients} | {} | {per_second:.0} | {p50:.3} | {p99:.3} | {cpu} |", target.name);
        }
    }
}

#[derive(Clone, Copy)]
struct Figures {
    per_second: f64,
    p50: f64,
    p99: f64,
    cpu: f64,
}

async fn load(target: &Target, clients: usize, calls: usize) -> Figures {
    let mut workers = Vec::new();
    for worker in 0..clients {
        workers.push(Worker::open(target, worker).await);
    }
    let cpu = target.hop.as_ref().map(Running::cpu);
    let begin = Instant::now();
    let each = calls / clients;
    let running: Vec<_> = workers.into_iter().map(|worker| tokio::spawn(worker.run(each))).collect();
    let mut times = Vec::with_capacity(calls);
    for worker in running {
        times.extend(worker.await.unwrap());
    }
    let elapsed = begin.elapsed().as_secs_f64();
    let used = target.hop.as_ref().map(Running::cpu).unwrap_or_default() - cpu.unwrap_or_default();
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() as f64 * share) as usize).min(times.len() - 1)];
    Figures {
        per_second: times.len() as f64 / elapsed,
        p50: at(0.5),
        p99: at(0.99),
        cpu: used.as_secs_f64() * 1e6 / times.len() as f64,
    }
}

/// A client with one connection and one session.
struct Worker {
    number: usize,
    sender: SendRequest<Full<Bytes>>,
    headers: HeaderMap,
}

impl Worker {
    async fn open(target: &Target, number: usize) -> Self {
        let socket = TcpStream::connect(target.address).await.unwrap();
        socket.set_nodelay(true).unwrap();
        let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(socket)).await.unwrap();
        tokio::spawn(connection);
        let mut headers = HeaderMap::new();
        headers.insert("host", target.address.to_string().parse().unwrap());
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        headers.insert("accept", HeaderValue::from_static("application/json, text/event-stream"));
        if let Some(token) = &target.token {
            headers.insert("authorization", format!("Bearer {token}").parse().unwrap());
        }
        let mut worker = Self { number, sender, headers };
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}});
        let response = worker.send(hello.to_string()).await;
        if let Some(session) = response.headers().get("mcp-session-id").cloned() {
            worker.headers.insert("mcp-session-id", session);
        }
        response.into_body().collect().await.unwrap();
        worker
    }

    async fn send(&mut self, body: String) -> Response<hyper::body::Incoming> {
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = "/mcp".parse().unwrap();
        *request.headers_mut() = self.headers.clone();
        self.sender.ready().await.unwrap();
        self.sender.send_request(request).await.unwrap()
    }

    /// Milliseconds for each call; an answer that is not the echo ends the run.
    async fn run(mut self, calls: usize) -> Vec<f64> {
        let mut times = Vec::with_capacity(calls);
        for call in 0..calls {
            let text = format!("{}-{call}", self.number);
            let begin = Instant::now();
            let body = format!(
                r#"{{"jsonrpc":"2.0","id":{call},"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"{text}"}}}}}}"#
            );
            let response = self.send(body).await;
            let answer = response.into_body().collect().await.unwrap().to_bytes();
            times.push(begin.elapsed().as_secs_f64() * 1e3);
            assert!(answer.windows(text.len()).any(|part| part == text.as_bytes()), "{answer:?}");
        }
        times
    }
}
