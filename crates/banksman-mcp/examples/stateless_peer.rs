//! A small MCP server of 2026-07-28 over standard input and output, for the gateway's tests. It goes by what it hears first:
//! whoever initializes it speaks to one of the revisions with sessions, if `PEER_ERA` is `both`.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a program of the tests")]

use std::io::{BufRead as _, Write as _};

use serde_json::{Value, json};

const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const META_SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

fn say(message: &Value) {
    println!("{message}");
    std::io::stdout().flush().unwrap();
}

fn answer(id: &Value, mut result: Value) {
    if result.get("resultType").is_none() {
        result["resultType"] = json!("complete");
    }
    say(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
}

fn refuse(id: &Value, code: i32, text: &str) {
    say(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text}}));
}

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

fn note(method: &str, params: Value) {
    say(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
}

#[derive(Default)]
struct Peer {
    /// Whether it was initialized.
    in_session: bool,
    /// What each is called, and which resources it is told of.
    subscriptions: Vec<(Value, Vec<Value>)>,
    /// Calls that wait until somebody says `go`.
    waiting: Vec<Value>,
    /// What was cancelled.
    cancelled: Vec<Value>,
    /// Who waits for the client to answer something.
    asked: Option<Value>,
}

impl Peer {
    fn hear(&mut self, message: &Value) {
        let params = &message["params"];
        let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) else {
            if message["method"] == "notifications/cancelled" {
                let id = &params["requestId"];
                self.subscriptions.retain(|(subscription, _)| subscription != id);
                self.cancelled.push(id.clone());
            }
            if let (None, Some(id)) = (message.get("method"), self.asked.take()) {
                answer(&id, text(&message["error"]["message"].to_string()));
            }
            return;
        };
        let is_both = std::env::var("PEER_ERA").is_ok_and(|era| era == "both");
        match method {
            "initialize" if is_both => {
                self.in_session = true;
                answer(
                    id,
                    json!({"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "both", "version": "1"}}),
                );
            }
            _ if !self.in_session && params["_meta"].get(META_VERSION).is_none() => {
                refuse(id, -32022, "not my revision");
            }
            "server/discover" if !self.in_session => answer(
                id,
                json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {"listChanged": true}, "resources": {"subscribe": true}}, "ttlMs": 0, "cacheScope": "private"}),
            ),
            "subscriptions/listen" if !self.in_session => {
                let mut agreed = params["notifications"].clone();
                let uris = agreed["resourceSubscriptions"].as_array().cloned().unwrap_or_default();
                let uris: Vec<Value> = uris.into_iter().filter(|uri| *uri != "two://secret").collect();
                if agreed["resourceSubscriptions"].is_null() {
                    agreed.as_object_mut().unwrap().remove("resourceSubscriptions");
                } else {
                    agreed["resourceSubscriptions"] = uris.clone().into();
                }
                note(
                    "notifications/subscriptions/acknowledged",
                    json!({"notifications": agreed, "_meta": {META_SUBSCRIPTION: id}}),
                );
                self.subscriptions.push((id.clone(), uris));
            }
            "resources/list" => answer(
                id,
                json!({"resources": [{"name": "note", "uri": "two://note"}, {"name": "secret", "uri": "two://secret"}],
                    "ttlMs": 0, "cacheScope": "private"}),
            ),
            "tools/list" => {
                answer(
                    id,
                    json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}], "ttlMs": 0, "cacheScope": "private"}),
                );
            }
            "tools/call" => self.call(id, params),
            _ => refuse(id, -32601, "no such method"),
        }
    }

    fn call(&mut self, id: &Value, params: &Value) {
        match params["name"].as_str().unwrap() {
            "era" => answer(id, text(if self.in_session { "in a session" } else { "without one" })),
            "pid" => answer(id, text(&std::process::id().to_string())),
            "talk" | "send_talk" => {
                let token = &params["_meta"]["progressToken"];
                note("notifications/progress", json!({"progressToken": token, "progress": 0.5}));
                note("notifications/message", json!({"level": "info", "data": "to whom it concerns"}));
                answer(id, text("talked"));
            }
            "level" => answer(id, text(&params["_meta"][META_LOG_LEVEL].to_string())),
            // Says how far it is, and no more before `go`.
            "wait" => {
                let token = &params["_meta"]["progressToken"];
                note(
                    "notifications/progress",
                    json!({"progressToken": token, "progress": self.waiting.len()}),
                );
                self.waiting.push(json!({"id": id, "arguments": params["arguments"]}));
            }
            "go" => {
                // The last one first: answers find their way by what they are named, not by their order.
                for waiting in self.waiting.drain(..).rev() {
                    answer(&waiting["id"], text(&waiting["arguments"].to_string()));
                }
                answer(id, text("gone"));
            }
            "ask_roots"
                if params["_meta"]["io.modelcontextprotocol/clientCapabilities"].get("roots").is_none() =>
            {
                answer(id, text("nobody to ask"));
            }
            "ask_on" => {
                let round = params["requestState"].as_str().map_or(0, |state| state.parse().unwrap()) + 1;
                let until = params["arguments"]["rounds"].as_i64().unwrap();
                let asks = json!({"resultType": "input_required", "inputRequests": {"q": {"method": "roots/list"}}, "requestState": round.to_string()});
                answer(id, if round > until { text("enough") } else { asks });
            }
            // Two questions, and then a third.
            "ask_more" if params.get("inputResponses").is_none() => answer(
                id,
                json!({"resultType": "input_required", "inputRequests": {
                    "who": {"method": "elicitation/create", "params": {"mode": "form", "message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}},
                    "where": {"method": "roots/list"}}, "requestState": "first"}),
            ),
            "ask_more" if params["requestState"] == "first" => answer(
                id,
                json!({"resultType": "input_required", "requestState": format!("{}", params["inputResponses"]),
                    "inputRequests": {"what": {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}}}}),
            ),
            "ask_more" => {
                let heard =
                    format!("{} {}", params["requestState"].as_str().unwrap(), params["inputResponses"]);
                answer(id, text(&heard));
            }
            "ask" | "send_ask" | "ask_roots" if params.get("inputResponses").is_none() => answer(
                id,
                json!({"resultType": "input_required", "inputRequests": {"q": {"method": "roots/list"}}, "requestState": "peer-state"}),
            ),
            "ask" | "send_ask" | "ask_roots" => {
                let heard = format!("{} {}", params["requestState"], params["inputResponses"]["q"]["roots"]);
                answer(id, text(&heard));
            }
            // What no server of this revision may do.
            "demand" => {
                self.asked = Some(id.clone());
                say(&json!({"jsonrpc": "2.0", "id": 1, "method": "roots/list"}));
            }
            // Says that what somebody subscribed to has changed, and what that is.
            "update" => {
                let mut all = Vec::new();
                for (subscription, uris) in &self.subscriptions {
                    for uri in uris {
                        note(
                            "notifications/resources/updated",
                            json!({"uri": uri, "title": "T", "_meta": {META_SUBSCRIPTION: subscription}}),
                        );
                        all.push(uri.clone());
                    }
                }
                answer(id, text(&Value::from(all).to_string()));
            }
            "change" => {
                for (subscription, _) in &self.subscriptions {
                    note(
                        "notifications/tools/list_changed",
                        json!({"_meta": {META_SUBSCRIPTION: subscription}}),
                    );
                }
                // Of no subscription, so that nobody is to hear it.
                note("notifications/tools/list_changed", json!({}));
                answer(id, text(&self.subscriptions.len().to_string()));
            }
            "cancelled" => answer(id, text(&Value::from(self.cancelled.clone()).to_string())),
            "die" => std::process::exit(3),
            _ => answer(id, text(&params["arguments"].to_string())),
        }
    }
}

fn main() {
    let mut peer = Peer::default();
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
        peer.hear(&message);
    }
}
