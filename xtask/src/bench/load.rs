//! Clients that run full cycles over HTTP.

use std::time::Instant;

use super::connection::{Answer, Script, drive};
use super::server::Doors;

/// What a run measured, in milliseconds where it is a time.
#[derive(Default)]
pub(crate) struct Measured {
    pub(crate) cycles_per_second: f64,
    pub(crate) propose: Vec<f64>,
    pub(crate) decide: Vec<f64>,
    pub(crate) resume: Vec<f64>,
}

/// The head of a request up to where its path or its length follows, prepared once.
pub(crate) struct Head {
    rest: String,
}

impl Head {
    pub(crate) fn of(token: &str) -> Self {
        let rest = format!(
            " HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: "
        );
        Self { rest }
    }

    /// Appends a POST to `/v1/actions` and the rest of its path, with the body in pieces.
    pub(crate) fn post(&self, out: &mut Vec<u8>, path: &[&str], body: &[&str]) {
        let append = |out: &mut Vec<u8>, pieces: &[&str]| {
            pieces.iter().for_each(|piece| out.extend_from_slice(piece.as_bytes()));
        };
        let length: usize = body.iter().map(|piece| piece.len()).sum();
        append(out, &["POST /v1/actions"]);
        append(out, path);
        append(out, &[&self.rest, &length.to_string(), "\r\n\r\n"]);
        append(out, body);
    }

    /// Appends a proposal like no other; about 300 bytes of arguments, as in the comparisons with others.
    pub(crate) fn propose(&self, out: &mut Vec<u8>, number: usize) {
        const MEMO: &str = concat!(
            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        );
        let before = r#"{"tool":"send_wire_transfer","args":{"to":"ACME Corp","amount":1200.50,"number":"#;
        self.post(out, &[], &[before, &number.to_string(), r#","memo":""#, MEMO, r#""}}"#]);
    }
}

fn millis(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

/// Which answer is expected next.
enum Stage {
    Propose,
    Decide,
    Claim,
    Outcome,
}

/// A client that runs full cycles, one after the other.
struct Cycles<'a> {
    agent: &'a Head,
    reviewer: &'a Head,
    numbers: std::ops::Range<usize>,
    stage: Stage,
    id: String,
    digest: String,
    since: Instant,
    times: Vec<[f64; 3]>,
    propose: f64,
    decide: f64,
}

impl Script for Cycles<'_> {
    fn next(&mut self, answer: Option<&Answer<'_>>, out: &mut Vec<u8>) -> anyhow::Result<()> {
        let Some(answer) = answer else {
            self.begin(out);
            return Ok(());
        };
        let (expected, verb) = match self.stage {
            Stage::Propose => (202, "propose"),
            Stage::Decide => (200, "decide"),
            Stage::Claim => (200, "claim"),
            Stage::Outcome => (200, "outcome"),
        };
        let Answer { status, body } = answer;
        anyhow::ensure!(*status == expected, "{verb} answered {status}: {body}");
        match self.stage {
            Stage::Propose => {
                self.propose = millis(self.since);
                self.since = Instant::now();
                answer.member("\"id\":\"")?.clone_into(&mut self.id);
                answer.member("\"digest\":\"")?.clone_into(&mut self.digest);
                let body = [r#"{"decision":"approve","version":1,"digest":""#, &self.digest, "\"}"];
                self.reviewer.post(out, &["/", &self.id, "/decision"], &body);
                self.stage = Stage::Decide;
            }
            Stage::Decide => {
                self.decide = millis(self.since);
                self.agent.post(out, &["/", &self.id, "/claim"], &[r#"{"digest":""#, &self.digest, "\"}"]);
                self.stage = Stage::Claim;
            }
            Stage::Claim => {
                let body = [r#"{"status":"succeeded","result":{"ok":true}}"#];
                self.agent.post(out, &["/", &self.id, "/outcome"], &body);
                self.stage = Stage::Outcome;
            }
            Stage::Outcome => {
                self.times.push([self.propose, self.decide, millis(self.since)]);
                self.begin(out);
            }
        }
        Ok(())
    }
}

impl Cycles<'_> {
    fn begin(&mut self, out: &mut Vec<u8>) {
        if let Some(number) = self.numbers.next() {
            self.since = Instant::now();
            self.agent.propose(out, number);
            self.stage = Stage::Propose;
        }
    }
}

/// Runs `cycles` full cycles with `clients` at a time, each of which stays with one node. `first` numbers them, so that none joins another.
pub(crate) fn run(
    doors: &Doors<'_>,
    clients: usize,
    cycles: usize,
    first: usize,
) -> anyhow::Result<Measured> {
    let (agent, reviewer) = (Head::of(doors.agent), Head::of(doors.reviewer));
    let each = cycles / clients;
    let scripts = (0..clients).map(|client| Cycles {
        agent: &agent,
        reviewer: &reviewer,
        numbers: first + client * each..first + (client + 1) * each,
        stage: Stage::Propose,
        id: String::new(),
        digest: String::new(),
        since: Instant::now(),
        times: Vec::with_capacity(each),
        propose: 0.0,
        decide: 0.0,
    });
    let scripts = scripts.collect();
    let begin = Instant::now();
    let done = drive(&doors.addresses, scripts)?;
    let elapsed = begin.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    let mut measured =
        Measured { cycles_per_second: (each * clients) as f64 / elapsed, ..Measured::default() };
    for [propose, decide, resume] in done.into_iter().flat_map(|client| client.times) {
        measured.propose.push(propose);
        measured.decide.push(decide);
        measured.resume.push(resume);
    }
    Ok(measured)
}
