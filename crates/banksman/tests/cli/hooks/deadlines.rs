//! Time: hosts take silence for a yes, so there is none.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::{User, bash, decision, feed, reason};
use crate::installation::said;

#[test]
fn a_host_that_never_finishes_its_sentence_is_told_no() {
    let user = User::new();
    for half in [&b""[..], b"{\"hook_event_name\":\"PreToolUse\","] {
        let mut command = user.command();
        command.args(["hook", "claude-code", "--deadline", "1"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let began = Instant::now();
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(half).unwrap();
        let output = child.wait_with_output().unwrap();
        drop(stdin);
        assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).contains("\"permissionDecision\":\"deny\""), "{}", said(&output));
        assert!(!output.stderr.is_empty(), "hosts want a reason beside the code");
    }
}

#[test]
fn a_server_that_accepts_and_says_nothing_is_told_from_one_that_says_yes() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let kept = std::thread::spawn(move || {
        let mut streams = Vec::new();
        for stream in listener.incoming().take(1) {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 1024]);
            streams.push(stream);
        }
        std::thread::sleep(Duration::from_secs(4));
    });
    let user = User::new();
    let began = Instant::now();
    let mut command = user.command();
    command
        .args(["hook", "codex", "--deadline", "2"])
        .env("BANKSMAN_URL", url)
        .env("BANKSMAN_TOKEN", "bkm_x");
    let output = feed(&mut command, &bash("ls"));
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    assert_eq!(decision(&output), "deny");
    assert!(reason(&output).contains("no answer within"), "{}", reason(&output));
    kept.join().unwrap();
}

#[test]
fn a_server_that_talks_nonsense_is_not_believed() {
    for answer in [
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ntrue",
        "HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
        "allow\r\n\r\n",
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(answer.as_bytes());
        });
        let user = User::new();
        let mut command = user.command();
        command
            .args(["hook", "codex", "--deadline", "5"])
            .env("BANKSMAN_URL", url)
            .env("BANKSMAN_TOKEN", "bkm_x");
        assert_eq!(decision(&feed(&mut command, &bash("ls"))), "deny", "{answer:?}");
        server.join().unwrap();
    }
}
