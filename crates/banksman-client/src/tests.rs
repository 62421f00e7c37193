//! The client against a socket that says what a server might say.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

use banksman_core::json::CanonicalJson;
use banksman_core::wire::{ActionView, ContextView, DecisionRequest, FreezeBody, ModeBody};
use banksman_core::{
    ActionId, Assessment, Decision, FreezeId, Kind, Mode, Risk, Status, Tier, Timestamp, Verdict,
    action_digest,
};

use crate::{ActionsQuery, AuditQuery, Client, ClientError, Proposal};

const ID: &str = "act_01J9ZKQ7V8Y3F5T2M6N4P0R1SB";

/// Answers one connection after the other with the given texts, and hands back what was asked.
struct Server {
    url: String,
    thread: JoinHandle<Vec<String>>,
}

impl Server {
    fn answering(answers: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let thread = std::thread::spawn(move || {
            answers
                .into_iter()
                .map(|answer| {
                    let (mut stream, _) = listener.accept().unwrap();
                    let request = read_request(&stream);
                    stream.write_all(answer.as_bytes()).unwrap();
                    request
                })
                .collect()
        });
        Self { url, thread }
    }

    fn client(&self) -> Client {
        Client::new(&self.url, "tok-secret").unwrap()
    }

    fn asked(self) -> Vec<String> {
        self.thread.join().unwrap()
    }
}

fn read_request(stream: &TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let mut text = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap() == 0 || line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        text.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    text + &String::from_utf8(body).unwrap()
}

fn answer(status: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

fn action(status: Status) -> ActionView {
    // Beyond what a double holds: what executes must survive the way through the client.
    let args = CanonicalJson::parse(br#"{"amount":9007199254740993}"#).unwrap();
    ActionView {
        id: ID.parse().unwrap(),
        status,
        version: 1,
        digest: action_digest("refund", Kind::Tool, &args),
        agent: "bot".into(),
        tool: "refund".into(),
        kind: Kind::Tool,
        args,
        proposed_args: None,
        created_at: Timestamp::from_micros(1_700_000_000_000_000),
        expires_at: None,
        observed: false,
        assessment: Assessment::of(Vec::new()).into(),
        verdict: Verdict::new(Tier::Approve, Risk::High, "default").into(),
        votes: Vec::new(),
        resolution: None,
        outcome: None,
        context: ContextView::default(),
        checkpoint: None,
        batch: None,
        joined: false,
        status_url: None,
        authorization: None,
    }
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap()
}

#[test]
fn a_proposal_is_passed_on_byte_for_byte() {
    let server = Server::answering(vec![answer("202 Accepted", &json(&action(Status::Pending)))]);
    let body = r#"{"tool":"refund",  "args":{"amount":9007199254740993}}"#;
    let proposal = Proposal { idempotency_key: Some("key-1"), wait_seconds: Some(20), ..Proposal::new(body) };
    let view = server.client().propose(&proposal).unwrap();
    assert_eq!(view, action(Status::Pending));
    assert_eq!(view.args.as_str(), r#"{"amount":9007199254740993}"#);
    let asked = server.asked().remove(0);
    assert!(asked.starts_with("POST /v1/actions HTTP/1.1\r\n"), "{asked}");
    assert!(asked.ends_with(body), "{asked}");
    let head = asked.to_lowercase();
    for header in [
        "authorization: bearer tok-secret\r\n",
        "idempotency-key: key-1\r\n",
        "prefer: wait=20\r\n",
        "content-type: application/json\r\n",
    ] {
        assert!(head.contains(header), "{header} in {head}");
    }
}

#[test]
fn what_was_denied_while_it_waited_is_an_action_that_says_so() {
    let problem = |code: &str, more: &str| {
        let problem = format!(
            r#"{{"type":"urn:banksman:error:{code}","title":"no","status":403,"detail":"no","code":"{code}"{more}}}"#
        );
        answer("403 Forbidden", &problem)
    };
    let about = format!(r#","action":"{ID}","action_status":"denied","message":"use the template""#);
    for code in ["denied", "not_authorised"] {
        let server =
            Server::answering(vec![problem(code, &about), answer("200 OK", &json(&action(Status::Denied)))]);
        assert_eq!(server.client().propose(&Proposal::new("{}")).unwrap(), action(Status::Denied));
        assert!(server.asked()[1].starts_with(&format!("GET /v1/actions/{ID} ")));
    }
    let server = Server::answering(vec![problem("blocked", &about)]);
    assert_eq!(server.client().propose(&Proposal::new("{}")).unwrap_err().code(), Some("blocked"));
}

#[test]
fn a_refusal_is_a_problem_with_its_code() {
    let problem = r#"{"type":"urn:banksman:error:stale_version","title":"Stale version","status":409,
        "detail":"the action is at version 2","code":"stale_version","current_version":2,"new_member":true}"#;
    let server = Server::answering(vec![answer("409 Conflict", problem)]);
    let shown = action(Status::Pending);
    let request = DecisionRequest {
        decision: Decision::Approve,
        version: shown.version,
        digest: shown.digest,
        reason: None,
        args: None,
        message: None,
        remember: None,
    };
    let error = server.client().decide(shown.id, &request).unwrap_err();
    assert_eq!(error.code(), Some("stale_version"));
    assert_eq!(error.problem().unwrap().current_version, Some(2));
    assert_eq!(error.to_string(), "the action is at version 2 (stale_version)");
    let asked = server.asked().remove(0);
    assert!(asked.starts_with(&format!("POST /v1/actions/{ID}/decision ")), "{asked}");
    assert!(asked.ends_with(&json(&request)), "{asked}");
}

#[test]
fn every_page_is_read_and_filters_are_encoded() {
    let page = |cursor: &str| format!(r#"{{"items":[{}]{cursor}}}"#, json(&action(Status::Pending)));
    let server = Server::answering(vec![
        answer("200 OK", &page(r#","next_cursor":"a&b""#)),
        answer("200 OK", &page("")),
    ]);
    let query = ActionsQuery {
        status: Some(Status::Pending),
        tool: Some("a b&status=denied".into()),
        limit: Some(1),
        ..ActionsQuery::default()
    };
    assert_eq!(server.client().all_actions(&query).unwrap().len(), 2);
    let asked = server.asked();
    let first = "GET /v1/actions?status=pending&tool=a%20b%26status%3Ddenied&limit=1 HTTP";
    assert!(asked[0].starts_with(first), "{}", asked[0]);
    assert!(asked[1].contains("&cursor=a%26b&limit=1 HTTP"), "{}", asked[1]);
}

#[test]
fn a_repeated_cursor_does_not_loop() {
    let page = answer("200 OK", r#"{"items":[],"next_cursor":"same"}"#);
    let server = Server::answering(vec![page.clone(), page]);
    assert!(server.client().all_actions(&ActionsQuery::default()).unwrap().is_empty());
    assert_eq!(server.asked().len(), 2);
}

#[test]
fn the_audit_log_comes_as_it_was_written() {
    let event = r#"{"v":1,  "big":9007199254740993}"#;
    let body = format!(r#"{{"items":[{{"seq":7,"event":{event}}}]}}"#);
    let server = Server::answering(vec![answer("200 OK", &body)]);
    let query = AuditQuery {
        event_type: Some("decided".into()),
        since: Some(Timestamp::from_micros(0)),
        ..AuditQuery::default()
    };
    let page = server.client().audit(&query).unwrap();
    assert_eq!(page.items[0].event.get(), event);
    let asked = server.asked().remove(0);
    assert!(asked.contains("?type=decided&since=1970-01-01T00%3A00%3A00.000000Z HTTP"), "{asked}");
}

#[test]
fn freezes_are_made_and_lifted() {
    let freeze = r#"{"id":"frz_01J9ZKQ7V8Y3F5T2M6N4P0R1SB","scope":"agent","name":"bot","reason":"r","by":"ann",
        "at":"2026-11-15T10:00:00Z"}"#;
    let server = Server::answering(vec![answer("201 Created", freeze), answer("204 No Content", "")]);
    let client = server.client();
    let body = FreezeBody { agent: Some("bot".into()), ..FreezeBody::default() };
    let id: FreezeId = client.freeze(&body).unwrap().id;
    client.unfreeze(id).unwrap();
    let asked = server.asked();
    assert!(asked[0].ends_with(r#"{"agent":"bot"}"#), "{}", asked[0]);
    assert!(asked[1].starts_with(&format!("DELETE /v1/freezes/{id} ")), "{}", asked[1]);
}

#[test]
fn the_mode_is_read_and_set() {
    let server = Server::answering(vec![
        answer("200 OK", r#"{"mode":"lab"}"#),
        answer("200 OK", r#"{"mode":"shadow"}"#),
    ]);
    let client = server.client();
    assert_eq!(client.mode().unwrap().mode, Mode::Lab);
    let shadow = ModeBody { mode: Mode::Shadow, reason: None };
    assert_eq!(client.set_mode(&shadow).unwrap().mode, Mode::Shadow);
    assert!(server.asked()[1].ends_with(r#"{"mode":"shadow"}"#));
}

#[test]
fn nobody_there_says_what_to_do() {
    // Bound and let go: nobody listens there.
    let url = format!("http://{}", TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap());
    let error = Client::new(&url, "t").unwrap().ready().unwrap_err();
    assert!(matches!(error, ClientError::Unreachable { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains(&url) && text.contains("banksman serve"), "{text}");
}

#[test]
fn a_connection_that_breaks_off_may_have_been_heard() {
    let server = Server::answering(vec![String::new()]);
    let error = server.client().claim(ID.parse::<ActionId>().unwrap(), &claim()).unwrap_err();
    assert!(matches!(error, ClientError::NoAnswer { .. }), "{error:?}");
}

fn claim() -> banksman_core::wire::ClaimBody {
    banksman_core::wire::ClaimBody { digest: action(Status::Authorised).digest, preconditions: None }
}

#[test]
fn something_else_at_that_address_is_noticed() {
    let html = "<html>\u{1b}[31mnot here</html>";
    let server = Server::answering(vec![answer("404 Not Found", html), answer("200 OK", "{}")]);
    let client = server.client();
    let id: ActionId = ID.parse().unwrap();
    let error = client.action(id).unwrap_err();
    assert!(matches!(error, ClientError::Unexpected { status: 404, .. }), "{error:?}");
    assert!(error.to_string().contains("<html>") && !error.to_string().contains('\u{1b}'), "{error}");
    assert!(matches!(client.action(id).unwrap_err(), ClientError::Unexpected { status: 200, .. }));
}

#[test]
fn the_credential_follows_no_redirect() {
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    let target = elsewhere.local_addr().unwrap();
    let redirect = format!("HTTP/1.1 302 Found\r\nlocation: http://{target}/\r\ncontent-length: 0\r\n\r\n");
    let server = Server::answering(vec![redirect]);
    let error = server.client().ready().unwrap_err();
    assert!(matches!(error, ClientError::Unexpected { status: 302, .. }), "{error:?}");
    assert_eq!(elsewhere.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn addresses_and_tokens_that_cannot_work_are_refused_at_once() {
    for url in ["", "127.0.0.1:7447", "ftp://host", "http://", "http://host/?x=1", "not a url"] {
        assert!(matches!(Client::new(url, "t"), Err(ClientError::InvalidRequest { .. })), "{url}");
    }
    assert!(Client::new("http://host/prefix/", "t").is_ok());
    assert!(Client::new("http://host", "two\nlines").is_err());
}

#[test]
fn the_token_is_not_in_debug_output() {
    let client = Client::new("http://host", "tok-secret").unwrap();
    assert!(!format!("{client:?}").contains("secret"));
}

#[test]
fn a_client_with_little_patience_gives_up_soon_and_does_not_call_that_unseen() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let patience = std::time::Duration::from_millis(100);
    let client = Client::new(&url, "tok-secret").unwrap().answered_within(patience);
    let began = std::time::Instant::now();
    let error = client.mode().unwrap_err();
    assert!(matches!(error, ClientError::NoAnswer { .. }), "{error:?}");
    assert!(began.elapsed() < std::time::Duration::from_secs(5), "{:?}", began.elapsed());
}

#[test]
fn what_was_certainly_not_sent_is_not_said_to_be_perhaps() {
    let nowhere = Client::new("http://no-such-host.invalid", "t").unwrap().ready().unwrap_err();
    assert!(matches!(nowhere, ClientError::Unreachable { .. }), "{nowhere:?}");
    // A server that speaks no TLS, spoken to with it: it gets to read a greeting, and nothing else.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let plain = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut heard = [0; 16];
        stream.read_exact(&mut heard).unwrap();
        stream.write_all(answer("400 Bad Request", "").as_bytes()).unwrap();
    });
    let error = Client::new(&url, "t").unwrap().ready().unwrap_err();
    assert!(matches!(error, ClientError::Unreachable { .. }), "{error:?}");
    plain.join().unwrap();
}
