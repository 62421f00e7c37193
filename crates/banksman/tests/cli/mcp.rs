//! `banksman mcp`: before a program that a client starts, and `serve --mcp` before servers.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use banksman_core::Status;
use serde_json::{Value, json};

use crate::help::{stderr, stdout};
use crate::installation::{Installation, approval, program, said};

/// An MCP server in a few lines of shell: it answers with the id that it was asked with.
const SERVER: &str = r#"
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id": *\("[^"]*"\|[0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}}';;
    *'"tools/list"'*) echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"tools":[{"name":"list_files","annotations":{"readOnlyHint":true}},{"name":"delete_all"}]}}';;
    *'"tools/call"'*) echo "$line" >> "$0"; echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"content":[{"type":"text","text":"ran"}]}}';;
  esac
done
"#;

const POLICY: &str = "version: 1\ntools:\n  list_files: {risk: low, tier: auto}\n  delete_all: {risk: high, tier: approve}\n  wipe: {risk: critical, tier: block}\n";

/// A client that started `banksman mcp`.
struct Session {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Session {
    fn start(url: &str, token: &str, log: &str, window: &str) -> Self {
        Self::named("files", url, token, log, window)
    }

    fn named(name: &str, url: &str, token: &str, log: &str, window: &str) -> Self {
        let mut command = program();
        command.env("BANKSMAN_URL", url).env("BANKSMAN_TOKEN", token);
        command.args(["mcp", "--name", name, "--window", window, "--", "sh", "-c", SERVER, log]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, input, output }
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn call(&mut self, id: u64, tool: &str, args: Value) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": args}}));
        self.next()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

#[test]
fn a_program_before_the_program_lets_through_holds_and_blocks() {
    let installation = Installation::new();
    let policy = installation.policy(POLICY);
    let server = installation.serve_with(&["--policy", policy.to_str().unwrap()]);
    let log = installation.data().join("calls");
    let calls = || std::fs::read_to_string(&log).unwrap_or_default().lines().count();
    let mut session = Session::start(server.url(), &server.first().agent_token, log.to_str().unwrap(), "1s");
    session.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}));
    assert_eq!(session.next()["result"]["serverInfo"]["name"], "sh");
    session.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}));
    let listed = session.next();
    assert_eq!(listed["result"]["tools"].as_array().unwrap().last().unwrap()["name"], "banksman_wait");
    assert_eq!(text(&session.call(3, "list_files", json!({}))), "ran");
    assert_eq!(calls(), 1);
    let blocked = session.call(4, "wipe", json!({}));
    assert!(text(&blocked).starts_with("NOT EXECUTED") && blocked["result"]["isError"] == true, "{blocked}");
    // What a server that does not mind case would read as another method, or as another name.
    for message in [
        json!({"jsonrpc": "2.0", "id": 7, "method": "ping", "Method": "tools/call", "params": {"name": "wipe"}}),
        json!({"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": {"name": "list_files", "Name": "wipe"}}),
    ] {
        session.send(&message);
        assert_eq!(session.next()["error"]["code"], -32700, "{message}");
    }
    assert_eq!(calls(), 1);
    let held = session.call(5, "delete_all", json!({"path": "/"}));
    assert!(text(&held).starts_with("PENDING, NOT EXECUTED"), "{held}");
    assert_eq!(calls(), 1);

    let reviewer = server.client(&server.first().reviewer_token);
    let waiting = reviewer.actions(&Default::default()).unwrap().items;
    let action = waiting.iter().find(|action| action.status == Status::Pending).unwrap();
    assert_eq!(action.context.server.as_deref(), Some("files"));
    reviewer.decide(action.id, &approval(action)).unwrap();
    let done = session.call(6, "banksman_wait", json!({"id": action.id}));
    assert_eq!(text(&done), "ran", "{done}");
    assert_eq!(calls(), 2, "once");
    assert_eq!(reviewer.action(action.id).unwrap().status, Status::Succeeded);
}

#[test]
fn what_is_approved_for_one_server_does_not_run_at_another() {
    let installation = Installation::new();
    let policy = installation.policy(POLICY);
    let server = installation.serve_with(&["--policy", policy.to_str().unwrap()]);
    let log = |name: &str| installation.data().join(name);
    let session = |name: &str| {
        let (token, log) = (&server.first().agent_token, log(name));
        Session::named(name, server.url(), token, log.to_str().unwrap(), "1s")
    };
    let (mut staging, mut production) = (session("staging"), session("production"));
    let held = staging.call(1, "delete_all", json!({"path": "/"}));
    assert!(text(&held).starts_with("PENDING"), "{held}");
    let refused = production.call(1, "delete_all", json!({"path": "/"}));
    let words = text(&refused);
    assert!(words.starts_with("NOT EXECUTED") && words.contains("staging"), "{refused}");

    let reviewer = server.client(&server.first().reviewer_token);
    let action = reviewer.actions(&Default::default()).unwrap().items.pop().unwrap();
    reviewer.decide(action.id, &approval(&action)).unwrap();
    let ran = staging.call(2, "banksman_wait", json!({"id": action.id}));
    assert_eq!(text(&ran), "ran");
    assert!(log("staging").exists() && !log("production").exists());
}

#[test]
fn a_servers_tools_become_a_policy_to_start_from() {
    let output = program().args(["mcp", "scan", "--", "sh", "-c", SERVER]).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let text = stdout(&output);
    assert!(text.contains("\"list_files\": {risk: low, tier: auto}"), "{text}");
    assert!(text.contains("\"delete_all\": {risk: medium, tier: approve}"), "{text}");
    let installation = Installation::new();
    let policy = installation.policy(&text);
    let checked = program().args(["policy", "check", "--policy"]).arg(policy).output().unwrap();
    assert!(checked.status.success(), "{}", said(&checked));
    let output = program().args(["mcp", "scan", "--", "/no/such/program"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
}

#[test]
fn servers_that_cannot_be_used_stop_the_start_and_say_where() {
    let installation = Installation::new();
    let path = installation.data().with_file_name("mcp.yaml");
    std::fs::write(&path, "version: 1\nupstreams:\n  a: {url: nowhere}\n").unwrap();
    let output = installation.serve_in_vain(&["--mcp", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(stderr(&output).contains("mcp.yaml:3:12: expected an http or https URL"), "{}", stderr(&output));
}

#[test]
fn pins_that_cannot_be_read_stop_the_start_and_stay_as_they_are() {
    let installation = Installation::new();
    let path = installation.beside("mcp.yaml");
    std::fs::write(&path, "version: 1\nupstreams:\n  a: {url: 'http://127.0.0.1:9/mcp'}\n").unwrap();
    let arguments = ["--mcp", path.to_str().unwrap()];
    installation.serve_with(&arguments).kill();
    let pins = installation.data().join("mcp-tools.json");
    let newer = r#"{"version":2,"servers":{"a":{}}}"#;
    std::fs::write(&pins, newer).unwrap();
    let output = installation.serve_in_vain(&arguments);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let text = stderr(&output);
    assert!(text.contains("mcp-tools.json cannot be read: version 2 is not known here"), "{text}");
    assert!(text.contains("put back a copy"), "{text}");
    let refused = installation.operator(&["mcp", "accept", "a"]);
    assert_eq!(refused.status.code(), Some(1), "{}", said(&refused));
    assert_eq!(std::fs::read_to_string(&pins).unwrap(), newer);
}
