//! A server over HTTP that answers as a test wants, and what becomes of what it says once.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::calls::text;
use crate::client::ERA_TWO;
use crate::world::World;

type Answers = Box<dyn Fn(&Value, &HeaderMap) -> (u16, String) + Send + Sync>;

struct Inside {
    answers: Answers,
    asked: Mutex<Vec<Value>>,
}

pub(crate) struct Mood {
    address: SocketAddr,
    inside: Arc<Inside>,
}

impl Mood {
    /// `answers` has a status and a body for each request; it is not asked about what wants no answer.
    pub(crate) async fn start(
        answers: impl Fn(&Value, &HeaderMap) -> (u16, String) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let inside = Arc::new(Inside { answers: Box::new(answers), asked: Mutex::default() });
        let app = Router::new().route("/mcp", any(answer)).with_state(Arc::clone(&inside));
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { address, inside }
    }

    /// Its line in a configuration.
    pub(crate) fn config(&self, name: &str) -> String {
        format!("  {name}: {{url: 'http://{}/mcp'}}\n", self.address)
    }

    /// How much it was asked and told.
    pub(crate) fn heard(&self) -> usize {
        self.inside.asked.lock().unwrap().len()
    }

    /// The methods and parameters of what it was asked.
    pub(crate) fn asked(&self, method: &str) -> Vec<Value> {
        let asked = self.inside.asked.lock().unwrap();
        asked
            .iter()
            .filter(|message| message["method"] == method)
            .map(|asked| asked["params"].clone())
            .collect()
    }

    /// Waits until it was told such a thing.
    pub(crate) async fn is_told(&self, such: impl Fn(&Value) -> bool) {
        for _ in 0..500 {
            if self.inside.asked.lock().unwrap().iter().any(&such) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("it was told nothing like that: {:?}", self.inside.asked.lock().unwrap());
    }

    /// What it is answered with: this result.
    pub(crate) fn said(message: &Value, result: &Value) -> (u16, String) {
        (200, json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string())
    }

    pub(crate) fn met(message: &Value) -> (u16, String) {
        let capabilities = json!({"tools": {}, "resources": {}, "prompts": {}, "completions": {}});
        Self::said(
            message,
            &json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": {"name": "mood", "version": "1"}}),
        )
    }

    pub(crate) fn refused(message: &Value) -> (u16, String) {
        let error = json!({"code": -32601, "message": "no such method"});
        (200, json!({"jsonrpc": "2.0", "id": message["id"], "error": error}).to_string())
    }
}

async fn answer(State(inside): State<Arc<Inside>>, headers: HeaderMap, body: String) -> Response {
    let Ok(message) = serde_json::from_str::<Value>(&body) else {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    };
    inside.asked.lock().unwrap().push(message.clone());
    if message.get("id").is_none() || message.get("method").is_none() {
        return StatusCode::ACCEPTED.into_response();
    }
    let (status, text) = (inside.answers)(&message, &headers);
    let is_stream = text.starts_with("data:");
    let mut response = (StatusCode::from_u16(status).unwrap(), text).into_response();
    let headers = response.headers_mut();
    let kind = if is_stream { "text/event-stream" } else { "application/json" };
    headers.insert("content-type", kind.parse().unwrap());
    if message["method"] == "initialize" && status == 200 {
        let session = format!("session-{}", inside.asked.lock().unwrap().len());
        headers.insert("mcp-session-id", session.parse().unwrap());
    }
    response
}

pub(crate) async fn before(server: &Mood) -> World {
    World::start(&format!("version: 1\nupstreams:\n{}", server.config("mood"))).await
}

fn of_era_two(message: &Value) -> bool {
    message["params"]["_meta"].get("io.modelcontextprotocol/protocolVersion").is_some()
}

#[tokio::test]
async fn a_server_that_is_busy_at_first_has_not_said_what_it_speaks() {
    let busy = Arc::new(Mutex::new(true));
    let is_busy = Arc::clone(&busy);
    let server = Mood::start(move |message, _| {
        if *is_busy.lock().unwrap() {
            return (503, "come back later".to_owned());
        }
        match message["method"].as_str().unwrap() {
            _ if !of_era_two(message) => (400, String::new()),
            "server/discover" => {
                Mood::said(message, &json!({"supportedVersions": [ERA_TWO], "capabilities": {"tools": {}}}))
            }
            _ => Mood::said(
                message,
                &json!({"resultType": "complete", "content": [{"type": "text", "text": "ran"}]}),
            ),
        }
    })
    .await;
    let world = before(&server).await;
    let client = world.client("/mcp");
    let call = json!({"name": "echo", "arguments": {}});
    let refused = client.ask_two(1, "tools/call", call.clone(), json!({})).await.last().await;
    assert!(text(&refused).contains("HTTP 503"), "{refused}");
    *busy.lock().unwrap() = false;
    assert_eq!(text(&client.ask_two(2, "tools/call", call, json!({})).await.last().await), "ran");
    // Its own request has reached it, and not one that we wrote in its place.
    let calls = server.asked("tools/call");
    assert_eq!(
        calls.last().unwrap()["_meta"]["io.modelcontextprotocol/clientInfo"]["name"],
        "test",
        "{calls:?}"
    );
}

#[tokio::test]
async fn a_server_that_says_with_400_that_it_has_forgotten_us_is_met_again() {
    let forgotten = Arc::new(Mutex::new(None::<String>));
    let forgets = Arc::clone(&forgotten);
    let server = Mood::start(move |message, headers| {
        let session = headers.get("mcp-session-id").map(|id| id.to_str().unwrap().to_owned());
        match message["method"].as_str().unwrap() {
            "initialize" => Mood::met(message),
            // As the example of the TypeScript SDK has it.
            _ if session.is_some() && session == *forgets.lock().unwrap() => {
                let text = r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}"#;
                (400, text.to_owned())
            }
            "tools/call" if message["params"]["name"] == "wrong" => {
                (400, json!({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32602, "message": "no"}}).to_string())
            }
            "tools/call" => {
                *forgets.lock().unwrap() = session;
                Mood::said(message, &json!({"content": [{"type": "text", "text": "ran"}]}))
            }
            _ => Mood::refused(message),
        }
    })
    .await;
    let world = before(&server).await;
    // It speaks through our own session for its agent.
    let client = world.client("/mcp").plain();
    for id in 1..4 {
        assert_eq!(text(&client.call(id, "echo", json!({"n": id})).await), "ran");
    }
    // Once to ask for ourselves, and three times for the agent.
    assert_eq!(server.asked("initialize").len(), 4);
    // What was looked at and refused is not sent again.
    assert_eq!(client.call(9, "wrong", json!({})).await["error"]["code"], -32602);
    let wrong = server.asked("tools/call").into_iter().filter(|params| params["name"] == "wrong").count();
    assert!(wrong <= 2, "once to a session that is forgotten, and once to be looked at: {wrong}");
}

#[tokio::test]
async fn a_client_of_an_older_revision_keeps_it_and_hears_the_instructions_of_a_server_without_sessions() {
    let server = Mood::start(|message, _| match message["method"].as_str().unwrap() {
        "server/discover" if of_era_two(message) => Mood::said(
            message,
            &json!({"supportedVersions": [ERA_TWO], "capabilities": {"tools": {}}, "instructions": "Mind the gap"}),
        ),
        _ => Mood::refused(message),
    })
    .await;
    let world = before(&server).await;
    for (asked, answered) in [
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
        let said = world.client("/mcp").post(&hello).await.last().await;
        assert_eq!(said["result"]["protocolVersion"], answered, "{said}");
        assert_eq!(said["result"]["instructions"], "Mind the gap");
    }
}
