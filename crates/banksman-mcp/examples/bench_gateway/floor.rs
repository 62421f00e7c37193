//! What is measured against: a trivial server, and a hop that does the least that a hop which judges must do.

use std::io::{BufRead as _, Write as _};

use aws_lc_rs::digest::{SHA256, digest};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Request, Response, StatusCode};
use axum::response::IntoResponse;
use axum::routing::any;
use axum::serve::ListenerExt as _;
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::net::TcpListener;

async fn serve(port: &str, app: Router) {
    let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await.unwrap();
    let listener = listener.tap_io(|socket| drop(socket.set_nodelay(true)));
    axum::serve(listener, app).await.unwrap();
}

/// The trivial server, over HTTP.
pub(crate) async fn upstream(port: &str) {
    serve(port, Router::new().route("/mcp", any(answer))).await;
}

async fn answer(method: Method, body: Bytes) -> Response<Body> {
    if method != Method::POST {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    match echo(&body) {
        Some(answer) => ([("content-type", "application/json")], answer).into_response(),
        None => StatusCode::ACCEPTED.into_response(),
    }
}

/// The same as a program, for hops that stand before programs.
pub(crate) fn upstream_stdio() {
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        if let Some(answer) = echo(line.as_bytes())
            && (writeln!(output, "{answer}").is_err() || output.flush().is_err())
        {
            return;
        }
    }
}

fn echo(message: &[u8]) -> Option<String> {
    let message: Value = serde_json::from_slice(message).unwrap();
    let id = message.get("id")?;
    let result = match message["method"].as_str().unwrap() {
        "initialize" => json!({
            "protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
            "serverInfo": {"name": "echo", "version": "1"},
        }),
        "tools/list" => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
        "tools/call" => {
            json!({"content": [{"type": "text", "text": message["params"]["arguments"]["text"]}]})
        }
        "ping" => json!({}),
        _ => {
            let error = json!({"code": -32601, "message": "no such method"});
            return Some(json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string());
        }
    };
    Some(json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string())
}

#[derive(Clone)]
struct Raw {
    client: Client<HttpConnector, Full<Bytes>>,
    to: String,
}

/// The floor: it looks up the tool, hashes the arguments, forwards the original bytes, and records nothing.
pub(crate) async fn raw_proxy(port: &str, to: &str) {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(256).build(connector);
    let state = Raw { client, to: to.to_owned() };
    serve(port, Router::new().route("/mcp", any(forward)).with_state(state)).await;
}

/// As much of a message as a hop must see.
#[derive(Deserialize)]
struct Peeked<'a> {
    #[serde(borrow)]
    method: Option<&'a str>,
    #[serde(borrow)]
    params: Option<Params<'a>>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    name: Option<&'a str>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

/// Whether a call may pass, by a policy of one tool.
fn may_pass(body: &[u8]) -> bool {
    let Ok(Peeked { method: Some("tools/call"), params: Some(params) }) = serde_json::from_slice(body) else {
        return true;
    };
    let arguments = params.arguments.map_or("", RawValue::get);
    std::hint::black_box(digest(&SHA256, arguments.as_bytes()));
    params.name == Some("echo")
}

async fn forward(State(raw): State<Raw>, method: Method, headers: HeaderMap, body: Bytes) -> Response<Body> {
    if !may_pass(&body) {
        return StatusCode::FORBIDDEN.into_response();
    }
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
