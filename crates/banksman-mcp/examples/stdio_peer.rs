//! A small MCP server over standard input and output, for the gateway's tests: it echoes, asks, talks and dies.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a program of the tests")]

use std::io::{BufRead as _, Write as _};

use serde_json::{Value, json};

fn say(message: &Value) {
    println!("{message}");
    std::io::stdout().flush().unwrap();
}

fn main() {
    let log = std::env::var_os("STDIO_PEER_LOG");
    let mut asked: Option<Value> = None;
    // Whether it is one of the revision without sessions.
    let two = std::env::var("PEER_ERA").is_ok_and(|era| era == "two");
    let mut level = "none".to_owned();
    let mut asks_when_listed: Option<Value> = None;
    let mut subscribed: Vec<Value> = Vec::new();
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        if let Some(log) = &log {
            let mut log = std::fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
            writeln!(log, "{line}").unwrap();
        }
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        if message.get("method").is_none() {
            // The client's answer to what we asked.
            if let Some(id) = asked.take() {
                let text = format!("roots: {}", message["result"]["roots"]);
                say(
                    &json!({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": text}]}}),
                );
            }
            continue;
        }
        let Some(id) = message.get("id").cloned() else { continue };
        if message["method"] == "tools/list" && asks_when_listed.is_some() {
            asked = asks_when_listed.take();
            say(&json!({"jsonrpc": "2.0", "id": 1, "method": "roots/list"}));
        }
        // Some end when the first that they hear is not what they know.
        if message["method"] == "server/discover"
            && std::env::var("PEER_ERA").is_ok_and(|era| era == "strict")
        {
            std::process::exit(4);
        }
        let params = &message["params"];
        if two && params["_meta"].get("io.modelcontextprotocol/protocolVersion").is_none() {
            say(
                &json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32022, "message": "not my revision"}}),
            );
            continue;
        }
        let result = match message["method"].as_str().unwrap() {
            "initialize" => {
                json!({"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {"listChanged": true}, "resources": {"subscribe": true}},
                "serverInfo": {"name": "stdio-peer", "version": "1"}})
            }
            "server/discover" if two => {
                json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "instructions": "Mind the gap"})
            }
            "ping" => json!({}),
            "logging/setLevel" => {
                level = params["level"].as_str().unwrap().to_owned();
                json!({})
            }
            "resources/list" => json!({"resources": [
                {"name": "note", "uri": "stdio://note"}, {"name": "secret", "uri": "stdio://secret"},
            ]}),
            "resources/subscribe" if params["uri"] != "stdio://secret" => {
                subscribed.push(params["uri"].clone());
                json!({})
            }
            "resources/unsubscribe" => {
                subscribed.retain(|uri| *uri != params["uri"]);
                json!({})
            }
            "tools/list" => json!({"tools": [
                {"name": "echo", "inputSchema": {"type": "object"}}, {"name": "pid", "inputSchema": {"type": "object"}},
                {"name": "evil\u{1b}[2J\u{202e}", "inputSchema": {"type": "object"}},
            ]}),
            "tools/call" => match params["name"].as_str().unwrap() {
                "environment" => {
                    let mut names: Vec<String> =
                        std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
                    names.sort();
                    json!({"content": [{"type": "text", "text": names.join(" ")}]})
                }
                "ask_when_listed" => {
                    asks_when_listed = Some(id);
                    continue;
                }
                "flood" => {
                    // All of it is in the pipe at once, the answer last.
                    let note = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}});
                    let answer = json!({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": "flooded"}]}});
                    let count: usize = params["arguments"]["count"].as_u64().unwrap().try_into().unwrap();
                    let lines = format!("{note}\n").repeat(count) + &format!("{answer}\n");
                    std::io::stdout().write_all(lines.as_bytes()).unwrap();
                    std::io::stdout().flush().unwrap();
                    continue;
                }
                "die" => std::process::exit(3),
                "ask" | "send_ask" => {
                    asked = Some(id);
                    say(&json!({"jsonrpc": "2.0", "id": 0, "method": "roots/list"}));
                    continue;
                }
                "talk" => {
                    println!("this is not JSON");
                    let token = &params["_meta"]["progressToken"];
                    say(
                        &json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": 1}}),
                    );
                    json!({"content": [{"type": "text", "text": "talked"}]})
                }
                // Says that what somebody subscribed to has changed, and what that is.
                "update" => {
                    for uri in &subscribed {
                        say(
                            &json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri, "title": "T"}}),
                        );
                    }
                    let subscribed = Value::from(subscribed.clone()).to_string();
                    json!({"content": [{"type": "text", "text": subscribed}]})
                }
                "change" => {
                    say(&json!({"jsonrpc": "2.0", "id": id, "result": {"content": []}}));
                    say(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
                    continue;
                }
                "env" => {
                    json!({"content": [{"type": "text", "text": std::env::var("PEER_SECRET").unwrap_or_default()}]})
                }
                "level" => json!({"content": [{"type": "text", "text": level}]}),
                "pid" | "send_pid" => {
                    json!({"content": [{"type": "text", "text": std::process::id().to_string()}]})
                }
                _ => json!({"content": [{"type": "text", "text": params["arguments"].to_string()}]}),
            },
            _ => {
                say(
                    &json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no such method"}}),
                );
                continue;
            }
        };
        say(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }
}
