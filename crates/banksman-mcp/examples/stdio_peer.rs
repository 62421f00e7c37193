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
        let params = &message["params"];
        let result = match message["method"].as_str().unwrap() {
            "initialize" => {
                json!({"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {"listChanged": true}},
                "serverInfo": {"name": "stdio-peer", "version": "1"}})
            }
            "ping" => json!({}),
            "tools/list" => json!({"tools": [
                {"name": "echo", "inputSchema": {"type": "object"}}, {"name": "pid", "inputSchema": {"type": "object"}},
                {"name": "evil\u{1b}[2J\u{202e}", "inputSchema": {"type": "object"}},
            ]}),
            "tools/call" => match params["name"].as_str().unwrap() {
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
                "change" => {
                    say(&json!({"jsonrpc": "2.0", "id": id, "result": {"content": []}}));
                    say(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
                    continue;
                }
                "env" => {
                    json!({"content": [{"type": "text", "text": std::env::var("PEER_SECRET").unwrap_or_default()}]})
                }
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
