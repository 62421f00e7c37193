//! What is answered while the server begins anew: that it lives, and to come again.

use std::convert::Infallible;
use std::time::Duration;

use banksman_core::wire::Problem;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// How much of a request is read, and for how long one is waited for.
const HEAD: usize = 8 * 1024;
const PATIENCE: Duration = Duration::from_secs(5);

/// How many are answered at a time; the others wait at the door.
const AT_A_TIME: usize = 256;

const LIVES: &str = concat!(r#"{"status":"ok","version":""#, env!("CARGO_PKG_VERSION"), r#""}"#);

/// What the store's own refusal looks like, so that clients take it for the same.
fn come_again() -> String {
    let problem = Problem {
        kind: "urn:banksman:error:unavailable".into(),
        title: "The store cannot be used now".into(),
        status: 503,
        detail: "the server begins anew, because the database is another than it was".into(),
        code: "unavailable".into(),
        action: None,
        action_status: None,
        current_version: None,
        current_digest: None,
        decided_by: None,
        message: None,
    };
    serde_json::to_string(&problem).unwrap_or_default()
}

/// Answers everyone, until it is dropped.
pub(super) async fn answer(listener: &TcpListener) -> Infallible {
    let mut answering = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept(), if answering.len() < AT_A_TIME => {
                if let Ok((client, _)) = accepted {
                    answering.spawn(tokio::time::timeout(PATIENCE, one(client)));
                } else {
                    // Too many are open, by others: one of ours may end soon.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
            Some(_) = answering.join_next() => {}
        }
    }
}

/// One request, and then the connection is over.
async fn one(mut client: TcpStream) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < HEAD {
        if client.read_buf(&mut head).await? == 0 {
            return Ok(());
        }
    }
    let answer = if head.starts_with(b"GET /health ") {
        respond("200 OK", "application/json", "", LIVES)
    } else {
        respond("503 Service Unavailable", "application/problem+json", "retry-after: 2\r\n", &come_again())
    };
    client.write_all(answer.as_bytes()).await?;
    client.shutdown().await?;
    // What is left of its request, so that it can read the answer before it finds the connection closed.
    let mut rest = [0; 4096];
    while client.read(&mut rest).await? > 0 {}
    Ok(())
}

fn respond(status: &str, content_type: &str, more: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n{more}connection: close\r\n\r\n{body}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn ask(address: std::net::SocketAddr, request: &str) -> String {
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn it_lives_and_everything_else_is_for_later() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asking = async {
            let lives = ask(address, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n").await;
            assert!(lives.starts_with("HTTP/1.1 200 OK\r\n") && lives.ends_with(LIVES), "{lives}");
            let body = "x".repeat(50_000);
            for request in
                ["GET /ready HTTP/1.1\r\n\r\n", &format!("POST /v1/actions HTTP/1.1\r\n\r\n{body}")]
            {
                let later = ask(address, request).await;
                assert!(
                    later.starts_with("HTTP/1.1 503 ") && later.contains("\r\nretry-after: 2\r\n"),
                    "{later}"
                );
                let (_, problem) = later.split_once("\r\n\r\n").unwrap();
                let problem: Problem = serde_json::from_str(problem).unwrap();
                assert_eq!((problem.status, problem.code.as_str()), (503, "unavailable"));
            }
        };
        tokio::select! {
            () = asking => {}
            never = answer(&listener) => match never {},
        }
    }
}
