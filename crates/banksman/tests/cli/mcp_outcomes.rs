//! `banksman mcp`: what is on record of the calls that it passed on, and how it ends.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use banksman_core::Status;
use banksman_core::wire::ActionView;
use serde_json::json;

use crate::installation::{Installation, Server, approval, program};
use crate::mcp::{Session, text};

/// An MCP server in a few lines of shell, with answers that are hard to keep.
const SERVER: &str = r#"
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id": *\("[^"]*"\|[0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) printf '%s\n' '{"jsonrpc":"2.0","id":'"$id"',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}}';;
    *'"tools/list"'*) printf '%s\n' '{"jsonrpc":"2.0","id":'"$id"',"result":{"tools":[{"name":"big"},{"name":"odd"},{"name":"look"}]}}';;
    *'"big"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}\n' "$id" "$(head -c 2097152 /dev/zero | tr '\0' x)";;
    *'"odd"'*) printf '%s\n' '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":-5,"message":"no \u0000 such thing"}}';;
    *'"tools/call"'*) printf '%s\n' '{"jsonrpc":"2.0","id":'"$id"',"result":{"content":[{"type":"text","text":"ran"}]}}';;
  esac
done
# Its last words, once its input has ended.
sleep 0.3
echo ended >> "$0"
"#;

/// One that heeds neither the end of its input nor a signal, for as long as a file is there.
const STUBBORN: &str = r#"
trap 'echo told >> "$0"' TERM
touch "$0.stays"
echo "$$" > "$0.pid"
while [ -e "$0.stays" ]; do sleep 0.1; done
"#;

const POLICY: &str =
    "version: 1\ntools:\n  '*': {risk: low, tier: auto}\n  held: {risk: high, tier: approve}\n";

fn begin() -> (Installation, Server, String) {
    let installation = Installation::new();
    let policy = installation.policy(POLICY);
    let server = installation.serve_with(&["--policy", policy.to_str().unwrap()]);
    let log = installation.beside("log").to_str().unwrap().to_owned();
    (installation, server, log)
}

fn session(script: &str, url: &str, server: &Server, log: &str) -> Session {
    Session::before(script, "files", url, &server.first().agent_token, log, "1s")
}

/// The one action of this tool, once it has ended.
fn ended(server: &Server, tool: &str) -> ActionView {
    let reviewer = server.client(&server.first().reviewer_token);
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let found = reviewer.actions(&Default::default()).unwrap().items;
        let one = found.into_iter().find(|action| action.tool == tool);
        if let Some(action) = one.filter(|action| action.outcome.is_some()) {
            return reviewer.action(action.id).unwrap();
        }
        assert!(Instant::now() < until, "it has not ended");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_result_that_is_too_long_to_be_kept_is_on_record_as_a_success() {
    let (_installation, server, log) = begin();
    let mut session = session(SERVER, server.url(), &server, &log);
    assert_eq!(text(&session.call(1, "big", json!({}))).len(), 2 << 20);
    let action = ended(&server, "big");
    assert_eq!(action.status, Status::Succeeded);
    assert!(action.outcome.unwrap().result.is_none());
    let told = session.call(2, "banksman_wait", json!({"id": action.id}));
    assert!(text(&told).starts_with("EXECUTED") && text(&told).contains("not kept"), "{told}");
}

#[test]
fn an_error_that_cannot_be_written_down_as_it_is_is_on_record_all_the_same() {
    let (_installation, server, log) = begin();
    let mut session = session(SERVER, server.url(), &server, &log);
    let answer = session.call(1, "odd", json!({}));
    assert_eq!(answer["error"]["code"], -5);
    let action = ended(&server, "odd");
    assert_eq!(action.status, Status::Failed);
    assert_eq!(action.outcome.unwrap().error.unwrap(), "no  such thing (error -5)");
}

/// Stands before a server, and answers the first reports of outcomes with 503.
fn unwell(server: &Server, refused: Arc<AtomicUsize>, times: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let address = server.url().trim_start_matches("http://").to_owned();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (client, address, refused) = (client.unwrap(), address.clone(), Arc::clone(&refused));
            std::thread::spawn(move || pass(client, &address, &refused, times));
        }
    });
    url
}

fn pass(mut client: TcpStream, address: &str, refused: &AtomicUsize, times: usize) {
    let mut reader = BufReader::new(client.try_clone().unwrap());
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        match (line.trim_end().is_empty(), lower.starts_with("host:"), lower.starts_with("connection:")) {
            (true, _, _) => break,
            (_, true, _) => head.push_str(&format!("Host: {address}\r\n")),
            (_, _, true) => {}
            (_, _, _) => head.push_str(&line),
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let is_outcome = head.lines().next().unwrap().contains("/outcome ");
    if is_outcome && refused.fetch_add(1, Ordering::SeqCst) < times {
        let problem = r#"{"type":"about:blank","title":"The store cannot be used now","status":503,"code":"unavailable","detail":"later"}"#;
        let _ = write!(
            client,
            "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{problem}",
            problem.len()
        );
        return;
    }
    let mut server = TcpStream::connect(address).unwrap();
    server.write_all(format!("{head}Connection: close\r\n\r\n").as_bytes()).unwrap();
    server.write_all(&body).unwrap();
    let _ = std::io::copy(&mut server, &mut client);
}

#[test]
fn an_outcome_is_reported_again_when_the_server_was_unwell() {
    let (_installation, server, log) = begin();
    let refused = Arc::new(AtomicUsize::new(0));
    let url = unwell(&server, Arc::clone(&refused), 2);
    let mut session = session(SERVER, &url, &server, &log);
    assert_eq!(text(&session.call(1, "look", json!({}))), "ran");
    assert_eq!(ended(&server, "look").status, Status::Succeeded);
    assert_eq!(refused.load(Ordering::SeqCst), 3, "two in vain, and the one that was taken");
}

#[test]
fn a_client_that_leaves_with_its_answer_does_not_take_the_outcome_along() {
    let (_installation, server, log) = begin();
    let refused = Arc::new(AtomicUsize::new(0));
    let mut session = session(SERVER, &unwell(&server, refused, 1), &server, &log);
    assert_eq!(text(&session.call(1, "look", json!({}))), "ran");
    session.input = None;
    session.child.wait().unwrap();
    assert_eq!(ended(&server, "look").status, Status::Succeeded);
}

#[test]
fn a_program_that_ends_with_its_answer_does_not_take_the_outcome_along() {
    let (_installation, server, log) = begin();
    let refused = Arc::new(AtomicUsize::new(0));
    let script = SERVER.replace(r#""text":"ran"}]}}';;"#, r#""text":"ran"}]}}'; exit;;"#);
    assert_ne!(script, SERVER);
    // After the second one there is a pause that is longer than it takes to see that the program is gone.
    let mut session = session(&script, &unwell(&server, refused, 2), &server, &log);
    assert_eq!(text(&session.call(1, "look", json!({}))), "ran");
    assert!(!session.child.wait().unwrap().success());
    assert_eq!(ended(&server, "look").status, Status::Succeeded);
}

#[test]
fn a_client_that_closes_only_its_ear_does_not_take_the_outcome_along() {
    let (_installation, server, log) = begin();
    let refused = Arc::new(AtomicUsize::new(0));
    let mut command = program();
    command
        .env("BANKSMAN_URL", unwell(&server, refused, 1))
        .env("BANKSMAN_TOKEN", &server.first().agent_token)
        .env("XDG_STATE_HOME", Path::new(&log).with_file_name("state"))
        .args(["mcp", "--name", "files", "--", "sh", "-c", SERVER, &log])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "look", "arguments": {}}});
    // Held open: that it listens no more is all that there is to notice.
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "{call}").unwrap();
    assert!(!child.wait().unwrap().success());
    assert_eq!(ended(&server, "look").status, Status::Succeeded);
}

#[test]
fn a_program_has_a_moment_to_end_when_its_client_says_no_more() {
    let (_installation, server, log) = begin();
    let mut session = session(SERVER, server.url(), &server, &log);
    session.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}));
    // What it was asked before, it still answers.
    session.input = None;
    let answer = session.next();
    assert_eq!(answer["result"]["serverInfo"]["name"], "sh", "{answer}");
    let began = Instant::now();
    assert!(session.child.wait().unwrap().success());
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "ended\n");
}

#[test]
fn a_program_that_does_not_end_is_told_to_and_then_made_to() {
    let (_installation, server, log) = begin();
    let mut session = session(STUBBORN, server.url(), &server, &log);
    let pid = format!("{log}.pid");
    while std::fs::read_to_string(&pid).unwrap_or_default().trim().is_empty() {
        std::thread::sleep(Duration::from_millis(20));
    }
    session.input = None;
    assert!(session.child.wait().unwrap().success());
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "told\n");
    let pid = std::fs::read_to_string(&pid).unwrap().trim().to_owned();
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "it is still there");
}

#[test]
fn a_request_that_cannot_be_read_strictly_is_answered_by_its_id() {
    let (_installation, server, log) = begin();
    let mut session = session(SERVER, server.url(), &server, &log);
    let input = session.input.as_mut().unwrap();
    let half = r#"{"jsonrpc":"2.0","id":"q-1","method":"tools/call","params":{"name":"look","arguments":{"a":"\ud83d"}}}"#;
    writeln!(input, "{half}").unwrap();
    let refused = session.next();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("q-1"), &json!(-32700)), "{refused}");
    writeln!(session.input.as_mut().unwrap(), "{{").unwrap();
    assert!(session.next()["id"].is_null());
    assert_eq!(text(&session.call(3, "look", json!({}))), "ran");
}

#[test]
fn what_was_approved_and_runs_is_not_said_to_wait_for_approval() {
    let (_installation, server, log) = begin();
    let mut session = session(SERVER, server.url(), &server, &log);
    let held = session.call(1, "held", json!({}));
    assert!(text(&held).starts_with("PENDING, NOT EXECUTED"), "{held}");
    assert_eq!(held["result"]["_meta"]["banksman/status"], "pending");
    let reviewer = server.client(&server.first().reviewer_token);
    let action = reviewer.actions(&Default::default()).unwrap().items.remove(0);
    // Whoever was to run it is gone.
    session.child.kill().unwrap();
    session.child.wait().unwrap();
    reviewer.decide(action.id, &approval(&action)).unwrap();
    let mut another = Session::before(SERVER, "files", server.url(), &server.first().agent_token, &log, "1s");
    let told = another.call(2, "banksman_wait", json!({"id": action.id, "wait_s": 0}));
    assert!(text(&told).starts_with("RUNNING") && !text(&told).contains("NOT EXECUTED"), "{told}");
}
