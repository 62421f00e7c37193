//! Clients in a closed loop, each with one connection and one session.

use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::TcpStream;

use crate::target::{Running, Target};

/// Whoever takes longer for one call is not measured.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Clone, Copy)]
pub(crate) struct Figures {
    pub(crate) per_second: f64,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) cpu: f64,
}

/// The round in the middle, by calls a second.
pub(crate) fn median(mut rounds: Vec<Figures>) -> Option<Figures> {
    rounds.sort_by(|one, other| one.per_second.total_cmp(&other.per_second));
    rounds.get(rounds.len() / 2).copied()
}

/// Whether a call comes through.
pub(crate) async fn try_once(target: &Target) -> Result<(), String> {
    let mut worker = Worker::open(target, 0).await?;
    worker.call(0).await?;
    worker.close().await;
    Ok(())
}

/// As many calls, or as many as are begun within `longest`; at least one by each client.
pub(crate) async fn run(
    target: &Target,
    clients: usize,
    calls: usize,
    longest: Option<Duration>,
) -> Result<Figures, String> {
    let mut workers = Vec::new();
    for number in 0..clients {
        workers.push(Worker::open(target, number).await?);
    }
    let cpu = target.hop.as_ref().map(Running::cpu);
    let begin = Instant::now();
    let until = longest.map(|longest| begin + longest);
    let each = calls / clients;
    let running: Vec<_> = workers.into_iter().map(|worker| tokio::spawn(worker.run(each, until))).collect();
    let mut times = Vec::with_capacity(calls);
    let mut done = Vec::new();
    for worker in running {
        let (worker, measured) = worker.await.map_err(|error| error.to_string())??;
        times.extend(measured);
        done.push(worker);
    }
    let elapsed = begin.elapsed().as_secs_f64();
    let used = target.hop.as_ref().map(Running::cpu).unwrap_or_default() - cpu.unwrap_or_default();
    for worker in done {
        worker.close().await;
    }
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() as f64 * share) as usize).min(times.len() - 1)];
    Ok(Figures {
        per_second: times.len() as f64 / elapsed,
        p50: at(0.5),
        p99: at(0.99),
        cpu: used.as_secs_f64() * 1e6 / times.len() as f64,
    })
}

struct Worker {
    number: usize,
    tool: String,
    sender: SendRequest<Full<Bytes>>,
    headers: HeaderMap,
}

impl Worker {
    async fn open(target: &Target, number: usize) -> Result<Self, String> {
        let socket = TcpStream::connect(target.address).await.map_err(|error| error.to_string())?;
        socket.set_nodelay(true).unwrap();
        let handshake = hyper::client::conn::http1::handshake(TokioIo::new(socket)).await;
        let (sender, connection) = handshake.map_err(|error| error.to_string())?;
        tokio::spawn(connection);
        let mut headers = HeaderMap::new();
        headers.insert("host", target.address.to_string().parse().unwrap());
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        headers.insert("accept", HeaderValue::from_static("application/json, text/event-stream"));
        if let Some(token) = &target.token {
            headers.insert("authorization", format!("Bearer {token}").parse().unwrap());
        }
        let mut worker = Self { number, tool: target.tool.clone(), sender, headers };
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}});
        let (headers, _) = worker.send(Method::POST, hello.to_string()).await?;
        if let Some(session) = headers.get("mcp-session-id").cloned() {
            worker.headers.insert("mcp-session-id", session);
        }
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        worker.send(Method::POST, ready.to_string()).await?;
        Ok(worker)
    }

    async fn send(&mut self, method: Method, body: String) -> Result<(HeaderMap, Bytes), String> {
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = method;
        *request.uri_mut() = "/mcp".parse().unwrap();
        *request.headers_mut() = self.headers.clone();
        let exchange = async {
            self.sender.ready().await.map_err(|error| error.to_string())?;
            let response: Response<Incoming> =
                self.sender.send_request(request).await.map_err(|error| error.to_string())?;
            let (parts, body) = response.into_parts();
            let body = body.collect().await.map_err(|error| error.to_string())?.to_bytes();
            Ok((parts.headers, body))
        };
        tokio::time::timeout(PATIENCE, exchange)
            .await
            .unwrap_or_else(|_| Err("it does not answer".to_owned()))
    }

    /// Milliseconds for each call.
    async fn run(mut self, calls: usize, until: Option<Instant>) -> Result<(Self, Vec<f64>), String> {
        let mut times = Vec::with_capacity(calls);
        for call in 0..calls {
            if call > 0 && until.is_some_and(|until| Instant::now() >= until) {
                break;
            }
            times.push(self.call(call).await?);
        }
        Ok((self, times))
    }

    /// Milliseconds; an answer that is not the echo is an error.
    async fn call(&mut self, call: usize) -> Result<f64, String> {
        // Nothing that an id or a date in an error might hold.
        let text = format!("call {call} of client {}.", self.number);
        let begin = Instant::now();
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"{}","arguments":{{"text":"{text}"}}}}}}"#,
            call + 1,
            self.tool
        );
        let (_, answer) = self.send(Method::POST, body).await?;
        let time = begin.elapsed().as_secs_f64() * 1e3;
        if !answer.windows(text.len()).any(|part| part == text.as_bytes()) {
            return Err(format!("not the echo of {text}: {}", String::from_utf8_lossy(&answer)));
        }
        Ok(time)
    }

    /// Some keep a program for each session until it ends.
    async fn close(mut self) {
        if self.headers.contains_key("mcp-session-id") {
            drop(self.send(Method::DELETE, String::new()).await);
        }
    }
}
