//! A server that a test can look into: it notes every byte that reaches it.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, StatusCode};
use axum::response::IntoResponse;
use axum::routing::any;
use serde_json::{Value, json};
use tokio::net::TcpListener;

#[derive(Default)]
pub(crate) struct Seen {
    /// The calls that ran, as they were sent.
    pub(crate) calls: Mutex<Vec<String>>,
    /// Everything that came.
    pub(crate) bodies: Mutex<Vec<String>>,
    pub(crate) headers: Mutex<Vec<HeaderMap>>,
    /// The definition of `echo`, which a test may change.
    pub(crate) description: Mutex<String>,
    /// How many sessions were opened.
    sessions: AtomicUsize,
    /// The answers that are fetched by another connection than they were asked for on, by the event that they follow.
    later: Mutex<HashMap<String, String>>,
}

pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    pub(crate) seen: Arc<Seen>,
}

impl Peer {
    pub(crate) async fn start() -> Self {
        let seen = Arc::new(Seen::default());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let app = Router::new().route("/mcp", any(answer)).with_state(Arc::clone(&seen));
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { address, seen }
    }

    pub(crate) fn config(&self) -> String {
        format!(
            "version: 1\nupstreams:\n  peer: {{url: 'http://{}/mcp', bearer: upstream-secret, idempotent: [send_twice]}}\n",
            self.address
        )
    }

    pub(crate) fn calls(&self) -> Vec<String> {
        self.seen.calls.lock().unwrap().clone()
    }
}

async fn answer(
    State(seen): State<Arc<Seen>>,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    seen.headers.lock().unwrap().push(headers.clone());
    seen.bodies.lock().unwrap().push(String::from_utf8_lossy(&body).into_owned());
    let events = |events: Vec<Result<Bytes, std::io::Error>>| {
        let builder = Response::builder().header("content-type", "text/event-stream");
        builder.body(futures_stream(events)).unwrap()
    };
    if method == Method::GET {
        if let Some(last) = headers.get("last-event-id") {
            let follows = seen.later.lock().unwrap().remove(last.to_str().unwrap());
            return match follows {
                Some(text) => events(vec![Ok(Bytes::from(text))]),
                None => StatusCode::SERVICE_UNAVAILABLE.into_response(),
            };
        }
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    if method == Method::DELETE {
        return StatusCode::OK.into_response();
    }
    let message: Value = serde_json::from_slice(&body).unwrap();
    let Some(id) = message.get("id").filter(|_| message.get("method").is_some()) else {
        return StatusCode::ACCEPTED.into_response();
    };
    let two = message["params"]["_meta"].get("io.modelcontextprotocol/protocolVersion").is_some();
    let reply = |mut result: Value| {
        if two && result.get("resultType").is_none() {
            result["resultType"] = json!("complete");
        }
        if two && (result.get("tools").is_some() || result.get("supportedVersions").is_some()) {
            result["ttlMs"] = json!(0);
            result["cacheScope"] = json!("private");
        }
        json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()
    };
    let said = |text: &str| reply(json!({"content": [{"type": "text", "text": text}]}));
    let json_of = |text: String| ([("content-type", "application/json")], text).into_response();
    let params = &message["params"];
    match message["method"].as_str().unwrap() {
        "initialize" => {
            let result = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "peer", "version": "1"}});
            let session = format!("peer-session-{}", seen.sessions.fetch_add(1, Ordering::SeqCst));
            let headers = [("content-type", "application/json".to_owned()), ("mcp-session-id", session)];
            (headers, reply(result)).into_response()
        }
        "server/discover" if two => {
            json_of(reply(json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})))
        }
        "tools/list" => {
            let description = seen.description.lock().unwrap().clone();
            json_of(reply(json!({"tools": [
                {"name": "echo", "description": description, "inputSchema": {"type": "object"}},
                {"name": "send", "inputSchema": {"type": "object", "properties": {"to": {"type": "string"}}}},
                {"name": "send_ask", "inputSchema": {"type": "object", "properties": {"to": {"type": "string", "x-mcp-header": "To"}}}},
            ]})))
        }
        "tools/call" => {
            let text = String::from_utf8(body.to_vec()).unwrap();
            seen.calls.lock().unwrap().push(text);
            match params["name"].as_str().unwrap() {
                "fail" => json_of(reply(
                    json!({"content": [{"type": "text", "text": "no such thing"}], "isError": true}),
                )),
                "send_refused" => {
                    let error =
                        json!({"code": -32050, "message": "the mailbox is full", "data": {"left": 0}});
                    json_of(json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string())
                }
                "garbage" => json_of("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{".to_owned()),
                "giant" => json_of(format!(
                    "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"x\":\"{}\"}}}}",
                    "x".repeat(40 << 20)
                )),
                // Runs, and never says so.
                "send_stuck" | "send_twice" => std::future::pending().await,
                // Says something, and its answer, after a while.
                "send_slow" => {
                    let token = &params["_meta"]["progressToken"];
                    let note = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": 1}});
                    let frames = [format!("data: {note}\n\n"), format!("data: {}\n\n", said("slowly done"))];
                    slowly(Duration::from_millis(1500), frames.map(|text| Ok(text.into())).into())
                }
                // In which of its sessions it runs.
                "session" | "send_session" => {
                    let session = headers.get("mcp-session-id").map(|id| id.to_str().unwrap());
                    json_of(said(session.unwrap_or("none")))
                }
                "send_structured" => json_of(reply(
                    json!({"content": [{"type": "text", "text": "{\"n\":1}"}], "structuredContent": {"n": 1}}),
                )),
                "locked" => {
                    let challenge = [("www-authenticate", "Bearer realm=\"peer\"")];
                    (StatusCode::UNAUTHORIZED, challenge, "no").into_response()
                }
                // Closes its stream before it has an answer, and wants to be asked for it.
                "polled" => {
                    let mut later = seen.later.lock().unwrap();
                    let note = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "half"}});
                    later.insert("p-1".to_owned(), format!("id: p-2\ndata: {note}\n\n"));
                    later.insert("p-2".to_owned(), format!("id: p-3\ndata: {}\n\n", said("polled")));
                    events(vec![Ok(Bytes::from_static(b"id: p-1\nretry: 100\ndata:\n\n"))])
                }
                // The same, and does not say when.
                "polled_slowly" => {
                    let follows = format!("data: {}\n\n", said("polled slowly"));
                    seen.later.lock().unwrap().insert("s-1".to_owned(), follows);
                    events(vec![Ok(Bytes::from_static(b"id: s-1\ndata:\n\n"))])
                }
                // Breaks off; with an id of an event, and without one.
                "broken" => {
                    let follows = format!("data: {}\n\n", said("mended"));
                    seen.later.lock().unwrap().insert("b-1".to_owned(), follows);
                    let first = Bytes::from_static(b"id: b-1\nretry: 100\ndata:\n\ndata: {\"jso");
                    slowly(Duration::from_millis(100), vec![Ok(first), Err(std::io::Error::other("gone"))])
                }
                "broken_for_good" => {
                    let first = Bytes::from_static(b"retry: 100\ndata:\n\n");
                    slowly(Duration::from_millis(100), vec![Ok(first), Err(std::io::Error::other("gone"))])
                }
                "slow" => {
                    tokio::time::sleep(Duration::from_millis(300)).await;
                    json_of(said("slow"))
                }
                "vanish" => {
                    // The head of an answer, and then nothing more.
                    let stream = futures_stream(vec![Err(std::io::Error::other("gone"))]);
                    Response::builder().header("content-type", "application/json").body(stream).unwrap()
                }
                "progress" | "send_progress" => {
                    let token = &params["_meta"]["progressToken"];
                    let note = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": 1}});
                    let events = vec![
                        Ok(Bytes::from(format!("id: 7\ndata: {note}\n\n"))),
                        Ok(Bytes::from(format!("id: 8\ndata: {}\n\n", said("done")))),
                    ];
                    let builder = Response::builder().header("content-type", "text/event-stream");
                    builder.body(futures_stream(events)).unwrap()
                }
                // Asks, and once it is answered never says how it ended.
                "send_ask_stuck" if !params["inputResponses"].is_null() => std::future::pending().await,
                "ask" | "send_ask" | "send_ask_stuck" => {
                    if params["inputResponses"].is_null() {
                        json_of(reply(
                            json!({"resultType": "input_required", "inputRequests": {"q": {"method": "roots/list"}}, "requestState": "peer-state"}),
                        ))
                    } else {
                        assert_eq!(params["requestState"], "peer-state");
                        json_of(reply(
                            json!({"content": [{"type": "text", "text": "asked"}], "resultType": "complete"}),
                        ))
                    }
                }
                _ => json_of(said(&format!("ran with {}", params["arguments"]))),
            }
        }
        _ => json_of(
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no such method"}})
                .to_string(),
        ),
    }
}

/// Events, each after a pause.
fn slowly(pause: Duration, events: Vec<Result<Bytes, std::io::Error>>) -> Response<Body> {
    let (sender, mut frames) = tokio::sync::mpsc::channel(1);
    tokio::spawn(async move {
        for event in events {
            tokio::time::sleep(pause).await;
            let _ = sender.send(event).await;
        }
    });
    let stream = futures_util::stream::poll_fn(move |context| frames.poll_recv(context));
    Response::builder().header("content-type", "text/event-stream").body(Body::from_stream(stream)).unwrap()
}

fn futures_stream(frames: Vec<Result<Bytes, std::io::Error>>) -> Body {
    Body::new(http_body_util::StreamBody::new(Frames(frames.into_iter().map(Some).collect())))
}

struct Frames(Vec<Option<Result<Bytes, std::io::Error>>>);

impl futures_util::Stream for Frames {
    type Item = Result<http_body::Frame<Bytes>, std::io::Error>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        let next = if self.0.is_empty() { None } else { self.0.remove(0) };
        std::task::Poll::Ready(next.map(|next| next.map(http_body::Frame::data)))
    }
}
