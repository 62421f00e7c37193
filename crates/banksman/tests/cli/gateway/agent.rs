//! MCP clients that notice nothing but a lost connection when their server is killed, and come back.

use serde_json::{Value, json};

use crate::raw::Connection;

/// What a client can do, and so how a held call looks to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// It waits, on an open stream.
    Stream,
    /// It is shown where people decide, and waits on.
    Pointer,
    /// It is told "pending", and asks by the wait tool.
    WaitTool,
    /// It sends the call again, with the state that it was given.
    Rounds,
    /// It gets a task.
    Task,
    /// It speaks no MCP session, and gets a 202.
    Plain,
}

impl Way {
    pub(crate) const ALL: [Self; 6] =
        [Self::Stream, Self::Pointer, Self::WaitTool, Self::Rounds, Self::Task, Self::Plain];

    /// Arguments that no other way has.
    pub(crate) fn args(self) -> Value {
        json!({"way": format!("{self:?}")})
    }
}

/// A call that is held, as its client remembers it.
pub(crate) enum Held {
    /// A connection on which the answer will come.
    Open(Connection),
    /// What to ask by.
    Handle(String),
}

/// A client: whatever of it outlives a server.
pub(crate) struct Agent {
    token: String,
    way: Way,
    session: Option<String>,
}

impl Agent {
    pub(crate) fn new(token: &str, way: Way) -> Self {
        Self { token: token.to_owned(), way, session: None }
    }

    fn capabilities(&self) -> Value {
        match self.way {
            Way::Pointer => json!({"elicitation": {"url": {}}}),
            Way::Task => json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}),
            Way::Stream | Way::WaitTool | Way::Rounds | Way::Plain => json!({}),
        }
    }

    fn is_of_era_two(&self) -> bool {
        matches!(self.way, Way::Rounds | Way::Task)
    }

    /// Who waits for long is one that the server is told to keep waiting.
    fn name(&self) -> &'static str {
        if self.way == Way::Stream { "patient" } else { "quick" }
    }

    /// Sends a message. HTTP 1.0, so that an answer has no frames but its own and ends with the connection.
    fn post(&self, url: &str, message: &Value) -> Connection {
        let host = url.strip_prefix("http://").unwrap();
        let mut head = format!(
            "POST /mcp HTTP/1.0\r\nHost: {host}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n",
            self.token
        );
        if self.way != Way::Plain {
            head.push_str("Accept: application/json, text/event-stream\r\n");
            let revision = if self.is_of_era_two() { "2026-07-28" } else { "2025-11-25" };
            head.push_str(&format!("MCP-Protocol-Version: {revision}\r\n"));
        }
        if self.is_of_era_two() {
            let (method, params) = (message["method"].as_str().unwrap_or_default(), &message["params"]);
            head.push_str(&format!("Mcp-Method: {method}\r\n"));
            let name = params["name"].as_str().or(params["taskId"].as_str());
            head.extend(name.map(|name| format!("Mcp-Name: {name}\r\n")));
        }
        if let Some(session) = &self.session {
            head.push_str(&format!("Mcp-Session-Id: {session}\r\n"));
        }
        let body = message.to_string();
        let mut connection = Connection::open(url);
        connection.send(&format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()));
        connection
    }

    fn request(&self, method: &str, mut params: Value) -> Value {
        if self.is_of_era_two() {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": self.name(), "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": self.capabilities(),
            });
        }
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    }

    fn ask(&self, url: &str, method: &str, params: Value) -> Value {
        last_message(&mut self.post(url, &self.request(method, params)))
    }

    /// Opens a session, if clients of its kind have one.
    pub(crate) fn introduce(&mut self, url: &str) {
        if self.is_of_era_two() || self.way == Way::Plain {
            return;
        }
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": self.capabilities(),
            "clientInfo": {"name": self.name(), "version": "1"},
        });
        let answer = self.post(url, &self.request("initialize", params)).read_to_end().unwrap();
        let header = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        self.session = Some(header.unwrap_or_else(|| panic!("{answer}")).to_owned());
    }

    /// Makes a call that is held, up to where the client knows so.
    pub(crate) fn call(&self, url: &str, tool: &str, args: &Value) -> Held {
        let mut connection =
            self.post(url, &self.request("tools/call", json!({"name": tool, "arguments": args})));
        let handle = |answer: &Value, path: &str| {
            let found = answer.pointer(path).and_then(Value::as_str);
            Held::Handle(found.unwrap_or_else(|| panic!("{path} in {answer}")).to_owned())
        };
        match self.way {
            Way::Stream => {
                // The first comment on it.
                connection.read_until("\r\n\r\n:");
                Held::Open(connection)
            }
            Way::Pointer => {
                connection.read_until("elicitation/create");
                Held::Open(connection)
            }
            Way::WaitTool => handle(&last_message(&mut connection), "/result/_meta/banksman~1action"),
            Way::Rounds => handle(&last_message(&mut connection), "/result/requestState"),
            Way::Task => handle(&last_message(&mut connection), "/result/taskId"),
            Way::Plain => handle(&last_message(&mut connection), "/approval_id"),
        }
    }

    /// The text of a call's result, fetched as clients of this kind do who know nothing but what they held.
    pub(crate) fn result(&self, url: &str, tool: &str, args: &Value, held: Held) -> String {
        let call = json!({"name": tool, "arguments": args});
        let answer = match (self.way, held) {
            (Way::Stream | Way::Pointer, Held::Open(mut connection)) => last_message(&mut connection),
            (Way::WaitTool, Held::Handle(id)) => {
                self.ask(url, "tools/call", json!({"name": "banksman_wait", "arguments": {"id": id}}))
            }
            (Way::Rounds, Held::Handle(state)) => {
                let mut call = call;
                call["requestState"] = json!(state);
                loop {
                    let answer = self.ask(url, "tools/call", call.clone());
                    match answer.pointer("/result/requestState") {
                        Some(state) => call["requestState"] = state.clone(),
                        None => break answer,
                    }
                }
            }
            (Way::Task, Held::Handle(id)) => loop {
                let answer = self.ask(url, "tasks/get", json!({"taskId": id}));
                match answer["result"]["status"].as_str() {
                    Some("working") => std::thread::sleep(std::time::Duration::from_millis(50)),
                    Some("completed") => break json!({"result": answer["result"]["result"]}),
                    _ => panic!("{answer}"),
                }
            },
            (Way::Plain, Held::Handle(id)) => loop {
                let path = format!("/hitl/result/{id}");
                let text =
                    Connection::get(url, &self.token, &path, "Connection: close\r\n").read_to_end().unwrap();
                if !text.starts_with("HTTP/1.1 202") {
                    break body_of(&text);
                }
                std::thread::sleep(std::time::Duration::from_millis(50));
            },
            (way, _) => panic!("{way:?} does not remember a call like this"),
        };
        let text = answer.pointer("/result/content/0/text").and_then(Value::as_str);
        text.unwrap_or_else(|| panic!("{:?}: {answer}", self.way)).to_owned()
    }
}

fn body_of(answer: &str) -> Value {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer}"));
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {head}\n{body}"))
}

/// The last message of an answer, whether it is a stream or a document.
fn last_message(connection: &mut Connection) -> Value {
    let answer = connection.read_to_end().unwrap();
    let streamed = answer.lines().filter_map(|line| line.strip_prefix("data: ")).next_back();
    streamed.map_or_else(|| body_of(&answer), |data| serde_json::from_str(data).unwrap())
}
