//! `GET /v1/events`

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::client::{Inbound, PATIENCE, Request};
use crate::server::{Server, id};

/// An event as it came over the stream.
#[derive(Debug)]
struct Seen {
    seq: u64,
    name: String,
    event: Value,
}

/// Reads Server-Sent Events by the letter of the standard, as far as this server uses it.
struct EventStream {
    inbound: Inbound,
    text: String,
}

impl EventStream {
    async fn open(server: &Server, request: Request) -> Self {
        let (head, inbound) = server.open(request).await;
        assert_eq!(head.status, 200, "{head:?}");
        assert_eq!(head.header("content-type"), Some("text/event-stream"));
        Self { inbound, text: String::new() }
    }

    /// The next event; `None` when the server ends the stream.
    async fn next(&mut self) -> Option<Seen> {
        // Over the whole of it: the server's signs of life are no events.
        timeout(PATIENCE, self.read_event()).await.expect("no event comes")
    }

    async fn read_event(&mut self) -> Option<Seen> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let block = block.to_owned();
                self.text = rest.to_owned();
                if block.starts_with(':') {
                    continue;
                }
                let field = |name: &str| {
                    let line = block.lines().find_map(|line| line.strip_prefix(name));
                    line.and_then(|line| line.strip_prefix(": ")).unwrap().to_owned()
                };
                return Some(Seen {
                    seq: field("id").parse().unwrap(),
                    name: field("event"),
                    event: serde_json::from_str(&field("data")).unwrap(),
                });
            }
            let chunk = self.inbound.chunk().await?;
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    async fn take(&mut self, count: usize) -> Vec<Seen> {
        let mut seen = Vec::new();
        for _ in 0..count {
            seen.push(self.next().await.expect("the stream ended"));
        }
        seen
    }

    /// Fails if anything comes within a moment.
    async fn is_silent(&mut self) {
        assert!(timeout(Duration::from_millis(200), self.next()).await.is_err());
    }
}

fn names(seen: &[Seen]) -> Vec<&str> {
    seen.iter().map(|seen| seen.name.as_str()).collect()
}

#[tokio::test]
async fn events_come_as_they_happen() {
    let server = Server::start().await;
    let before = server.newest_seq().await;
    let mut stream = EventStream::open(&server, Request::get("/v1/events").by(&server.ann)).await;
    stream.is_silent().await;
    let action = server.propose("send_email", json!({"to": "ada"})).await;
    let proposed = stream.next().await.unwrap();
    assert_eq!((proposed.seq, proposed.name.as_str()), (before + 1, "proposed"));
    assert_eq!(proposed.event["action"]["id"], action["id"]);
    assert_eq!(proposed.event["action"]["digest"], action["digest"]);
    assert_eq!(proposed.event["type"], "proposed");

    server.approve(&server.ann, &action).await;
    server.claim(&server.riley, &action).await.ok(200);
    server.outcome(&server.riley, &action, json!({"status": "succeeded"})).await.ok(200);
    let rest = stream.take(3).await;
    assert_eq!(names(&rest), ["decided", "claimed", "finished"]);
    assert_eq!(rest.iter().map(|seen| seen.seq).collect::<Vec<_>>(), [before + 2, before + 3, before + 4]);
    assert_eq!(rest[0].event["actor"], json!({"kind": "reviewer", "name": "ann"}));
}

#[tokio::test]
async fn events_do_not_carry_what_would_run() {
    let server = Server::start().await;
    let mut stream = EventStream::open(&server, Request::get("/v1/events").by(&server.ann)).await;
    server.propose("send_email", json!({"password": "hunter2"})).await;
    let seen = stream.next().await.unwrap();
    assert!(!seen.event.to_string().contains("hunter2"), "{seen:?}");
}

#[tokio::test]
async fn agents_see_their_own_and_nothing_else() {
    let server = Server::start().await;
    let mut of_sam = EventStream::open(&server, Request::get("/v1/events?since=0").by(&server.sam)).await;
    let mut of_riley = EventStream::open(&server, Request::get("/v1/events?since=0").by(&server.riley)).await;
    let rileys = server.propose("send_email", json!({})).await;
    server.send(Request::post("/v1/freezes", &json!({"tool": "x"})).by(&server.ann)).await.ok(201);
    let sams = server.propose_as(&server.sam, json!({"tool": "send_email", "args": {}})).await;
    server.approve(&server.ann, &rileys).await;

    let seen = of_riley.take(2).await;
    assert_eq!(names(&seen), ["proposed", "decided"]);
    assert!(seen.iter().all(|seen| seen.event["action"]["id"] == rileys["id"]), "{seen:?}");
    of_riley.is_silent().await;
    let seen = of_sam.take(1).await;
    assert_eq!(seen[0].event["action"]["id"], sams["id"]);
    of_sam.is_silent().await;
}

#[tokio::test]
async fn a_reader_that_comes_back_has_missed_nothing_and_sees_nothing_twice() {
    let server = Server::start().await;
    let start = server.newest_seq().await;
    let produce = async {
        for n in 0..40 {
            let action = server.propose("send_email", json!({"n": n})).await;
            server.approve(&server.ann, &action).await;
        }
    };
    let read = async {
        let mut seqs = Vec::new();
        // Each connection breaks after a few events, in the middle of whatever happens.
        while seqs.len() < 80 {
            let last = seqs.last().copied().unwrap_or(start);
            let request = Request::get("/v1/events").by(&server.ben);
            let mut stream =
                EventStream::open(&server, request.header("Last-Event-ID", last.to_string())).await;
            let some = (80 - seqs.len()).min(7);
            seqs.extend(stream.take(some).await.iter().map(|seen| seen.seq));
        }
        seqs
    };
    let ((), seqs) = tokio::join!(produce, read);
    assert_eq!(seqs, (start + 1..=start + 80).collect::<Vec<_>>());
}

#[tokio::test]
async fn the_whole_log_can_be_followed_from_its_start() {
    let server = Server::start().await;
    // More than the stream reads at a time.
    for n in 0..300 {
        let agent = if n % 2 == 0 { &server.riley } else { &server.sam };
        server.propose_as(agent, json!({"tool": "read_file", "args": {"n": n}})).await;
    }
    let newest = server.newest_seq().await;
    let mut stream = EventStream::open(&server, Request::get("/v1/events?since=0").by(&server.ann)).await;
    let seen = stream.take(usize::try_from(newest).unwrap()).await;
    assert_eq!(seen.iter().map(|seen| seen.seq).collect::<Vec<_>>(), (1..=newest).collect::<Vec<_>>());
    // The header is the newer word: a browser sends it when it reconnects to the same address.
    let request = Request::get("/v1/events?since=0").by(&server.ann);
    let mut stream =
        EventStream::open(&server, request.header("Last-Event-ID", (newest - 1).to_string())).await;
    assert_eq!(stream.next().await.unwrap().seq, newest);
}

#[tokio::test]
async fn a_place_that_is_none_is_refused() {
    let server = Server::start().await;
    for last in ["", "x", "-1", "1.5", "99999999999999999999"] {
        let request = Request::get("/v1/events").by(&server.ann).header("Last-Event-ID", last);
        server.send(request).await.problem(422, "invalid_request");
    }
    for query in ["?since=x", "?since=-1", "?since=99999999999999999999", "?from=1"] {
        let answer = server.send(Request::get(format!("/v1/events{query}")).by(&server.ann)).await;
        answer.problem(422, "invalid_request");
    }
}

#[tokio::test]
async fn streams_end_with_the_server() {
    let server = Server::start().await;
    let mut stream = EventStream::open(&server, Request::get("/v1/events").by(&server.ann)).await;
    let action = server.propose("send_email", json!({})).await;
    assert_eq!(stream.next().await.unwrap().event["action"]["id"], id(&action));
    server.stop();
    assert!(stream.next().await.is_none());
}
