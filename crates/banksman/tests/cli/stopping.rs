//! Stopping: whoever waits is answered or let go, and it does not take long.

use std::time::{Duration, Instant};

use banksman_client::Proposal;
use banksman_core::{Status, wire::ActionView};

use crate::installation::{Installation, Server};
use crate::raw::Connection;

/// How soon a server ends once it is told to, whatever hangs on it.
const SOON: Duration = Duration::from_secs(2);

fn hold(server: &Server) -> ActionView {
    server
        .client(&server.first().agent_token)
        .propose(&Proposal::new(r#"{"tool":"refund","args":{}}"#))
        .unwrap()
}

/// Tells the server to stop and expects that it does, cleanly and soon.
fn stop(installation: &Installation, server: Server) {
    let began = Instant::now();
    server.tell_to_stop();
    let (status, rest) =
        server.end_within(SOON).unwrap_or_else(|| panic!("still runs\n{}", installation.log()));
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    assert_eq!(status.code(), Some(0), "{}", installation.log());
    assert_eq!(rest, "");
}

#[test]
fn those_who_wait_for_a_decision_get_the_action_as_it_stands() {
    let installation = Installation::new();
    let server = installation.serve();
    let held = hold(&server);
    let first = server.first();
    let path = format!("/v1/actions/{}", held.id);
    let mut waiting = Connection::get(server.url(), &first.agent_token, &path, "Prefer: wait=60\r\n");
    let mut reviewing = Connection::get(server.url(), &first.reviewer_token, &path, "Prefer: wait=60\r\n");
    let proposer = server.client(&first.agent_token);
    let proposing = std::thread::spawn(move || {
        proposer.propose(&Proposal { wait_seconds: Some(60), ..Proposal::new(r#"{"tool":"b","args":{}}"#) })
    });
    assert!(waiting.is_silent_for(Duration::from_millis(300)), "it does not wait");
    stop(&installation, server);
    for connection in [&mut waiting, &mut reviewing] {
        let answer = connection.read_to_end().unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(answer.contains(r#""status":"pending""#), "{answer}");
    }
    assert_eq!(proposing.join().unwrap().unwrap().status, Status::Pending);
}

#[test]
fn a_stream_of_events_ends_where_an_event_ends() {
    let installation = Installation::new();
    let server = installation.serve();
    let first = server.first();
    let mut streams = [&first.agent_token, &first.reviewer_token]
        .map(|token| Connection::get(server.url(), token, "/v1/events", ""));
    for stream in &mut streams {
        assert!(stream.read_until("\r\n\r\n").starts_with("HTTP/1.1 200"));
    }
    hold(&server);
    for stream in &mut streams {
        stream.read_until("event: proposed");
    }
    stop(&installation, server);
    for stream in &mut streams {
        // The empty chunk that says: this is all, nothing was cut off.
        let rest = stream.read_to_end().unwrap();
        assert!(rest.ends_with("0\r\n\r\n"), "{rest:?}");
    }
}

#[test]
fn a_socket_of_events_is_closed_with_a_word() {
    let installation = Installation::new();
    let server = installation.serve();
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let mut socket = Connection::get(server.url(), &server.first().agent_token, "/v1/ws", upgrade);
    assert!(socket.read_until("\r\n\r\n").starts_with("HTTP/1.1 101"));
    hold(&server);
    socket.read_until("proposed");
    stop(&installation, server);
    // Whatever frames were still under way, the last one is a close frame.
    assert!(socket.read_to_end().is_ok());
}

#[test]
fn those_who_say_nothing_hold_nothing_up() {
    let installation = Installation::new();
    let server = installation.serve();
    // One that never speaks, one that stops in the middle of a sentence, one that keeps its line open.
    let _silent = Connection::open(server.url());
    let mut halting = Connection::open(server.url());
    halting.send("POST /v1/actions HTTP/1.1\r\nHost: ");
    let mut slow = Connection::open(server.url());
    let (host, token) = (server.url().replace("http://", ""), server.first().agent_token.clone());
    slow.send(&format!(
        "POST /v1/actions HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nContent-Length: 1000\r\n\r\n{{"
    ));
    let mut idle = Connection::get(server.url(), &token, "/ready", "");
    idle.read_until("\r\n\r\n");
    std::thread::sleep(Duration::from_millis(100));
    stop(&installation, server);
}

#[test]
fn what_was_decided_before_the_end_is_there_after_it() {
    let installation = Installation::new();
    let server = installation.serve();
    let (held, first) = (hold(&server), server.first().clone());
    let approved = server.run(&first.reviewer_token, &["approve", &held.id.to_string(), "--yes"]);
    assert_eq!(approved.status.code(), Some(0));
    stop(&installation, server);
    // A clean end leaves nothing beside the database that a copy of it would miss.
    let log = std::fs::metadata(installation.data().join("banksman.db-wal"));
    assert_eq!(log.map_or(0, |log| log.len()), 0);
    let server = installation.serve();
    let action = server.client(&first.agent_token).action(held.id).unwrap();
    assert_eq!(action.status, Status::Authorised);
}
