//! An MCP server that outlives ours, and counts what reaches it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::installation::PATIENCE;

/// Runs whatever it is told to. `stuck` runs and never says so; `stuck_once` does so the first time.
pub(crate) struct Upstream {
    address: SocketAddr,
    calls: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Upstream {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let calls = Arc::<Mutex<Vec<(String, Value)>>>::default();
        let noted = Arc::clone(&calls);
        // They end with the test's process.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let noted = Arc::clone(&noted);
                std::thread::spawn(move || serve(stream.unwrap(), &noted));
            }
        });
        Self { address, calls }
    }

    /// `mcp.yaml` for a server before it. A client whose name begins with `quick` is not kept waiting.
    pub(crate) fn config(&self) -> String {
        format!(
            "version: 1\nupstreams:\n  peer: {{url: 'http://{}/mcp', idempotent: [stuck_once]}}\nclients: [{{name: 'quick*', window: 1s}}]\n",
            self.address
        )
    }

    /// How often a tool was called with these arguments.
    pub(crate) fn ran(&self, tool: &str, args: &Value) -> usize {
        let calls = self.calls.lock().unwrap();
        calls.iter().filter(|(name, given)| name == tool && given == args).count()
    }

    pub(crate) fn total(&self) -> usize {
        self.calls.lock().unwrap().len()
    }

    /// Counts from nothing again.
    pub(crate) fn forget(&self) {
        self.calls.lock().unwrap().clear();
    }

    /// Waits until a tool was called so often.
    pub(crate) fn until_ran(&self, tool: &str, args: &Value, times: usize) {
        let began = Instant::now();
        while self.ran(tool, args) < times {
            assert!(began.elapsed() < PATIENCE, "{tool} was never called");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// One connection, request after request, to its end.
fn serve(stream: TcpStream, calls: &Mutex<Vec<(String, Value)>>) {
    let mut output = stream.try_clone().unwrap();
    let mut input = BufReader::new(stream);
    while let Some((method, body)) = request(&mut input) {
        let answer = match method.as_str() {
            "POST" => answer(&body, calls),
            _ => Answer::Status("405 Method Not Allowed"),
        };
        let sent = match answer {
            Answer::Json(text) => write!(
                output,
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{text}",
                text.len()
            ),
            Answer::Status(status) => write!(output, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n"),
            Answer::Never => {
                // Until whoever asked is gone.
                let _ = input.read(&mut [0; 1]);
                return;
            }
        };
        if sent.is_err() {
            return;
        }
    }
}

/// The method and the body of the next request; `None` at the end of the connection.
fn request(input: &mut BufReader<TcpStream>) -> Option<(String, Vec<u8>)> {
    let mut line = String::new();
    input.read_line(&mut line).ok().filter(|count| *count > 0)?;
    let method = line.split(' ').next()?.to_owned();
    let mut length = 0;
    loop {
        let mut header = String::new();
        input.read_line(&mut header).ok()?;
        let header = header.trim_end().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body).ok()?;
    Some((method, body))
}

enum Answer {
    Json(String),
    Status(&'static str),
    Never,
}

fn answer(body: &[u8], calls: &Mutex<Vec<(String, Value)>>) -> Answer {
    let message: Value = serde_json::from_slice(body).unwrap();
    let Some(id) = message.get("id") else { return Answer::Status("202 Accepted") };
    let reply =
        |result: Value| Answer::Json(json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string());
    match message["method"].as_str() {
        Some("initialize") => reply(json!({
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "peer", "version": "1"},
        })),
        Some("tools/list") => {
            let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
            let tools = ["send", "stuck", "stuck_once"].map(tool);
            reply(json!({"tools": tools}))
        }
        Some("tools/call") => {
            let tool = message["params"]["name"].as_str().unwrap().to_owned();
            let args = message["params"]["arguments"].clone();
            let text = format!("ran with {args}");
            let mut calls = calls.lock().unwrap();
            let first = !calls.iter().any(|(name, _)| *name == tool);
            calls.push((tool.clone(), args));
            match tool.as_str() {
                "stuck" => Answer::Never,
                "stuck_once" if first => Answer::Never,
                _ => reply(json!({"content": [{"type": "text", "text": text}]})),
            }
        }
        _ => Answer::Json(
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no such method"}})
                .to_string(),
        ),
    }
}
