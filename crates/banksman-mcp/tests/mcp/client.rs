//! A client that speaks the wire itself, so that nothing is hidden by an SDK.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client as Http;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

#[derive(Clone)]
pub(crate) struct Client {
    http: Http<HttpConnector, Full<Bytes>>,
    url: String,
    token: String,
    pub(crate) session: Option<String>,
    pub(crate) headers: HeaderMap,
}

/// An answer, taken apart as it comes.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    body: Incoming,
    text: String,
}

pub(crate) const ERA_TWO: &str = "2026-07-28";

impl Client {
    pub(crate) fn new(url: String, token: &str) -> Self {
        let http = Http::builder(TokioExecutor::new()).build(HttpConnector::new());
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        headers.insert("accept", HeaderValue::from_static("application/json, text/event-stream"));
        Self { http, url, token: token.to_owned(), session: None, headers }
    }

    /// One that only posts JSON.
    pub(crate) fn plain(mut self) -> Self {
        self.headers.remove("accept");
        self
    }

    pub(crate) async fn send(&self, method: Method, body: impl Into<Bytes>) -> Answer {
        let mut request = Request::new(Full::new(body.into()));
        *request.method_mut() = method;
        *request.uri_mut() = self.url.parse().unwrap();
        *request.headers_mut() = self.headers.clone();
        let headers = request.headers_mut();
        if !self.token.is_empty() {
            headers.insert("authorization", format!("Bearer {}", self.token).parse().unwrap());
        }
        if let Some(session) = &self.session {
            headers.insert(HeaderName::from_static("mcp-session-id"), session.parse().unwrap());
        }
        let response = self.http.request(request).await.unwrap();
        let (parts, body) = response.into_parts();
        Answer { status: parts.status, headers: parts.headers, body, text: String::new() }
    }

    pub(crate) async fn post(&self, message: &Value) -> Answer {
        self.send(Method::POST, message.to_string()).await
    }

    /// Opens a session of era one.
    pub(crate) async fn initialize(&mut self, name: &str, capabilities: Value) -> Value {
        let message = json!({"jsonrpc": "2.0", "id": "init", "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": {"name": name, "version": "1"},
        }});
        let answer = self.post(&message).await;
        assert_eq!(answer.status, 200);
        let session = answer.headers.get("mcp-session-id");
        self.session = session.map(|session| session.to_str().unwrap().to_owned());
        self.headers.insert("mcp-protocol-version", HeaderValue::from_static("2025-11-25"));
        let said = answer.last().await;
        let ready = self.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        assert_eq!(ready.status, 202);
        said
    }

    /// Starts a call.
    pub(crate) async fn start(&self, id: u64, tool: &str, args: Value) -> Answer {
        self.post(&call(id, tool, args)).await
    }

    /// Makes a call and takes its result.
    pub(crate) async fn call(&self, id: u64, tool: &str, args: Value) -> Value {
        self.start(id, tool, args).await.last().await
    }

    /// A request of era two.
    pub(crate) async fn ask_two(&self, id: u64, method: &str, params: Value, capabilities: Value) -> Answer {
        self.ask_two_with(id, method, params, capabilities, json!({})).await
    }

    /// The same, with more in its `_meta`.
    pub(crate) async fn ask_two_with(
        &self,
        id: u64,
        method: &str,
        mut params: Value,
        capabilities: Value,
        mut meta: Value,
    ) -> Answer {
        meta["io.modelcontextprotocol/protocolVersion"] = json!(ERA_TWO);
        meta["io.modelcontextprotocol/clientInfo"] = json!({"name": "test", "version": "1"});
        meta["io.modelcontextprotocol/clientCapabilities"] = capabilities;
        params["_meta"] = meta;
        let mut client = self.clone();
        client.headers.insert("mcp-protocol-version", HeaderValue::from_static(ERA_TWO));
        client.headers.insert("mcp-method", method.parse().unwrap());
        if let Some(name) = params["name"].as_str().or(params["taskId"].as_str()) {
            client.headers.insert("mcp-name", name.parse().unwrap());
        }
        client.post(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await
    }

    /// What a client of era two says without wanting an answer.
    pub(crate) async fn tell_two(&self, notification: &Value) -> Answer {
        let mut client = self.clone();
        client.headers.insert("mcp-protocol-version", HeaderValue::from_static(ERA_TWO));
        client.headers.insert("mcp-method", notification["method"].as_str().unwrap().parse().unwrap());
        client.post(notification).await
    }
}

pub(crate) fn call(id: u64, tool: &str, args: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": args}})
}

impl Answer {
    pub(crate) fn is_stream(&self) -> bool {
        self.headers.get("content-type").is_some_and(|kind| kind == "text/event-stream")
    }

    /// The next message; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            if self.is_stream() {
                while let Some((event, rest)) = self.text.split_once("\n\n") {
                    let data: String = event.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
                    self.text = rest.to_owned();
                    if !data.is_empty() {
                        return Some(serde_json::from_str(&data).unwrap());
                    }
                }
            }
            let frame =
                tokio::time::timeout(Duration::from_secs(20), self.body.frame()).await.expect("in time");
            match frame {
                Some(frame) => {
                    let frame = frame.unwrap();
                    self.text.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
                }
                None if self.is_stream() || self.text.is_empty() => return None,
                None => return Some(serde_json::from_str(&std::mem::take(&mut self.text)).unwrap()),
            }
        }
    }

    /// The last message.
    pub(crate) async fn last(mut self) -> Value {
        let mut last = None;
        while let Some(message) = self.next().await {
            last = Some(message);
        }
        last.expect("a message")
    }
}
